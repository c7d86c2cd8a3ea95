package daemon_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// TestTheConfigurationIsAsked (S9): hob's configuration is not read unasked, and what shows a conversation does not show the key that stands in
// it, neither plain nor in the arguments of a call.
func TestTheConfigurationIsAsked(t *testing.T) {
	const key = `sk-live-"4711"-abcdefgh`
	thinks := llmtest.NewServer()
	t.Cleanup(thinks.Close)
	calls := 0
	thinks.Otherwise(func(llmtest.Request) llmtest.Turn {
		if calls++; calls == 1 {
			return llmtest.Streamed(llm.Answer{Calls: []llm.Call{{ID: "a", Name: "read", Args: []byte(`{"path":"../config.toml"}`)}}})
		}
		return llmtest.Streamed(llm.Answer{Text: "It is " + key})
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\napi_key = %q\n", thinks.URL, key))
	r := start(t, home)
	_, err := r.client.Post(t.Context(), client.Message{Text: "what is in {\"key\": \"" + key + "\"}?"})
	if err != nil {
		t.Fatal(err)
	}
	var open []api.Question
	r.until("the question", func() bool {
		open, err = client.List(t.Context(), r.client, api.Questions, event.Filter{State: "open"})
		return err == nil && len(open) == 1
	})
	if !strings.Contains(open[0].Text, "config.toml") {
		t.Errorf("%+v", open)
	}
	for _, resource := range []string{"sessions/main", "turns/1", "inbox", "questions"} {
		raw, err := client.Show(t.Context(), r.client, api.Show[json.RawMessage]("GET /v1/"+resource), "")
		shown := strings.ReplaceAll(string(raw), `\`, "")
		if err != nil || strings.Contains(shown, "4711") || slices.Contains([]string{"sessions/main", "inbox"}, resource) && !strings.Contains(shown, "[secret model.api_key]") {
			t.Errorf("%s: %v %s", resource, err, shown)
		}
	}
}
