package embed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/config"
	"hob/daemon/agent/turn"
	"hob/daemon/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a service over a scripted server, with a budget that notes what it booked.
type world struct {
	*embed.Service
	now    time.Time
	asked  []string // the bodies of the requests
	auth   string
	booked []turn.Amount // reserved, used, reserved, used, …
	refuse error         // of the budget
}

func newWorld(t *testing.T, set config.Embeddings, answer http.HandlerFunc) *world {
	t.Helper()
	w := &world{now: time.Unix(1e9, 0)}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/embeddings" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		w.asked, w.auth = append(w.asked, string(body)), r.Header.Get("Authorization")
		answer(rw, r)
	}))
	t.Cleanup(server.Close)
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	snap := config.Default()
	// The name keeps it from being taken for a server on this machine, which costs nothing.
	set.BaseURL = strings.Replace(server.URL, "127.0.0.1", "remote.invalid", 1) + "/v1/"
	if set.Price < 0 {
		set.BaseURL, set.Price = server.URL+"/v1", 0
	}
	web.Transport = redirect{server.Listener.Addr().String(), web.Transport}
	if set.Timeout == 0 {
		set.Timeout = time.Minute // of real time: a busy machine must not end a request that is not about it
	}
	snap.Memory.Embeddings = set
	w.Service = &embed.Service{
		Endpoint: func(ctx context.Context) (embed.Endpoint, error) {
			return embed.Of(ctx, snap, func(_ context.Context, name, ref string) (string, error) { return name + "=" + ref, nil }, web)
		},
		Reserve: func(_ context.Context, most turn.Amount) (func(context.Context, turn.Amount) error, error) {
			if w.refuse != nil {
				return nil, w.refuse
			}
			w.booked = append(w.booked, most)
			return func(_ context.Context, used turn.Amount) error { w.booked = append(w.booked, used); return nil }, nil
		},
		Now: func() time.Time { return w.now },
	}
	return w
}

// redirect sends each request to one address.
type redirect struct {
	host string
	next http.RoundTripper
}

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Host = r.host
	return r.next.RoundTrip(req)
}

// says answers with a text.
func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may be gone
	}
}

func TestVectorsComeInTheOrderOfTheTexts(t *testing.T) {
	w := newWorld(t, config.Embeddings{Model: "m", APIKey: "env:K", Dimensions: 2, Price: 0.02}, says(200, `{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`))
	got, err := w.Embed(t.Context(), []string{"one", "second"})
	if err != nil || len(got) != 2 || math.Abs(float64(got[0][0])-0.6) > 1e-6 || got[1][1] != 1 {
		t.Fatal(got, err)
	}
	if want := `{"model":"m","input":["one","second"],"encoding_format":"float","dimensions":2}`; w.asked[0] != want || w.auth != "Bearer memory.embeddings.api_key=env:K" {
		t.Errorf("%s %s", w.asked[0], w.auth)
	}
	// Nine bytes are at most nine tokens; five were used. Prices are rounded up.
	if fmt.Sprint(w.booked) != "[{0 1} {0 1}]" {
		t.Errorf("booked %v", w.booked)
	}
	if space, err := w.Space(t.Context()); err != nil || !strings.HasSuffix(space, "/v1 m 2") {
		t.Error(space, err)
	}
}

