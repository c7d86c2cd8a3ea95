package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// asked is a question of another conversation.
func asked(f *fake, code, subject string) {
	f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": code, "subject": subject, "text": "May I " + code + "?", "options": []string{"once", "always", "no"}}})
}

func answered(f *fake, code string) {
	f.emit(event.Event{Type: "question.answered", Data: map[string]any{"code": code}})
}

// TestAQuestionTakesNoLine (N40): whatever way a line is begun before a question arrives, it is sent as the message that it was, and answers nothing.
func TestAQuestionTakesNoLine(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string // keys before and after the question
		shown         string // after before
		want          string // the message
	}{
		"typed":              {"yes", "\r", "> yes", "yes"},
		"a letter":           {"a", "\r", "> a", "a"},
		"pasted":             {"\x1b[200~yes\x1b[201~", "\r", "> yes", "yes"},
		"a paste under way":  {"x\x7f\x1b[200~ye", "s\x1b[201~\r", ">", "yes"},
		"from the history":   {"\x1b[A", "\r", "said yes\n\n> yes", "yes"},
		"in the same moment": {"", "yes\r", ">", "yes"},
		"a block of lines":   {"\"\"\"\ryes\r", "\"\"\"\r", "...", "yes"},
		"wide":               {"日", "\x7fy\r", "> 日", "y"},
	} {
		t.Run(name, func(t *testing.T) {
			posted := make(chan client.Message, 9)
			f := newFake(func(f *fake, row int64, m client.Message) {
				posted <- m
				turn(f, row, row, "so you said "+m.Text)
			})
			f.onAct = func(f *fake, _ string) { answered(f, "AB12") }
			s := drawing(t, f, 60, 30, console.Look{Moves: true})
			s.press(t, "yes\r")
			s.until(t, "so you said yes\n\n>")
			<-posted
			s.press(t, c.before)
			s.until(t, c.shown)
			asked(f, "AB12", "turn-call")
			s.until(t, "May I AB12?")
			s.press(t, c.after)
			if m := <-posted; m.Text != c.want || !m.Begun.Equal(noon) {
				t.Errorf("the message is %+v, want %q", m, c.want)
			}
			s.until(t, "AB12 allow? [y]es, [a]lways, [n]o:") // it waits for its own line
			f.mu.Lock()
			if len(f.acts) != 0 {
				t.Errorf("the question was answered: %q", f.acts)
			}
			f.mu.Unlock()
			s.press(t, "y\r")
			s.until(t, "AB12 allow? [y]es, [a]lways, [n]o: y\n>")
			s.leaves(t)
			if fmt.Sprint(f.acts) != "[questions AB12 approve once]" {
				t.Errorf("acts %q", f.acts)
			}
		})
	}
}

// TestALineAnswersItsOwnQuestion (N40): while a line answers one question, another one that arrives waits, and one that has ended takes nothing with it.
func TestALineAnswersItsOwnQuestion(t *testing.T) {
	var posts []string
	f := newFake(func(f *fake, row int64, m client.Message) {
		posts = append(posts, m.Text)
		turn(f, row, row, "so you said "+m.Text)
	})
	f.onAct = func(f *fake, what string) { answered(f, what[len("questions "):len("questions AB12")]) }
	s := drawing(t, f, 60, 30, console.Look{UTF8: true, Moves: true})
	asked(f, "AB12", "turn-call")
	s.until(t, "AB12 allow?")
	asked(f, "CD34", "turn-call") // the prompt does not move on from a question that is open
	s.until(t, "? May I CD34?\n  later: /approve CD34 or /deny CD34\n? May I AB12?\nAB12 allow? [y]es, [a]lways, [n]o:")
	s.press(t, "n")
	s.until(t, "[n]o: n")
	s.press(t, "\r")
	s.until(t, "CD34 allow? [y]es, [a]lways, [n]o:")
	s.press(t, "y")
	s.until(t, "CD34 allow? [y]es, [a]lways, [n]o: y")
	asked(f, "EF56", "turn-call")
	answered(f, "CD34") // in another place
	s.until(t, "> y")
	s.press(t, "\r")
	s.until(t, "CD34 no longer waits for an answer; press Enter to send\n  your line as a message\n> y")
	s.press(t, "\x15")
	s.until(t, "EF56 allow?")
	s.leaves(t)
	if want := []string{"questions AB12 deny"}; !slices.Equal(f.acts, want) || len(posts) != 0 {
		t.Errorf("acts %q, posts %q", f.acts, posts)
	}
}

