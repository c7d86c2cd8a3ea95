package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/llm/catalog"
	"hob/daemon/llm/llmtest"
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
		{"Anthropic", "anthropic", map[string]string{"/v1/models": `{"data":[{"id":"m","max_input_tokens":123456}],"has_more":false}`}, 0, 123_456},
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
		{"Mistral", "compatible", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","max_context_length":131072}]}`}, 0, 131_072},
		{"llama.cpp, the properties", "compatible", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`,
			"/props":     `{"default_generation_settings":{"id":0,"n_ctx":16384,"params":{}},"total_slots":4,"model_path":"m.gguf"}`,
		}, 0, 16_384},
		{"llama.cpp's router, whose properties are of one of its models", "compatible", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m"},{"id":"n"}]}`, "/props": `{"default_generation_settings":{"n_ctx":16384}}`,
		}, 0, 32_768},
		{"a server that has its list at every path", "compatible", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m"}]}`, "/props": `{"object":"list","data":[{"id":"m"}]}`,
		}, 0, 32_768},
		{"LM Studio as a compatible server", "compatible", map[string]string{
			"/v1/models":     `{"object":"list","data":[{"id":"m"}]}`,
			"/api/v0/models": `{"object":"list","data":[{"id":"m","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":8192}]}`,
		}, 0, 8192},
		{"ollama as a compatible server", "compatible", map[string]string{
			"/": "Ollama is running", "/v1/models": `{"object":"list","data":[{"id":"m:latest"}]}`, "/api/tags": `{"models":[{"name":"m:latest"}]}`,
			"/api/ps": `{"models":[{"name":"m:latest","context_length":12288}]}`,
		}, 0, 12_288},
		{"ollama, not loaded, with a window in its file", "ollama", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m:latest"}]}`, "/api/tags": `{"models":[{"name":"m:latest"}]}`, "/api/ps": `{"models":[]}`,
			"/api/show": `{"parameters":"temperature                    0.7\nnum_ctx                        6144\nstop \"a\"","model_info":{"general.architecture":"llama","llama.context_length":131072}}`,
		}, 0, 6144},
		{"ollama, not loaded, without one", "ollama", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"m:latest"}]}`, "/api/tags": `{"models":[{"name":"m:latest"}]}`, "/api/ps": `{"models":[]}`,
			"/api/show": `{"parameters":"stop \"num_ctx 5000\"","model_info":{"general.architecture":"llama","llama.context_length":131072}}`,
		}, 0, 32_768},
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
			models := catalog.NewModels(catalog.ModelsConfig{Choice: noChoice{}, Clock: sys.RealClock(), Registry: catalog.Registry{
				Backends: all.All(), Log: slog.New(slog.DiscardHandler), Now: time.Now, Learned: &sync.Map{},
				Config: func() *config.Snapshot {
					return &config.Snapshot{Model: config.Model{Backend: c.backend, Model: "m", BaseURL: server.URL + "/v1", ContextTokens: c.configured}}
				},
				Web:         func(context.Context, string, string) (*http.Client, error) { return server.Client(), nil },
				Interpreter: func(string, bool) llm.Model { return nil },
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

// stuckServer is a server that accepts requests and never answers.
type stuckServer struct{}

func (stuckServer) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A server that does not answer gets an error in its row before hob doctor gives up, and delays no other row.
func TestServersEndsBeforeDoctorDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		rows, err := catalog.Registry{
			Backends: all.All(), Log: slog.New(slog.DiscardHandler),
			Config: func() *config.Snapshot {
				return &config.Snapshot{Model: config.Model{Backend: "compatible", Model: "m", BaseURL: "http://stuck/v1"}}
			},
			Web: func(context.Context, string, string) (*http.Client, error) {
				return &http.Client{Transport: stuckServer{}}, nil
			},
		}.Servers(t.Context(), nil)
		if took := time.Since(began); err != nil || len(rows) == 0 || !strings.Contains(rows[0].Error, "took longer than 4s") || took >= 5*time.Second {
			t.Errorf("after %s: %+v, %v", took, rows, err)
		}
	})
}

// countingServer counts the requests for the list of models.
type countingServer struct{ asked atomic.Int64 }

func (s *countingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		s.asked.Add(1)
	}
	return nil, errors.New("not there")
}

// A server that loads models is asked at the start and each quarter of an hour, and another one at the start only. What ends the timers early
// makes nobody ask.
func TestServersThatLoadModelsAreAskedAgain(t *testing.T) {
	for backend, want := range map[string]int64{"ollama": 5, "compatible": 1} {
		synctest.Test(t, func(t *testing.T) {
			server := &countingServer{}
			clock := sys.RealClock() // nobody watches it, so its timers last 30 s
			models := catalog.NewModels(catalog.ModelsConfig{Choice: noChoice{}, Clock: clock, Registry: catalog.Registry{
				Backends: all.All(), Log: slog.New(slog.DiscardHandler), Now: time.Now, Learned: &sync.Map{},
				Config: func() *config.Snapshot {
					return &config.Snapshot{Model: config.Model{Backend: backend, Model: "m", BaseURL: "http://models/v1"}}
				},
				Web: func(context.Context, string, string) (*http.Client, error) {
					return &http.Client{Transport: server}, nil
				},
				Interpreter: func(string, bool) llm.Model { return nil },
			}})
			if err := models.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- models.Run(ctx) }()
			time.Sleep(time.Hour + time.Minute)
			stop()
			if err := <-ended; err != nil || server.asked.Load() != want {
				t.Errorf("%s was asked %d times in an hour, want %d; %v", backend, server.asked.Load(), want, err)
			}
		})
	}
}

// What a refusal has taught holds for the model of the next config too, is told, and holds for no other model or level of thinking.
func TestRefusalsAreRememberedOverAReload(t *testing.T) {
	refused := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a cut request is refused below
		if bytes.Contains(body, []byte(`"reasoning_effort"`)) {
			refused++
			http.Error(w, `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort"}}`, http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n")
	}))
	defer server.Close()
	section := config.Model{Backend: "compatible", Model: "m", BaseURL: server.URL, Thinking: "high"}
	models := catalog.NewModels(catalog.ModelsConfig{Choice: noChoice{}, Clock: sys.RealClock(), Registry: catalog.Registry{
		Backends: all.All(), Log: slog.New(slog.DiscardHandler), Now: time.Now, Learned: &sync.Map{},
		Config:      func() *config.Snapshot { return &config.Snapshot{Model: section} },
		Web:         func(context.Context, string, string) (*http.Client, error) { return server.Client(), nil },
		Interpreter: func(string, bool) llm.Model { return llmtest.NewScript(nil) },
	}})
	for _, c := range []struct {
		model, thinking string
		refused         int
	}{{"m", "high", 1}, {"m", "high", 1}, {"n", "high", 2}, {"m", "high", 2}, {"m", "low", 3}, {"m", "high", 3}} {
		section.Model, section.Thinking = c.model, c.thinking
		section.MaxOutputTokens++ // the config has changed
		if err := models.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: event.Say("hello")}}}
		if _, err := models.Chain().Models()[0].Answer(t.Context(), r, nil); err != nil || refused != c.refused {
			t.Errorf("%s: %d refusals, %v, want %d", c.model, refused, err, c.refused)
		}
	}
	_, learned, err := models.Described(t.Context(), catalog.First)
	if err != nil || !slices.Equal(learned, []string{"reasoning_effort is left out"}) {
		t.Errorf("learned %q, %v", learned, err)
	}
}
