package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/openai"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server on the loopback interface that answers what it is told to, and remembers what it was asked.
type fake struct {
	*httptest.Server

	mu   sync.Mutex
	seen []string // "GET /v1/models"
	head http.Header
}

// serveLists starts a fake server with a page for each "METHOD /path". It answers every other request with 404.
func serveLists(t *testing.T, pages map[string]string) *fake {
	t.Helper()
	return serveBy(t, func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.Method+" "+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		write(w, page)
	})
}

func serveBy(t *testing.T, answer http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r.Method+" "+r.URL.RequestURI())
		f.head = r.Header.Clone()
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func write(w io.Writer, page string) {
	_, _ = io.WriteString(w, page) // a caller that has gone is its own affair
}

// asked are the requests so far.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// header is a header of the newest request.
func (f *fake) header(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head.Get(name)
}

// listAt returns the config for a server of a backend whose protocol begins at "/v1".
func listAt(f *fake, backend string) llm.Config {
	return llm.Config{Provider: backend, BaseURL: f.URL + "/v1"}
}

// list wants a list.
func list(t *testing.T, s llm.Config) []llm.Entry {
	t.Helper()
	entries, err := openai.List(t.Context(), s)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return entries
}

// same compares through JSON, which follows pointers.
func same(t *testing.T, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func ids(entries []llm.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

// The documents below have the forms that the servers' documentation shows.

const openAIModels = `{"object": "list", "data": [
	{"id": "gpt-b", "object": "model", "created": 1686935002, "owned_by": "openai"},
	{"id": "gpt-a", "object": "model", "created": 1686935002, "owned_by": "openai"}]}`

const openRouterModels = `{"data": [
	{"id": "maker/big", "canonical_slug": "maker/big-1", "name": "Maker: Big", "created": 1, "context_length": 1000000,
	 "architecture": {"modality": "text+image->text", "input_modalities": ["text", "image"], "output_modalities": ["text"], "tokenizer": "T"},
	 "pricing": {"prompt": "0.00000125", "completion": "0.00001", "request": "0", "image": "0.00516", "input_cache_read": "0.00000031"},
	 "top_provider": {"context_length": 1000000, "max_completion_tokens": 65536, "is_moderated": false},
	 "per_request_limits": null, "supported_parameters": ["max_tokens", "tools", "tool_choice"]},
	{"id": "maker/small:free", "name": "Maker: Small (free)", "context_length": 32768,
	 "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
	 "pricing": {"prompt": "0", "completion": "0"},
	 "top_provider": {"context_length": 32768, "max_completion_tokens": null}, "supported_parameters": ["max_tokens"]},
	{"id": "router/auto", "name": "Auto", "context_length": 2000000, "pricing": {"prompt": "-1", "completion": "-1"}},
	{"id": "maker/painter", "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]}}]}`

const studioModels = `{"object": "list", "data": [
	{"id": "qwen2-vl-7b-instruct", "object": "model", "owned_by": "organization_owner"},
	{"id": "meta-llama-3.1-8b-instruct", "object": "model", "owned_by": "organization_owner"},
	{"id": "text-embedding-nomic-embed-text-v1.5", "object": "model", "owned_by": "organization_owner"}]}`

const studio0 = `{"object": "list", "data": [
	{"id": "qwen2-vl-7b-instruct", "object": "model", "type": "vlm", "publisher": "mlx-community", "arch": "qwen2_vl",
	 "compatibility_type": "mlx", "quantization": "4bit", "state": "not-loaded", "max_context_length": 32768},
	{"id": "meta-llama-3.1-8b-instruct", "object": "model", "type": "llm", "publisher": "lmstudio-community", "arch": "llama",
	 "compatibility_type": "gguf", "quantization": "Q4_K_M", "state": "loaded", "max_context_length": 131072,
	 "loaded_context_length": 4096, "capabilities": ["tool_use"]},
	{"id": "text-embedding-nomic-embed-text-v1.5", "object": "model", "type": "embeddings", "state": "not-loaded", "max_context_length": 2048}]}`

const studio1 = `{"models": [
	{"type": "llm", "publisher": "lmstudio-community", "key": "meta-llama-3.1-8b-instruct", "display_name": "Llama 3.1 8B",
	 "quantization": {"name": "Q4_K_M", "bits_per_weight": 4}, "size_bytes": 4920000000, "params_string": "8B",
	 "loaded_instances": [{"id": "meta-llama-3.1-8b-instruct", "config": {"context_length": 4096}}], "max_context_length": 131072,
	 "format": "gguf", "capabilities": {"vision": false, "trained_for_tool_use": true}},
	{"type": "llm", "key": "qwen2-vl-7b-instruct", "display_name": "Qwen2 VL", "size_bytes": 1, "params_string": null, "quantization": null,
	 "loaded_instances": [], "max_context_length": 32768, "capabilities": {"vision": true, "trained_for_tool_use": false}},
	{"type": "embedding", "key": "text-embedding-nomic-embed-text-v1.5", "display_name": "Nomic", "size_bytes": 1, "loaded_instances": []}]}`

const studioNo = `{"error": "Unexpected endpoint or method. (GET /api/v1/models)"}` // with the status 200

const ollamaModels = `{"object": "list", "data": [
	{"id": "llama3:latest", "object": "model", "created": 1, "owned_by": "library"},
	{"id": "all-minilm:latest", "object": "model", "created": 1, "owned_by": "library"}]}`

const ollamaTags = `{"models": [
	{"name": "llama3:latest", "model": "llama3:latest", "modified_at": "2023-12-07T09:32:18.757212583-08:00", "size": 3825819519, "digest": "fe93",
	 "details": {"format": "gguf", "family": "llama", "families": null, "parameter_size": "7B", "quantization_level": "Q4_0"}},
	{"name": "all-minilm:latest", "model": "all-minilm:latest", "size": 45960996,
	 "details": {"format": "gguf", "family": "bert", "parameter_size": "23M", "quantization_level": "F16"}}]}`

const ollamaRunning = `{"models": [{"name": "llama3:latest", "model": "llama3:latest", "size": 5137025024, "size_vram": 5137025024, "context_length": 4096}]}`

const ollamaShownLlama = `{"modelfile": "", "details": {}, "capabilities": ["completion", "tools"],
	"model_info": {"general.architecture": "llama", "general.parameter_count": 8030261248, "llama.context_length": 8192}}`

const ollamaShownMini = `{"capabilities": ["embedding"], "model_info": {"general.architecture": "bert", "bert.context_length": 512}}`

const codexModels = `{"models": [
	{"slug": "gpt-b-codex", "display_name": "GPT-B-Codex", "visibility": "list", "supported_in_api": true, "priority": 1,
	 "context_window": 272000, "input_modalities": ["text", "image"]},
	{"slug": "gpt-hidden", "display_name": "hidden", "visibility": "hide", "context_window": null}]}`
