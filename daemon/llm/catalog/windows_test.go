package catalog_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/llm/catalog"
	"hob/daemon/sys"
)

type noChoice struct{}

func (noChoice) ChosenModel(context.Context) (string, error) { return "", nil }
func (noChoice) ChooseModel(context.Context, string) error   { return nil }

// The window of a model is what its server says, within what is configured; without either it is the usual size. What a model was
// trained for is not what its server takes.
func TestTheServerTellsTheWindow(t *testing.T) {
	for _, c := range []struct {
		name, backend string
		paths         map[string]string
		configured    int
		want          int
	}{
		{"vLLM", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","max_model_len":8192}]}`}, 0, 8192},
		{"llama.cpp", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","meta":{"n_ctx":4096,"n_ctx_train":131072}}]}`}, 0, 4096},
		{"llama.cpp, old", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`}, 0, 32768},
		{"another model", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"n","max_model_len":8192}]}`}, 0, 32768},
		{"openrouter", "openrouter", map[string]string{"/v1/models": `{"data":[{"id":"m","context_length":65536,"top_provider":{"context_length":40960}}]}`}, 0, 40960},
		{"LM Studio", "lmstudio", map[string]string{
			"/v1/models":     `{"object":"list","data":[{"id":"m"}]}`,
			"/api/v0/models": `{"object":"list","data":[{"id":"m","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":16384}]}`,
		}, 0, 16384},
		{"LM Studio, not loaded", "lmstudio", map[string]string{
			"/v1/models":     `{"object":"list","data":[{"id":"m"}]}`,
			"/api/v0/models": `{"object":"list","data":[{"id":"m","type":"llm","state":"not-loaded","max_context_length":131072}]}`,
		}, 0, 32768},
		{"ollama", "ollama", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m:latest"}]}`, "/api/tags": `{"models":[{"name":"m:latest"}]}`,
			"/api/ps": `{"models":[{"name":"m:latest","context_length":12288}]}`,
		}, 0, 12288},
		{"configured below", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","max_model_len":65536}]}`}, 9000, 9000},
		{"configured above", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","max_model_len":8192}]}`}, 100_000, 8192},
		{"nonsense", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","max_model_len":1}]}`}, 0, 32768},
		{"no list", "compatible", nil, 0, 32768},
		{"no list, configured", "compatible", nil, 50_000, 50_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, ok := c.paths[r.URL.Path]
				if !ok {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(text)) // the client may be gone
			}))
			defer server.Close()
			told := &catalog.Windows{}
			models := catalog.NewModels(catalog.ModelsConfig{Choice: noChoice{}, Clock: sys.RealClock(), Registry: catalog.Registry{
				Backends: all.All(), Log: slog.New(slog.DiscardHandler), Now: time.Now, Told: told,
				Config: func() *config.Snapshot {
					return &config.Snapshot{Model: config.Model{Backend: c.backend, Model: "m", BaseURL: server.URL + "/v1", ContextTokens: c.configured}}
				},
				Web:         func(context.Context, string, string) (*http.Client, error) { return server.Client(), nil },
				Interpreter: func(string) llm.Model { return nil },
			}})
			if err := models.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			models.AskWindows(t.Context())
			if got := models.First().Context; got != c.want {
				t.Errorf("the window is %d, want %d", got, c.want)
			}
		})
	}
}
