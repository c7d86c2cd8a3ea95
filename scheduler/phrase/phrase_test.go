package phrase_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"hob/scheduler/phrase"
	"hob/scheduler/spec"
)

// saturday is 2026-11-21 09:30:15.5 in Berlin.
func saturday(t testing.TB) time.Time {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(2026, 11, 21, 9, 30, 15, 500_000_000, berlin)
}

func TestResolve(t *testing.T) {
	now := saturday(t)
	for words, want := range map[string]string{
		"the last day of the month at noon":          "cron 0 12 L * *",
		"on the last day of the month at noon":       "cron 0 12 L * *",
		"last day of every month at 17:30":           "cron 30 17 L * *",
		"at noon on the last day of the month":       "cron 0 12 L * *",
		"monthly on the last day at 9":               "cron 0 9 L * *",
		"every last day of the month at 9":           "cron 0 9 L * *",
		"every other Tuesday at 9":                   "cron 0 9 * * 2 every 2 weeks from 2026-11-24",
		"every other tuesday and thursday at 9:15":   "cron 15 9 * * 2,4 every 2 weeks from 2026-11-24",
		"at 9 every other tuesday":                   "cron 0 9 * * 2 every 2 weeks from 2026-11-24",
		"every other day at 7":                       "cron 0 7 * * * every 2 days from 2026-11-22",
		"every 2nd day at 7":                         "cron 0 7 * * * every 2 days from 2026-11-22",
		"every second day at 7":                      "cron 0 7 * * * every 2 days from 2026-11-22",
		"every third day at 7":                       "cron 0 7 * * * every 3 days from 2026-11-22",
		"every 3 days at 7":                          "cron 0 7 * * * every 3 days from 2026-11-22",
		"every three days at 7":                      "cron 0 7 * * * every 3 days from 2026-11-22",
		"at 7 every 2nd day":                         "cron 0 7 * * * every 2 days from 2026-11-22",
		"every 2 days":                               "every 48h",
		"every other week on monday at 9":            "cron 0 9 * * 1 every 2 weeks from 2026-11-23",
		"every two weeks on mondays at 9":            "cron 0 9 * * 1 every 2 weeks from 2026-11-23",
		"every 2 weeks on monday and friday at 9":    "cron 0 9 * * 1,5 every 2 weeks from 2026-11-23",
		"every fortnight on monday at 9":             "cron 0 9 * * 1 every 2 weeks from 2026-11-23",
		"fortnightly on mondays at 9":                "cron 0 9 * * 1 every 2 weeks from 2026-11-23",
		"every 3 months on the 1st at 9":             "cron 0 9 1 * * every 3 months from 2026-12-01",
		"every other month on the last friday at 9":  "cron 0 9 * * 5L every 2 months from 2026-11-27",
		"three times a day":                          "cron 0 9,15,21 * * *",
		"twice a day":                                "cron 0 9,21 * * *",
		"thrice daily":                               "cron 0 9,15,21 * * *",
		"four times a day":                           "cron 0 9,13,17,21 * * *",
		"five times per day":                         "cron 0 9,12,15,18,21 * * *",
		"3x a day":                                   "cron 0 9,15,21 * * *",
		"twice a day at 8 and 20":                    "cron 0 8,20 * * *",
		"three times a day on weekdays":              "cron 0 9,15,21 * * 1-5",
		"three times every weekday":                  "cron 0 9,15,21 * * 1-5",
		"once a day at 9":                            "cron 0 9 * * *",
		"once a week on monday at 9":                 "cron 0 9 * * 1",
		"once a month on the 1st at 9":               "cron 0 9 1 * *",
		"twice an hour":                              "every 30m",
		"three times an hour":                        "every 20m",
		"first Monday of the month at 10":            "cron 0 10 * * 1#1",
		"the first monday of every month at 10":      "cron 0 10 * * 1#1",
		"on the first monday of the month at 10":     "cron 0 10 * * 1#1",
		"every first monday of the month at 10":      "cron 0 10 * * 1#1",
		"the 2nd and 4th tuesday of the month at 9":  "cron 0 9 * * 2#2,2#4",
		"every month on the first monday at 10":      "cron 0 10 * * 1#1",
		"first and last friday of the month at 17":   "cron 0 17 * * 5#1,5L",
		"every quarter hour":                         "every 15m",
		"every quarter of an hour":                   "every 15m",
		"every half an hour":                         "every 30m",
		"every hour and a half":                      "every 1h30m",
		"every hour and 15 minutes":                  "every 1h15m",
		"weekdays at 8 and 17":                       "cron 0 8,17 * * 1-5",
		"weekday mornings at 8":                      "cron 0 8 * * 1-5",
		"at noon on Fridays":                         "cron 0 12 * * 5",
		"noon on fridays":                            "cron 0 12 * * 5",
		"on the 1st and 15th at 9":                   "cron 0 9 1,15 * *",
		"the 1st and 15th of the month at 9":         "cron 0 9 1,15 * *",
		"the 15th of the month at 9":                 "cron 0 9 15 * *",
		"every 15th at 9":                            "cron 0 9 15 * *",
		"the end of the month at 17":                 "cron 0 17 L * *",
		"at the end of every month at 17":            "cron 0 17 L * *",
		"every evening":                              "cron 0 20 * * *",
		"every evening at 8":                         "cron 0 20 * * *",
		"every morning":                              "cron 0 9 * * *",
		"every morning at 7":                         "cron 0 7 * * *",
		"mornings at 7":                              "cron 0 7 * * *",
		"evenings at 8":                              "cron 0 20 * * *",
		"every night at 10":                          "cron 0 22 * * *",
		"every night at 2":                           "cron 0 2 * * *",
		"nightly at 2":                               "cron 0 2 * * *",
		"every afternoon":                            "cron 0 15 * * *",
		"this evening at 8":                          "at 2026-11-21T20:00:00+01:00",
		"this evening":                               "at 2026-11-21T20:00:00+01:00",
		"tonight":                                    "at 2026-11-21T20:00:00+01:00",
		"tonight at 8:30":                            "at 2026-11-21T20:30:00+01:00",
		"tonight at midnight":                        "at 2026-11-22T00:00:00+01:00",
		"tomorrow morning":                           "at 2026-11-22T09:00:00+01:00",
		"tomorrow morning at 7":                      "at 2026-11-22T07:00:00+01:00",
		"tomorrow evening at 8":                      "at 2026-11-22T20:00:00+01:00",
		"tomorrow at 3 in the afternoon":             "at 2026-11-22T15:00:00+01:00",
		"monday morning at 9":                        "at 2026-11-23T09:00:00+01:00",
		"every monday morning at 9":                  "cron 0 9 * * 1",
		"friday evenings at 8":                       "cron 0 20 * * 5",
		"every sunday night at 11":                   "cron 0 23 * * 0",
		"at 7 in the morning every day":              "cron 0 7 * * *",
		"every day at 7 in the morning":              "cron 0 7 * * *",
		"at 8 in the evening":                        "at 2026-11-21T20:00:00+01:00",
		"every 90 minutes":                           "every 1h30m",
		"every ninety minutes":                       "every 1h30m",
		"every hour on the hour":                     "cron 0 * * * *",
		"every hour at :15":                          "cron 15 * * * *",
		"every hour at 15 past":                      "cron 15 * * * *",
		"every hour at quarter past":                 "cron 15 * * * *",
		"every hour on the half hour":                "cron 30 * * * *",
		"at half past 7 every morning":               "cron 30 7 * * *",
		"half past seven every day":                  "cron 30 7 * * *",
		"at quarter to 8":                            "at 2026-11-22T07:45:00+01:00",
		"at 20 past 7":                               "at 2026-11-22T07:20:00+01:00",
		"at 5 minutes to 9":                          "at 2026-11-22T08:55:00+01:00",
		"at nine":                                    "at 2026-11-22T09:00:00+01:00",
		"at nine thirty":                             "at 2026-11-22T09:30:00+01:00",
		"every day at nine":                          "cron 0 9 * * *",
		"every day at noon":                          "cron 0 12 * * *",
		"every noon":                                 "cron 0 12 * * *",
		"every midnight":                             "cron 0 0 * * *",
		"every other hour":                           "every 2h",
		"every second hour":                          "every 2h",
		"every second month on the 1st at 9":         "cron 0 9 1 * * every 2 months from 2026-12-01",
		"every second tuesday of the month at 9":     "cron 0 9 * * 2#2",
		"every second":                               "every 1s",
		"every two hours":                            "every 2h",
		"in two hours":                               "at 2026-11-21T11:30:16+01:00",
		"in half an hour":                            "at 2026-11-21T10:00:16+01:00",
		"in an hour and a half":                      "at 2026-11-21T11:00:16+01:00",
		"in a quarter of an hour":                    "at 2026-11-21T09:45:16+01:00",
		"in a fortnight":                             "at 2026-12-05T09:30:15+01:00",
		"in a week at 9":                             "at 2026-11-28T09:00:00+01:00",
		"every day at 9:00, 9:30, 17:00 and 17:30":   "cron 0,30 9,17 * * *",
		"from monday to friday at 9":                 "cron 0 9 * * 1-5",
		"every weekend at 11":                        "cron 0 11 * * 0,6",
		"every 5th of the month at 9":                "cron 0 9 5 * *",
		"every 31st at 9":                            "cron 0 9 31 * *",
		"every 2 weeks":                              "every 336h",
		"0 9 * * 2 every 2 weeks from 2026-11-24":    "cron 0 9 * * 2 every 2 weeks from 2026-11-24",
		"0 0 9 * * 2 every 2 weeks from 2026-11-24":  "cron 0 0 9 * * 2 every 2 weeks from 2026-11-24",
		"0 12 L * *":                                 "cron 0 12 L * *",
		"0 17 * * FRIL":                              "cron 0 17 * * friL",
		"0 10 * * 1#1":                               "cron 0 10 * * 1#1",
		"every day at 9 am and 5 pm":                 "cron 0 9,17 * * *",
		"every day at 7.30":                          "cron 30 7 * * *",
		"noon tomorrow":                              "at 2026-11-22T12:00:00+01:00",
		"every december 24 at 9":                     "cron 0 9 24 12 *",
		"every monday, wednesday and friday at 7:30": "cron 30 7 * * 1,3,5",
		"every night at 2 and 10":                    "cron 0 2,22 * * *",
		"every minute":                               "every 1m",
		"every minute and 30 seconds":                "every 1m30s",
		"every 2nd hour":                             "every 2h",
		"on weekday mornings":                        "cron 0 9 * * 1-5",
		"0 9 * * 1-5":                                "cron 0 9 * * 1-5",
		"cron 0 9 * * 1-5":                           "cron 0 9 * * 1-5",
		"0 0 9 * * MON-FRI":                          "cron 0 0 9 * * mon-fri",
		"@daily":                                     "cron 0 0 * * *",
		"@every 1d":                                  "every 24h",
		"every 30m":                                  "every 30m",
		"every 5s":                                   "every 5s",
		"every 2 hours":                              "every 2h",
		"every hour":                                 "every 1h",
		"hourly":                                     "every 1h",
		"every half hour":                            "every 30m",
		"every 1 hour and 30 minutes":                "every 1h30m",
		"in 20 minutes":                              "at 2026-11-21T09:50:16+01:00",
		"in 10s":                                     "at 2026-11-21T09:30:26+01:00",
		"in an hour":                                 "at 2026-11-21T10:30:16+01:00",
		"in 1h30m.":                                  "at 2026-11-21T11:00:16+01:00",
		"in 2 days":                                  "at 2026-11-23T09:30:15+01:00",
		"in 2 weeks at 9":                            "at 2026-12-05T09:00:00+01:00",
		"at 17:00":                                   "at 2026-11-21T17:00:00+01:00",
		"at 3":                                       "at 2026-11-22T03:00:00+01:00",
		"at 5 p.m.":                                  "at 2026-11-21T17:00:00+01:00",
		"5pm":                                        "at 2026-11-21T17:00:00+01:00",
		"at noon":                                    "at 2026-11-21T12:00:00+01:00",
		"at midnight":                                "at 2026-11-22T00:00:00+01:00",
		"at 12am":                                    "at 2026-11-22T00:00:00+01:00",
		"tomorrow 17:00":                             "at 2026-11-22T17:00:00+01:00",
		"tomorrow at 5pm":                            "at 2026-11-22T17:00:00+01:00",
		"at 17:00 tomorrow":                          "at 2026-11-22T17:00:00+01:00",
		"  Tomorrow   AT  5 PM ":                     "at 2026-11-22T17:00:00+01:00",
		"today at 18:30":                             "at 2026-11-21T18:30:00+01:00",
		"tonight at 20:00":                           "at 2026-11-21T20:00:00+01:00",
		"the day after tomorrow at 9":                "at 2026-11-23T09:00:00+01:00",
		"on 2026-12-24 17:00":                        "at 2026-12-24T17:00:00+01:00",
		"2026-12-24 17:00":                           "at 2026-12-24T17:00:00+01:00",
		"at 17:00 on 2026-12-24":                     "at 2026-12-24T17:00:00+01:00",
		"2026-12-24T17:00":                           "at 2026-12-24T17:00:00+01:00",
		"2026-12-24T17:00:00-05:00":                  "at 2026-12-24T17:00:00-05:00",
		"at 2026-12-24T17:00:00z":                    "at 2026-12-24T17:00:00Z",
		"at 2027-03-28 02:30":                        "at 2027-03-28T03:00:00+02:00",
		"at 2027-10-31 02:30":                        "at 2027-10-31T02:30:00+02:00",
		"24 december at 9":                           "at 2026-12-24T09:00:00+01:00",
		"on the 24th of december at 9":               "at 2026-12-24T09:00:00+01:00",
		"december 24th, 2027 at 9":                   "at 2027-12-24T09:00:00+01:00",
		"1 march at 9":                               "at 2027-03-01T09:00:00+01:00",
		"friday at 9":                                "at 2026-11-27T09:00:00+01:00",
		"next friday at 9":                           "at 2026-11-27T09:00:00+01:00",
		"saturday at 9":                              "at 2026-11-28T09:00:00+01:00",
		"saturday at 10":                             "at 2026-11-21T10:00:00+01:00",
		"next saturday at 10":                        "at 2026-11-28T10:00:00+01:00",
		"on monday at 9":                             "at 2026-11-23T09:00:00+01:00",
		"every weekday at 9":                         "cron 0 9 * * 1-5",
		"at 9 every weekday":                         "cron 0 9 * * 1-5",
		"on weekdays at 9":                           "cron 0 9 * * 1-5",
		"every day at 7:30":                          "cron 30 7 * * *",
		"every day 7:30":                             "cron 30 7 * * *",
		"every day at 7:30:15":                       "cron 15 30 7 * * *",
		"daily at 8":                                 "cron 0 8 * * *",
		"every day at midnight":                      "cron 0 0 * * *",
		"every day at 9, 12 and 17":                  "cron 0 9,12,17 * * *",
		"every day at 9:00 and 9:30":                 "cron 0,30 9 * * *",
		"every monday at 10am":                       "cron 0 10 * * 1",
		"every monday and thursday at 9:15":          "cron 15 9 * * 1,4",
		"every mon,wed,fri at 8am":                   "cron 0 8 * * 1,3,5",
		"mondays and fridays at 9":                   "cron 0 9 * * 1,5",
		"mon-fri at 9":                               "cron 0 9 * * 1-5",
		"monday to friday at 9":                      "cron 0 9 * * 1-5",
		"every friday to monday at 9":                "cron 0 9 * * 0,1,5,6",
		"weekends at 11":                             "cron 0 11 * * 0,6",
		"every week on monday at 9":                  "cron 0 9 * * 1",
		"every month on the 1st at 9":                "cron 0 9 1 * *",
		"on the 1st of every month at 9":             "cron 0 9 1 * *",
		"monthly on the 1st and 15th at 9":           "cron 0 9 1,15 * *",
		"every year on december 24 at 18:00":         "cron 0 18 24 12 *",
	} {
		r, err := phrase.Resolve(words, now.Location(), now)
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		if r.Spec != want {
			t.Errorf("%q: got %q, want %q", words, r.Spec, want)
		}
		if r.Recurring == strings.HasPrefix(want, "at ") || r.Recurring && len(r.Next) != 3 || !r.Next[0].After(now) {
			t.Errorf("%q: recurring %v, next %v", words, r.Recurring, r.Next)
		}
		if again, err := phrase.Resolve(r.Spec, now.Location(), now); err != nil || again.Spec != r.Spec {
			t.Errorf("%q: its spec %q resolves to %q, %v", words, r.Spec, again.Spec, err)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	now := saturday(t)
	for words, why := range map[string]string{
		"every other week at 9":                        "on which day",
		"every 3 weeks at 9":                           "on which day",
		"every fortnight":                              "on which day",
		"every other month at 9":                       "on which day",
		"biweekly on monday at 9":                      "twice in that time or every other one",
		"bimonthly":                                    "every other one",
		"6 times a day":                                "name them",
		"three times a day at 8 and 20":                "not at which 3 times",
		"100 times a day":                              "name them",
		"three times a day at noon in the evening":     "at which 3 times",
		"twice a week":                                 "not on which days",
		"3 times a month":                              "not on which days",
		"twice every second":                           "that is not a schedule",
		"seven times an hour":                          "that is not a schedule",
		"every first monday at 10":                     `"every other monday" or "the first monday of the month"`,
		"every 2nd tuesday at 9":                       `"every other tuesday" or "the 2nd tuesday of the month"`,
		"the last weekday of the month at 9":           "working days are not counted",
		"the first workday of the month at 9":          "working days are not counted",
		"the sixth monday of the month at 9":           "that is not a schedule",
		"on the 1st at 9":                              "once or every month",
		"the 31st at noon":                             "once or every month",
		"on the last at 9":                             "that is not a schedule",
		"every month on the last at 9":                 `but not "the last at 9"`,
		"tonight at 3":                                 "03:00 is not this evening",
		"tonight at 08:30":                             "08:30 is not this evening",
		"tonight at 9am":                               "is not this evening",
		"every morning at 14":                          "14:00 is not in the morning",
		"every evening at noon":                        "12:00 is not in the evening",
		"every night at 6":                             "06:00 is not at night",
		"tomorrow night at 2":                          "not which night",
		"every sunday night at 2":                      "not which night",
		"this morning at 8":                            "has passed",
		"morning":                                      "that is not a schedule",
		"last night at 9":                              "that is not a schedule",
		"at 5 to 9":                                    `not "to 9"`,
		"at half 7":                                    "before or after the hour",
		"at quarter past":                              "not",
		"at 61 past 7":                                 "not",
		"every hour at :75":                            "not",
		"every 2 hours on weekdays":                    `but not "on weekdays"`,
		"every 45 minutes between 9 and 17":            "does not fit into hours",
		"every hour from 9:30 to 17":                   "not full hours of one day",
		"new year's eve":                               "at what time",
		"every day at 9 for two weeks":                 `not "for two weeks"`,
		"every morning and evening":                    `not "and evening"`,
		"every day at 9 during winter":                 "during winter",
		"every monday at 9 starting tomorrow":          "starting tomorrow",
		"every other weekday at 9":                     `not "other weekday at 9"`,
		"every other year on december 24 at 9":         `not "other year`,
		"every 30 february at 9":                       "February has at most 29 days",
		"every month on the 32nd at 9":                 "not",
		"every month":                                  "not which day",
		"every week":                                   "not which day",
		"every year":                                   "not which day",
		"monthly at 9":                                 `not "at 9"`,
		"weekly at 9":                                  `not "at 9"`,
		"every quarter":                                "every 3 months on the 1st",
		"quarterly":                                    "every 3 months on the 1st",
		"monthly":                                      "every month on the 1st at 9",
		"every second tuesday at 9":                    `say "every other tuesday" or "the second tuesday of the month"`,
		"every second weekend at 9":                    `not "weekend at 9"`,
		"every second morning at 7":                    "the second of the month",
		"every day but sunday at 9":                    "monday to saturday",
		"every day at 9 excluding sunday":              "monday to saturday",
		"every day at 9 but not on sundays":            "monday to saturday",
		"every weekday between 9 and 17":               "*/15 9-16 * * 1-5",
		"every day at 9 UTC":                           "the zone is not part of a schedule",
		"every day at 9am EST":                         "the zone is not part of a schedule",
		"tomorrow at 9 in New York":                    `understood "tomorrow at 9", but not "in New York": the zone is not part of a schedule; give it by itself, here America/New_York`,
		"tomorrow at 9 Berlin time":                    "here Europe/Berlin",
		"at 9 Asia/Tokyo":                              "here Asia/Tokyo",
		"every hour tuesday":                           `not "tuesday"`,
		"2026-02-30 at 9":                              "February 2026 has no day 30",
		"at 2026-13-01 10:00":                          "not a date: write it as 2026-12-24",
		"05.06.2027 17:00":                             "write dates as 2026-12-24",
		"31.11.2026 17:00":                             "November 2026 has no day 31",
		"next month":                                   "not on which day",
		"this weekend":                                 "not on which day",
		"yesterday at 5":                               "yesterday has passed",
		"at yesterday at 5":                            "yesterday has passed",
		"on the 1st":                                   "once or every month",
		"on Dec 24":                                    `understood "on Dec 24", but not at what time`,
		"on Dec 24 to have dinner":                     `understood "on Dec 24", but not at what time`,
		"5/6 at 9":                                     "which is the day and which the month",
		"in a few minutes":                             "not how many",
		"24/7":                                         "that is not a schedule",
		"every 0 days at 9":                            `not "0 days at 9"`,
		"every 3651 days at 9":                         "from 2 to 3650",
		"every 121 months on the 1st at 9":             "from 2 to 120",
		"every 10 years":                               `not "10 years"`,
		"every 1.5 seconds":                            "whole seconds",
		"0 0 31 4 *":                                   "April has at most 30 days",
		"0 9 * * 2 every 2 weeks from yesterday":       "a date such as",
		"0 9 * * 2 every 2 fortnights from 2026-11-24": "days, weeks or months",
		"the end of days at 9":                         "that is not a schedule",
		"on the 30th of february at 9":                 "February has no day 30",
		"every 9":                                      "not",
		"every day at 24":                              "is not a time of day",
		"at noon and midnight":                         "a single day takes a single time",
		"":                                             "that is not a schedule",
		"hello world":                                  "that is not a schedule",
		"9":                                            "that is not a schedule",
		"in a while":                                   "that is not a schedule",
		"in":                                           "but not how long",
		"in 300 months":                                "how long",
		"in 0 minutes":                                 "less than a second",
		"in 4000 days":                                 "more than 10 years",
		"every":                                        "but not which day",
		"every 0s":                                     "shortest period",
		"@every 100ms":                                 "shortest period",
		"tomorrow":                                     "but not at what time",
		"on 2026-12-24":                                "but not at what time",
		"every day except sunday at 9":                 "except sunday",
		"every weekday at 9:15 and 17:30":              "make a job for each",
		"tomorrow at 9 and 17":                         "a single day takes a single time",
		"tomorrow at midnight":                         "not which midnight",
		"this saturday at 9":                           "has passed",
		"2020-01-01 10:00":                             "has passed",
		"2020-01-01T10:00:00Z":                         "has passed",
		"06/05/2027 at 9":                              "write dates as 2026-12-24",
		"13/13/2027 at 9":                              "not a date: write it as 2026-12-24",
		"30 february at 9":                             "February has no day 30",
		"at 25:00":                                     `"25:00" is not a time of day`,
		"at 13pm":                                      `"13pm" is not a time of day`,
		"at 5 minutes past":                            "minutes",
		"tomorrow at 9 stretch":                        `understood "tomorrow at 9", but not "stretch"`,
		"* * * *":                                      "has 4 fields",
		"0 0 9 * * ? 2026":                             "has 7 fields",
		"TZ=UTC":                                       "zone is not part",
		"TZ=UTC 0 9 * * *":                             `cron spec "TZ=UTC 0 9 * * *": the zone is not part`,
		"cron":                                         "want five fields",
		"0 0 15W * *":                                  "there is no W",
		"0 0 30 2 *":                                   "never fire",
	} {
		r, err := phrase.Resolve(words, now.Location(), now)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %q, %v; want it to say %q", words, r.Spec, err, why)
		}
	}
}

func TestPrefix(t *testing.T) {
	now := saturday(t)
	for text, want := range map[string]string{
		"in 20 minutes to stretch":                        "at 2026-11-21T09:50:16+01:00|in 20 minutes|to stretch",
		"in 20m to stretch":                               "at 2026-11-21T09:50:16+01:00|in 20m|to stretch",
		"every weekday at 9: read todo.txt":               "cron 0 9 * * 1-5|every weekday at 9|: read todo.txt",
		"at 17:00 tomorrow: Call  Mum":                    "at 2026-11-22T17:00:00+01:00|at 17:00 tomorrow|: Call  Mum",
		"tomorrow at 9:read x":                            "at 2026-11-22T09:00:00+01:00|tomorrow at 9|:read x",
		"tomorrow at 9, call mum":                         "at 2026-11-22T09:00:00+01:00|tomorrow at 9|call mum",
		"0 9 * * 1-5 brief me":                            "cron 0 9 * * 1-5|0 9 * * 1-5|brief me",
		"0 9 * * 1-5: 7 things":                           "cron 0 9 * * 1-5|0 9 * * 1-5|: 7 things",
		"@daily: x":                                       "cron 0 0 * * *|@daily|: x",
		"every 5m: ping, then at 9 stop":                  "every 5m|every 5m|: ping, then at 9 stop",
		"every day at 9 and drink two glasses":            "cron 0 9 * * *|every day at 9|and drink two glasses",
		"every hour in winter":                            "every 1h|every hour|in winter",
		"every other day: water":                          "cron 0 9 * * * every 2 days from 2026-11-22|every other day|: water",
		"every monday to water the plants":                "cron 0 9 * * 1|every monday|to water the plants",
		"every other monday at 9: water":                  "cron 0 9 * * 1 every 2 weeks from 2026-11-23|every other monday at 9|: water",
		"0 0 9 * * 2 every 2 weeks from 2026-11-24 water": "cron 0 0 9 * * 2 every 2 weeks from 2026-11-24|0 0 9 * * 2 every 2 weeks from 2026-11-24|water",
		"0 9 * * 2 every 2 weeks from 2026-11-24: water":  "cron 0 9 * * 2 every 2 weeks from 2026-11-24|0 9 * * 2 every 2 weeks from 2026-11-24|: water",
		"0 9 L * * every bill":                            "cron 0 9 L * *|0 9 L * *|every bill",
		"three times a day: drink":                        "cron 0 9,15,21 * * *|three times a day|: drink",
		"every evening: what is on?":                      "cron 0 20 * * *|every evening|: what is on?",
		"tonight at 8 to watch the film":                  "at 2026-11-21T20:00:00+01:00|tonight at 8|to watch the film",
		"the last day of the month at noon: pay":          "cron 0 12 L * *|the last day of the month at noon|: pay",
		"every hour on the hour: chime":                   "cron 0 * * * *|every hour on the hour|: chime",
		"every second: tick":                              "every 1s|every second|: tick",
		"at 9 but not too loud":                           "at 2026-11-22T09:00:00+01:00|at 9|but not too loud",
		"at 9 but do not wake me":                         "at 2026-11-22T09:00:00+01:00|at 9|but do not wake me",
		"at 17:00 in the garden":                          "at 2026-11-21T17:00:00+01:00|at 17:00|in the garden",
		"at 17:00 in Room 5":                              "at 2026-11-21T17:00:00+01:00|at 17:00|in Room 5",
		"in 20m time for tea":                             "at 2026-11-21T09:50:16+01:00|in 20m|time for tea",
		"at in 20m: x":                                    "at 2026-11-21T09:50:16+01:00|at in 20m|: x",
		"at 17:00":                                        "at 2026-11-21T17:00:00+01:00|at 17:00|",
	} {
		r, rest, err := phrase.Prefix(text, now.Location(), now)
		if got := strings.Join([]string{r.Spec, r.Words, rest}, "|"); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"every second tuesday to call mum", "every second morning: run", "every second month to pay", "every hour monday to run", "every day at 9 except sunday: run",
		"tomorrow at 9 UTC to call", "at 9 in New York to call", "in 20 minutes London time: call",
		"0 9 * * 1-5 7 things", "every monday and call bob", "weekdays are hard", "every monday I swim", "every 3 days at 9 and at noon on mondays: x",
	} {
		if r, _, err := phrase.Prefix(text, now.Location(), now); err == nil || errors.Is(err, phrase.ErrNone) {
			t.Errorf("%q: got %q, %v; want it refused as not certain", text, r.Spec, err)
		}
	}
	for _, text := range []string{"what is the weather", "run df -h", "in the garden", "on the table", "first, read this", "the last letter", "half of it", "once upon a time", "three times nine", "end of story", "this is it", "a quarter", "last night was fun"} {
		if _, _, err := phrase.Prefix(text, now.Location(), now); !errors.Is(err, phrase.ErrNone) {
			t.Errorf("%q: got %v, want ErrNone", text, err)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, text := range []string{"every weekday at 9: x", "in 20 minutes", "0 9 * * 1-5", "2026-12-24T17:00", "on the 1st of every month at 5 p.m.", "cron", "every monday to", "at 9, 12 and", "ĀİK every", "the 2nd and last friday of the month at half past 7 in the evening", "every other tuesday and friday at nine thirty", "three times a day on weekdays", "every hour and a half", "every 3 months on the 1st and last day at 9.30", "0 9 * * 2 every 2 weeks from 2026-11-24: x", "tonight at quarter to 8"} {
		f.Add(text)
	}
	now := saturday(f)
	f.Fuzz(func(t *testing.T, text string) {
		r, rest, err := phrase.Prefix(text, now.Location(), now)
		if err != nil {
			return
		}
		if !strings.Contains(text, r.Words) || !strings.HasSuffix(text, rest) || len(r.Words)+len(rest) > len(text) {
			t.Fatalf("%q was cut into %q and %q", text, r.Words, rest)
		}
		again, err := phrase.Resolve(r.Spec, now.Location(), now)
		if err != nil || again.Spec != r.Spec {
			t.Fatalf("%q: spec %q resolves to %q, %v", text, r.Spec, again.Spec, err)
		}
		if s, err := spec.Parse(r.Spec); err != nil || s.String() != r.Spec || s.Recurring() != r.Recurring {
			t.Fatalf("%q: spec %q reads back as %q, %v", text, r.Spec, s, err)
		}
		if len(r.Next) == 0 || !r.Next[0].After(now) || r.Recurring && len(r.Next) < 3 {
			t.Fatalf("%q: next %v", text, r.Next)
		}
	})
}