func TestWhatAServerMayDo(t *testing.T) {
	good := `{"data":[{"index":0,"embedding":[1,0]}]}`
	for _, c := range []struct {
		name   string
		set    config.Embeddings
		answer http.HandlerFunc
		want   string // part of the error; "": none
		booked string
	}{
		{"without a price tokens count", config.Embeddings{}, says(200, `{"data":[{"embedding":[1,0]}],"usage":{"total_tokens":3}}`), "", "[{5 0} {3 0}]"},
		{"without usage all counts", config.Embeddings{}, says(200, good), "", "[{5 0} {5 0}]"},
		{"a server of this machine costs nothing", config.Embeddings{Price: -1}, says(200, good), "", "[]"},
		{"wrong dimensions", config.Embeddings{Dimensions: 3}, says(200, good), "a vector of 2 dimensions, want 3", "[{5 0} {5 0}]"},
		{"no dimensions", config.Embeddings{}, says(200, `{"data":[{"embedding":[]}]}`), "a vector of 0 dimensions", "[{5 0} {5 0}]"},
		{"far too many", config.Embeddings{}, says(200, `{"data":[{"embedding":[`+strings.Repeat("1,", 9000)+`1]}]}`), "a vector of 9001 dimensions", "[{5 0} {5 0}]"},
		{"no direction", config.Embeddings{}, says(200, `{"data":[{"embedding":[0,0]}]}`), "no direction", "[{5 0} {5 0}]"},
		{"too few", config.Embeddings{}, says(200, `{"data":[],"usage":{"total_tokens":3}}`), "0 vectors for 1 texts", "[{5 0} {3 0}]"},
		{"numbered wrongly", config.Embeddings{}, says(200, `{"data":[{"index":7,"embedding":[1]}]}`), "numbered its vectors wrongly (7)", "[{5 0} {5 0}]"},
		{"no JSON", config.Embeddings{}, says(200, "<html>"), "holds no embeddings", "[{5 0} {5 0}]"},
		{"too large", config.Embeddings{}, func(w http.ResponseWriter, _ *http.Request) {
			for range 33 {
				_, _ = w.Write(make([]byte, 1<<20)) // the client may be gone
			}
		}, "more than 32 MB", "[{5 0} {5 0}]"},
		{"the key is wrong", config.Embeddings{}, says(401, ""), "does not accept the key (HTTP 401)", "[{5 0} {0 0}]"},
		{"wants money", config.Embeddings{}, says(402, `{"error":{"message":"top up\nnow"}}`), "wants to be paid (HTTP 402): top up now", "[{5 0} {0 0}]"},
		{"overloaded", config.Embeddings{}, says(503, "x"), "answers with HTTP 503", "[{5 0} {0 0}]"},
		{"a redirect is not followed", config.Embeddings{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, "HTTP 307", "[{5 0} {0 0}]"},
		{"hangs", config.Embeddings{Timeout: time.Second}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not answer within 1s", "[{5 0} {5 0}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.set.Model = "m"
			w := newWorld(t, c.set, c.answer)
			list, err := w.Embed(t.Context(), []string{"hello"})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err == nil && len(list) != 1 {
				t.Error(list)
			}
			if got := fmt.Sprint(w.booked); got != c.booked {
				t.Errorf("booked %s, want %s", got, c.booked)
			}
			if err != nil && strings.Contains(err.Error(), "hello") {
				t.Errorf("the error tells the text: %v", err)
			}
		})
	}
}

func TestAServerThatFailsIsLeftAloneForAWhile(t *testing.T) {
	status := 503
	w := newWorld(t, config.Embeddings{Model: "m"}, func(rw http.ResponseWriter, r *http.Request) {
		says(status, `{"data":[{"embedding":[1]}]}`)(rw, r)
	})
	ask := func(asked int, fails bool) {
		t.Helper()
		if _, err := w.Embed(t.Context(), []string{"x"}); (err != nil) != fails || (w.Fault() != nil) != fails || len(w.asked) != asked {
			t.Errorf("%v, %d requests, want %d", err, len(w.asked), asked)
		}
	}
	ask(1, true)
	ask(1, true)
	w.now = w.now.Add(31 * time.Second)
	ask(2, true)
	w.now = w.now.Add(31 * time.Second)
	ask(2, true) // the second pause is longer
	w.now, status = w.now.Add(30*time.Second), 200
	ask(3, false)
	ask(4, false)
}

func TestNoTextsNeedNoServer(t *testing.T) {
	w := newWorld(t, config.Embeddings{Model: "m"}, says(200, `{"data":[]}`))
	if list, err := w.Embed(t.Context(), nil); len(list) != 0 || err != nil || len(w.asked) != 0 || len(w.booked) != 0 {
		t.Error(list, err, w.asked, w.booked)
	}
}

func TestABudgetThatIsSpentSendsNothing(t *testing.T) {
	w := newWorld(t, config.Embeddings{Model: "m"}, says(200, "{}"))
	w.refuse = turn.ErrBudget
	if _, err := w.Embed(t.Context(), []string{"x"}); !errors.Is(err, turn.ErrBudget) || len(w.asked) != 0 {
		t.Error(err, w.asked)
	}
}

func TestWithoutAServer(t *testing.T) {
	s := &embed.Service{Endpoint: func(ctx context.Context) (embed.Endpoint, error) {
		return embed.Of(ctx, config.Default(), nil, nil)
	}, Now: time.Now}
	if space, err := s.Space(t.Context()); space != "" || err != nil {
		t.Error(space, err)
	}
	if _, err := s.Embed(t.Context(), []string{"x"}); !errors.Is(err, embed.ErrNone) {
		t.Error(err)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":0,"embedding":[1,0]}]}`, `{"data":[{"index":-1,"embedding":[1e39]}]}`, `{"data":null}`, `[]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if list, _, err := embed.Read(text, 0); err == nil && len(list) > 0 {
			t.Fatalf("no texts, and %q gave %v", text, list)
		}
		list, _, err := embed.Read(text, 1)
		if err == nil && (len(list) != 1 || len(list[0]) == 0) {
			t.Fatalf("%q: %v", text, list)
		}
		if err == nil {
			if _, err := json.Marshal(list); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
