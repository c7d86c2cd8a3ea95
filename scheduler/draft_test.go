package scheduler_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// saturday is 2026-11-21 09:30:15.5 in Berlin.
func saturday(t testing.TB) time.Time {
	t.Helper()
	return time.Date(2026, 11, 21, 9, 30, 15, 500_000_000, zone(t, "Europe/Berlin"))
}

func TestNewDefaults(t *testing.T) {
	now := saturday(t)
	j, r, err := scheduler.New(scheduler.Draft{When: "Every weekday at 9", Prompt: " say: Stretch! ", Trust: event.Owner}, now.Location(), now)
	if err != nil {
		t.Fatal(err)
	}
	want := scheduler.Job{
		Trigger: scheduler.Trigger{
			Name: "stretch", Prompt: "say: Stretch!", Deliver: event.ToOwner, Trust: event.Owner, Origin: "run-time", Created: time.Date(2026, 11, 21, 8, 30, 15, 0, time.UTC),
		},
		Spec: "cron 0 9 * * 1-5", Words: "Every weekday at 9", Zone: "Europe/Berlin", Session: "auto", Missed: scheduler.MissedOnce, Overlap: scheduler.OverlapFold,
		Due: time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC),
	}
	if !reflect.DeepEqual(j, want) || len(r.Next) != 3 || r.Next[0].Hour() != 9 {
		t.Errorf("got %+v, %v\nwant %+v", j, r.Next, want)
	}
}

func TestNewSchedules(t *testing.T) {
	now := saturday(t)
	for _, c := range []struct {
		draft scheduler.Draft
		want  string
	}{
		{scheduler.Draft{Cron: "0 9 * * 1-5"}, "cron 0 9 * * 1-5"},
		{scheduler.Draft{Cron: "@daily"}, "cron 0 0 * * *"},
		{scheduler.Draft{Every: "30m"}, "every 30m"},
		{scheduler.Draft{Every: "every 2 hours"}, "every 2h"},
		{scheduler.Draft{Every: "day at 9"}, "cron 0 9 * * *"},
		{scheduler.Draft{At: "2026-12-24 17:00"}, "at 2026-12-24T17:00:00+01:00"},
		{scheduler.Draft{At: "2026-12-24 17:00", Zone: "America/New_York"}, "at 2026-12-24T17:00:00-05:00"},
		{scheduler.Draft{At: "in 2 days at 9"}, "at 2026-11-23T09:00:00+01:00"},
		{scheduler.Draft{When: "tomorrow at 9"}, "at 2026-11-22T09:00:00+01:00"},
	} {
		c.draft.Prompt, c.draft.Trust = "x", event.Owner
		j, _, err := scheduler.New(c.draft, now.Location(), now)
		if err != nil || j.Spec != c.want {
			t.Errorf("%+v: got %q, %v; want %q", c.draft, j.Spec, err, c.want)
		}
	}
}

func TestNewNames(t *testing.T) {
	now := saturday(t)
	for prompt, want := range map[string]string{
		"Brief me on the news":    "brief-me-on-the",
		"say: Müll rausbringen":   "müll-rausbringen",
		"!!!":                     "job",
		"2026":                    "job",
		strings.Repeat("x", 100):  "job",
		"Watch the 3 big markets": "watch-the-3-big",
	} {
		j, _, err := scheduler.New(scheduler.Draft{When: "every 1h", Prompt: prompt, Trust: event.Owner}, now.Location(), now)
		if err != nil || j.Name != want {
			t.Errorf("%q: got %q, %v; want %q", prompt, j.Name, err, want)
		}
	}
}

