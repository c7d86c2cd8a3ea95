package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// refused is a refusal as a server writes it.
func refused(status int, body string) llmtest.Turn {
	return llmtest.Turn{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// bodiesOf returns the bodies that a server got.
func bodiesOf(s *llmtest.Server) (bodies []string) {
	for _, r := range s.Requests() {
		bodies = append(bodies, string(r.Body))
	}
	return bodies
}

// object is an error in OpenAI's form.
func object(message, param, code string) string {
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": code}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Kind 7 of inputs.md: a field that a refusal names is left out or fitted, once, and remembered for the server and the model. The first
// request of each case is refused; has and hasNot are about the second, and the next answer begins with that form.
func TestAFieldThatIsRefusedByNameIsLeftOutOrFitted(t *testing.T) {
	withThinking := func(level string) func(*llm.Config) { return func(c *llm.Config) { c.Thinking = level } }
	atOpenAI := func(level string) func(*llm.Config) {
		return func(c *llm.Config) { c.Provider, c.Thinking = "openai", level }
	}
	router := func(c *llm.Config) { c.Provider, c.Thinking = "openrouter", "off" }
	const options, tokens = `"stream_options"`, `"max_tokens"`
	for _, c := range []struct {
		name        string
		change      func(*llm.Config)
		status      int
		body        string
		has, hasNot string
	}{
		{"OpenAI and Azure, GPT-5: max_tokens", nil, 400, object("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), `"max_completion_tokens":8192,`, tokens},
		{"GitHub Copilot: max_tokens without param", nil, 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"invalid_request_body"}}`, `"max_completion_tokens":8192,`, tokens},
		{"OpenRouter, the error of another server within", nil, 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.\",\"param\":\"max_tokens\"}}"}}}`, `"max_completion_tokens":8192,`, tokens},
		{"OpenAI, a model before o1: max_completion_tokens", func(c *llm.Config) { c.Provider = "openai" }, 400, object("Unrecognized request argument supplied: max_completion_tokens", "", ""), `"max_tokens":8192,`, "max_completion"},
		{"vLLM 0.5 through MaxKB: max_completion_tokens", func(c *llm.Config) { c.Provider = "openai" }, 400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 800}]","type":"BadRequestError","param":null,"code":400}`, `"max_tokens":8192,`, "max_completion"},
		{"xAI, Grok 4.6 (vastsa/PI-Desktop#603)", withThinking("off"), 400, `{"code":"invalid-argument","error":"This model does not support ` + "`reasoning_effort` value `none`" + `."}`, tokens, `"reasoning_effort"`},
		{"Mistral with GLM (mistralai/mistral-vibe#1109)", withThinking("off"), 400, `{"message":"reasoning_effort 'none' is not supported for this model; supported values: ['low', 'high', 'max']"}`, `"reasoning_effort":"low"`, `"none"`},
		{"z.ai, another level (charmbracelet/catwalk#603)", withThinking("low"), 400, `{"error":{"code":"1210","message":"Model \"glm-5.3-flash\" does not support reasoning effort \"low\", accepted values: medium, high, xhigh."}}`, `"reasoning_effort":"medium"`, `"low"`},
		{"z.ai, thinking always (charmbracelet/catwalk#603)", withThinking("off"), 400, `{"error":{"code":"1210","message":"This model always engages in thinking and cannot be disabled; please use low, high, or max."}}`, `"reasoning_effort":"low"`, `"none"`},
		{"inputs.md 7.2", nil, 400, `{"error":{"message":"Extra inputs are not permitted: stream_options"}}`, tokens, options},
		{"Mistral: stream_options", nil, 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]},"type":"invalid_request_error","param":null,"code":null}`, tokens, options},
		{"FastAPI: stream_options", nil, 422, `{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted","type":"value_error.extra"}]}`, tokens, options},
		{"Fireworks: stream_options", nil, 400, `{"error":{"message":"Extra inputs are not permitted, field: 'stream_options', value: {'include_usage': True}","code":"invalid_request"}}`, tokens, options},
		{"Azure with data sources: stream_options", nil, 400, `{"error":{"requestid":"eea1c96d","code":400,"message":"Validation error at #/stream_options: Extra inputs are not permitted"}}`, tokens, options},
		{"Bedrock: stream_options", nil, 400, `{"message":"Malformed input request: #: extraneous key [stream_options] is not permitted, please reformat your input and try again."}`, tokens, options},
		{"Gemini: stream_options", nil, 400, `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"stream_options\": Cannot find field.","status":"INVALID_ARGUMENT"}}]`, tokens, options},
		{"a server in Go: stream_options", nil, 400, "json: unknown field \"stream_options\"", tokens, options},
		{"a server in Rust: stream_options", nil, 422, "Failed to deserialize the JSON body into the target type: unknown field `stream_options`, expected one of `model`, `messages`, `max_tokens`, `temperature` at line 1 column 60", tokens, options},
		{"only the usage within it", nil, 400, object("Unknown parameter: 'stream_options.include_usage'.", "stream_options.include_usage", "unknown_parameter"), tokens, options},
		{"Groq, DeepSeek R1: reasoning_effort", withThinking("high"), 400, object("property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?", "", ""), tokens, "reasoning"},
		{"OpenAI, GPT-4o: reasoning_effort", withThinking("high"), 400, object("Unrecognized request argument supplied: reasoning_effort", "", ""), tokens, "reasoning"},
		{"OpenAI: tools with reasoning_effort", withThinking("high"), 400, object("Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. Please use /v1/responses instead.", "reasoning_effort", ""), `"tools"`, "reasoning"},
		{"xAI: reasoningEffort", withThinking("high"), 400, `{"code":"Client specified an invalid argument","error":"Model grok-4 does not support parameter 'reasoningEffort'."}`, tokens, "reasoning"},
		{"LiteLLM: reasoning_effort", withThinking("low"), 400, object("litellm.UnsupportedParamsError: ollama does not support parameters: ['reasoning_effort'], for model=m. To drop these, set `litellm.drop_params=True` or for proxy: `litellm_settings: drop_params: true`", "", "400"), tokens, "reasoning"},
		{"Ollama: thinking", withThinking("high"), 400, `{"error":{"message":"\"llama3.2\" does not support thinking","type":"api_error","param":null,"code":null}}`, tokens, "reasoning"},
		{"two at once", withThinking("high"), 400, object("Unrecognized request arguments supplied: reasoning_effort, stream_options", "", ""), tokens, options},
		{"OpenAI, o3: minimal becomes low", atOpenAI("minimal"), 400, object("Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.", "reasoning_effort", "unsupported_value"), `"reasoning_effort":"low"`, "minimal"},
		{"OpenAI: xhigh becomes high", atOpenAI("xhigh"), 400, object("Unsupported value: 'xhigh' is not supported with the 'gpt-5' model. Supported values are: 'minimal', 'low', 'medium', and 'high'.", "reasoning_effort", "unsupported_value"), `"reasoning_effort":"high"`, "xhigh"},
		{"Kimi: none becomes minimal", withThinking("off"), 400, `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.","type":"invalid_request_error"}}`, `"reasoning_effort":"minimal"`, `"none"`},
		{"vLLM: minimal becomes low", atOpenAI("minimal"), 400, `{"object":"error","message":"[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'minimal', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}]","type":"BadRequestError","param":null,"code":400}`, `"reasoning_effort":"low"`, "minimal"},
		{"FastAPI: xhigh becomes high", atOpenAI("xhigh"), 422, `{"detail":[{"type":"literal_error","loc":["body","reasoning_effort"],"msg":"Input should be 'low', 'medium' or 'high'","input":"xhigh","ctx":{"expected":"'low', 'medium' or 'high'"}}]}`, `"reasoning_effort":"high"`, "xhigh"},
		{"Groq, Qwen: thinking that is wanted is not turned off", withThinking("high"), 400, object("`reasoning_effort` must be one of `none` or `default`", "", ""), tokens, "reasoning"},
		{"Ollama: minimal becomes low", atOpenAI("minimal"), 400, `{"error":{"message":"invalid reasoning value: 'minimal' (must be \"high\", \"medium\", \"low\", \"max\", or \"none\")","type":"invalid_request_error","param":null,"code":null}}`, `"reasoning_effort":"low"`, "minimal"},
		{"OpenRouter: thinking that cannot be turned off", router, 400, `{"error":{"message":"Reasoning is mandatory for this endpoint and cannot be disabled.","code":400}}`, tokens, "reasoning"},
		{"OpenAI, o1-mini: the role system", nil, 400, object("Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role", "unsupported_value"), `"messages":[{"role":"user","content":"be kind\n\nhello"}]`, "system"},
		{"a gateway that wants the role developer", nil, 400, object("Unsupported value: 'messages[0].role' does not support 'system' with this model. Use 'developer' instead.", "messages[0].role", "unsupported_value"), `{"role":"developer","content":"be kind"},{"role":"user"`, "system"},
		{"SGLang and vLLM, Gemma 2: the role system", nil, 400, `{"object":"error","message":"System role not supported","type":"BadRequestError","param":null,"code":400}`, `[{"role":"user","content":"be kind\n\nhello"}]`, "system"},
		{"llama.cpp, Gemma 2: the role system", nil, 500, `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 1, column 132 in source:\n...\nError: Jinja Exception: System role not supported","type":"server_error"}}`, `[{"role":"user","content":"be kind\n\nhello"}]`, "system"},
		{"Gemini, Gemma 3: the role system", nil, 400, `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`, `[{"role":"user","content":"be kind\n\nhello"}]`, "system"},
		{"vLLM, Mistral 7B: roles that alternate", nil, 400, `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/... Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":null,"code":400}}`, `[{"role":"user","content":"be kind\n\nhello"}]`, "system"},
		{"a template of Phi: only two roles", nil, 400, `{"error":{"message":"Only user and assistant roles are supported!"}}`, `[{"role":"user","content":"be kind\n\nhello"}]`, "system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, refused(c.status, c.body), llmtest.Streamed(llmtest.Say("ok")), llmtest.Streamed(llmtest.Say("ok")))
			cfg := config(nil)
			cfg.BaseURL, cfg.HTTP = s.URL, nil
			if c.change != nil {
				c.change(&cfg)
			}
			m, r := open(t, cfg), hello()
			r.Tools = conversation().Tools
			for range 2 {
				if a, err := m.Answer(t.Context(), r, nil); err != nil || a.Text != "ok" {
					t.Fatalf("got %q, %v", a.Text, err)
				}
			}
			bodies := bodiesOf(s)
			if len(bodies) != 3 {
				t.Fatalf("%d requests, want the refused one, one more, and the one of the next answer", len(bodies))
			}
			for _, body := range bodies[1:] {
				if !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) || !json.Valid([]byte(body)) {
					t.Errorf("want %q and not %q in\n%s", c.has, c.hasNot, body)
				}
			}
		})
	}
}

