package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"hob/daemon/llm"
)

// recordedStream is a stream in the format that one server sends, and what it says. testdata/recorded holds them: one file for each, written by the
// published formats, and want.json.
type recordedStream struct {
	name, body string
	Provider   string   `json:"provider"` // "": compatible
	Text       string   `json:"text"`
	Reasoning  string   `json:"reasoning"`
	Has        string   `json:"reasoning_has"` // a part of the reasoning
	Calls      []string `json:"calls"`         // "name args"
	Input      int      `json:"input"`
	Output     int      `json:"output"`
}

// recordings returns all of them.
func recordings(t testing.TB) (list []recordedStream) {
	t.Helper()
	raw, err := os.ReadFile("testdata/recorded/want.json")
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]recordedStream{}
	if err := json.Unmarshal(raw, &wants); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/recorded/*.sse")
	if err != nil || len(files) != len(wants) || len(files) < 12 {
		t.Fatalf("%d recordings, %d of them described, %v", len(files), len(wants), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file) // #nosec G304 -- of the glob
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		r, ok := wants[name]
		if !ok {
			t.Fatalf("%s is not described", name)
		}
		r.name, r.body = name, string(body)
		list = append(list, r)
	}
	return list
}

// hear answers a request that offers the tool read from a body.
func (r recordedStream) hear(t testing.TB, body io.Reader) (llm.Answer, error) {
	t.Helper()
	c := config(pieces{body})
	if r.Provider != "" {
		c.Provider = r.Provider
	}
	request := hello()
	request.Tools = []llm.Tool{{Name: "read", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
	return open(t, c).Answer(t.Context(), request, nil)
}

// says compares an answer with what the stream says.
func (r recordedStream) says(a llm.Answer) bool {
	return a.Text == r.Text && (r.Has != "" || a.Reasoning == r.Reasoning) && strings.Contains(a.Reasoning, r.Has) && short(a.Calls) == strings.Join(r.Calls, "\n")
}

// pieces answers each request with a body.
type pieces struct{ body io.Reader }

func (p pieces) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(p.body), Request: r}, nil
}

// Every recordedStream says the same in one piece, in two pieces that part at any byte, and byte for byte. One that ends or breaks off at any byte is an
// error or says the same: no answer is lost, and no call is made of a part.
func TestRecordedStreams(t *testing.T) {
	step := 1
	if testing.Short() { // with the race detector each byte takes five times as long
		step = 7
	}
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a, err := r.hear(t, strings.NewReader(r.body))
			if err != nil || !r.says(a) || r.Input > 0 && (a.Usage.Input != r.Input || a.Usage.Output != r.Output || a.Usage.Estimated) {
				t.Fatalf("%+v, %v", a, err)
			}
			for at := 0; at < len(r.body); at += step {
				if a, err := r.hear(t, io.MultiReader(strings.NewReader(r.body[:at]), strings.NewReader(r.body[at:]))); err != nil || !r.says(a) {
					t.Fatalf("in two pieces at %d: %+v, %v", at, a, err)
				}
				for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
					a, err := r.hear(t, io.MultiReader(strings.NewReader(r.body[:at]), iotest.ErrReader(end)))
					if fault, ok := errors.AsType[*llm.Error](err); err != nil && (!ok || !llm.Retryable(fault)) || err == nil && !r.says(a) {
						t.Fatalf("ended at %d with %v: %+v, %v", at, end, a, err)
					}
				}
			}
			if a, err := r.hear(t, iotest.OneByteReader(strings.NewReader(r.body))); err != nil || !r.says(a) {
				t.Errorf("byte for byte: %+v, %v", a, err)
			}
		})
	}
}

// A changed recordedStream never ends in a panic or in a call of a name that it does not hold.
func FuzzRecorded(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a, err := recordedStream{}.hear(t, strings.NewReader(body))
		if err != nil {
			return
		}
		checkAnswer(t, a)
		for _, c := range a.Calls {
			plain := !strings.ContainsFunc(c.Name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
			if plain && !strings.Contains(body, `\u`) && !slices.Contains(a.Repaired, llm.CallsAsText) && !strings.Contains(body, c.Name) {
				t.Fatalf("the call %q was not sent", c.Name)
			}
		}
	})
}
