package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// TestASubagentIsStoppedInTheAnswerThatStartsIt: the second call of an answer sees the sub-agent of the first one, and stops it.
func TestASubagentIsStoppedInTheAnswerThatStartsIt(t *testing.T) {
	thinks := llmtest.NewServer()
	t.Cleanup(thinks.Close)
	thinks.Otherwise(func(r llmtest.Request) llmtest.Turn {
		switch {
		case strings.Contains(string(r.Body), "stopping sub-agent"):
			return llmtest.Streamed(llm.Answer{Text: "done"})
		case !strings.Contains(string(r.Body), "go ahead"): // the sub-agent, which never comes to an end
			return llmtest.Turn{Break: llmtest.Hang}
		}
		return llmtest.Streamed(llm.Answer{Calls: []llm.Call{
			{ID: "c0", Name: "sessions_spawn", Args: []byte(`{"prompt":"count the stars","background":true}`)},
			{ID: "c1", Name: "tool", Args: []byte(`{"action":"call","name":"subagents","arguments":{"action":"stop"}}`)},
		}})
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", thinks.URL))
	r := start(t, home)
	if said := r.say("go ahead"); !strings.Contains(said, "done") {
		t.Errorf("%q", said)
	}
	r.until("the sub-agent is stopped", func() bool {
		turns, err := client.List(t.Context(), r.client, api.Turns, event.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]int{}
		for _, turn := range turns {
			states[string(turn.State)]++
		}
		return len(turns) == 2 && states["done"] == 1 && states["stopped"] == 1
	})
}
