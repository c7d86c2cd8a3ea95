package llmtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

func TestScriptPassesTheSuite(t *testing.T) {
	tools := []llm.Tool{{Name: "read"}, {Name: "exec"}}
	s := llmtest.NewScript(llmtest.Always(func(r llm.Request) llm.Answer {
		if len(r.Tools) > 0 {
			return llmtest.UseAll(llmtest.Use("read", `{}`), llmtest.Use("exec", `{}`))
		}
		return llmtest.Say("hello to you")
	}))
	llmtest.Suite(t, func(*testing.T) llmtest.Subject {
		messages := []llm.Message{{Role: llm.User, Parts: event.Say("hello")}}
		return llmtest.Subject{Model: s, Plain: llm.Request{Messages: messages}, Calls: llm.Request{Tools: tools, Messages: messages}}
	})
	if len(s.Requests()) == 0 {
		t.Error("the requests are not kept")
	}
}

func TestInOrderEnds(t *testing.T) {
	s := llmtest.NewScript(llmtest.InOrder(llmtest.Say("a"), llmtest.Say("b"))).As(llm.Info{Provider: "p", Model: "m", Local: true})
	for _, want := range []string{"a", "b"} {
		if a, err := s.Answer(t.Context(), llm.Request{}, nil); err != nil || a.Text != want || a.Usage.Output == 0 {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	if _, err := s.Answer(t.Context(), llm.Request{}, nil); !errors.Is(err, llmtest.ErrOver) {
		t.Errorf("got %v", err)
	}
	if !s.Info().Local {
		t.Error("it says what it was told to say")
	}
}

const small = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}],"tools":[{"type":"function","function":{"name":"read"}}]}`

// post sends a request and returns the status and as much of the body as came.
func post(t *testing.T, s *llmtest.Server, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	var b bytes.Buffer
	_, err = io.Copy(&b, res.Body)
	return res.StatusCode, b.String(), err
}

func TestServerSendsWhatIsScripted(t *testing.T) {
	say := llmtest.Streamed(llmtest.Say("a b"))
	wire := say.Wire(len(small))
	for _, c := range []struct {
		name   string
		turn   llmtest.Turn
		status int
		body   string
		broken bool
	}{
		{"stream", say, 200, wire, false},
		{"raw", llmtest.Turn{Raw: "rubbish"}, 200, "rubbish", false},
		{"status", llmtest.Failed(503, "busy"), 503, `{"error":{"message":"busy"}}`, false},
		{"cut", llmtest.Turn{Answer: say.Answer, Break: llmtest.Cut, At: 50}, 200, wire[:50], false},
		{"cut before the body", llmtest.Turn{Answer: say.Answer, Break: llmtest.Cut}, 200, "", false},
		{"drop", llmtest.Turn{Answer: say.Answer, Break: llmtest.Drop, At: 50}, 200, wire[:50], true},
		{"reset", llmtest.Turn{Answer: say.Answer, Break: llmtest.Reset, At: 50}, 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := llmtest.NewServer(c.turn)
			defer s.Close()
			status, body, err := post(t, s, small)
			if (err != nil) != c.broken {
				t.Fatalf("error %v", err)
			}
			if c.turn.Break != llmtest.Reset && (status != c.status || body != c.body) { // a reset may take back what was sent
				t.Errorf("got %d %q", status, body)
			}
		})
	}
}

func TestServerKeepsRequestsAndBills(t *testing.T) {
	s := llmtest.NewServer(llmtest.Streamed(llmtest.Say("a b")))
	defer s.Close()
	s.Push(llmtest.Turn{Answer: llmtest.Say("cut"), Break: llmtest.Cut, At: 10})
	for range 3 {
		if _, _, err := post(t, s, small); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Await(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if string(r.Body) != small || r.Last() != "hello" || r.Model != "m" || len(r.Tools) != 1 || r.Tools[0] != "read" {
		t.Errorf("got %+v", r)
	}
	if u := s.Billed(); u.Input != 2*(len(small)/4+1) {
		t.Errorf("two streams were begun, %+v is billed", u)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Await(ended, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestServerRefusesWhatItDoesNotSpeak(t *testing.T) {
	s := llmtest.NewServer()
	defer s.Close()
	for _, body := range []string{"{", `{"stream":false}`, small} { // for the last one there is no turn
		if status, _, err := post(t, s, body); status != http.StatusBadRequest || err != nil {
			t.Errorf("%s: %d, %v", body, status, err)
		}
	}
}

func TestHeldAndHanging(t *testing.T) {
	hold := make(chan struct{})
	s := llmtest.NewServer(llmtest.Turn{Answer: llmtest.Say("a"), Hold: hold}, llmtest.Turn{Break: llmtest.Hang})
	defer s.Close()
	done := make(chan string)
	go func() {
		_, body, err := post(t, s, small)
		if err != nil {
			body = err.Error()
		}
		done <- body
	}()
	if err := s.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-done:
		t.Fatalf("it was not held: %q", body)
	default:
	}
	close(hold)
	if body := <-done; !strings.Contains(body, `"content":"a"`) {
		t.Errorf("got %q", body)
	}
	go func() {
		_, _, err := post(t, s, small)
		done <- "ended: " + err.Error()
	}()
	if err := s.Await(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.CloseClientConnections()
	if body := <-done; !strings.HasPrefix(body, "ended: ") {
		t.Errorf("got %q", body)
	}
}
