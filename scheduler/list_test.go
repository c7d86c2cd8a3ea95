package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// U24, U35: lists name jobs by the words of their request and by local times, those that run next first.
func TestLines(t *testing.T) {
	at := func(text string) []time.Time {
		u, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return []time.Time{u}
	}
	list := []scheduler.View{
		{ID: 1, Name: "done", Spec: "at 2026-11-20T09:00:00Z", Zone: "Europe/Berlin", Prompt: "say: x"},
		{ID: 2, Name: "week", Spec: "cron 0 9 * * 1", Words: "every monday at 9", Zone: "Europe/Berlin", Prompt: "read\nnotes.md " + strings.Repeat("é", 90), Next: at("2026-11-23T08:00:00Z"), Failures: 2},
		{ID: 3, Name: "soon", Spec: "at 2026-11-21T16:00:10Z", Zone: "Europe/Berlin", Prompt: "say: x", Next: at("2026-11-21T16:00:10Z")},
		{ID: 4, Name: "tick", Spec: "every 7s", Words: "every 7s", Zone: "Asia/Tokyo", Prompt: "say: x", Next: at("2026-11-22T00:00:07Z"), Gate: "date"},
		{ID: 5, Name: "broken", Spec: "?", Zone: "Nowhere", Broken: "no such zone"},
		{ID: 6, Name: "paused", Spec: "every 1h", Zone: "Europe/Berlin", Paused: true, Next: nil},
		{ID: 7, Name: "held", Spec: "every 1h", Zone: "Europe/Berlin", Next: at("2026-12-01T00:00:00Z"), Failures: 1, BackoffUntil: at("2026-12-01T00:00:00Z")[0]},
	}
	want := `#3 soon | once | next Sat 21 Nov 2026 17:00:10 | say: x
#4 tick | every 7s, gated | next Sun 22 Nov 2026 09:00:07 JST | say: x
#2 week | every monday at 9 | next Mon 23 Nov 2026 09:00, failed 2 in a row | read notes.md ` + strings.Repeat("é", 66) + `…
#7 held | every 1h | held until 01:00 after 1 failure | ` + `
#5 broken | ? | cannot run: no such zone | ` + `
#1 done | once | done | say: x
#6 paused | every 1h | paused | `
	if got := strings.Join(scheduler.Lines(list, "Europe/Berlin", time.Time{}), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	near := strings.Join(scheduler.Lines(list, "Europe/Berlin", at("2026-11-21T15:57:10Z")[0]), "\n")
	for _, part := range []string{"#3 soon | once | next in 3 min | ", "| next Sun 22 Nov 2026 09:00:07 JST | ", "| next Mon 23 Nov 09:00, failed 2 in a row | "} {
		if !strings.Contains(near, part) {
			t.Errorf("near: no %q in\n%s", part, near)
		}
	}
	if list[0].Name != "done" {
		t.Error("the list of the caller was sorted")
	}
}

// U34: a job that runs more often than once a minute is warned of.
func TestOften(t *testing.T) {
	for words, want := range map[string]string{
		"every 1s": "every 1 s, 86,400 times", "every 59s": "every 59 s, 1,464 times", "*/10 * * * * *": "every 10 s, 8,640 times a day", "every 1m": "", "every day at 9": "", "in 5s": "",
		"*/10 0 9 * * *": "as often as every 10 s, 6 times in 24 hours", "*/10 * 9-10 * * 1": "as often as every 10 s, 720 times in 24 hours", "0,10 * * * * *": "as often as every 10 s, 2,880 times in 24 hours",
		"50,0 * * * * *": "as often as every 10 s, 2,880 times in 24 hours", "*/7 * * * * *": "as often as every 4 s, 12,960 times in 24 hours", "0,30 0 12 1 * *": "as often as every 30 s, 2 times in 24 hours",
		"30 0 9 * * *": "", "30 * * * * *": "", "0 9 29 2 *": "",
	} {
		now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
		j, _, err := scheduler.New(scheduler.Draft{When: words, Prompt: "say: x", Trust: event.Owner, Now: now}, time.UTC, now)
		if err != nil {
			t.Fatal(words, err)
		}
		if got := j.Often(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
