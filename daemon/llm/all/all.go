// Package all lists the model backends that [model] and [models.NAME] can use. A new backend adds one line here. The package holds a list
// and no logic.
package all

import (
	"hob/daemon/llm"
	"hob/daemon/llm/anthropic"
	"hob/daemon/llm/openai"
)

// All returns every backend, in the order in which help and errors name them.
func All() []llm.Backend {
	return []llm.Backend{
		openai.LMStudio(),
		openai.Ollama(),
		anthropic.Anthropic(),
		openai.OpenRouter(),
		openai.OpenAI(),
		openai.Codex(),
		openai.Compatible(),
	}
}
