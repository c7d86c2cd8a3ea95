package triggers_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// A job that has failed shows until when what is due waits, and the slots behind that; where no slot waits for it, the next one as ever.
func TestHeldAfterFailures(t *testing.T) {
	now := time.Date(2026, 11, 21, 21, 1, 0, 0, time.UTC)
	hold := now.Add(15 * time.Minute) // the third failure was just now
	for _, c := range []struct {
		name             string
		last, due, until time.Time
		next             string
	}{
		{"due before", now.Add(-time.Minute), now.Add(4 * time.Minute), hold, "21:20"},
		{"one waits", now.Add(time.Second), now.Add(time.Hour), hold, "22:00"},
		{"due after", now.Add(-time.Minute), now.Add(time.Hour), time.Time{}, "22:00"},
	} {
		j := scheduler.Job{
			Trigger: scheduler.Trigger{ID: 1, Name: "a", Prompt: "x", Created: now.Truncate(time.Hour), Trouble: scheduler.Trouble{Failures: 3, BackoffUntil: hold}},
			Spec:    "cron */5 * * * *", Zone: "UTC", Last: c.last, Due: c.due,
		}
		if c.due.After(hold) {
			j.Spec = "cron 0 * * * *"
			j.Due = j.Due.Truncate(time.Hour)
		}
		list, err := (&jobRows{list: []scheduler.Job{j}}).jobs(now).List(t.Context())
		if err != nil || !list[0].BackoffUntil.Equal(c.until) || list[0].Next[0].Format("15:04") != c.next {
			t.Errorf("%s: held until %v, next %v, %v", c.name, list[0].BackoffUntil, list[0].Next, err)
		}
	}
}

// The heartbeat is not run by hand for an interpreter that would not understand it; other jobs are.
func TestNoModelForTheHeartbeat(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &jobRows{}
	d := r.jobs(now)
	if off, err := d.Sync(t.Context(), jobSection("tea", scheduler.Draft{Every: "1h", Prompt: "say: tea"}), triggers.Heartbeat{Enabled: true, Every: time.Hour}); err != nil || len(off) > 0 {
		t.Fatal(off, err)
	}
	noModel := true
	d.NoModel = func() bool { return noModel }
	run := func(name string) error {
		j, err := d.Named(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = d.Alter(t.Context(), j, automation.RunNow, "t1_1")
		return err
	}
	if res := tools.ErrorResult(run("heartbeat")); res.Code != tools.ConfigError || !strings.Contains(res.Content, "no model is connected\nhint: connect one with: hob setup") {
		t.Errorf("%+v", res)
	}
	if err := run("tea"); err != nil {
		t.Errorf("a job: %v", err)
	}
	noModel = false
	if err := run("heartbeat"); err != nil {
		t.Errorf("with a model: %v", err)
	}
}

// A change takes max_late back to its default, or leaves it.
func TestMaxLateIsTakenBack(t *testing.T) {
	d, s := newJobs(t)
	planned(t, d, s, scheduler.Draft{Name: "a", When: "every 1h", Prompt: "say: x", MaxLate: "10m"})
	for _, c := range []struct {
		late string
		want string
	}{{"", "10m"}, {"5m", "5m"}, {scheduler.NoMaxLate, ""}, {"", ""}} {
		planned(t, d, s, scheduler.Draft{ID: 1, MaxLate: c.late})
		got, err := d.Named(t.Context(), "a")
		if err != nil || got.MaxLate != c.want {
			t.Errorf("after %v: %q, %v, want %q", c.late, got.MaxLate, err, c.want)
		}
	}
}

// A section takes the place of a row of its name that is spoilt, and of no other.
func TestSectionReplacesASpoiltRow(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	want := jobSection("a", scheduler.Draft{Cron: "0 9 * * *", Prompt: "x"})
	spoilt := scheduler.Job{Trigger: scheduler.Trigger{ID: 7, Name: "a", Trouble: scheduler.Trouble{Broken: "its row cannot be read: unexpected end of JSON input"}}}
	r := &jobRows{list: []scheduler.Job{spoilt}}
	off, err := r.jobs(now).Sync(t.Context(), want, triggers.Heartbeat{})
	if got := r.list[0]; err != nil || len(off) > 0 || got.ID != 7 || got.Broken != "" || got.Spec != "cron 0 9 * * *" || got.Origin != triggers.OriginConfig {
		t.Errorf("%+v, off %v, %v", got, off, err)
	}
	r = &jobRows{list: []scheduler.Job{{Trigger: scheduler.Trigger{ID: 7, Name: "a", Origin: "run-time", Trust: event.Owner}}}}
	if off, err := r.jobs(now).Sync(t.Context(), want, triggers.Heartbeat{}); err != nil || len(off) != 1 || r.puts != 0 {
		t.Errorf("one that was made at run time: off %v, %v, %d puts", off, err, r.puts)
	}
}
