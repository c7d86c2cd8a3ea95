package phrase_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/scheduler/phrase"
)

// TestAMisspeltNameIsCorrected (N43): the error about a misspelt day, month or unit ends with the name that makes the text a schedule.
func TestAMisspeltNameIsCorrected(t *testing.T) {
	for text, name := range map[string]string{
		"every wendesday at 6pm":          "wednesday",
		"every monday and thurzday at 9":  "thursday",
		"on firday at 9":                  "friday",
		"on 3 decembr at 9":               "december",
		"in 2 huors":                      "hours",
		"every mounth on the 1st at 9":    "month",
		"every wekday at 9: read my mail": "weekday",
		"every day at midnigth":           "midnight",
		"tonigt at 9":                     "tonight",
		"every banana at 6":               "",
		"every xyzzy":                     "",
		"the moon at night":               "",
		"":                                "",
	} {
		_, _, err := phrase.Prefix(text, time.UTC, time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
		if err == nil || strings.Contains(err.Error(), "did you mean") != (name != "") || !strings.HasSuffix(err.Error(), map[bool]string{true: "; did you mean " + name + "?"}[name != ""]) {
			t.Errorf("%q: %v, want %q", text, err, name)
		}
	}
	if _, err := phrase.Resolve("firday at 9", time.UTC, time.Now()); !errors.Is(err, phrase.ErrNone) {
		t.Errorf("no ErrNone: %v", err)
	}
}
