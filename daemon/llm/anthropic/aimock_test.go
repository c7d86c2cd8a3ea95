package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// A server that nobody here wrote is understood, and understands: text, thinking, calls with their results, and images.
func TestAimockSpeaksMessages(t *testing.T) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	at := func(url string) llm.Model {
		c := config(transport)
		c.BaseURL, c.Files = url, artifacts{"x": "\x89PNG\r\n\x1a\nrest"}
		return open(t, c)
	}
	m := at(llmtest.Aimock(t))
	picture := event.Part{Kind: event.Image, Artifact: "x", Name: "a.png", MIME: "image/png"}
	for ask, want := range map[string][2]string{
		"hello": {"Hello to you, über all, in several pieces.", ""}, "ponder": {"Done.", "Let me think about this one."}, "picture": {"A picture.", ""},
	} {
		var text strings.Builder
		msg := user(ask)
		if ask == "picture" {
			msg.Parts = append(msg.Parts, picture)
		}
		a, err := m.Answer(t.Context(), llm.Request{System: "be kind", Messages: []llm.Message{msg}}, func(d llm.Delta) { text.WriteString(d.Text) })
		if err != nil || a.Text != want[0] || text.String() != a.Text || a.Reasoning != want[1] || a.Finish != llm.Stop || a.Usage.Output == 0 {
			t.Errorf("%s: got %+v, %v", ask, a, err)
		}
	}
	r := llm.Request{Tools: tools(), Messages: []llm.Message{user("the weather?")}}
	a, err := m.Answer(t.Context(), r, nil)
	if err != nil || a.Text != "I will look." || a.Finish != llm.ToolCall || len(a.Calls) != 2 || string(a.Calls[1].Args) != `{"city":"Ürümqi"}` {
		t.Fatalf("got %+v, %v", a, err)
	}
	r.Messages = append(r.Messages, spoken(a))
	for _, c := range a.Calls {
		r.Messages = append(r.Messages, result(c.ID, "rain"))
	}
	if a, err = m.Answer(t.Context(), r, nil); err != nil || a.Text != "It rains in Köln." {
		t.Errorf("got %+v, %v", a, err)
	}
	for flag, want := range map[string]llm.Fault{
		"--chaos-ratelimit": llm.RateLimit, "--chaos-disconnect": llm.Network, "--chaos-drop": llm.Overloaded, "--chaos-malformed": llm.Malformed,
	} {
		_, err = at(llmtest.Aimock(t, flag, "1")).Answer(t.Context(), r, nil)
		faultIn(t, err, want)
	}
	_, err = m.Answer(t.Context(), llm.Request{Messages: []llm.Message{user("cut")}}, nil)
	faultIn(t, err, llm.Broken)
}
