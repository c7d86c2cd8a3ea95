package triggers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/tools"
)

// jobRows keeps jobs in memory.
type jobRows struct {
	list []scheduler.Job
	puts int
}

func (r *jobRows) JobRows(context.Context, event.Filter) ([]scheduler.Job, error) { return r.list, nil }

func (r *jobRows) ConfigJobs(context.Context) ([]scheduler.Job, error) {
	return slices.DeleteFunc(slices.Clone(r.list), func(j scheduler.Job) bool { return j.Origin != triggers.OriginConfig }), nil
}

func (r *jobRows) Job(_ context.Context, id int64) (scheduler.Job, error) {
	for _, j := range r.list {
		if j.ID == id {
			return j, nil
		}
	}
	return scheduler.Job{}, event.NewFault(event.Missing, "", "there is none")
}

func (r *jobRows) JobNamed(_ context.Context, name string) (scheduler.Job, error) {
	for _, j := range r.list {
		if j.Name == name {
			return j, nil
		}
	}
	return scheduler.Job{}, event.NewFault(event.Missing, "", "there is none")
}

func (r *jobRows) Record(_ context.Context, changes ...tools.Change) error {
	for _, c := range changes {
		switch c := c.(type) {
		case scheduler.Put:
			r.puts++
			if c.Job.ID == 0 {
				c.Job.ID = int64(r.puts)
				r.list = append(r.list, c.Job)
				continue
			}
			for i := range r.list {
				if r.list[i].ID == c.Job.ID {
					r.list[i] = c.Job
				}
			}
		case scheduler.Remove:
			r.list = nil
		default:
			return fmt.Errorf("unknown change %T", c)
		}
	}
	return nil
}

func (r *jobRows) jobs(now time.Time) triggers.Jobs {
	return triggers.Jobs{
		Prompts: event.Prompts{NoModel: func() bool { return false }, Understands: func(string) bool { return false }},
		Rows:    r, Zone: func() *time.Location { return time.UTC }, Now: func() time.Time { return now }, Unheard: func(event.Address) string { return "" },
		Tool: func(string) bool { return true }, Costs: triggers.Costs{
			Mean:  func(context.Context, int64, time.Time) (scheduler.Cost, error) { return scheduler.Cost{}, nil },
			Price: func() (int64, int64, bool) { return 0, 0, true },
		},
	}
}

// The heartbeat is what [heartbeat] says, and keeps its row when that says the same again.
func TestHeartbeatOfTheConfig(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &jobRows{}
	d := r.jobs(now)
	sync := func(h triggers.Heartbeat) {
		t.Helper()
		if off, err := d.Sync(t.Context(), nil, h); err != nil || len(off) > 0 {
			t.Fatalf("%v, %v", off, err)
		}
	}
	sync(triggers.Heartbeat{Every: time.Hour})
	if len(r.list) != 0 {
		t.Fatalf("one that is switched off: %+v", r.list)
	}
	standard := triggers.Heartbeat{Enabled: true, Every: 30 * time.Minute}
	sync(standard)
	j := r.list[0]
	if j.Name != "heartbeat" || j.Spec != "every 30m" || !strings.Contains(j.Prompt, "HEARTBEAT_OK") || j.SessionKey() != "heartbeat" || j.Deliver != event.ToOwner || j.Typed ||
		!j.Gate.Equal(scheduler.Gate{Content: "HEARTBEAT.md", Idle: true}) || j.Missed != scheduler.MissedSkip || j.Trust != event.Owner {
		t.Errorf("%+v", j)
	}
	r.list[0].Last, r.list[0].Paused = now, true
	if sync(standard); r.puts != 1 {
		t.Errorf("the same again is put %d times", r.puts)
	}
	sync(triggers.Heartbeat{Enabled: true, Every: time.Hour, Active: "08:00-22:00", Gate: "url:https://example.org", Prompt: "say: hi", Deliver: "none"})
	j = r.list[0]
	if j.ID != 1 || j.Spec != "every 1h" || !j.Paused || !j.Last.Equal(now) || j.Prompt != "say: hi" || j.Deliver != event.ToNone ||
		!j.Gate.Equal(scheduler.Gate{Content: "HEARTBEAT.md", Idle: true, Active: "08:00-22:00", URL: "https://example.org"}) {
		t.Errorf("%+v", j)
	}
	if off, err := d.Sync(t.Context(), nil, triggers.Heartbeat{Enabled: true, Every: time.Hour, Gate: "exit:"}); err != nil || len(off) != 1 || !strings.HasPrefix(off[0], "heartbeat is off: ") {
		t.Errorf("a gate that cannot be: %v, %v", off, err)
	}
	if sync(triggers.Heartbeat{}); len(r.list) != 0 {
		t.Errorf("it is not taken away: %+v", r.list)
	}
}