// TestOtherTextAtAPermission (N22): it is a message, and a line says that the question waits. A command leaves the prompt to the question.
func TestOtherTextAtAPermission(t *testing.T) {
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "so you said "+m.Text) })
	s := drawing(t, f, 80, 30, console.Look{UTF8: true, Moves: true})
	asked(f, "AB12", "turn-call")
	s.until(t, "AB12 allow?")
	s.press(t, "/status\r")
	s.until(t, "so you said /status")
	s.until(t, "? May I AB12?\nAB12 allow? [y]es, [a]lways, [n]o:")
	s.press(t, "what is this?\r")
	s.until(t, "AB12 still waits: /approve AB12 or /deny AB12")
	s.until(t, "so you said what is this?\n\n>")
	s.leaves(t)
}

// TestLeaving (N5, N6): quit leaves; where that ends hob, it asks. Ctrl-C with a line that was begun only clears the line.
func TestLeaving(t *testing.T) {
	for _, word := range []string{"quit", "exit", "/quit", "/exit"} {
		f := newFake(func(_ *fake, _ int64, m client.Message) { t.Errorf("%q was sent", m.Text) })
		s := drawing(t, f, 80, 30, console.Look{UTF8: true, Moves: true})
		s.press(t, word+"\r")
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	}
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "so you said "+m.Text) })
	s := drawing(t, f, 80, 30, console.Look{UTF8: true, Moves: true}, func(talk *console.Talk) { talk.Ends = true })
	for begun, shows := range map[string]string{"half a line": "> half a line", "half \\\r of one": "of one", "\"\"\"\r": "\n…"} {
		s.press(t, begun)
		s.reaches(func() bool { return strings.HasSuffix(s.plain(), shows) })
		s.press(t, "\x03")
		s.reaches(func() bool { return s.plain() == ">" || strings.HasSuffix(s.plain(), "\n>") })
	}
	if s.has("press Ctrl-C again") {
		t.Errorf("the first Ctrl-C was to leave:\n%s", s.shown())
	}
	s.press(t, "quit\r")
	s.until(t, "that stops hob, and reminders wait until it runs again")
	s.until(t, "stop hob? [y]es, [n]o:")
	s.press(t, "n\r")
	s.until(t, "[n]o: n\n>")
	s.press(t, "exit\r")
	s.reaches(func() bool { return strings.HasSuffix(s.plain(), "stop hob? [y]es, [n]o:") })
	s.press(t, "y\r")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	// Any word answers a question that wants words.
	f = newFake(func(_ *fake, _ int64, m client.Message) { t.Errorf("%q was sent", m.Text) })
	f.onAct = func(f *fake, _ string) { answered(f, "AB12") }
	s = drawing(t, f, 80, 30, console.Look{UTF8: true, Moves: true})
	asked(f, "AB12", "ask")
	s.until(t, "AB12 number or text:")
	s.press(t, "exit\r")
	s.until(t, "text: exit\n>")
	s.leaves(t)
	if fmt.Sprint(f.acts) != "[questions AB12 answer exit]" {
		t.Errorf("acts %q", f.acts)
	}
}

// TestSystemEditsTheLine (N40): where the system edits the line, its keys are not seen, so no line answers a question.
func TestSystemEditsTheLine(t *testing.T) {
	posted := make(chan client.Message, 1)
	f := newFake(func(f *fake, row int64, m client.Message) {
		posted <- m
		turn(f, row, row, "so you said "+m.Text)
	})
	w, ended := talking(t, f, "", func(talk *console.Talk) { talk.Look = console.Look{} })
	w.until(t, "> ")
	before := time.Now()
	asked(f, "AB12", "turn-call")
	w.until(t, "answer with: /approve AB12 or /deny AB12")
	w.press(t, "yes\n")
	w.until(t, "so you said yes")
	if m := <-posted; m.Begun.IsZero() || m.Begun.After(before) {
		t.Errorf("the message %+v was begun after the question", m)
	}
	_ = w.keys.Close()
	if err := <-ended; err != nil || len(f.acts) != 0 {
		t.Errorf("%v, acts %q", err, f.acts)
	}
}
