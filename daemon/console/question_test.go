package console_test

import (
	"strings"
	"testing"

	"hob/daemon/console"
)

// TestAnAskPrintsItsOptionsOnce: an ask lists its options with what they mean; the list is not printed again. A question without a list of its own
// gets one.
func TestAnAskPrintsItsOptionsOnce(t *testing.T) {
	ask := console.Question{Code: "A", Subject: "ask", Text: "Which tea?\n1. green: mild\n2. black", Options: []string{"green", "black"}}
	if got := ask.Show(); got != "? Which tea?\n1. green: mild\n2. black" {
		t.Errorf("%q", got)
	}
	plain := console.Question{Code: "B", Subject: "restore", Text: "Which one?", Options: []string{"old", "new"}}
	if got := plain.Show(); strings.Count(got, "old") != 1 || !strings.Contains(got, "\n  1) old\n  2) new") {
		t.Errorf("%q", got)
	}
}

func TestReplies(t *testing.T) {
	ask := console.Question{Code: "Q", Subject: "ask", Options: []string{"red", "blue"}}
	for _, c := range []struct {
		q    console.Question
		line string
		want console.Reply
		ok   bool
	}{
		{ask, "2", console.Reply{Text: "blue"}, true},
		{ask, "3", console.Reply{Text: "3"}, true},
		{ask, "green", console.Reply{Text: "green"}, true},
		{ask, "/status", console.Reply{}, false},
		{ask, "  ", console.Reply{}, false},
		{console.Question{Subject: "turn-call"}, "t", console.Reply{Scope: "turn"}, true},
		{console.Question{Subject: "turn-call"}, "a", console.Reply{}, false},
		{console.Question{Subject: "turn-call"}, "sure, go on", console.Reply{}, false},
		{console.Question{Subject: "call", Options: []string{"once", "no"}}, "t", console.Reply{}, false},
	} {
		if got, ok := c.q.Reply(c.line); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v %v", c.line, got, ok)
		}
	}
}
