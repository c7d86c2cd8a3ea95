package phrase_test

import (
	"testing"

	"hob/scheduler/phrase"
)

// R9c: what people say.
func TestWhatPeopleSay(t *testing.T) {
	now := saturday(t)
	for words, want := range map[string]string{
		"every 30 minutes between 9am and 5pm":                 "cron */30 9-16 * * *",
		"every 15 minutes between 9 and 17":                    "cron */15 9-16 * * *",
		"every hour from 9 to 17 on weekdays":                  "cron 0 9-17 * * 1-5",
		"every hour between 9 and 17":                          "cron 0 9-17 * * *",
		"every 2 hours from 8 to 20 on sat and sun":            "cron 0 8-20/2 * * 0,6",
		"every 20 minutes from 9:00 until 17:00 every weekday": "cron */20 9-16 * * 1-5",
		"sat & sun 11:00":                                      "cron 0 11 * * 0,6",
		"sat&sun at 11":                                        "cron 0 11 * * 0,6",
		"sat and sun at 11":                                    "cron 0 11 * * 0,6",
		"Mo-Fr 9:00":                                           "cron 0 9 * * 1-5",
		"Mo-Do 9:00":                                           "cron 0 9 * * 1-4",
		"every fr-so at 9":                                     "cron 0 9 * * 0,5,6",
		"in 3 months":                                          "at 2027-02-21T09:30:15+01:00",
		"in a month at 9":                                      "at 2026-12-21T09:00:00+01:00",
		"in two years at noon":                                 "at 2028-11-21T12:00:00+01:00",
		"a week from today":                                    "at 2026-11-28T09:30:15+01:00",
		"a week from today at 9":                               "at 2026-11-28T09:00:00+01:00",
		"2 weeks from tomorrow at 9":                           "at 2026-12-06T09:00:00+01:00",
		"3 days from now":                                      "at 2026-11-24T09:30:15+01:00",
		"new year's eve at 23:00":                              "at 2026-12-31T23:00:00+01:00",
		"on new years eve at 23:00":                            "at 2026-12-31T23:00:00+01:00",
		"new year's day at noon":                               "at 2027-01-01T12:00:00+01:00",
		"at 17:00 on christmas eve":                            "at 2026-12-24T17:00:00+01:00",
		"every new year's eve at 20":                           "cron 0 20 31 12 *",
		"24.12.2026 17:00":                                     "at 2026-12-24T17:00:00+01:00",
		"on 24.12.2026 at 17:00":                               "at 2026-12-24T17:00:00+01:00",
		"12/24/2026 at 9":                                      "at 2026-12-24T09:00:00+01:00",
		"24/12/2026 at 9":                                      "at 2026-12-24T09:00:00+01:00",
		"12/12/2026 at 9":                                      "at 2026-12-12T09:00:00+01:00",
	} {
		r, err := phrase.Resolve(words, now.Location(), now)
		if err != nil || r.Spec != want {
			t.Errorf("%q: got %q, %v; want %q", words, r.Spec, err, want)
		}
	}
}