func TestNewListsAllFaults(t *testing.T) {
	now := saturday(t)
	_, _, err := scheduler.New(scheduler.Draft{
		Name: "a b", Cron: "* * * * *", Every: "1h", Zone: "Local", Session: "x", Deliver: "nowhere", Missed: "x", MaxLate: "soon", Overlap: "x",
	}, now.Location(), now)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`name "a b"`, "exactly one of cron, every, at and when", `time zone "Local"`, `session "x": want auto or main or isolated`, `address "nowhere"`,
		`missed "x": want once or skip or all or ask`, "max-late:", `overlap "x": want fold or queue`, "prompt:", "trust:",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	// A zone that is not known does not hide what is wrong with the schedule.
	_, _, err = scheduler.New(scheduler.Draft{Every: "1ms", Zone: "Mars", Prompt: "x", Trust: event.Owner}, now.Location(), now)
	if err == nil || !strings.Contains(err.Error(), `time zone "Mars"`) || !strings.Contains(err.Error(), "too often") {
		t.Errorf("got %v", err)
	}
	for name, why := range map[string]string{"42": "look like an id", strings.Repeat("x", 65): "longer than 64", "a/b": "only letters", "-x": "look like a flag"} {
		_, _, err := scheduler.New(scheduler.Draft{Name: name, Every: "1h", Prompt: "x", Trust: event.Owner}, time.Local, now)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "time zone") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

func TestUpcoming(t *testing.T) {
	j := job("cron 0 9 * * 1-5", scheduler.MissedOnce)
	now := saturday(t)
	j.Last = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	next, err := scheduler.Upcoming(j, now, 2)
	if err != nil || len(next) != 2 || next[0].Format(time.RFC3339) != "2026-11-24T09:00:00+01:00" {
		t.Errorf("got %v, %v", next, err)
	}
	j.Zone = "Nowhere/Town"
	if _, err := scheduler.Upcoming(j, now, 2); err == nil {
		t.Error("no error for an unknown zone")
	}
}

// A period counts from when the schedule was set, and from the right time where a wrong clock had set it; when the job was made stays.
func TestStartOfAPeriod(t *testing.T) {
	now := saturday(t)
	j := job("every 1h", scheduler.MissedOnce)
	j.Created = now.Add(-50 * time.Hour)
	if j.Anchor = now.Truncate(time.Second).Add(-10 * time.Minute); !j.Start().Equal(j.Anchor) {
		t.Errorf("it counts from %v", j.Start())
	}
	next, err := scheduler.Upcoming(j, now, 1)
	if err != nil || !next[0].Equal(j.Anchor.Add(time.Hour)) {
		t.Errorf("next %v, %v", next, err)
	}
	j.Last, j.Anchor = time.Time{}, now.AddDate(0, 0, 60)
	back, err := scheduler.DueAfterJump(j, now.Add(-time.Hour), now)
	if at := now.Truncate(time.Second); err != nil || !back.Start().Equal(at) || !back.Due.Equal(at.Add(time.Hour)) || !back.Created.Equal(j.Created) {
		t.Errorf("it counts from %v, due %v, made %v, %v", back.Start(), back.Due, back.Created, err)
	}
}

// A job with rights never runs in the owner's conversation, where others may have spoken.
func TestRightsWantASessionOfTheirOwn(t *testing.T) {
	now := saturday(t)
	make := func(session string, allow ...string) (scheduler.Job, error) {
		j, _, err := scheduler.New(scheduler.Draft{When: "every day at 9", Prompt: "x", Trust: event.Owner, Session: session, Permissions: scheduler.Permissions{Allow: allow}}, now.Location(), now)
		return j, err
	}
	if j, err := make("", "exec"); err != nil || j.Session != "isolated" {
		t.Errorf("%q, %v", j.Session, err)
	}
	if j, err := make(""); err != nil || j.Session != scheduler.SessionAuto {
		t.Errorf("without rights: %q, %v", j.Session, err)
	}
	_, err := make("main", "exec")
	if want := `session "main": want isolated, because a job with rights of its own has its own conversation`; err == nil || err.Error() != want {
		t.Errorf("with rights in main: %v, want %s", err, want)
	}
}
