package wire

import (
	"regexp"
	"strconv"
	"strings"
)

// Limits, in tokens.
const (
	leastWindow = 1_024 // the smallest window that is believed
	usualOutput = 1_024 // the shortest answer that is asked for while there is room
	leastOutput = 512   // the shortest answer that is worth another request

	fewestBytes = 3 // of a token, for a request whose tokens the server does not count
)

// window returns the largest request that a refusal names, in tokens; 0 if it names none. N is the number.
func (c complaint) window() int {
	return number(c.words,
		`maximum context length (?:is|of) (?:only )?N`, `with N maximum context length`, // OpenAI, vLLM, DeepSeek, SGLang, OpenRouter; Mistral
		`available context size \(N`, `n_ctx\D{1,4}N`, `exceeds? context window of N`, // llama.cpp and its Python binding
		`context length (?:of|is) (?:only )?N`, `length \(N tokens`, // LM Studio, TensorRT-LLM; SGLang
		`context limit: \d+ \+ \d+ > N`, `prompt is too long: \d+ tokens > N`, // Anthropic
		"`max_new_tokens` must be <= N", `maximum prompt length is N`, `model token limit: N`, // TGI, Together; xAI; Moonshot
		`max input tokens: N`, `input length should be \[\d+, N\]`, `number of tokens allowed \(N\)`, // Bedrock; DashScope; Gemini
		`configured limit of N`, `token count of \d+ exceeds the limit of N`, // OpenAI, GPT-5; GitHub Copilot
	)
}

// input returns how many tokens the request has without its answer. Some servers count its parts, and some tell only the least, so that it is
// estimated. Without any count the messages themselves may be too long, and then it is the whole window.
func (c complaint) input(sent []byte) int {
	sum := 0
	for _, part := range regexp.MustCompile(`\d+ (?:in the (?:messages|functions|tools)|in your prompt|of \w+ input)`).FindAllString(c.words, -1) {
		sum += number(part, `N`)
	}
	if strings.Contains(c.words, "contains at least") { // vLLM
		return len(sent) / fewestBytes
	}
	return OrElse(sum, OrElse(number(c.words,
		`n_prompt_tokens\D{1,4}N`, `request \(N tokens\)`, `n_keep\D{1,4}N`, `keep the first N tokens`, `requested tokens \(N\) exceed`,
		`(?:has|passed) N input tokens`, `N tokens from the input messages`, `the input \(N tokens\)`, "given: N `inputs`",
		`context limit: N \+`, `prompt is too long: N tokens`, `prompt contains N tokens`, `resulted in N tokens`,
		`request contains N tokens`, `token count of N`, `input token count:? \(?N`,
	), c.window()))
}

// output returns the longest answer that a refusal names, in tokens; 0 if it names none.
func (c complaint) output() int {
	if !regexp.MustCompile(`max_?(?:completion|output|new)?_?tokens|maximum tokens|(?:completion|output) tokens`).MatchString(c.at + " " + c.words) {
		return 0
	}
	if n := number(c.words, `\(inclusive\) to N \(exclusive\)`); n > 0 { // Gemini
		return n - 1
	}
	return number(c.words,
		`max_tokens: \d+ > N`, `at most N (?:completion |output )?tokens`, "less than or equal to `?N", // Anthropic; OpenAI; Groq, Cohere, FastAPI
		`tokens (?:is|should be) \[\d+, N\]`, `exceeds? the model limit of N`, `expected a value <= N`, // DeepSeek, DashScope; Bedrock; OpenAI
		`must be <= N`, `between \d+ and N`, `cannot exceed N`, `maximum (?:value|allowed|limit)?\D{0,24} is N`,
	)
}

// number returns the first number that one of the signs finds; 0 without one.
func number(words string, signs ...string) int {
	for _, sign := range signs {
		if found := regexp.MustCompile(strings.Replace(sign, "N", `(\d[\d,]*)`, 1)).FindStringSubmatch(words); found != nil {
			n, err := strconv.ParseInt(strings.ReplaceAll(found[1], ",", ""), 10, 32)
			if err == nil {
				return int(n)
			}
		}
	}
	return 0
}
