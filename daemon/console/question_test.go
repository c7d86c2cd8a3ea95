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
