package console_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// TestLineEnteredBesideAnAnswer: a line that is entered while an answer grows stays on the screen, and each part of the answer is there once.
func TestLineEnteredBesideAnAnswer(t *testing.T) {
	for name, second := range map[string]string{
		"short":          "second",
		"wrapped":        "a second one that is longer than the row",
		"a full row":     "second of 38 columns, which fill a row",
		"wide":           "日本語日本語日本語日本語日本語日本語日本語",
		"of three lines": "\"\"\"\rl1\rl2\r\"\"\"",
	} {
		t.Run(name, func(t *testing.T) {
			var rows []int64
			f := newFake(func(f *fake, row int64, _ client.Message) {
				if rows = append(rows, row); len(rows) == 1 {
					f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
					f.piece(5, 1, 0, "one two three")
					return
				}
				f.emit(event.Event{Type: "queue.ahead", Inbox: row, Data: map[string]any{"inbox": row, "ahead": 1}})
			})
			s := drawing(t, f, 40, 20, console.Look{UTF8: true, Moves: true})
			s.press(t, "go\r")
			s.until(t, "one two three")
			s.press(t, second+"\r")
			s.later(5 * time.Second)
			s.until(t, "1 message of yours queued")
			f.piece(5, 1, 13, " four")
			s.until(t, "three four")
			s.until(t, "1 message of yours queued") // it is drawn after the answer
			s.mu.Lock()
			shown := s.plain()
			s.mu.Unlock()
			if strings.Count(shown, "one two three") != 1 || strings.Count(shown, "1 message of yours") != 1 || !strings.Contains(shown, "> go") {
				t.Errorf("a part of the answer is lost, or there twice:\n%s", shown)
			}
			flat := strings.ReplaceAll(shown, "\n", "")
			for part := range strings.SplitSeq(second, "\r") {
				if strings.Count(flat, part) < 1 {
					t.Errorf("%q is lost:\n%s", part, shown)
				}
			}
			f.finish(5, "done", "one two three four", "")
			turn(f, 6, rows[1], "served")
			s.until(t, "served")
			s.leaves(t)
		})
	}
}
