package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/text"
	"hob/tools"
)

// buttoned is a shop whose owner's channel shows buttons.
func buttoned(s *testStore) {
	s.policy.Buttons = func(a event.Address) bool { return a.Channel() == "chat" }
}

// put asks a question and returns its code and the message that asks it, with C for the code.
func (s *testStore) put(q turn.Question) (code, body string) {
	s.t.Helper()
	q.To, q.Until = event.ToOwner, s.now().Add(time.Hour)
	if err := s.Write(s.t.Context(), func(tx *store.Tx) error { _, err := store.AskIn(tx, &q); return err }); err != nil {
		s.t.Fatal(err)
	}
	code = one[string](s, "SELECT code FROM questions ORDER BY id DESC LIMIT 1")
	return code, strings.ReplaceAll(one[string](s, "SELECT body FROM outbox ORDER BY id DESC LIMIT 1"), code, "C")
}

// How a question is asked: where there are no buttons, commands stand on lines of their own; where there are, one short line is left of them.
func TestHowAQuestionIsAsked(t *testing.T) {
	call := turn.Question{Subject: turn.AboutCall, Text: "run x?", Pattern: "git *", Options: []string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerNo}}
	bare := turn.Question{Subject: turn.AboutCall, Text: "run x?", Options: []string{turn.AnswerOnce, turn.AnswerNo}}
	job := turn.Question{Subject: turn.AboutJob, Text: "go on?", Options: []string{"go on", "pause"}}
	tea := turn.Question{Subject: turn.AboutAsk, Text: "tea?\n1. green\n2. black", Options: []string{"green", "black"}}
	diff := turn.Question{Subject: turn.AboutCalls, Text: "write?\n  + a ```\n  - *b*\n  careful: late\n" + text.AsJSON + "{}\n" + text.AlwaysAllowed + "x", Options: []string{turn.AnswerOnce, turn.AnswerNo}} // N21
	free := turn.Question{Subject: turn.AboutAsk, Text: "what?"}
	for _, c := range []struct {
		q             turn.Question
		plain, button string
	}{
		{call, "run x?\n\n/approve C\n/deny C\n(/approve C turn: this kind until the turn ends or reads foreign text · /approve C always: git *)", "run x?\n\n(or write /approve C · /deny C; Always: git *)"},
		{bare, "run x?\n\n/approve C\n/deny C", "run x?\n\n(or write /approve C · /deny C)"},
		{job, "go on?\n\n/approve C\n/deny C\n(approve: go on · deny: pause)", "go on?\n\n(or write /approve C · /deny C)"},
		{tea, tea.Text + "\n\n(Answer with the number or in words; from elsewhere: /answer C NUMBER)", tea.Text + "\n\n(or answer in words; from elsewhere: /answer C TEXT)"},
		{diff, "write?\n````\n  + a ```\n  - *b*\n````\n  careful: late\n\n/approve C\n/deny C", "write?\n````\n  + a ```\n  - *b*\n````\n  careful: late\n\n(or write /approve C · /deny C)"},
		{free, "what?\n\n(Answer here, or from elsewhere: /answer C TEXT)", "what?\n\n(Answer here, or from elsewhere: /answer C TEXT)"},
	} {
		if _, got := fresh(t).put(c.q); got != c.plain {
			t.Errorf("without buttons: %q, want %q", got, c.plain)
		}
		if _, got := fresh(t, buttoned).put(c.q); got != c.button {
			t.Errorf("with buttons: %q, want %q", got, c.button)
		}
	}
}

// Which option an answer means, however it comes; what means none stays as it was said.
func TestChosenByNumber(t *testing.T) {
	for _, c := range []struct{ options, text, want string }{
		{"green,black", "2", "black"},
		{"green,black", " 1. ", "green"},
		{"green,black", "#2", "black"},
		{"green,black", "BLACK", "black"},
		{"green,black", "1, 2", "green, black"},
		{"green,black", "2 1", "black, green"},
		{"green,black", "3", "3"},
		{"green,black", "0", "0"},
		{"green,black", "-1", "-1"},
		{"green,black", "2 cups", "2 cups"},
		{"green,black", "1 1", "1 1"},
		{"green,black", "neither", "neither"},
		{"2,1", "1", "1"},
		{"2,1", "#1", "2"},
		{"", "1", "1"},
	} {
		s := fresh(t)
		q := turn.Question{Subject: turn.AboutAsk, Text: "which?"}
		if c.options != "" {
			q.Options = strings.Split(c.options, ",")
		}
		code, _ := s.put(q)
		got, err := s.Commands.AnswerFrom(t.Context(), message("x"), code, c.text)
		if stored := one[string](s, "SELECT answer FROM questions"); err != nil || stored != c.want || got.Answer != c.want {
			t.Errorf("%q of %q: stored %q, told %q, %v, want %q", c.text, c.options, stored, got.Answer, err, c.want)
		}
	}
}

