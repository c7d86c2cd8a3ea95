package openai

import "hob/daemon/llm"

// The backends that this package serves.
const (
	lmStudio   = "lmstudio"
	ollama     = "ollama"
	openRouter = "openrouter"
	openAI     = "openai"
	codex      = "codex"
	compatible = "compatible"
)

func backend(name string) llm.Backend {
	return llm.Backend{Name: name, BaseURL: defaultURL(name), New: New, List: List}
}

// LMStudio is LM Studio on this machine (https://lmstudio.ai).
func LMStudio() llm.Backend { return backend(lmStudio) }

// Ollama is ollama on this machine (https://ollama.com).
func Ollama() llm.Backend { return backend(ollama) }

// OpenRouter is the service that resells the models of many (https://openrouter.ai).
func OpenRouter() llm.Backend { return backend(openRouter) }

// OpenAI is OpenAI's public API, with a key.
func OpenAI() llm.Backend { return backend(openAI) }

// Codex is the part of ChatGPT that serves OpenAI's own coding program, with an account; package codex signs it in.
func Codex() llm.Backend {
	b := backend(codex)
	b.Account = true
	return b
}

// Compatible is any other server that speaks Chat Completions; its section gives the address.
func Compatible() llm.Backend { return backend(compatible) }

// defaultURL is where a backend's servers usually listen, "" where a section must say it.
func defaultURL(backend string) string {
	switch backend {
	case lmStudio:
		return "http://127.0.0.1:1234/v1"
	case ollama:
		return "http://127.0.0.1:11434/v1"
	case openRouter:
		return "https://openrouter.ai/api/v1"
	case openAI:
		return "https://api.openai.com/v1"
	case codex:
		return "https://chatgpt.com/backend-api/codex"
	default:
		return ""
	}
}
