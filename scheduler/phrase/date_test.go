package phrase_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/scheduler/phrase"
)

// A date whose month is certain, and has no such day, is refused for that.
func TestDaysThatNoMonthHas(t *testing.T) {
	now := saturday(t)
	for words, why := range map[string]string{
		"31.04.2027 9:00":    "April 2027 has no day 31",
		"on 29.02.2027 at 9": "February 2027 has no day 29",
		"04/31/2027 at 9":    "April 2027 has no day 31",
		"32.04.2027 at 9":    "April 2027 has no day 32",
		"00.04.2027 at 9":    "not a date: write it as 2026-12-24",
		"31.04. at 9":        "April has no day 31",
		"31/4 at 9":          "April has no day 31",
		"2/30 at 9":          "February has no day 30",
		"feb 30 at 9":        "February has no day 30",
		"feb 29 at 9":        "February 2027 has no day 29; the next one is in 2028: write 2028-02-29",
	} {
		r, err := phrase.Resolve(words, now.Location(), now)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %q, %v; want it to say %q", words, r.Spec, err, why)
		}
	}
}

// The next 29 February is that of the year in which February comes next.
func TestLeapDays(t *testing.T) {
	for at, want := range map[string]string{
		"2027-11-21T09:00:00Z": "at 2028-02-29T09:00:00Z",
		"2028-02-29T08:00:00Z": "at 2028-02-29T09:00:00Z",
		"2028-02-29T10:00:00Z": "February 2029 has no day 29; the next one is in 2032: write 2032-02-29",
		"2028-03-01T08:00:00Z": "February 2029 has no day 29; the next one is in 2032: write 2032-02-29",
		"2027-01-05T08:00:00Z": "February 2027 has no day 29; the next one is in 2028: write 2028-02-29",
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"feb 29 at 9", "29.2. at 9"} {
			r, err := phrase.Resolve(words, now.Location(), now)
			if got := fmt.Sprint(r.Spec, err); !strings.Contains(got, want) {
				t.Errorf("%s, %q: got %s; want %s", at, words, got, want)
			}
		}
	}
}
