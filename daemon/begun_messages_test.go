package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// TestAMessageBegunBeforeAQuestion (N40): a text that the owner began to write before hob asked is a message; one begun after it is the answer.
func TestAMessageBegunBeforeAQuestion(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(r llmtest.Request) llmtest.Turn {
		if strings.HasSuffix(r.Last(), "tea") {
			return call(t, "ask", map[string]any{"questions": []map[string]any{{"question": "Which tea?"}}})
		}
		return llmtest.Streamed(llmtest.Say("so: " + r.Last()))
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	d := start(t, home)
	state := func() string {
		list, err := client.List(t.Context(), d.client, api.Questions, event.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return ""
		}
		return list[0].State
	}
	post := func(text string, begun time.Time) {
		if _, err := d.client.Post(t.Context(), client.Message{Text: text, Begun: begun}); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now()
	post("tea", before)
	d.until("hob asks", func() bool { return state() == "open" })
	post("green", before)
	if got := state(); got != "open" {
		t.Errorf("a message from before the question has answered it: %s", got)
	}
	post("black", time.Now())
	if got := state(); got == "open" {
		t.Error("the answer was not taken")
	}
}
