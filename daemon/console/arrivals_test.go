package console_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// TestSaidByPhone (N48, N27): what the owner writes in this conversation on a channel is shown with the channel's name, and so are hob's answer, a
// question that is asked there, and a notice. What belongs to another conversation is not.
func TestSaidByPhone(t *testing.T) {
	f := newFake(func(*fake, int64, client.Message) {})
	s := drawing(t, f, 60, 24, console.Look{UTF8: true, Moves: true})
	said := func(row int64, session, text string) {
		f.emit(event.Event{Type: "event.accepted", At: noon, Session: session, Inbox: row, Data: map[string]any{"inbox": row, "source": "telegram", "kind": "message", "text": text}})
		f.emit(event.Event{Type: "turn.started", At: noon, Turn: row, Data: map[string]any{"turn": row, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "turn.finished", At: noon, Turn: row, Data: map[string]any{"turn": row, "state": "done", "text": "about " + text}})
	}
	said(7, "main", "the \x1b[2Jgarden")
	said(8, "other", "the kitchen")
	f.emit(event.Event{Type: "notice", At: noon, Data: map[string]any{"text": "something is wrong with the config", "cause": "notice"}})
	f.emit(event.Event{Type: "question.asked", Turn: 9, Data: map[string]any{"code": "AB12", "subject": "turn-call", "text": "May I?", "to": "telegram:7"}})
	f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": "CD34", "subject": "job", "text": "Run it?", "to": "cli:main"}})
	s.until(t, ">\n» 11:40 telegram\nthe garden\n\n« 11:40 hob\nabout the garden\n\n● 11:40 hob\nsomething is wrong with the config\n\n"[2:])
	s.until(t, "? May I?\n  asked in telegram; later: /approve AB12 or /deny AB12\n? Run it?\n  later: /answer CD34 TEXT\n")
	if s.has("kitchen") {
		t.Errorf("another conversation is shown:\n%s", s.shown())
	}
	s.leaves(t)
}

// TestAQueuedMessageIsShownAgain (N26): the answer to a message that waited is below that message.
func TestAQueuedMessageIsShownAgain(t *testing.T) {
	var rows []int64
	f := newFake(func(f *fake, row int64, _ client.Message) {
		if rows = append(rows, row); len(rows) == 1 {
			f.emit(event.Event{Type: "turn.started", At: noon, Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
			f.piece(5, 1, 0, "one")
		}
	})
	f.onAct = func(f *fake, _ string) { f.finish(5, "stopped", "", "stopped by the owner") }
	s := drawing(t, f, 60, 24, console.Look{UTF8: true, Moves: true})
	s.press(t, "first\r")
	s.until(t, "one")
	s.press(t, "second\r")
	s.until(t, "> second\n")
	s.press(t, "third\r")
	s.until(t, "> third\n")
	s.press(t, "\x03")
	s.until(t, "stopped by you")
	for i, text := range []string{"two", "three"} {
		turn(f, int64(6+i), rows[i+1], text)
		s.until(t, "\n"+text)
	}
	s.until(t, " second\ntwo\n\n» ")
	s.until(t, " third\nthree\n\n>")
	s.leaves(t)
}

// TestNoLinesOfTheInside (N25): a call without a summary leaves no line, and a wait for a sub-agent is said in words.
func TestNoLinesOfTheInside(t *testing.T) {
	f := newFake(func(f *fake, row int64, _ client.Message) {
		f.emit(event.Event{Type: "turn.started", At: noon, Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: 5, Data: map[string]any{"tool": "sessions_spawn"}})
		f.emit(event.Event{Type: "turn.waiting", At: noon, Turn: 5, Data: map[string]any{"why": "waiting for child"}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: 5, Data: map[string]any{"tool": "fetch", "error": "NO_ROUTE"}})
	})
	s := drawing(t, f, 60, 24, console.Look{UTF8: true, Moves: true})
	s.press(t, "go\r")
	s.until(t, "> go\n  a sub-agent works on it\n  fetch: no route\n")
	s.leaves(t)
}

// TestNothingIsShownTwice (N7): where the events end before the place that was noted, only what came after that moment is new. A place that was
// written in part is not taken for none.
func TestNothingIsShownTwice(t *testing.T) {
	cursor := console.Cursor(t.TempDir() + "/c")
	if err := cursor.Move(99); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(string(cursor))
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(func(*fake, int64, client.Message) {})
	for text, at := range map[string]time.Duration{"what was shown": -time.Second, "what is new": time.Second} {
		f.last = f.emit(event.Event{Type: "message.sent", At: info.ModTime().Add(at), Data: map[string]any{"text": text, "cause": "notice"}})
	}
	w, ended := talking(t, f, cursor)
	w.until(t, "what is new")
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil || strings.Contains(w.shown, "what was shown") {
		t.Errorf("%v, it is shown again:\n%s", err, w.shown)
	}
}

// TestSequencesOfCommands (N46): what a command writes for a terminal is left out, in its output, in the answer and in a table.
func TestSequencesOfCommands(t *testing.T) {
	const text = "\x1b[2J\x0c\x1b[24;1Hdisk \x1b[1;31mfull\x1b[0m\x1b]0;title\x07\x1b(B \u009b1mnow\x1b"
	f := newFake(func(f *fake, row int64, _ client.Message) {
		f.emit(event.Event{Type: "turn.started", At: noon, Turn: row, Data: map[string]any{"turn": row, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: row, Data: map[string]any{"tool": "exec", "summary": "run: df", "verbatim": true}})
		f.finish(row, "done", text, "")
	})
	s := drawing(t, f, 60, 24, console.Look{UTF8: true, Moves: true})
	s.press(t, "run df\r")
	s.until(t, "\ndisk full now\n")
	f.emit(event.Event{Type: "message.sent", At: noon, Data: map[string]any{"text": text, "cause": "step", "from": "asked", "name": "run df"}}) // of the other terminal
	s.until(t, "» 11:40 run df\ndisk full now\n")
	s.leaves(t)
	if got := console.CellText(text); got != "disk full now" {
		t.Errorf("in a table: %q", got)
	}
}

// TestAFailedCallIsShownOnce (N24): the lines about failed calls below an answer are not repeated for calls whose failure was shown when they
// ended, also where the conversation has read text of others since. Other lines stay.
func TestAFailedCallIsShownOnce(t *testing.T) {
	const missing, code = `(hob: fetch "https://x.example/a": not found: no such page)`, `(hob: exec "make" ended with exit code 2)`
	const unseen = `(hob: write "/b": conflict: it exists)`
	f := newFake(func(f *fake, row int64, m client.Message) {
		f.emit(event.Event{Type: "turn.started", At: noon, Turn: row, Data: map[string]any{"turn": row, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: row, Data: map[string]any{"tool": "fetch", "summary": "fetch the page", "error": "NOT_FOUND", "failed": missing}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: row, Data: map[string]any{"tool": "exec", "summary": "run: make", "failed": code}})
		switch m.Text {
		case "stream":
			f.piece(row, 3, 0, "One.")
			f.finish(row, "done", "One.\n\n"+missing+"\n"+unseen+"\n"+code, "")
		case "whole":
			f.finish(row, "done", "Two.\n\n"+strings.NewReplacer(".example", "[.]example", "https:", "https[:]").Replace(missing), "")
		case "fail":
			f.emit(event.Event{Type: "message.sent", At: noon, Turn: row, Data: map[string]any{"text": "I could not finish this: it is late.\n\n" + missing, "cause": "step", "turn": row}})
			f.finish(row, "failed", "", "it is late")
		}
	})
	s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true})
	calls := "  fetch \"https://x.example/a\": not found: no such page\n  exec \"make\" ended with exit code 2\n"
	for _, c := range []struct{ say, want string }{
		{"stream", "One.\n\n" + unseen + "\n\n>"}, {"whole", "Two.\n\n>"}, {"fail", "I could not finish this: it is late.\n\n  failed: it is late\n>"},
	} {
		s.press(t, c.say+"\r")
		s.until(t, "> "+c.say+"\n"+calls+c.want)
	}
	s.leaves(t)
}
