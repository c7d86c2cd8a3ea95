package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// TestEventsForTerminals (N48, N27): an open terminal reads from the events what the owner writes on a channel, where a question is asked, and the
// notices that go to a channel.
func TestEventsForTerminals(t *testing.T) {
	p := startTwoChannels(t, func(said string) llmtest.Turn {
		if strings.HasSuffix(said, "tea") {
			return call(t, "ask", map[string]any{"questions": []map[string]any{{"question": "Which tea?"}}})
		}
		return llmtest.Streamed(llmtest.Say("so: " + said))
	})
	p.telegram.Knows(onTelegram)
	seen := func(fits func(e *event.Event) bool) {
		t.Helper()
		found := errors.New("found")
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		err := p.client.Follow(ctx, 0, true, func(f client.Frame) error {
			if f.Event != nil && fits(f.Event) {
				return found
			}
			return nil
		})
		if !errors.Is(err, found) {
			t.Errorf("there is no such event: %v", err)
		}
	}
	p.telegram.Say(onTelegram, "tea")
	seen(func(e *event.Event) bool {
		return e.Type == "event.accepted" && e.Session == "main" && e.Data["text"] == "tea"
	})
	seen(func(e *event.Event) bool { return e.Type == "question.asked" && e.Data["to"] == "telegram:7" })
	config, err := os.ReadFile(filepath.Join(p.home, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.home, string(config)+"[modle]\n")
	seen(func(e *event.Event) bool {
		text, _ := e.Data["text"].(string)
		return e.Type == "notice" && strings.Contains(text, "modle")
	})
}
