package anthropic

import "strings"

// wireThinking says how the model thinks (https://platform.claude.com/docs/en/build-with-claude/thinking).
type wireThinking struct {
	Type    string `json:"type"` // adaptive, between_tools, disabled, enabled
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"` // summarized: the owner may read it
}

// wireOutput says how much effort the model makes.
type wireOutput struct {
	Effort string `json:"effort"`
}

// levels translates the levels of the config into efforts. Below low there is none.
func (f facts) levels() map[string]string {
	highest := "xhigh"
	if f.high {
		highest = "high"
	}
	return map[string]string{"off": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": highest}
}

// budgets are the tokens of thinking at each level, for models that are told a number. The protocol's least is 1,024.
func budgets() map[string]int {
	return map[string]int{"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768}
}

// leastAnswer is the part of an answer's limit that thinking must leave, in tokens.
const leastAnswer = 1_024

// think returns the fields for a level of the config. answer is the limit of the answer, in tokens. Without a level nothing is sent, and
// the model decides. bare says that the calls whose results come next have no thinking before them; models with a number of tokens for
// thinking refuse that.
func (f facts) think(level string, limit int, bare bool) (*wireThinking, *wireOutput) {
	switch {
	case level == "":
		return nil, nil
	case f.thinks == manual:
		budget := min(budgets()[level], limit-leastAnswer)
		if bare || budget < budgets()["minimal"] {
			return nil, nil
		}
		return &wireThinking{Type: "enabled", Budget: budget}, nil
	case level == "off" && f.thinks == adaptive:
		return &wireThinking{Type: "disabled"}, nil
	case level == "off" && f.thinks == between:
		return &wireThinking{Type: "between_tools"}, nil
	default:
		return &wireThinking{Type: "adaptive", Display: "summarized"}, &wireOutput{Effort: f.levels()[level]}
	}
}

// refusesThinking reports whether a refusal is about thinking of an earlier answer.
func refusesThinking(words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(words, "thinking") && (strings.Contains(words, "signature") || strings.Contains(words, "block"))
}

// spent reports whether a refusal says that the account may not spend more. The protocol has no status for it.
func spent(words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(words, "credit balance is too low") || strings.Contains(words, "usage limits")
}
