package setup_test

import (
	"strings"
	"testing"

	"hob/cmd/hob/setup"
	"hob/daemon/api"
)

// TestVerdict lets only models do chores that call tools and use the results.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		text, call, result string
		able               bool
		says               string
	}{
		{"yes", "yes", "yes", true, "can do chores"},
		{"failed", "skipped", "skipped", false, "no usable answer"},
		{"yes", "no", "skipped", false, "does not call tools"},
		{"yes", "wrong_arguments", "skipped", false, "does not call tools"},
		{"yes", "refused", "skipped", false, "does not call tools"},
		{"yes", "failed", "skipped", false, "broke off"},
		{"yes", "yes", "no", false, "does not use the results"},
		{"yes", "yes", "skipped", false, "broke off"},
	} {
		var r api.ModelTest
		set(&r.Text.Outcome, c.text)
		set(&r.Call.Outcome, c.call)
		set(&r.Result.Outcome, c.result)
		set(&r.Vision.Outcome, "no") // pictures are not needed
		if able, says := setup.Verdict(r); able != c.able || !strings.Contains(says, c.says) {
			t.Errorf("%+v: %v, %q", c, able, says)
		}
	}
}

// set sets an outcome, whose type is not exported by package api.
func set[T ~string](o *T, text string) { *o = T(text) }
