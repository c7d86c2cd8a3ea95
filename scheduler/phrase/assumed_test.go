package phrase_test

import (
	"testing"

	"hob/scheduler/phrase"
)

// U29, U30: what only one reading allows is read. Where another reading was possible, a sentence names the one that was taken. It is
// Saturday, 9:30.
func TestReadingsThatWereChosen(t *testing.T) {
	now := saturday(t)
	for words, want := range map[string]struct{ spec, assumed string }{
		"tomorrow at 5":           {"at 2026-11-22T05:00:00+01:00", "05:00 in the morning is assumed; write 5pm for the evening"},
		"tomorrow at 3:30":        {"at 2026-11-22T03:30:00+01:00", "03:30 in the morning is assumed; write 3:30pm for the afternoon"},
		"at 9":                    {"at 2026-11-22T09:00:00+01:00", "09:00 in the morning is assumed; write 9pm for the evening"},
		"at 10":                   {"at 2026-11-21T10:00:00+01:00", ""},
		"tomorrow at 9":           {"at 2026-11-22T09:00:00+01:00", ""},
		"tomorrow at 05:00":       {"at 2026-11-22T05:00:00+01:00", ""},
		"tomorrow at 5am":         {"at 2026-11-22T05:00:00+01:00", ""},
		"tomorrow morning at 5":   {"at 2026-11-22T05:00:00+01:00", ""},
		"today at 5":              {"at 2026-11-21T17:00:00+01:00", "17:00 is assumed, because 05:00 has passed"},
		"every day at 6":          {"cron 0 6 * * *", "06:00 in the morning is assumed; write 6pm for the evening"},
		"every day at 7":          {"cron 0 7 * * *", ""},
		"tonight":                 {"at 2026-11-21T20:00:00+01:00", "no time was given: 20:00 is assumed"},
		"tonight at 9":            {"at 2026-11-21T21:00:00+01:00", ""},
		"every night":             {"cron 0 20 * * *", "no time was given: 20:00 is assumed"},
		"nightly":                 {"cron 0 20 * * *", "no time was given: 20:00 is assumed"},
		"next friday at noon":     {"at 2026-11-27T12:00:00+01:00", "the next Friday is assumed, 27 November; for a later one write its date"},
		"next saturday at noon":   {"at 2026-11-28T12:00:00+01:00", ""},
		"friday at noon":          {"at 2026-11-27T12:00:00+01:00", ""},
		"twice a day":             {"cron 0 9,21 * * *", "no times were given: 9:00, 21:00 are taken"},
		"twice a day at 8 and 20": {"cron 0 8,20 * * *", ""},
		"every mon wed fri at 18": {"cron 0 18 * * 1,3,5", ""},
		"every night at 2":        {"cron 0 2 * * *", ""},
		"every morning":           {"cron 0 9 * * *", "no time was given: 9:00 is assumed"},
		"tomorrow evening":        {"at 2026-11-22T20:00:00+01:00", "no time was given: 20:00 is assumed"},
		"in the evening":          {"at 2026-11-21T20:00:00+01:00", "no time was given: 20:00 is assumed"},

		"24/12 at 17:00":                              {"at 2026-12-24T17:00:00+01:00", ""},
		"12/24 at 5pm":                                {"at 2026-12-24T17:00:00+01:00", ""},
		"on 24.12. at 17:00":                          {"at 2026-12-24T17:00:00+01:00", ""},
		"24.12 17:00":                                 {"at 2026-12-24T17:00:00+01:00", ""},
		"1/1 at noon":                                 {"at 2027-01-01T12:00:00+01:00", ""},
		"christmas at 9":                              {"at 2026-12-25T09:00:00+01:00", ""},
		"on xmas eve at 17:00":                        {"at 2026-12-24T17:00:00+01:00", ""},
		"end of month":                                {"cron 0 9 L * *", "no time was given: 9:00 is assumed"},
		"at the end of the month at 17:00":            {"cron 0 17 L * *", ""},
		"5 minutes from now":                          {"at 2026-11-21T09:35:16+01:00", ""},
		"an hour and a half from now":                 {"at 2026-11-21T11:00:16+01:00", ""},
		"in an hour from now":                         {"at 2026-11-21T10:30:16+01:00", ""},
		"in a couple of minutes":                      {"at 2026-11-21T09:32:16+01:00", ""},
		"in a couple hours":                           {"at 2026-11-21T11:30:16+01:00", ""},
		"in couple of days":                           {"at 2026-11-23T09:30:15+01:00", ""},
		"tmrw at 9":                                   {"at 2026-11-22T09:00:00+01:00", ""},
		"Tommorow at 9":                               {"at 2026-11-22T09:00:00+01:00", ""},
		"evry wensday at 9":                           {"cron 0 9 * * 3", ""},
		"everyday at 9":                               {"cron 0 9 * * *", ""},
		"every 30 minutes on weekdays from 9 to 17":   {"cron */30 9-16 * * 1-5", ""},
		"every 30 minutes between 9 and 5 on mondays": {"cron */30 9-16 * * 1", "17:00 is assumed as the end"},
	} {
		r, err := phrase.Resolve(words, now.Location(), now)
		if err != nil || r.Spec != want.spec || r.Assumed != want.assumed {
			t.Errorf("%q: got %q (%s), %v; want %q (%s)", words, r.Spec, r.Assumed, err, want.spec, want.assumed)
		}
	}
}
