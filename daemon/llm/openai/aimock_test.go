package openai_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// asking is a model at that server.
func asking(t *testing.T, url string) llm.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return open(t, llm.Config{
		Provider: "compatible", Model: "m", BaseURL: url, APIKey: "sk-secret", HTTP: &http.Client{Transport: transport}, Files: artifacts{"x": png},
	})
}

func TestAimockAnswers(t *testing.T) {
	m := asking(t, llmtest.Aimock(t))
	for _, c := range []struct{ ask, text, reasoning string }{
		{"hello", "Hello to you, über all, in several pieces.", ""},
		{"ponder", "Done.", "Let me think about this one."},
	} {
		var text, thought strings.Builder
		pieces := 0
		a, err := m.Answer(t.Context(), llm.Request{System: "be kind", Messages: []llm.Message{user(c.ask)}}, func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
			pieces++
		})
		if err != nil {
			t.Fatal(err)
		}
		if a.Text != c.text || a.Reasoning != c.reasoning || a.Finish != llm.Stop || a.Usage.Input == 0 || a.Usage.Output == 0 {
			t.Errorf("%s: got %+v", c.ask, a)
		}
		if text.String() != c.text || thought.String() != c.reasoning || pieces < 2 {
			t.Errorf("%s: deltas %q and %q in %d pieces", c.ask, text.String(), thought.String(), pieces)
		}
	}
}

func TestAimockCallsTools(t *testing.T) {
	m := asking(t, llmtest.Aimock(t))
	r := llm.Request{Tools: []llm.Tool{{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object"}`)}}, Messages: []llm.Message{user("the weather?")}}
	a, err := m.Answer(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Text != "I will look." || a.Finish != llm.ToolCall || len(a.Calls) != 2 || a.Calls[0].ID == a.Calls[1].ID {
		t.Fatalf("got %+v", a)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Parts: event.Say(a.Text), Calls: a.Calls, Raw: a.Raw})
	for i, city := range []string{"Köln", "Ürümqi"} {
		if a.Calls[i].Name != "get_weather" || string(a.Calls[i].Args) != `{"city":"`+city+`"}` {
			t.Errorf("call %d is %s %s", i, a.Calls[i].Name, a.Calls[i].Args)
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, CallID: a.Calls[i].ID, Parts: event.Say("rain")})
	}
	a, err = m.Answer(t.Context(), r, nil)
	if err != nil || a.Text != "It rains in Köln." || a.Finish != llm.Stop {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestAimockSeesImages(t *testing.T) {
	url := llmtest.Aimock(t)
	m := asking(t, url)
	with := func(text string) llm.Request {
		return llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: append(event.Say(text), file("x", "a.png", "image/png"))}}}
	}
	if a, err := m.Answer(t.Context(), with("picture"), nil); err != nil || a.Text != "A picture." {
		t.Errorf("got %+v, %v", a, err)
	}
	_, err := m.Answer(t.Context(), with("look"), nil)
	faultIn(t, err, llm.NoImages)
	if a, err := m.Answer(t.Context(), with("look"), nil); err != nil || a.Text != "I cannot see it." {
		t.Errorf("got %+v, %v", a, err)
	}
	want := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))
	seen := journal(t, url)
	if len(seen) != 3 || !strings.Contains(seen[0], want) || !strings.Contains(seen[1], want) || strings.Contains(seen[2], "image_url") {
		t.Errorf("it was sent %q", seen)
	}
}

// The same server over the Responses protocol.
func TestAimockSpeaksResponses(t *testing.T) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	at := func(url string) llm.Model {
		return open(t, llm.Config{Provider: "codex", Model: "m", BaseURL: url, APIKey: "sk-secret", HTTP: &http.Client{Transport: transport}})
	}
	m := at(llmtest.Aimock(t))
	for ask, want := range map[string][2]string{"hello": {"Hello to you, über all, in several pieces.", ""}, "ponder": {"Done.", "Let me think about this one."}} {
		var text strings.Builder
		a, err := m.Answer(t.Context(), llm.Request{System: "be kind", Messages: []llm.Message{user(ask)}}, func(d llm.Delta) { text.WriteString(d.Text) })
		if err != nil || a.Text != want[0] || text.String() != a.Text || a.Reasoning != want[1] || a.Finish != llm.Stop || a.Usage.Output == 0 {
			t.Errorf("%s: got %+v, %v", ask, a, err)
		}
	}
	r := llm.Request{Tools: []llm.Tool{{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object"}`)}}, Messages: []llm.Message{user("the weather?")}}
	a, err := m.Answer(t.Context(), r, nil)
	if err != nil || a.Finish != llm.ToolCall || len(a.Calls) != 2 || string(a.Calls[1].Args) != `{"city":"Ürümqi"}` {
		t.Fatalf("got %+v, %v", a, err)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Parts: event.Say(a.Text), Calls: a.Calls, Raw: a.Raw})
	for _, c := range a.Calls {
		r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, CallID: c.ID, Parts: event.Say("rain")})
	}
	if a, err = m.Answer(t.Context(), r, nil); err != nil || a.Text != "It rains in Köln." {
		t.Errorf("got %+v, %v", a, err)
	}
	_, err = at(llmtest.Aimock(t, "--chaos-ratelimit", "1")).Answer(t.Context(), r, nil)
	faultIn(t, err, llm.RateLimit)
	_, err = at(llmtest.Aimock(t, "--chaos-disconnect", "1")).Answer(t.Context(), r, nil)
	faultIn(t, err, llm.Network)
}

// journal is what the server was sent.
func journal(t *testing.T, url string) []string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/_requests", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-secret")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var list []struct {
		Body json.RawMessage `json:"body"`
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, r := range list {
		bodies = append(bodies, string(r.Body))
	}
	return bodies
}

func TestAimockMisbehaves(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		ask   string
		want  llm.Fault
		wait  time.Duration
	}{
		{"dropped", []string{"--chaos-drop", "1"}, "hello", llm.Overloaded, 0},
		{"malformed", []string{"--chaos-malformed", "1"}, "hello", llm.Malformed, 0},
		{"disconnected", []string{"--chaos-disconnect", "1"}, "hello", llm.Network, 0},
		{"too often", []string{"--chaos-ratelimit", "1"}, "hello", llm.RateLimit, time.Second},
		{"cut off in the stream", nil, "cut", llm.Broken, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := asking(t, llmtest.Aimock(t, c.flags...)).Answer(t.Context(), llm.Request{Messages: []llm.Message{user(c.ask)}}, nil)
			if e := faultIn(t, err, c.want); e.RetryAfter != c.wait || !llm.Retryable(&e) {
				t.Errorf("got %+v", e)
			}
		})
	}
}
