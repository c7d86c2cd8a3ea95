package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/openai"
)

func yes() *bool { b := true; return &b }
func no() *bool  { return new(bool) }

func TestOpenAI(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": openAIModels})
	s := listAt(f, "openai")
	s.APIKey = "sk-secret"
	same(t, list(t, s), []llm.Entry{{ID: "gpt-a"}, {ID: "gpt-b"}})
	if got := f.header("Authorization"); got != "Bearer sk-secret" {
		t.Errorf("the key came as %q", got)
	}
	if asked := f.asked(); len(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
}

func TestWithoutAKey(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": openAIModels})
	list(t, listAt(f, "compatible"))
	if got := f.header("Authorization"); got != "" {
		t.Errorf("credentials came from nowhere: %q", got)
	}
}

func TestOpenRouter(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": openRouterModels})
	same(t, list(t, listAt(f, "openrouter")), []llm.Entry{
		{
			ID: "maker/big", Name: "Maker: Big", Context: 1_000_000, MaxOutput: 65536, Tools: yes(), Vision: yes(),
			Price: llm.Price{Input: 1_250_000, Cached: 310_000, Output: 10_000_000}, // 1.25, 0.31 and 10 dollars for a million
		},
		{ID: "maker/small:free", Name: "Maker: Small (free)", Context: 32768, Free: true, Tools: no(), Vision: no()},
		{ID: "router/auto", Name: "Auto", Context: 2_000_000},
	})
}

// Scripts read entries: their names stay.
func TestEntryNames(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": openRouterModels})
	same(t, list(t, listAt(f, "openrouter"))[0], json.RawMessage(`{"id":"maker/big","name":"Maker: Big","context_tokens":1000000,"max_output_tokens":65536,`+
		`"price":{"input":1250000,"cached":310000,"output":10000000},"tools":true,"vision":true}`))
}

// Others use OpenRouter's names for prices in other units.
func TestPricesOfOthersAreNotRead(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": openRouterModels})
	for _, e := range list(t, listAt(f, "compatible")) {
		if e.Price.Known() || e.Free {
			t.Errorf("%s has a price: %+v", e.ID, e.Price)
		}
	}
}

func TestPrices(t *testing.T) {
	for _, c := range []struct {
		prompt, completion string
		want               llm.Price
		free               bool
	}{
		{"0.000003", "0.000015", llm.Price{Input: 3_000_000, Output: 15_000_000}, false},
		{"0.00000015", "6e-7", llm.Price{Input: 150_000, Output: 600_000}, false},
		{"0.0000000000001", "0", llm.Price{Input: 1}, false}, // not free, however little
		{"0", "0.0", llm.Price{}, true},
		{"", "", llm.Price{}, false},
		{"0.000003", "", llm.Price{}, false},
		{"-1", "-1", llm.Price{}, false},
		{"NaN", "0", llm.Price{}, false},
		{"1e300", "0", llm.Price{}, false},
		{"cheap", "0", llm.Price{}, false},
	} {
		f := serveLists(t, map[string]string{"GET /v1/models": fmt.Sprintf(`{"data":[{"id":"m","pricing":{"prompt":%q,"completion":%q}}]}`, c.prompt, c.completion)})
		e := list(t, listAt(f, "openrouter"))[0]
		if e.Price != c.want || e.Free != c.free {
			t.Errorf("%q and %q: %+v, free %v", c.prompt, c.completion, e.Price, e.Free)
		}
	}
}

// LM Studio has had two protocols of its own. The one that it does not know it answers with 200.
func TestLMStudio(t *testing.T) {
	llama := llm.Entry{ID: "meta-llama-3.1-8b-instruct", Context: 131072, LoadedContext: 4096, Loaded: yes(), Quantization: "Q4_K_M", Tools: yes()}
	qwen := llm.Entry{ID: "qwen2-vl-7b-instruct", Context: 32768, Loaded: no(), Quantization: "4bit", Vision: yes()}
	llama.Vision = no()
	llama1, qwen1 := llama, qwen
	llama1.Name, llama1.Bytes, llama1.Parameters = "Llama 3.1 8B", 4_920_000_000, "8B"
	qwen1.Name, qwen1.Bytes, qwen1.Quantization, qwen1.Tools = "Qwen2 VL", 1, "", no()
	for _, c := range []struct {
		name  string
		pages map[string]string
		want  []llm.Entry
	}{
		{"version 0", map[string]string{"GET /api/v1/models": studioNo, "GET /api/v0/models": studio0}, []llm.Entry{llama, qwen}},
		{"version 1", map[string]string{"GET /api/v1/models": studio1, "GET /api/v0/models": studio0}, []llm.Entry{llama1, qwen1}},
		{"neither", nil, []llm.Entry{{ID: llama.ID}, {ID: qwen.ID}, {ID: "text-embedding-nomic-embed-text-v1.5"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pages := map[string]string{"GET /v1/models": studioModels}
			for path, page := range c.pages {
				pages[path] = page
			}
			same(t, list(t, listAt(serveLists(t, pages), "lmstudio")), c.want)
		})
	}
}

// A model that is not loaded may be missing in the common list, where LM Studio does not load by itself.
func TestLMStudioUnloaded(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": `{"object":"list","data":[]}`, "GET /api/v0/models": studio0})
	if got := ids(list(t, listAt(f, "lmstudio"))); got != "meta-llama-3.1-8b-instruct qwen2-vl-7b-instruct" {
		t.Errorf("got %s", got)
	}
}

func ollamaServer(t *testing.T) *fake {
	return serveBy(t, func(w http.ResponseWriter, r *http.Request) {
		pages := map[string]string{
			"GET /": "Ollama is running", "GET /v1/models": ollamaModels, "GET /api/tags": ollamaTags, "GET /api/ps": ollamaRunning,
		}
		var asked struct{ Model string }
		switch page, ok := pages[r.Method+" "+r.URL.Path]; {
		case ok:
			write(w, page)
		case r.Method+r.URL.Path != "POST/api/show" || json.NewDecoder(r.Body).Decode(&asked) != nil:
			http.NotFound(w, r)
		case asked.Model == "llama3:latest":
			write(w, ollamaShownLlama)
		case asked.Model == "all-minilm:latest":
			write(w, ollamaShownMini)
		default:
			http.NotFound(w, r)
		}
	})
}

func TestOllama(t *testing.T) {
	same(t, list(t, listAt(ollamaServer(t), "ollama")), []llm.Entry{{
		ID: "llama3:latest", Context: 8192, LoadedContext: 4096, Loaded: yes(), Tools: yes(), Vision: no(),
		Bytes: 3_825_819_519, Parameters: "7B", Quantization: "Q4_0",
	}})
}

func TestOllamaTellsLess(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": ollamaModels, "GET /api/tags": "[", "POST /api/show": "<html>"})
	same(t, list(t, listAt(f, "ollama")), []llm.Entry{{ID: "all-minilm:latest"}, {ID: "llama3:latest"}})
	f = serveLists(t, map[string]string{"GET /v1/models": `{"object":"list","data":null}`, "GET /api/tags": `{"models":[]}`})
	same(t, list(t, listAt(f, "ollama")), []llm.Entry{})
}

// TestOllamaIsNotFlooded has 25 models and a server that needs a second to show one. On the bubble's clock everything that can
// begin has begun before the second is over.
func TestOllamaIsNotFlooded(t *testing.T) {
	var tags []string
	for i := range 25 {
		tags = append(tags, fmt.Sprintf(`{"name":"m%02d"}`, i))
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under, most, count := 0, 0, 0
		slow := lister(func(r *http.Request) (*http.Response, error) {
			switch r.URL.Path {
			case "/v1/models":
				return response(200, `{"object":"list","data":null}`), nil
			case "/api/tags":
				return response(200, `{"models":[`+strings.Join(tags, ",")+`]}`), nil
			case "/api/show":
				mu.Lock()
				under, count = under+1, count+1
				most = max(most, under)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				under--
				mu.Unlock()
				return response(200, ollamaShownLlama), nil
			default:
				return response(404, ""), nil
			}
		})
		start, detailed := time.Now(), 0
		entries := list(t, llm.Config{Provider: "ollama", BaseURL: "http://127.0.0.1/v1", HTTP: &http.Client{Transport: slow}})
		for _, e := range entries {
			if e.Context == 8192 {
				detailed++
			}
		}
		if len(entries) != 25 || detailed != 20 || count != 20 || most != 4 || time.Since(start) != 5*time.Second {
			t.Errorf("%d models, %d with details, %d requests, %d at once, %v", len(entries), detailed, count, most, time.Since(start))
		}
	})
}

func TestCodex(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": codexModels})
	s := listAt(f, "codex")
	s.Auth = func(context.Context) (llm.Credentials, error) {
		return llm.Credentials{Token: "token", Account: "account"}, nil
	}
	same(t, list(t, s), []llm.Entry{{ID: "gpt-b-codex", Name: "GPT-B-Codex", Context: 272_000, Vision: yes()}})
	if f.header("Authorization") != "Bearer token" || f.header("Chatgpt-Account-Id") != "account" {
		t.Error("the credentials did not come")
	}
	if got := f.asked(); !slices.Equal(got, []string{"GET /v1/models?client_version=1.0.0"}) {
		t.Errorf("asked %v", got)
	}
	s.Auth = func(context.Context) (llm.Credentials, error) {
		return llm.Credentials{}, &llm.Error{Fault: llm.Auth, Text: "signed out"}
	}
	_, err := openai.List(t.Context(), s)
	listFault(t, err, llm.Auth, "sign in")
}

// What compatible servers add to the list, each in its own way.
func TestContextOfOthers(t *testing.T) {
	for row, want := range map[string]int{
		`"max_model_len": 4096`:                        4096, // vLLM
		`"context_window": 131072`:                     131072,
		`"meta": {"n_ctx": 4096, "n_ctx_train": 8192}`: 4096, // llama.cpp
		`"meta": {"n_ctx_train": 8192}`:                8192,
		`"context_length": 1e3`:                        1000,
		`"context_length": -1`:                         0,
		`"context_length": 1e300`:                      0,
		`"context_length": "4096"`:                     0,
		`"meta": "none", "max_model_len": 7`:           7, // what is wrong in one field costs that field
	} {
		f := serveLists(t, map[string]string{"GET /v1/models": `{"object":"list","data":[{"id":"m",` + row + `}]}`})
		if e := list(t, listAt(f, "compatible"))[0]; e.Context != want {
			t.Errorf("%s: %d", row, e.Context)
		}
	}
}

func TestStrangeRows(t *testing.T) {
	f := serveLists(t, map[string]string{"GET /v1/models": "\uFEFF " + `[{"id":"b"}, "a", 1, null, {}, {"id":7}, [], {"id":"b"}, {"id":"a"}]`})
	same(t, list(t, listAt(f, "compatible")), []llm.Entry{{ID: "a"}, {ID: "b"}})
}

func TestNamesAreSafe(t *testing.T) {
	long := strings.Repeat("ü", 300)
	f := serveLists(t, map[string]string{"GET /v1/models": `{"data":[{"id":"a\u001b[31m\u202e` + "\xff" + `b","name":" a \n b "},{"id":"` + long + `"}]}`})
	same(t, list(t, listAt(f, "compatible")), []llm.Entry{
		{ID: "a\uFFFD[31m\uFFFD\uFFFDb", Name: "a b"}, {ID: strings.Repeat("ü", 200)},
	})
}

func TestTooMany(t *testing.T) {
	var all []string
	for i := range 10_005 {
		all = append(all, fmt.Sprintf(`{"id":"m%05d"}`, i))
	}
	f := serveLists(t, map[string]string{"GET /v1/models": `{"data":[` + strings.Join(all, ",") + `]}`})
	entries := list(t, listAt(f, "compatible"))
	if len(entries) != 10_000 || entries[9_999].ID != "m09999" {
		t.Errorf("%d models, the last is %s", len(entries), entries[len(entries)-1].ID)
	}
}

func FuzzList(f *testing.F) {
	for _, page := range []string{openAIModels, openRouterModels, studio0, studio1, ollamaTags, ollamaShownLlama, codexModels, "[]", "{", "<p>"} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		always := &http.Client{Transport: lister(func(*http.Request) (*http.Response, error) { return response(200, page), nil })}
		for _, backend := range []string{"lmstudio", "ollama", "openrouter", "codex"} {
			entries, err := openai.List(t.Context(), llm.Config{Provider: backend, BaseURL: "http://127.0.0.1/v1", HTTP: always})
			var e *llm.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%s: %#v", backend, err)
			}
			for i, e := range entries {
				if e.ID == "" || i > 0 && entries[i-1].ID >= e.ID || e.Context < 0 || e.Bytes < 0 || e.Price.Input < 0 {
					t.Fatalf("%s: %+v", backend, entries)
				}
			}
		}
	})
}

// lister is a transport in this process.
type lister func(*http.Request) (*http.Response, error)

func (c lister) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

func response(status int, page string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page))}
}
