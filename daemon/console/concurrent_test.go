package console_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// TestTwoAtOnce: of two who speak at the same time each sees his own answer; what the other was told is not lost, but told the next time.
func TestTwoAtOnce(t *testing.T) {
	for _, live := range []bool{true, false} {
		cursor := console.Cursor(t.TempDir() + "/c")
		f := newFake(func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "for another", "cause": "step", "turn": 4}})
			turn(f, 5, row, "hello")
		})
		var b bytes.Buffer
		once := console.Once{API: f, Out: &console.Pipes{Out: &b, Err: &b, Live: live, Screen: console.Look{UTF8: true}}, Cursor: cursor, Zone: time.UTC}
		a, err := once.Say(t.Context(), client.Message{Text: "hi"})
		if err != nil || a.Text != "hello" || strings.Contains(b.String(), "another") {
			t.Errorf("live %v: %v, %+v, shown %q", live, err, a, b.String())
		}
		if place, err := cursor.Place(); err != nil || place > 1 {
			t.Errorf("live %v: the person's place is %d behind what was not shown, %v", live, place, err)
		}
		// The next look shows what the other was told, and not once more what this one was told.
		b.Reset()
		once.Out = &console.Pipes{Out: &b, Err: &b, Live: true, Screen: console.Look{UTF8: true}}
		f.script = func(f *fake, row int64, _ client.Message) { turn(f, 6, row, "bye") }
		if _, err := once.Say(t.Context(), client.Message{Text: "hi"}); err != nil || !strings.Contains(b.String(), "for another") || strings.Contains(b.String(), "hello") {
			t.Errorf("live %v: the next look: %v, %q", live, err, b.String())
		}
	}
}
