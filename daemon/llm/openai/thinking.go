package openai

import (
	"cmp"
	"slices"
)

// The levels of thinking. The words are the protocol's; servers accept different subsets:
//
//   - openai and openrouter accept all of them; openrouter in a field of its own, reasoning.effort
//     (https://openrouter.ai/docs/use-cases/reasoning-tokens).
//   - ollama accepts only none, low, medium and high; newer releases also max (https://docs.ollama.com/api/openai-compatibility).
//   - lmstudio ignored the field for a long time; all releases that read it accept none, low, medium and high.
//   - Of the compatible servers, vLLM accepts all, SGLang and others only low, medium and high, and llama.cpp reads none as "do not
//     think". Their own switches, such as chat_template_kwargs, are not sent: strict servers reject fields that they do not know.

// effort translates the config's value into the protocol's. An empty value sends nothing; false means that the value is unknown.
func effort(thinking string) (string, bool) {
	if thinking == "off" {
		return "none", true
	}
	return thinking, slices.Contains([]string{"", "minimal", "low", "medium", "high", "xhigh"}, thinking)
}

// effortAt returns the level to send to a backend: the configured one, or the nearest that the backend accepts, preferring the lower.
// Thinking is turned off only when the config says so. "" sends nothing.
func effortAt(backend, thinking string) string {
	asked, _ := effort(thinking)
	if backend == openAI || backend == openRouter {
		return asked
	}
	return cmp.Or(map[string]string{"minimal": "low", "xhigh": "high"}[asked], asked)
}

// think sets the level in the field that the backend reads.
func (m chat) think(w *wireRequest) {
	e := effortAt(m.Config.Provider, m.Config.Thinking)
	switch {
	case e == "":
	case m.Config.Provider == openRouter:
		w.Reasoning = &wireReasoning{Effort: e}
	default:
		w.ReasoningEffort = e
	}
}
