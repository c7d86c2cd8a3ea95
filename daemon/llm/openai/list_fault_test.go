package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/openai"
)

// listFault checks that an error is one for people: it wraps a fault of this kind, and its hint contains a text.
func listFault(t *testing.T, err error, want llm.Fault, hint string) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	f, ok := event.AsFault(err)
	if !ok || hint == "" || !strings.Contains(f.Hint, hint) || !strings.Contains(f.Text, "list the models at http") {
		t.Errorf("people read %q with the hint %q", err, f.Hint)
	}
	return e
}

func TestFaults(t *testing.T) {
	object := func(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) }
	for _, c := range []struct {
		status int
		body   string
		want   llm.Fault
		text   string
		hint   string
	}{
		{401, object("key sk-secret is wrong"), llm.Auth, "key [the key] is wrong", "api_key"},
		{403, `{"error":"no"}`, llm.Forbidden, "no", "api_key"},
		{402, object("pay"), llm.Payment, "pay", "credit"},
		{404, "404 page not found\n", llm.NotFound, "404 page not found", "base_url may be wrong"},
		{404, "<html>not here</html>", llm.NotFound, "a web page came instead of an answer", "base_url may be wrong"},
		{405, `{"detail":"Method Not Allowed"}`, llm.BadRequest, "Method Not Allowed", "base_url may be wrong"},
		{422, `{"detail":[{"msg":"bad"}]}`, llm.BadRequest, `[{"msg":"bad"}]`, "base_url may be wrong"},
		{413, "", llm.TooLarge, "", "later"},
		{429, `{"message":"slow down"}`, llm.RateLimit, "slow down", "later"},
		{408, "", llm.Overloaded, "", "later"},
		{409, "", llm.Overloaded, "", "later"},
		{500, "a\xffb\n\x1b c", llm.Overloaded, "a\uFFFDb \uFFFD c", "later"},
		{529, strings.Repeat("ü", 9000), llm.Overloaded, strings.Repeat("ü", 500), "later"},
		{204, "", llm.Malformed, "", "base_url"},
		{200, "<!doctype html><p>hello", llm.Malformed, "not a list of models: a web page came instead of an answer", "base_url"},
		{200, "", llm.Malformed, "not a list of models:", "base_url"},
		{200, "{", llm.Malformed, "not a list of models: {", "base_url"},
		{200, `{"ok":true}`, llm.Malformed, `not a list of models: {"ok":true}`, "base_url"},
		{200, `{"data":{}}`, llm.Malformed, `not a list of models: {"data":{}}`, "base_url"},
		{200, `{"models":[]}`, llm.Malformed, `not a list of models: {"models":[]}`, "base_url"},
		{200, `{"error":"Unexpected endpoint or method."}`, llm.Malformed, "not a list of models: Unexpected endpoint or method.", "base_url"},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.body[:min(len(c.body), 40)]), func(t *testing.T) {
			f := serveBy(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				write(w, c.body)
			})
			s := listAt(f, "compatible")
			s.APIKey = "sk-secret"
			_, err := openai.List(t.Context(), s)
			e := listFault(t, err, c.want, c.hint)
			if e.Text != c.text || c.status != 200 && e.Status != c.status {
				t.Errorf("got %+v", e)
			}
			if n := len(f.asked()); n != 1 {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}

func TestCodexHasNoDocumentedList(t *testing.T) {
	for status, body := range map[int]string{200: `{"object":"list","data":[]}`, 404: "", 400: ""} {
		s := listAt(serveBy(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			write(w, body)
		}), "codex")
		_, err := openai.List(t.Context(), s)
		if f, ok := event.AsFault(err); !ok || !strings.Contains(f.Hint, "documents no list") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestTooLong(t *testing.T) {
	page := `{"object":"list","data":[],"more":"` + strings.Repeat("x", 16<<20) + `"}`
	_, err := openai.List(t.Context(), listAt(serveLists(t, map[string]string{"GET /v1/models": page}), "compatible"))
	if e := listFault(t, err, llm.Malformed, "base_url"); e.Text != "the answer is longer than 16 MB" {
		t.Errorf("got %+v", e)
	}
}

func TestListRedirectsAreNotFollowed(t *testing.T) {
	other := serveLists(t, map[string]string{"GET /v1/models": openAIModels})
	f := serveBy(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/models", http.StatusFound)
	})
	s := listAt(f, "compatible")
	s.APIKey = "sk-secret"
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, client := range []*http.Client{nil, {Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}} {
		s.HTTP = client
		_, err := openai.List(t.Context(), s)
		if e := listFault(t, err, llm.NotFound, "base_url"); !strings.Contains(e.Text, other.URL) {
			t.Errorf("it does not say where to: %+v", e)
		}
	}
	if asked := other.asked(); len(asked) != 0 {
		t.Errorf("the other server was asked: %v", asked)
	}
}

func TestListNobodyListens(t *testing.T) {
	for backend, hint := range map[string]string{
		"ollama": "ollama serve", "lmstudio": "lms server start", "compatible": "start the server", "openai": "network",
	} {
		f := serveLists(t, nil)
		f.Close()
		_, err := openai.List(t.Context(), listAt(f, backend))
		if e := listFault(t, err, llm.Network, hint); e.Err == nil {
			t.Errorf("%s: the cause is lost", backend)
		}
	}
}

func TestBrokenOff(t *testing.T) {
	f := serveBy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		write(w, `{"object":`)
	})
	_, err := openai.List(t.Context(), listAt(f, "compatible"))
	listFault(t, err, llm.Network, "start the server")
}

func TestWrongAddress(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:1234/v1", "ftp://host/v1", "http://", "http://a b/"} {
		_, err := openai.List(t.Context(), llm.Config{Provider: "compatible", BaseURL: base})
		if f, ok := event.AsFault(err); !ok || f.Kind != event.Invalid || f.Hint == "" {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// silent is a transport that never answers.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestListSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := openai.List(t.Context(), llm.Config{Provider: "ollama", BaseURL: "http://127.0.0.1/v1", HTTP: &http.Client{Transport: lister(silent)}})
		listFault(t, err, llm.Idle, "later")
		if took := time.Since(start); took != 10*time.Second { // the bubble's clock
			t.Errorf("it took %v", took)
		}
	})
}

// What a server tells beyond the list is not worth losing the list.
func TestSilenceBehindTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		half := lister(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/models" {
				return silent(r)
			}
			return response(200, ollamaModels), nil
		})
		s := llm.Config{Provider: "ollama", BaseURL: "http://127.0.0.1/v1", HTTP: &http.Client{Transport: half}}
		if got := ids(list(t, s)); got != "all-minilm:latest llama3:latest" {
			t.Errorf("got %s", got)
		}
	})
}

func TestTheCallerGivesUp(t *testing.T) {
	stop := errors.New("the user said stop")
	for _, after := range []string{"/v1/models", "/api/tags"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := lister(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == after {
				cancel(stop)
			}
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			return response(200, ollamaModels), nil
		})
		_, err := openai.List(ctx, llm.Config{Provider: "ollama", BaseURL: "http://127.0.0.1/v1", HTTP: &http.Client{Transport: gone}})
		if !errors.Is(err, stop) || llm.FaultOf(err) != "" {
			t.Errorf("%s: %v", after, err)
		}
	}
}
