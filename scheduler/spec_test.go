package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"hob/scheduler"
)

func TestParseSpecRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                                  "begin with cron, every or at",
		"0 9 * * *":                         "begin with cron, every or at",
		"cron":                              "empty",
		"cron TZ=UTC":                       "zone is not part",
		"cron TZ=UTC 0 9 * * *":             "zone is not part",
		"cron CRON_TZ=UTC 0 9 * * *":        "zone is not part",
		"cron * * * *":                      "has 4 fields",
		"cron 0 0 0 * * * 2026":             "has 7 fields",
		"cron 60 * * * *":                   `minute "60": 60 is out of range: want 0 to 59`,
		"cron 0 24 * * *":                   "hour",
		"cron 0 0 0 * *":                    `day "0"`,
		"cron 0 0 * 13 *":                   "month",
		"cron 0 0 * * 8":                    "weekday",
		"cron 0 0 L * *":                    "L, W and # do not exist",
		"cron 0 0 15W * *":                  "L, W and # do not exist",
		"cron 0 0 * * 5#2":                  "L, W and # do not exist",
		"cron , * * * *":                    "minute",
		"cron 1,,2 * * * *":                 "minute",
		"cron */0 * * * *":                  "not a number above 0",
		"cron */90 * * * *":                 "every 90m",
		"cron */2/3 * * * *":                "minute",
		"cron 5-1 * * * *":                  "backwards",
		"cron 0 0 * * fri-mon":              "backwards",
		"cron -1 * * * *":                   "minute",
		"cron +5 * * * *":                   "minute",
		"cron 99999999999999999999 * * * *": "minute",
		"cron *-3 * * * *":                  "minute",
		"cron 0 0 30 2 *":                   "never fire",
		"cron 0 0 31 4,6,9,11 *":            "never fire",
		"cron @reboot":                      "not a schedule",
		"cron @daily extra":                 "not a schedule",
		"every":                             "not a period",
		"every 100ms":                       "shortest period is 1 second",
		"every 1500ms":                      "whole seconds",
		"every 11000d":                      "longest is 10 years",
		"every -5m":                         "not a period",
		"every 5":                           "not a period",
		"at noon":                           "want an instant",
		"at 2026-02-30T00:00:00Z":           "want an instant",
	} {
		_, err := scheduler.ParseSpec(text)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want it to say %q", text, err, why)
		}
	}
}

func TestParseSpecCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"cron 0 9 * * 1-5":               "cron 0 9 * * 1-5",
		"CRON  0  9 * *  MON-FRI":        "cron 0 9 * * mon-fri",
		"cron @daily":                    "cron 0 0 * * *",
		"cron @every 1d":                 "every 24h0m0s",
		"cron 0 0 29 2 *":                "cron 0 0 29 2 *",
		"cron 0 0 31 2 1":                "cron 0 0 31 2 1",
		"cron */60 */24 * */12 *":        "cron */60 */24 * */12 *",
		"every 90m":                      "every 1h30m0s",
		"every 2 weeks":                  "every 336h0m0s",
		"at 2026-12-24t17:00:00z":        "at 2026-12-24T17:00:00Z",
		"at 2026-12-24T17:00:00.5+05:30": "at 2026-12-24T17:00:00.5+05:30",
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := parse(t, want).String(); again != want {
			t.Errorf("%q reads back as %q", want, again)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{"cron 0 9 * * 1-5", "cron TZ=UTC", "cron @every 1d", "every 30m", "at 2026-12-24T17:00:00Z", "cron */5 1,2-3/2 ? jan-mar sun-7"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := scheduler.ParseSpec(text)
		if err != nil {
			return
		}
		again, err := scheduler.ParseSpec(spec.String())
		if err != nil || again != spec {
			t.Fatalf("%q became %q, which reads back as %v (%v)", text, spec, again, err)
		}
		next, ok := spec.Next(now, zone(t, "Africa/Cairo"), now)
		if spec.Recurring() && (!ok || !next.After(now)) {
			t.Fatalf("%q never fires", text)
		}
	})
}
