package spec_test

import (
	"strings"
	"testing"
	"time"

	"hob/scheduler/spec"
)

func TestParseRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                                   "begin with cron, every or at",
		"0 9 * * *":                          "begin with cron, every or at",
		"cron":                               "empty",
		"cron TZ=UTC":                        "zone is not part",
		"cron TZ=UTC 0 9 * * *":              "zone is not part",
		"cron CRON_TZ=UTC 0 9 * * *":         "zone is not part",
		"cron * * * *":                       "has 4 fields",
		"cron 0 0 0 * * * 2026":              "has 7 fields",
		"cron 60 * * * *":                    `minute "60": 60 is out of range: want 0 to 59`,
		"cron 0 24 * * *":                    "hour",
		"cron 0 0 0 * *":                     `day "0"`,
		"cron 0 0 * 13 *":                    "month",
		"cron 0 0 * * 8":                     "weekday",
		"cron L 0 * * *":                     "L, W and # do not exist here",
		"cron 0 0 * L *":                     "names such as feb",
		"cron 0 0 15W * *":                   "there is no W",
		"cron 0 0 LW * *":                    "there is no W",
		"cron 0 0 L-3 * *":                   "L for the last day",
		"cron 0 0 1-L * *":                   "L for the last day",
		"cron 0 0 L/2 * *":                   "L for the last day",
		"cron 0 0 * * L":                     "6L is the last Saturday",
		"cron 0 0 * * 8L":                    "8 is out of range",
		"cron 0 0 * * mon-friL":              "not understood",
		"cron 0 0 * * 5L/2":                  "not understood",
		"cron 0 0 * * 5#0":                   "1 to 5",
		"cron 0 0 * * 5#6":                   "1 to 5",
		"cron 0 0 * * 5#":                    "1 to 5",
		"cron 0 0 * * #2":                    "not understood",
		"cron 0 0 * * 5#1#2":                 "1 to 5",
		"cron 0 0 * * 5#2-3":                 "1 to 5",
		"cron 0 0 * * 5#l":                   "1 to 5",
		"cron 0 0 2#1 * *":                   "not understood",
		"cron , * * * *":                     "minute",
		"cron 1,,2 * * * *":                  "minute",
		"cron */0 * * * *":                   "not a number above 0",
		"cron */90 * * * *":                  "every 90m",
		"cron */2/3 * * * *":                 "minute",
		"cron 5-1 * * * *":                   "backwards",
		"cron 0 0 * * fri-mon":               "backwards",
		"cron -1 * * * *":                    "minute",
		"cron +5 * * * *":                    "minute",
		"cron 99999999999999999999 * * * *":  "minute",
		"cron *-3 * * * *":                   "minute",
		"cron 0 0 30 2 *":                    "would never fire on day 30: February has at most 29 days",
		"cron 0 0 30,31 2 *":                 "on day 30: February",
		"cron 0 0 31 4 *":                    "would never fire on day 31: April has at most 30 days",
		"cron 0 0 31 4,6,9,11 *":             "April has at most 30 days, June has at most 30 days, September",
		"cron 0 0 31 4 ?":                    "would never fire",
		"cron every 2 weeks from 2026-11-24": "has 0 fields",
		"cron 0 9 * * 2 every":               "every 2 weeks from 2026-11-24",
		"cron 0 9 * * 2 every 2 weeks":       "every 2 weeks from 2026-11-24",
		"cron 0 9 * * 2 every 2 weeks since 2026-11-24":   "every 2 weeks from 2026-11-24",
		"cron 0 9 * * 2 every 2 weeks from 2026-11-24 x":  "every 2 weeks from 2026-11-24",
		"cron 0 9 * * 2 every 1 weeks from 2026-11-24":    "from 2 to 520",
		"cron 0 9 * * 2 every 521 weeks from 2026-11-24":  "from 2 to 520",
		"cron 0 9 * * * every -2 days from 2026-11-24":    "from 2 to 3650",
		"cron 0 9 * * 2 every 2 years from 2026-11-24":    "days, weeks or months",
		"cron 0 9 * * 2 every 2 weeks from 24.11.2026":    "a date such as",
		"cron 0 9 * * 2 every 2 weeks from 2026-02-30":    "a date such as",
		"cron 0 9 * * 2 every 2 days from 2026-11-24":     "for every other Tuesday take weeks",
		"cron 0 9 1 * * every 2 days from 2026-11-24":     "the day must be *",
		"cron 0 9 1 * * every 2 weeks from 2026-11-24":    "the day must be *",
		"cron 0 9 * 6 2 every 2 weeks from 2026-11-24":    "the month must be *",
		"cron 0 9 1 6 * every 2 months from 2026-11-24":   "the month must be *",
		"cron 0 9 30 * * every 12 months from 2027-02-01": "would never fire: no month that comes every 12 months from 2027-02-01 has such a day",
		"cron 0 9 29 * * every 24 months from 2027-02-01": "would never fire",
		"cron @daily every 2 days from 2026-11-24":        "not a schedule",
		"cron @reboot":            "not a schedule",
		"cron @daily extra":       "not a schedule",
		"every":                   "not a period",
		"every 100ms":             "shortest period is 1 second",
		"every 1500ms":            "whole seconds",
		"every 11000d":            "longest is 10 years",
		"every -5m":               "not a period",
		"every 5":                 "not a period",
		"at noon":                 "want an instant",
		"at 2026-02-30T00:00:00Z": "want an instant",
	} {
		_, err := spec.Parse(text)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want it to say %q", text, err, why)
		}
	}
}

func TestParseCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"cron 0 9 * * 1-5":                                 "cron 0 9 * * 1-5",
		"CRON  0  9 * *  MON-FRI":                          "cron 0 9 * * mon-fri",
		"cron @daily":                                      "cron 0 0 * * *",
		"cron @every 1d":                                   "every 24h",
		"cron 0 0 29 2 *":                                  "cron 0 0 29 2 *",
		"cron 0 0 31 2 1":                                  "cron 0 0 31 2 1",
		"cron */60 */24 * */12 *":                          "cron */60 */24 * */12 *",
		"cron 0 12 l * *":                                  "cron 0 12 L * *",
		"cron 0 12 1,l,15-16/1 jul *":                      "cron 0 12 1,L,15-16/1 jul *",
		"cron 0 17 * * 5l":                                 "cron 0 17 * * 5L",
		"cron 0 17 * * FRIL,7L,mon":                        "cron 0 17 * * friL,7L,mon",
		"cron 0 10 * * MON#1,3#3":                          "cron 0 10 * * mon#1,3#3",
		"cron 0 0 31 4 5#5":                                "cron 0 0 31 4 5#5",
		"cron 30 0 10 * * 7#1":                             "cron 30 0 10 * * 7#1",
		"cron 0 0 L 4 *":                                   "cron 0 0 L 4 *",
		"cron 0 9 * * 2  EVERY 02 week from 2026-11-24":    "cron 0 9 * * 2 every 2 weeks from 2026-11-24",
		"cron 0 9 * * ? every 3650 days from 0001-01-01":   "cron 0 9 * * ? every 3650 days from 0001-01-01",
		"cron 0 9 29 * * every 12 months from 2027-02-01":  "cron 0 9 29 * * every 12 months from 2027-02-01",
		"cron 0 0 9 * * 1L every 2 months from 2026-12-01": "cron 0 0 9 * * 1L every 2 months from 2026-12-01",
		"every 90m":                                        "every 1h30m",
		"every 2 weeks":                                    "every 336h",
		"every 30m0s":                                      "every 30m", // as older rows have it
		"every 1h0m0s":                                     "every 1h",
		"every 10m":                                        "every 10m",
		"every 1h0m5s":                                     "every 1h0m5s",
		"every 60s":                                        "every 1m",
		"at 2026-12-24t17:00:00z":                          "at 2026-12-24T17:00:00Z",
		"at 2026-12-24T17:00:00.5+05:30":                   "at 2026-12-24T17:00:00.5+05:30",
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := parse(t, want); again != parse(t, text) {
			t.Errorf("%q reads back as %q", want, again)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"cron 0 9 * * 1-5", "cron TZ=UTC", "cron @every 1d", "every 30m", "at 2026-12-24T17:00:00Z", "cron */5 1,2-3/2 ? jan-mar sun-7", "cron 0 12 L,1 * 5#2,friL", "cron 0 0 9 * * 2 every 2 weeks from 2026-11-24", "cron 0 9 31 * * every 5 months from 2026-11-01"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := spec.Parse(text)
		if err != nil {
			return
		}
		again, err := spec.Parse(s.String())
		if err != nil || again != s {
			t.Fatalf("%q became %q, which reads back as %v (%v)", text, s, again, err)
		}
		next, ok := s.Next(now, zone(t, "Africa/Cairo"), now)
		if s.Recurring() && (!ok || !next.After(now)) {
			t.Fatalf("%q never fires", text)
		}
	})
}
