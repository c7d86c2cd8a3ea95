package scheduler_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/scheduler"
)

// saturday is 2026-11-21 09:30:15.5 in Berlin.
func saturday(t testing.TB) time.Time {
	return time.Date(2026, 11, 21, 9, 30, 15, 500_000_000, zone(t, "Europe/Berlin"))
}

func TestResolve(t *testing.T) {
	now := saturday(t)
	for words, want := range map[string]string{
		"0 9 * * 1-5":                        "cron 0 9 * * 1-5",
		"cron 0 9 * * 1-5":                   "cron 0 9 * * 1-5",
		"0 0 9 * * MON-FRI":                  "cron 0 0 9 * * mon-fri",
		"@daily":                             "cron 0 0 * * *",
		"@every 1d":                          "every 24h0m0s",
		"every 30m":                          "every 30m0s",
		"every 5s":                           "every 5s",
		"every 2 hours":                      "every 2h0m0s",
		"every hour":                         "every 1h0m0s",
		"hourly":                             "every 1h0m0s",
		"every half hour":                    "every 30m0s",
		"every 1 hour and 30 minutes":        "every 1h30m0s",
		"in 20 minutes":                      "at 2026-11-21T09:50:16+01:00",
		"in 10s":                             "at 2026-11-21T09:30:26+01:00",
		"in an hour":                         "at 2026-11-21T10:30:16+01:00",
		"in 1h30m.":                          "at 2026-11-21T11:00:16+01:00",
		"in 2 days":                          "at 2026-11-23T09:30:15+01:00",
		"in 2 weeks at 9":                    "at 2026-12-05T09:00:00+01:00",
		"at 17:00":                           "at 2026-11-21T17:00:00+01:00",
		"at 3":                               "at 2026-11-22T03:00:00+01:00",
		"at 5 p.m.":                          "at 2026-11-21T17:00:00+01:00",
		"5pm":                                "at 2026-11-21T17:00:00+01:00",
		"at noon":                            "at 2026-11-21T12:00:00+01:00",
		"at midnight":                        "at 2026-11-22T00:00:00+01:00",
		"at 12am":                            "at 2026-11-22T00:00:00+01:00",
		"tomorrow 17:00":                     "at 2026-11-22T17:00:00+01:00",
		"tomorrow at 5pm":                    "at 2026-11-22T17:00:00+01:00",
		"at 17:00 tomorrow":                  "at 2026-11-22T17:00:00+01:00",
		"  Tomorrow   AT  5 PM ":             "at 2026-11-22T17:00:00+01:00",
		"today at 18:30":                     "at 2026-11-21T18:30:00+01:00",
		"tonight at 20:00":                   "at 2026-11-21T20:00:00+01:00",
		"the day after tomorrow at 9":        "at 2026-11-23T09:00:00+01:00",
		"on 2026-12-24 17:00":                "at 2026-12-24T17:00:00+01:00",
		"2026-12-24 17:00":                   "at 2026-12-24T17:00:00+01:00",
		"at 17:00 on 2026-12-24":             "at 2026-12-24T17:00:00+01:00",
		"2026-12-24T17:00":                   "at 2026-12-24T17:00:00+01:00",
		"2026-12-24T17:00:00-05:00":          "at 2026-12-24T17:00:00-05:00",
		"at 2026-12-24T17:00:00z":            "at 2026-12-24T17:00:00Z",
		"at 2027-03-28 02:30":                "at 2027-03-28T03:00:00+02:00",
		"at 2027-10-31 02:30":                "at 2027-10-31T02:30:00+02:00",
		"24 december at 9":                   "at 2026-12-24T09:00:00+01:00",
		"on the 24th of december at 9":       "at 2026-12-24T09:00:00+01:00",
		"december 24th, 2027 at 9":           "at 2027-12-24T09:00:00+01:00",
		"1 march at 9":                       "at 2027-03-01T09:00:00+01:00",
		"friday at 9":                        "at 2026-11-27T09:00:00+01:00",
		"next friday at 9":                   "at 2026-11-27T09:00:00+01:00",
		"saturday at 9":                      "at 2026-11-28T09:00:00+01:00",
		"saturday at 10":                     "at 2026-11-21T10:00:00+01:00",
		"next saturday at 10":                "at 2026-11-28T10:00:00+01:00",
		"on monday at 9":                     "at 2026-11-23T09:00:00+01:00",
		"every weekday at 9":                 "cron 0 9 * * 1-5",
		"at 9 every weekday":                 "cron 0 9 * * 1-5",
		"on weekdays at 9":                   "cron 0 9 * * 1-5",
		"every day at 7:30":                  "cron 30 7 * * *",
		"every day 7:30":                     "cron 30 7 * * *",
		"every day at 7:30:15":               "cron 15 30 7 * * *",
		"daily at 8":                         "cron 0 8 * * *",
		"every day at midnight":              "cron 0 0 * * *",
		"every day at 9, 12 and 17":          "cron 0 9,12,17 * * *",
		"every day at 9:00 and 9:30":         "cron 0,30 9 * * *",
		"every monday at 10am":               "cron 0 10 * * 1",
		"every monday and thursday at 9:15":  "cron 15 9 * * 1,4",
		"every mon,wed,fri at 8am":           "cron 0 8 * * 1,3,5",
		"mondays and fridays at 9":           "cron 0 9 * * 1,5",
		"mon-fri at 9":                       "cron 0 9 * * 1-5",
		"monday to friday at 9":              "cron 0 9 * * 1-5",
		"every friday to monday at 9":        "cron 0 9 * * 0,1,5,6",
		"weekends at 11":                     "cron 0 11 * * 0,6",
		"every week on monday at 9":          "cron 0 9 * * 1",
		"every month on the 1st at 9":        "cron 0 9 1 * *",
		"on the 1st of every month at 9":     "cron 0 9 1 * *",
		"monthly on the 1st and 15th at 9":   "cron 0 9 1,15 * *",
		"every year on december 24 at 18:00": "cron 0 18 24 12 *",
	} {
		r, err := scheduler.Resolve(words, now.Location(), now)
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
		if again, err := scheduler.Resolve(r.Spec, now.Location(), now); err != nil || again.Spec != r.Spec {
			t.Errorf("%q: its spec %q resolves to %q, %v", words, r.Spec, again.Spec, err)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	now := saturday(t)
	for words, why := range map[string]string{
		"":                                 "that is not a schedule",
		"hello world":                      "that is not a schedule",
		"9":                                "that is not a schedule",
		"in a while":                       "that is not a schedule",
		"in":                               "but not how long",
		"in 3 months":                      "how long",
		"in 0 minutes":                     "less than a second",
		"in 4000 days":                     "more than 10 years",
		"every":                            "but not which day",
		"every other day":                  `understood "every", but not "other day"`,
		"every 0s":                         "shortest period",
		"@every 100ms":                     "shortest period",
		"every monday":                     "but not at what time",
		"tomorrow":                         "but not at what time",
		"on 2026-12-24":                    "but not at what time",
		"every 2 days at 9":                `understood "every 2 days", but not "at 9"`,
		"every 2 weeks on monday at 9":     `but not "on monday at 9"`,
		"every day except sunday at 9":     "except sunday",
		"every month on the last day at 9": "the last day",
		"every weekday at 9:15 and 17:30":  "make a job for each",
		"tomorrow at 9 and 17":             "a single day takes a single time",
		"tomorrow at midnight":             "not which midnight",
		"tonight at 8":                     "not in the evening",
		"this saturday at 9":               "has passed",
		"today at 8":                       "has passed",
		"2020-01-01 10:00":                 "has passed",
		"2020-01-01T10:00:00Z":             "has passed",
		"12/24/2026 at 9":                  "write dates as 2026-12-24",
		"30 february at 9":                 "has no day 30",
		"at 25:00":                         `"25:00" is not a time of day`,
		"at 13pm":                          `"13pm" is not a time of day`,
		"at 5 minutes past":                "minutes",
		"tomorrow at 9 stretch":            `understood "tomorrow at 9", but not "stretch"`,
		"* * * *":                          "has 4 fields",
		"0 0 9 * * ? 2026":                 "has 7 fields",
		"TZ=UTC":                           "zone is not part",
		"TZ=UTC 0 9 * * *":                 "zone is not part",
		"0 0 L * *":                        "do not exist here",
		"0 0 30 2 *":                       "never fire",
	} {
		r, err := scheduler.Resolve(words, now.Location(), now)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %q, %v; want it to say %q", words, r.Spec, err, why)
		}
	}
}

func TestPrefix(t *testing.T) {
	now := saturday(t)
	for text, want := range map[string]string{
		"in 20 minutes to stretch":             "at 2026-11-21T09:50:16+01:00|in 20 minutes|to stretch",
		"in 20m to stretch":                    "at 2026-11-21T09:50:16+01:00|in 20m|to stretch",
		"every weekday at 9: read todo.txt":    "cron 0 9 * * 1-5|every weekday at 9|: read todo.txt",
		"at 17:00 tomorrow: Call  Mum":         "at 2026-11-22T17:00:00+01:00|at 17:00 tomorrow|: Call  Mum",
		"tomorrow at 9:read x":                 "at 2026-11-22T09:00:00+01:00|tomorrow at 9|:read x",
		"tomorrow at 9, call mum":              "at 2026-11-22T09:00:00+01:00|tomorrow at 9|call mum",
		"0 9 * * 1-5 brief me":                 "cron 0 9 * * 1-5|0 9 * * 1-5|brief me",
		"0 9 * * 1-5: 7 things":                "cron 0 9 * * 1-5|0 9 * * 1-5|: 7 things",
		"@daily: x":                            "cron 0 0 * * *|@daily|: x",
		"every 5m: ping, then at 9 stop":       "every 5m0s|every 5m|: ping, then at 9 stop",
		"every day at 9 and drink two glasses": "cron 0 9 * * *|every day at 9|and drink two glasses",
		"every hour in winter":                 "every 1h0m0s|every hour|in winter",
		"at 17:00":                             "at 2026-11-21T17:00:00+01:00|at 17:00|",
	} {
		r, rest, err := scheduler.Prefix(text, now.Location(), now)
		if got := strings.Join([]string{r.Spec, r.Words, rest}, "|"); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"0 9 * * 1-5 7 things", "every 2 weeks on monday at 9: water", "every monday and call bob"} {
		if r, _, err := scheduler.Prefix(text, now.Location(), now); err == nil || errors.Is(err, scheduler.ErrNoSchedule) {
			t.Errorf("%q: got %q, %v; want it refused as not certain", text, r.Spec, err)
		}
	}
	for _, text := range []string{"what is the weather", "run df -h", "in the garden", "on the table"} {
		if _, _, err := scheduler.Prefix(text, now.Location(), now); !errors.Is(err, scheduler.ErrNoSchedule) {
			t.Errorf("%q: got %v, want ErrNoSchedule", text, err)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, text := range []string{"every weekday at 9: x", "in 20 minutes", "0 9 * * 1-5", "2026-12-24T17:00", "on the 1st of every month at 5 p.m.", "cron", "every monday to", "at 9, 12 and", "ĀİK every"} {
		f.Add(text)
	}
	now := saturday(f)
	f.Fuzz(func(t *testing.T, text string) {
		r, rest, err := scheduler.Prefix(text, now.Location(), now)
		if err != nil {
			return
		}
		if !strings.Contains(text, r.Words) || !strings.HasSuffix(text, rest) || len(r.Words)+len(rest) > len(text) {
			t.Fatalf("%q was cut into %q and %q", text, r.Words, rest)
		}
		again, err := scheduler.Resolve(r.Spec, now.Location(), now)
		if err != nil || again.Spec != r.Spec {
			t.Fatalf("%q: spec %q resolves to %q, %v", text, r.Spec, again.Spec, err)
		}
		if len(r.Next) == 0 || !r.Next[0].After(now) {
			t.Fatalf("%q: next %v", text, r.Next)
		}
	})
}
