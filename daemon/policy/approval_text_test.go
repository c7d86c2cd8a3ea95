package policy_test

import (
	"strings"
	"testing"

	"hob/daemon/policy"
	"hob/tools"
)

// TestQuestionsHideNothing (S11): a question shows the end of a command even after a long run of spaces.
func TestQuestionsHideNothing(t *testing.T) {
	command := "ls" + strings.Repeat(" ", 3000) + "; rm -rf x"
	text := policy.ApprovalText("hob wants to", tools.Intent{Summary: "run " + command, Canonical: []byte(`{"command":"` + command + `"}`)}, policy.Decision{Reason: "it is so"})
	if len(text) > 400 || strings.Count(text, `ls \u{20}×3000 ; rm -rf x`) != 3 {
		t.Error(text)
	}
}
