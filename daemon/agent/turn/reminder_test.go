package turn_test

import (
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// TestWhatAReminderSays: its own words. What hob adds to them, what a watch saw, or a webhook was sent, is for models.
func TestWhatAReminderSays(t *testing.T) {
	const want = "stretch"
	for _, trust := range []event.Trust{event.Owner, event.Machine, event.Public} {
		parts := append(event.Say("say: stretch"), event.Say("(2 were missed)")...)
		s := turn.Snapshot{Items: []llm.Item{{Kind: llm.Input, Parts: parts, Envelope: &llm.Envelope{Kind: event.Fire, Trust: trust}}}}
		if got, ok := turn.Next(s).(turn.Say); !ok || got.Text != want {
			t.Errorf("%s: %+v, want %q", trust, turn.Next(s), want)
		}
	}
}
