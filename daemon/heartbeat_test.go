package daemon_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// TestHeartbeatCarriesLittle counts what a heartbeat really sends, in a workspace that is full of the owner's words, and that it sends
// nothing while nothing is asked of it.
func TestHeartbeatCarriesLittle(t *testing.T) {
	t.Parallel() // most of it is waiting
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	seen := make(chan llmtest.Request, 100)
	var count atomic.Int64
	model.Otherwise(func(r llmtest.Request) llmtest.Turn {
		count.Add(1)
		seen <- r
		return llmtest.Streamed(llmtest.Say("HEARTBEAT_OK"))
	})
	home := t.TempDir()
	space := filepath.Join(home, "workspace")
	for _, name := range []string{"AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "CAPABILITIES.md"} {
		put(t, strings.Repeat("many words ", 1818), space, name)
	}
	put(t, "# Heartbeat\n\n<!-- nothing yet -->\n- [ ]\n", space, "HEARTBEAT.md")
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n[heartbeat]\nevery = \"1s\"\n", model.URL))
	r := start(t, home)
	r.until("the heartbeat is skipped", func() bool { return r.tally("heartbeat")["skipped HEARTBEAT.md is empty"] >= 2 })
	if n := count.Load(); n > 0 {
		t.Fatalf("%d requests for nothing", n)
	}
	put(t, "# Heartbeat\n"+strings.Repeat("Look whether the cat is fed. ", 300), space, "HEARTBEAT.md")
	next := func() (r llmtest.Request) {
		select {
		case r = <-seen:
		case <-time.After(patience):
			t.Fatal("no heartbeat")
		}
		return r
	}
	first, second := next(), next()
	for _, req := range []llmtest.Request{first, second} {
		if len(req.Messages) != 2 || req.Messages[0].Role != "system" {
			t.Fatalf("%d messages: each run begins anew, with the system text and one input", len(req.Messages))
		}
		if text := req.Messages[1].Content; !strings.Contains(text, "HEARTBEAT.md") || !strings.Contains(text, "Look whether the cat is fed.") || !strings.Contains(text, "characters left out") {
			t.Errorf("the input is %.300q", text)
		}
		if n := tokens(req.Body); n > mostOfRequest {
			t.Errorf("%d tokens, want at most %d", n, mostOfRequest)
		}
	}
	if strings.Contains(string(first.Body), "many words") || !slices.Equal(first.Tools, []string{"read", "message", "memory_search", "tool"}) {
		t.Errorf("it carries %q", first.Tools)
	}
	if !json.Valid(first.Body) {
		t.Error("the body is no JSON")
	}
	t.Logf("%d tokens in all", tokens(first.Body))
	r.until("a run", func() bool { return r.tally("heartbeat")["ran"] >= 1 })
	if out, err := client.List(r.t.Context(), r.client, api.Outbox, event.Filter{}); err != nil || len(out) > 0 {
		t.Errorf("HEARTBEAT_OK was told: %+v, %v", out, err)
	}
	if list, err := client.List(r.t.Context(), r.client, api.Jobs, event.Filter{}); err != nil || len(list) != 1 || list[0].Name != "heartbeat" {
		t.Errorf("it is not listed: %+v, %v", list, err)
	}
}