// A number answers one of several questions by its code, none of them without it, and never a question of yes or no.
func TestNumbersAmongSeveralQuestions(t *testing.T) {
	s := fresh(t)
	tea := turn.Question{Subject: turn.AboutAsk, Text: "tea?", Options: []string{"green", "black"}}
	first, _ := s.put(tea)
	second, _ := s.put(tea)
	call, _ := s.put(turn.Question{Subject: turn.AboutCall, Text: "run x?", Pattern: "p", Options: []string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerAlways, turn.AnswerNo}})
	s.accept(message("2"))
	if n := one[int](s, "SELECT count(*) FROM questions WHERE state = 'open'"); n != 3 {
		t.Errorf("%d are open after a number that was for none of them", n)
	}
	if _, err := s.Commands.AnswerFrom(t.Context(), message("x"), second, "2"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"1", "#1", "2"} {
		if _, err := s.Commands.AnswerFrom(t.Context(), message("x"), call, text); err == nil {
			t.Errorf("%q was an approval", text)
		}
	}
	if got := one[string](s, "SELECT group_concat(state || answer) FROM (SELECT * FROM questions ORDER BY id)"); got != "open,answeredblack,open" {
		t.Errorf("%s (codes %s, %s, %s)", got, first, second, call)
	}
}

// What can be chosen below a message: buttons of words for the owner where there are some, else numbered words. Words that somebody else's
// text may have chosen come back as such.
func TestButtonsOfAMessage(t *testing.T) {
	labels := []string{"yes", "/approve K7Q2"}
	clean := []channels.Choice{{Label: "yes", Data: "say:yes"}, {Label: "/approve K7Q2", Data: "say:/approve K7Q2"}}
	foreign := []channels.Choice{{Label: "yes", Data: "say~yes"}, {Label: "/approve K7Q2", Data: "say~/approve K7Q2"}}
	for name, c := range map[string]struct {
		change func(s *testStore, o *event.Out)
		body   string
		want   []channels.Choice
	}{
		"by the owner's turn": {func(*testStore, *event.Out) {}, "hello", clean},
		"by a tainted turn":   {func(s *testStore, _ *event.Out) { s.sql("UPDATE turns SET tainted = 1") }, "hello", foreign},
		"in a low session":    {func(s *testStore, _ *event.Out) { s.sql("UPDATE sessions SET watermark = 'public'") }, "hello", foreign},
		"by another's turn":   {func(s *testStore, _ *event.Out) { s.sql("UPDATE turns SET asker = 'known'") }, "hello", foreign},
		"by no turn":          {func(_ *testStore, o *event.Out) { o.Cause.ID = 99 }, "hello", foreign},
		"by the command line": {func(_ *testStore, o *event.Out) { o.Cause = event.Cause{Kind: event.ByCommand, ID: 1} }, "hello", clean},
		"to somebody else":    {func(_ *testStore, o *event.Out) { o.To = "chat:2" }, "hello\n\n1. yes\n2. /approve K7Q2", nil},
		"without buttons":     {func(s *testStore, _ *event.Out) { s.policy.Buttons = nil }, "hello\n\n1. yes\n2. /approve K7Q2", nil},
		"with files":          {func(_ *testStore, o *event.Out) { o.Files = []event.Enclosed{{Name: "a.txt"}} }, "hello\n\n1. yes\n2. /approve K7Q2", nil},
		"too long for one": {
			func(_ *testStore, o *event.Out) { o.Buttons = []string{"a", strings.Repeat("é", 21)} },
			"hello\n\n1. a\n2. " + strings.Repeat("é", 21), nil,
		},
		"none": {func(_ *testStore, o *event.Out) { o.Buttons = nil }, "hello", nil},
	} {
		s := fresh(t, buttoned)
		s.accept(message("hi"))
		o := event.Out{Key: "k", Cause: event.Cause{Kind: event.ByTurn, ID: s.take()}, To: chat, Body: "hello", Buttons: labels, Urgency: event.Normal}
		c.change(s, &o)
		if err := s.Calls.Record(t.Context(), tools.Change(o)); err != nil {
			t.Fatal(err)
		}
		rows, err := s.Outbox.Ready(t.Context(), s.now(), 10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		if !slices.Equal(rows[0].Choices, c.want) || rows[0].Body != c.body {
			t.Errorf("%s: %q with %q, want %q with %q", name, rows[0].Body, rows[0].Choices, c.body, c.want)
		}
	}
}