// Kind 7.3: a window or a limit of answers that a refusal names is remembered, and the request asks for what fits.
func TestAWindowOrALimitThatIsNamedIsKept(t *testing.T) {
	router := func(c *llm.Config) { c.Provider, c.MaxOutput = "openrouter", 131_072 }
	large := func(c *llm.Config) { c.MaxOutput = 65_536 }
	for _, c := range []struct {
		name      string
		change    func(*llm.Config)
		status    int
		body      string
		ask       int // of the second request
		window    int // afterwards
		maxOutput int
	}{
		{"inputs.md 7.3: OpenAI, vLLM, DeepSeek", nil, 400, object("This model's maximum context length is 8192 tokens. However, you requested 11192 tokens (3000 in the messages, 8192 in the completion).", "messages", "context_length_exceeded"), 4096, 8192, 8192},
		{"OpenAI, with the tools", nil, 400, object("This model's maximum context length is 8192 tokens. However, you requested 11692 tokens (3000 in the messages, 500 in the functions, 8192 in the completion).", "messages", "context_length_exceeded"), 4096, 8192, 8192},
		{"OpenAI, before 2023", nil, 400, object("This model's maximum context length is 4097 tokens, however you requested 9192 tokens (1000 in your prompt; 8192 for the completion). Please reduce your prompt; or completion length.", "", ""), 2048, 4097, 8192},
		{"vLLM 0.9", nil, 400, `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 3000 input tokens (8192 > 8192 - 3000). None","type":"BadRequestError","param":null,"code":400}`, 4096, 8192, 8192},
		{"vLLM 0.15: its count of the input is the least", nil, 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 8192 output tokens and your prompt contains at least 1 input tokens, for a total of at least 8193 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=1)","type":"BadRequestError","param":"input_tokens","code":400}}`, 4096, 8192, 8192},
		{"SGLang", nil, 400, `{"object":"error","message":"Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 11192 tokens: 3000 tokens from the input messages and 8192 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.","type":"BadRequest","param":null,"code":400}`, 4096, 8192, 8192},
		{"TGI", nil, 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 3000 `inputs` tokens and 8192 `max_new_tokens`\",\"error_type\":\"validation\"}", 4096, 8192, 8192},
		{"TensorRT-LLM and vLLM 0.13", nil, 400, object("You passed 3000 input tokens and requested 8192 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 0 tokens.", "", ""), 4096, 8192, 8192},
		{"OpenRouter", router, 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10035 of text input, 500 of tool input, 131072 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400,"metadata":{"provider_name":"Chutes"}}}`, 65_536, 131_072, 131_072},
		{"Groq", large, 400, object("`max_tokens` must be less than or equal to `40960`, the maximum value for `max_tokens` is less than the `context_window` for this model", "max_tokens", ""), 32_768, 32_768, 40_960},
		{"OpenAI and Azure, GPT-4: the answer", nil, 400, object("max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.", "max_tokens", "invalid_value"), 4096, 32_768, 4096},
		{"DeepSeek", large, 400, object("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", "", "invalid_request_error"), 8192, 32_768, 8192},
		{"DashScope", large, 400, object("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]", "", "invalid_parameter_error"), 8192, 32_768, 8192},
		{"Bedrock", nil, 400, `{"message":"The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096."}`, 4096, 32_768, 4096},
		{"Cohere", nil, 400, `{"message":"too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192. max_tokens"}`, 4096, 32_768, 4096},
		{"Gemini", large, 400, `[{"error":{"code":400,"message":"Unable to submit request because it has a maxOutputTokens value of 65536 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.","status":"INVALID_ARGUMENT"}}]`, 8192, 32_768, 8192},
		{"FastAPI", nil, 422, `{"detail":[{"type":"less_than_equal","loc":["body","max_tokens"],"msg":"Input should be less than or equal to 4096","input":8192,"ctx":{"le":4096}}]}`, 4096, 32_768, 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, refused(c.status, c.body), llmtest.Streamed(llmtest.Say("ok")), llmtest.Streamed(llmtest.Say("ok")))
			cfg := config(nil)
			cfg.BaseURL, cfg.HTTP = s.URL, nil
			if c.change != nil {
				c.change(&cfg)
			}
			m := open(t, cfg)
			if _, err := m.Answer(t.Context(), hello(), nil); err != nil {
				t.Fatal(err)
			}
			bodies := bodiesOf(s)
			if len(bodies) != 2 || !strings.Contains(bodies[1], fmt.Sprintf(`"max_tokens":%d,`, c.ask)) {
				t.Errorf("%d requests; want %d tokens in %s", len(bodies), c.ask, bodies[len(bodies)-1])
			}
			if i := m.Info(); i.Context != c.window && c.window != 32_768 || i.MaxOutput != c.maxOutput {
				t.Errorf("afterwards the window is %d and the answer %d, want %d and %d", i.Context, i.MaxOutput, c.window, c.maxOutput)
			}
		})
	}
}

// Messages that do not fit say so at once, and the window is known then.
func TestMessagesThatDoNotFitSaySo(t *testing.T) {
	for _, c := range []struct {
		name   string
		body   string
		window int
	}{
		{"OpenAI", object("This model's maximum context length is 8192 tokens. However, your messages resulted in 8202 tokens. Please reduce the length of the messages.", "messages", "context_length_exceeded"), 8192},
		{"vLLM", object("This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.", "", ""), 16_384},
		{"no counts at all", object("This model's maximum context length is 8192 tokens", "", ""), 8192},
		{"hardly any room", object("This model's maximum context length is 8192 tokens. However, you requested 16284 tokens (8092 in the messages, 8192 in the completion).", "", ""), 8192},
		{"llama.cpp", `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`, 8192},
		{"llama.cpp, newer", `{"error":{"code":400,"message":"request (10054 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}`, 8192},
		{"llama-cpp-python", object("Requested tokens (9000) exceed context window of 8192", "messages", "context_length_exceeded"), 8192},
		{"LM Studio", `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}`, 4096},
		{"LM Studio, MLX", `{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}`, 7424},
		{"LM Studio 0.3", `{"error":"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."}`, 7866},
		{"Mistral", `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32000 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, 32_000},
		{"SGLang", object("The input (9000 tokens) is longer than the model's context length (8192 tokens).", "", ""), 8192},
		{"xAI", `{"error":"This model's maximum prompt length is 20000 but the request contains 53781 tokens."}`, 20_000},
		{"OpenRouter", object("This endpoint's maximum context length is 16384 tokens. However, you requested about 94307 tokens (94307 of text input). Please reduce the length of either one.", "", ""), 16_384},
		{"Ollama, which tells no window", `{"error":{"message":"prompt too long; exceeded max context length by 5000 tokens"}}`, 32_768},
		{"a window that cannot be", object("This model's maximum context length is 12 tokens. However, your messages resulted in 90 tokens.", "", "context_length_exceeded"), 32_768},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, refused(400, c.body), llmtest.Streamed(llmtest.Say("ok")))
			m := at(t, s, "compatible")
			_, err := m.Answer(t.Context(), hello(), nil)
			faultIn(t, err, llm.TooLarge)
			if n := len(s.Requests()); n != 1 || m.Info().Context != c.window {
				t.Errorf("%d requests, the window is %d, want %d", n, m.Info().Context, c.window)
			}
		})
	}
}

// Every other refusal fails at once, even if it holds the name of a field.
func TestOtherRefusalsFailAtOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
	}{
		{"nothing named", 400, object("Bad request", "", "")},
		{"a field that hob needs", 400, object("Unsupported parameter: 'messages' is not supported with this model.", "messages", "unsupported_parameter")},
		{"a field that hob does not send", 400, object("Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value")},
		{"two fields, of which one may be meant", 400, object("'reasoning_effort' is not supported together with 'stream_options'", "", "")},
		{"a field that is missing", 400, object("Missing `reasoning_content` field in the assistant message at message index 1; it is not supported to leave it out", "", "")},
		{"a model", 400, object("The model `stream_options` does not exist", "model", "model_not_found")},
		{"a schema of a tool", 400, object("Invalid schema for function 'read': 'title' is not permitted.", "tools[0].function.parameters", "invalid_function_parameters")},
		{"a property of a schema", 422, `{"detail":[{"type":"extra_forbidden","loc":["body","tools",0,"function","parameters","properties","strict"],"msg":"Extra inputs are not permitted"}]}`},
		{"the request is repeated", 422, `{"detail":[{"type":"missing","loc":["body","prompt"],"msg":"Field required","input":{"stream_options":{"include_usage":true}}}]}`},
		{"the names that are known", 422, "unknown field `foo`, expected one of `stream_options`, `max_tokens`"},
		{"a word of the language", 400, object("Your reasoning is not supported by evidence: include sources", "", "")},
		{"a forbidden key", 403, object("Extra inputs are not permitted: stream_options", "", "")},
		{"a server that is down", 500, object("Extra inputs are not permitted: stream_options", "", "")},
		{"a conflict of two limits", 400, object("max_tokens must be greater than thinking.budget_tokens", "max_tokens", "")},
		{"a limit below the least", 400, object("Invalid 'max_tokens': integer below minimum value. Expected a value >= 16, but got 8 instead.", "max_tokens", "integer_below_min_value")},
		{"a message of another role", 400, object("'messages.0' : for 'role:system' the following must be satisfied[('messages.0.content' : value must be a string)]", "", "")},
		{"each role in turn", 422, `{"detail":[{"type":"literal_error","loc":["body","messages",0,"Developer","role"],"msg":"Input should be 'developer'"},{"type":"literal_error","loc":["body","messages",0,"Tool","role"],"msg":"Input should be 'tool'"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, refused(c.status, c.body), llmtest.Streamed(llmtest.Say("ok")))
			cfg := config(nil)
			cfg.BaseURL, cfg.HTTP, cfg.Thinking = s.URL, nil, "high"
			m, r := open(t, cfg), hello()
			r.Tools = conversation().Tools
			if _, err := m.Answer(t.Context(), r, nil); err == nil || len(s.Requests()) != 1 {
				t.Errorf("%d requests, %v", len(s.Requests()), err)
			}
			if _, err := m.Answer(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			if bodies := bodiesOf(s); bodies[0] != bodies[len(bodies)-1] {
				t.Errorf("the next request is another one:\n%s", bodies[len(bodies)-1])
			}
		})
	}
}

// One request is repeated for each thing that is named, and not without an end.
func TestARefusedRequestIsRepeatedOnceForEachField(t *testing.T) {
	gone := func(field string) llmtest.Turn {
		return refused(400, object("Unknown parameter: '"+field+"'.", field, "unknown_parameter"))
	}
	ok := llmtest.Streamed(llmtest.Say("ok"))
	for _, c := range []struct {
		name  string
		turns []llmtest.Turn
		sent  int
		works bool
	}{
		{"the same field twice", []llmtest.Turn{gone("stream_options"), gone("stream_options"), ok}, 2, false},
		{"two fields", []llmtest.Turn{gone("stream_options"), gone("reasoning_effort"), ok}, 3, true},
		{"both names of the limit", []llmtest.Turn{gone("max_tokens"), gone("max_completion_tokens"), ok}, 3, true},
		{"another error after it", []llmtest.Turn{gone("stream_options"), refused(400, object("no", "", "")), ok}, 2, false},
		{"a window twice", []llmtest.Turn{
			refused(400, object("This model's maximum context length is 8192 tokens. However, you requested 11192 tokens (3000 in the messages, 8192 in the completion).", "", "")),
			refused(400, object("This model's maximum context length is 4096 tokens. However, you requested 7096 tokens (3000 in the messages, 4096 in the completion).", "", "")), ok,
		}, 2, false},
		{"a level that is still refused", []llmtest.Turn{
			refused(400, object("Supported values are: 'low'.", "reasoning_effort", "")), refused(400, object("Supported values are: 'low'.", "reasoning_effort", "")), ok,
		}, 2, false},
		{"level by level", []llmtest.Turn{
			refused(400, object("Supported values are: 'medium'.", "reasoning_effort", "")), refused(400, object("Supported values are: 'low'.", "reasoning_effort", "")), ok,
		}, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.turns...)
			cfg := config(nil)
			cfg.BaseURL, cfg.HTTP, cfg.Thinking = s.URL, nil, "high"
			_, err := open(t, cfg).Answer(t.Context(), hello(), nil)
			if n := len(s.Requests()); n != c.sent || (err == nil) != c.works {
				t.Errorf("%d requests, %v; want %d", n, err, c.sent)
			}
		})
	}
}

// A model or a server without tools is named as such, and never asked without them.
func TestAModelWithoutToolsIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
	}{
		{"Ollama", 400, `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}`},
		{"Bedrock with Llama (vercel-labs/fx#900)", 400, `{"error":{"message":"undefined: This model doesn't support tool use in streaming mode.","type":"AI_APICallError"}}`},
		{"a gateway (experientiallabs/experiential#765)", 400, object("The capability 'tools' is not supported by this gateway profile. Remove the field and resend the request.", "tools", "unsupported_capability")},
		{"vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`},
		{"llama.cpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`},
		{"OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}`},
		{"Groq", 400, object("`tool calling` is not supported with this model", "", "")},
		{"Azure", 400, object("Unsupported parameter: 'tools' is not supported with this model.", "tools", "unsupported_parameter")},
		{"DeepSeek", 400, object("deepseek-reasoner does not support Function Calling", "", "invalid_request_error")},
		{"Mistral", 422, `{"object":"Error","detail":[{"type":"extra_forbidden","loc":["body","tools"],"msg":"Extra inputs are not permitted","input":[]}],"type":"invalid_request_error","code":3001}`},
		{"Gemini, Gemma 3", 400, `[{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, refused(c.status, c.body), llmtest.Streamed(llmtest.Say("ok")))
			r := hello()
			r.Tools = conversation().Tools
			_, err := at(t, s, "compatible").Answer(t.Context(), r, nil)
			if e := faultIn(t, err, llm.NoTools); llm.Retryable(&e) || len(s.Requests()) != 1 || !strings.Contains(e.Error(), "cannot call tools") {
				t.Errorf("%d requests, %v", len(s.Requests()), err)
			}
		})
	}
}

// A server that has loaded its model with another window tells so in its list, which is newer than the refusal.
func TestANewerWindowOfTheListWins(t *testing.T) {
	told := &llm.Learned{Listed: 32_768}
	s := serve(t, refused(400, object("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", "", "")))
	m := open(t, llm.Config{Provider: "compatible", Model: "m", BaseURL: s.URL, Learned: told})
	if _, err := m.Answer(t.Context(), hello(), nil); err == nil || m.Info().Context != 8192 {
		t.Fatalf("the window is %d, %v", m.Info().Context, err)
	}
	if told.Listed = 65_536; m.Info().Context != 65_536 {
		t.Errorf("the window is %d", m.Info().Context)
	}
}

// Without system messages the messages of the user that follow each other become one, and their images stay.
func TestMessagesOfTheUserAreJoined(t *testing.T) {
	s := serve(t, refused(400, `{"error":"System role not supported"}`), llmtest.Streamed(llmtest.Say("ok")))
	r := llm.Request{System: "be kind", Messages: []llm.Message{
		user("one"), {Role: llm.User, Parts: event.Say("two")}, {Role: llm.Assistant, Parts: event.Say("three")}, user("four"),
	}}
	if _, err := at(t, s, "compatible").Answer(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	const want = `"messages":[{"role":"user","content":"be kind\n\none\n\ntwo"},{"role":"assistant","content":"three"},{"role":"user","content":"four"}]}`
	if got := s.Requests()[1].Body; !bytes.HasSuffix(got, []byte(want)) {
		t.Errorf("got %s", got)
	}
}

// A refusal that is cut off anywhere is understood as far as it goes, or is final: the next request has all that hob needs.
func TestRefusalsCutAtEveryByte(t *testing.T) {
	for _, body := range []string{
		object("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"),
		`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]}`,
		object("This model's maximum context length is 8192 tokens. However, you requested 11192 tokens (3000 in the messages, 8192 in the completion).", "messages", "context_length_exceeded"),
		object("Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role", "unsupported_value"),
		object("Unsupported value: 'reasoning_effort' does not support 'high' with this model. Supported values are: 'low' and 'medium'.", "reasoning_effort", "unsupported_value"),
		`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`,
	} {
		for cut := range len(body) {
			checkRefused(t, 400, body[:cut])
		}
	}
}

// A refusal whose connection is lost is final: its last number may be another one.
func TestARefusalThatIsCutOffIsFinal(t *testing.T) {
	rec := &recorder{canned: canned{status: 400, body: "This model's maximum context length is 1638", err: io.ErrUnexpectedEOF}}
	m := open(t, config(rec))
	if _, err := m.Answer(t.Context(), hello(), nil); err == nil || len(rec.bodies) != 1 || m.Info().Context != 32_768 {
		t.Errorf("%d requests, the window is %d, %v", len(rec.bodies), m.Info().Context, err)
	}
}

// checkRefused asserts that a model whose server always answers with this refusal makes few requests, and whole ones.
func checkRefused(t *testing.T, status int, body string) {
	t.Helper()
	rec := &recorder{canned: canned{status: status, body: body}}
	c := config(rec)
	c.Thinking = "high"
	r := conversation()
	if _, err := open(t, c).Answer(t.Context(), r, nil); err == nil || len(rec.bodies) > 5 {
		t.Fatalf("%d requests, %v", len(rec.bodies), err)
	}
	for _, b := range rec.bodies {
		var shape struct {
			Model    string            `json:"model"`
			Stream   bool              `json:"stream"`
			Tools    []json.RawMessage `json:"tools"`
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(b, &shape); err != nil || shape.Model != "m" || !shape.Stream || len(shape.Tools) != 2 || len(shape.Messages) < 6 {
			t.Fatalf("%v: %s", err, b)
		}
	}
}

// Whatever a server writes into a refusal, there are few requests, and each is JSON with the model and the messages.
func FuzzRefusals(f *testing.F) {
	f.Add(400, object("Unknown parameter: 'stream_options'.", "stream_options", ""))
	f.Add(422, `{"detail":[{"loc":["body",0,"max_tokens"],"msg":"Extra inputs"}]}`)
	f.Add(400, `{"error":{"message":"maximum context length is 99999999999999999999 tokens (3 in the messages","n_ctx":1e300}}`)
	f.Add(400, `{"error":{"message":"role system not supported, developer","param":"messages[0].role"}}`)
	f.Add(500, "role [ 'role' not supported")
	f.Fuzz(func(t *testing.T, status int, body string) { checkRefused(t, 400+(status%200+200)%200, body) })
}
