package openai

import (
	"context"
	"log/slog"

	"hob/daemon/llm"
)

// The names of the backends that this package serves, as the key backend of [model] has them. What differs between them beyond the address is
// decided by name where it matters, such as thinking.go (the field for reasoning) and list.go (how a server lists its models).
const (
	lmStudio   = "lmstudio"
	ollama     = "ollama"
	openRouter = "openrouter"
	openAI     = "openai"
	codex      = "codex"
	compatible = "compatible"
)

// backend returns the entry for package llm/all. All backends share New and List, and differ by name.
func backend(name string) llm.Backend {
	return llm.Backend{Name: name, BaseURL: defaultURL(name), New: New, List: List}
}

// loading is the entry of servers that load their models themselves.
func loading(name string) llm.Backend {
	b := backend(name)
	b.Loads = true
	return b
}

// LMStudio is LM Studio on this machine (https://lmstudio.ai).
func LMStudio() llm.Backend { return loading(lmStudio) }

// Ollama is ollama on this machine (https://ollama.com).
func Ollama() llm.Backend { return loading(ollama) }

// OpenRouter is a service that resells the models of many providers (https://openrouter.ai).
func OpenRouter() llm.Backend {
	b := backend(openRouter)
	b.Title, b.KeyName, b.Bills = "OpenRouter (models of many providers)", "OPENROUTER_API_KEY", true
	return b
}

// OpenAI is OpenAI's public API, used with a key.
func OpenAI() llm.Backend {
	b := backend(openAI)
	b.Title, b.KeyName = "OpenAI", "OPENAI_API_KEY"
	return b
}

// Codex is the service that OpenAI's coding program uses, used with a ChatGPT account. Package codex signs the account in.
func Codex() llm.Backend {
	b := backend(codex)
	b.Account, b.Bills = true, true
	return b
}

// Compatible is any other server that speaks Chat Completions. The config gives its address. It finds the servers of all local backends.
func Compatible() llm.Backend {
	b := backend(compatible)
	b.Discover = func(ctx context.Context, env func(string) string, log *slog.Logger) []llm.Found {
		return Discover(ctx, Probe{Env: env, Log: log})
	}
	return b
}

// defaultURL returns the usual address of a backend's servers, for a config without base_url; "" when the config must give it.
func defaultURL(backend string) string {
	return map[string]string{
		lmStudio: "http://127.0.0.1:1234/v1", ollama: "http://127.0.0.1:11434/v1", openRouter: "https://openrouter.ai/api/v1",
		openAI: "https://api.openai.com/v1", codex: "https://chatgpt.com/backend-api/codex",
	}[backend]
}
