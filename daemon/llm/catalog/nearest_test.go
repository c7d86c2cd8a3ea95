package catalog_test

import (
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
)

func entries(ids string) []llm.Entry {
	var all []llm.Entry
	for _, id := range strings.Fields(ids) {
		all = append(all, llm.Entry{ID: id})
	}
	return all
}

func TestNearest(t *testing.T) {
	const hub = "anthropic/claude-sonnet-4 anthropic/claude-opus-4 openai/gpt-4o openai/gpt-4o-mini qwen/qwen3-8b:free meta/llama-3"
	const home = "llama3:latest llama3:70b qwen3:8b mistral:latest nomic"
	for _, c := range []struct{ wrong, ids, want string }{
		{"Claude-Sonnet-4", hub, "anthropic/claude-sonnet-4"},
		{"OpenAI/GPT-4o", hub, "openai/gpt-4o"},
		{"gpt-4o", hub, "openai/gpt-4o"},
		{"azure/gpt-4o", hub, "openai/gpt-4o"},
		{"qwen3-8b", hub, "qwen/qwen3-8b:free"},
		{"qwen/qwen3-8b", hub, "qwen/qwen3-8b:free"},
		{"claude-sonet-4", hub, "anthropic/claude-sonnet-4"},
		{"antropic/claude-sonnet-4", hub, "anthropic/claude-sonnet-4"},
		{"anthropic/claude-opus4", hub, "anthropic/claude-opus-4"},
		{"llama3", home, "llama3:70b llama3:latest"},
		{"LLAMA3:latest", home, "llama3:latest llama3:70b"},
		{"library/llama3", home, "llama3:70b llama3:latest"},
		{"mistal", home, "mistral:latest"},
		{"qwen3:8c", home, "qwen3:8b"},
		{"qwen3", home, "qwen3:8b"},
		{"gpt-5", home, ""},
		{"x", home, ""},
		{"", home, ""},
		{"nomic", home, ""}, // it is not wrong
		{"ab", "a b c d aab abc ac", "a aab abc"},
		{"ab", "", ""},
		{"GPT-4o", "a/gpt-4o gpt-4o", "gpt-4o a/gpt-4o"},  // the likeliest first: case,
		{"m:1", "a/m:3 m:2 z/m:1 n:1", "z/m:1 m:2 a/m:3"}, // provider, tag, both, letters
		{"größe", "grösse große", "große"},
	} {
		if got := strings.Join(catalog.Nearest(c.wrong, entries(c.ids)), " "); got != c.want {
			t.Errorf("%q among %q: %q, want %q", c.wrong, c.ids, got, c.want)
		}
	}
}

// The longest list with the longest names.
func BenchmarkNearest(b *testing.B) {
	var all []llm.Entry
	for range 10_000 {
		all = append(all, llm.Entry{ID: strings.Repeat("a", 198) + "bc"})
	}
	wrong := strings.Repeat("b", 200)
	for b.Loop() {
		if got := catalog.Nearest(wrong, all); got != nil {
			b.Fatalf("got %q", got)
		}
	}
}