// N47: it is listed from the start; only the config changes it.
func TestHeartbeatInLists(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &jobRows{}
	d := r.jobs(now)
	if _, err := d.Sync(t.Context(), nil, triggers.Heartbeat{Enabled: true, Every: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if list, err := d.List(t.Context()); err != nil || len(list) != 1 || list[0].Name != "heartbeat" {
		t.Errorf("listed are %+v, %v", list, err)
	}
	_, _, err := d.Plan(t.Context(), scheduler.Draft{ID: 1, When: "every 5m", Now: now})
	if err == nil || !strings.Contains(err.Error(), "[heartbeat]") {
		t.Errorf("changed at run time: %v", err)
	}
	if _, _, err := d.Plan(t.Context(), scheduler.Draft{Name: "heartbeat", When: "every 5m", Prompt: "x", Trust: event.Owner, Now: now}); err == nil {
		t.Error("a job takes its name")
	}
}

// A job's gate is set, kept by changes of something else, replaced, and taken away.
func TestGateOfAJob(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &jobRows{}
	d := r.jobs(now)
	plan := func(draft scheduler.Draft) string {
		t.Helper()
		draft.Trust, draft.Now = event.Owner, now
		view, change, err := d.Plan(t.Context(), draft)
		if err == nil {
			err = r.Record(t.Context(), change)
		}
		if err != nil {
			t.Fatal(err)
		}
		return view.Gate
	}
	for _, c := range []struct {
		draft scheduler.Draft
		want  string
	}{
		{scheduler.Draft{Name: "j", When: "every 1h", Prompt: "x", GateText: "exit:test -e go"}, "exit:test -e go"},
		{scheduler.Draft{ID: 1, Prompt: "y"}, "exit:test -e go"},
		{scheduler.Draft{ID: 1, GateText: "url:https://example.org\nfiles:a,b"}, "url:https://example.org\nfiles:a,b"},
		{scheduler.Draft{ID: 1, GateText: "none"}, ""},
	} {
		if got := plan(c.draft); got != c.want || r.list[0].Gate.Words() != c.want {
			t.Errorf("%+v: gate %q, stored %q", c.draft, got, r.list[0].Gate.Words())
		}
	}
	for _, id := range []int64{0, 1} {
		if _, _, err := d.Plan(t.Context(), scheduler.Draft{ID: id, Name: "k", When: "every 1h", Prompt: "x", GateText: "url:nowhere", Trust: event.Owner, Now: now}); err == nil || !strings.Contains(err.Error(), "want an address like") {
			t.Errorf("a bad gate: %v", err)
		}
	}
}

// The keys of [jobs.NAME] make a gate; a change of one changes the job.
func TestGateOfTheConfig(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &jobRows{}
	d := r.jobs(now)
	in := scheduler.Draft{Every: "1h", Prompt: "x", GateText: "date", GateMode: "exit", GateURL: "https://example.org", GateFiles: []string{"a/*"}}
	wanted := func() []triggers.Wanted {
		return []triggers.Wanted{{Name: "j", Decode: func(dst any) error { *dst.(*scheduler.Draft) = in; return nil }}}
	}
	for _, want := range []scheduler.Gate{
		{Command: "date", Exit: true, URL: "https://example.org", Files: []string{"a/*"}}, {Command: "date", URL: "https://example.org", Files: []string{"a/*"}}, {},
	} {
		if off, err := d.Sync(t.Context(), wanted(), triggers.Heartbeat{}); err != nil || len(off) > 0 || !r.list[0].Gate.Equal(want) {
			t.Errorf("%+v, %v, %v", r.list, off, err)
		}
		in.GateMode = "change"
		if want.Exit {
			continue
		}
		in = scheduler.Draft{Every: "1h", Prompt: "x"}
	}
	if r.puts != 3 {
		t.Errorf("%d changes of a gate were stored, want 3", r.puts)
	}
	in = scheduler.Draft{Every: "1h", Prompt: "x", GateMode: "exit"}
	if _, _, err := triggers.CheckJob(wanted()[0].Decode, "UTC", now); err == nil || !strings.HasPrefix(err.Error(), "gate: ") {
		t.Errorf("a mode without a command: %v", err)
	}
}
