package phrase_test

import (
	"testing"

	"hob/scheduler/phrase"
)

// Repeated days without a time mean 9:00, like "morning", and the answer says so.
func TestResolveTakesNineForDaysWithoutATime(t *testing.T) {
	now := saturday(t)
	for words, want := range map[string]string{
		"every other Tuesday":            "cron 0 9 * * 2 every 2 weeks from 2026-11-24",
		"every other day":                "cron 0 9 * * * every 2 days from 2026-11-22",
		"every 2nd day":                  "cron 0 9 * * * every 2 days from 2026-11-22",
		"every weekday":                  "cron 0 9 * * 1-5",
		"weekdays":                       "cron 0 9 * * 1-5",
		"every day":                      "cron 0 9 * * *",
		"daily":                          "cron 0 9 * * *",
		"once a day":                     "cron 0 9 * * *",
		"every monday.":                  "cron 0 9 * * 1",
		"mondays and thursdays":          "cron 0 9 * * 1,4",
		"every 2 weeks on friday":        "cron 0 9 * * 5 every 2 weeks from 2026-11-27",
		"the last day of the month":      "cron 0 9 L * *",
		"the last friday of every month": "cron 0 9 * * 5L",
		"on the 1st of every month":      "cron 0 9 1 * *",
		"every 3 months on the 1st":      "cron 0 9 1 * * every 3 months from 2026-12-01",
		"every year on december 24":      "cron 0 9 24 12 *",
	} {
		r, err := phrase.Resolve(words, now.Location(), now)
		if err != nil || r.Spec != want || r.Assumed != "no time was given: 9:00 is assumed" {
			t.Errorf("%q: got %q (%s), %v; want %q, and that 9:00 is assumed", words, r.Spec, r.Assumed, err, want)
		}
	}
	for _, words := range []string{"every other tuesday at 9", "every 2 days", "@daily", "0 9 * * 1-5", "every weekend at 9"} {
		if r, err := phrase.Resolve(words, now.Location(), now); err != nil || r.Assumed != "" {
			t.Errorf("%q: %v; it takes for granted: %q", words, err, r.Assumed)
		}
	}
}
