package triggers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// madeJob plans a job at an instant and stores it.
func madeJob(t *testing.T, r *jobRows, now time.Time, wish scheduler.Draft) scheduler.View {
	t.Helper()
	wish.Trust, wish.Now = event.Owner, now
	d := r.jobs(now)
	view, change, err := d.Plan(t.Context(), wish)
	if err == nil {
		err = d.Rows.Record(t.Context(), change)
	}
	if err != nil {
		t.Fatalf("%+v: %v", wish, err)
	}
	return view
}

// A change keeps when the job was made, and the words for a schedule that it leaves as it is: also in another zone, where they mean the same
// words there. A period counts on from where it did, unless it is a new one.
func TestTimesOfAChange(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	later := now.Add(100 * time.Minute)
	for _, c := range []struct {
		about       string
		made, wish  scheduler.Draft
		words, spec string
		due         string // in UTC
		anchor      time.Time
	}{
		{
			"another zone",
			scheduler.Draft{When: "every weekday at 9"},
			scheduler.Draft{Zone: "Asia/Tokyo"},
			"every weekday at 9", "cron 0 9 * * 1-5", "2026-11-23 00:00",
			time.Time{},
		},
		{
			"another zone for a period",
			scheduler.Draft{When: "every 1h"},
			scheduler.Draft{Zone: "Asia/Tokyo"},
			"every 1h", "every 1h", "2026-11-21 10:10",
			time.Time{},
		},
		{
			"another zone for a single time",
			scheduler.Draft{When: "tomorrow at 17:00"},
			scheduler.Draft{Zone: "Asia/Tokyo"},
			"tomorrow at 17:00", "at 2026-11-22T17:00:00+09:00", "2026-11-22 08:00",
			time.Time{},
		},
		{
			"another zone for a time from now",
			scheduler.Draft{When: "in 3 hours"},
			scheduler.Draft{Zone: "Asia/Tokyo"},
			"in 3 hours", "at 2026-11-21T20:10:00+09:00", "2026-11-21 11:10",
			time.Time{},
		},
		{
			"another schedule",
			scheduler.Draft{When: "every weekday at 9"},
			scheduler.Draft{When: "every 1h"},
			"every 1h", "every 1h", "2026-11-21 10:50", later,
		},
		{
			"another prompt",
			scheduler.Draft{When: "every 1h"},
			scheduler.Draft{Prompt: "y"},
			"every 1h", "every 1h", "2026-11-21 09:10",
			time.Time{},
		},
		{
			"the zone that it has",
			scheduler.Draft{When: "every 1h"},
			scheduler.Draft{Zone: "UTC"},
			"every 1h", "every 1h", "2026-11-21 09:10",
			time.Time{},
		},
	} {
		r := &jobRows{}
		c.made.Prompt, c.made.Name, c.wish.ID = "x", "a", 1
		madeJob(t, r, now, c.made)
		madeJob(t, r, later, c.wish)
		j := r.list[0]
		if j.Words != c.words || j.Spec != c.spec || j.Due.UTC().Format("2006-01-02 15:04") != c.due || !j.Created.Equal(now) || !j.Anchor.Equal(c.anchor) {
			t.Errorf("%s: %q %s, due %v, made %v, counts from %v", c.about, j.Words, j.Spec, j.Due, j.Created, j.Anchor)
		}
		if len(r.list) != 1 {
			t.Errorf("%s: there are %d jobs", c.about, len(r.list))
		}
	}
}

// A single time that has passed where the job moves to is refused, and one that is done stays done.
func TestAnotherZoneForWhatHasPassed(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	r := &jobRows{}
	madeJob(t, r, now, scheduler.Draft{Name: "a", When: "2026-11-21 17:30", Prompt: "x"})
	d := r.jobs(now.Add(time.Hour))
	_, _, err := d.Plan(t.Context(), scheduler.Draft{ID: 1, Zone: "Asia/Tokyo", Trust: event.Owner, Now: now.Add(time.Hour)}) // it is 18:10 there
	if res := tools.ErrorResult(err); res.Code != tools.Validation || !strings.Contains(res.Content, `"2026-11-21 17:30": that time has passed in Asia/Tokyo`) {
		t.Errorf("%v", err)
	}
	r.list[0].Due = time.Time{}
	madeJob(t, r, now, scheduler.Draft{ID: 1, Zone: "America/New_York"})
	if j := r.list[0]; !j.Due.IsZero() || j.Zone != "America/New_York" {
		t.Errorf("what is done is due again: %+v", j)
	}
}

// The same of a section of the config: what changes its times leaves when it was made.
func TestSectionKeepsWhenItWasMade(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	r := &jobRows{}
	put := func(at time.Time, in scheduler.Draft) scheduler.Job {
		t.Helper()
		if off, err := r.jobs(at).Sync(t.Context(), jobSection("a", in), triggers.Heartbeat{}); err != nil || len(off) > 0 {
			t.Fatal(off, err)
		}
		return r.list[0]
	}
	put(now, scheduler.Draft{Every: "1h", Prompt: "x"})
	if j := put(now.Add(100*time.Minute), scheduler.Draft{Every: "2h", Prompt: "x"}); !j.Created.Equal(now) || !j.Start().Equal(now.Add(100*time.Minute)) || !j.Due.Equal(now.Add(220*time.Minute)) {
		t.Errorf("made %v, counts from %v, due %v", j.Created, j.Start(), j.Due)
	}
	puts := r.puts
	r.list[0].Spec, r.list[0].Words = "every 2h0m0s", "every 2h0m0s" // as older rows have it
	if put(now.Add(200*time.Minute), scheduler.Draft{Every: "2h", Prompt: "x"}); r.puts != puts {
		t.Error("the same schedule in its old form is taken for another")
	}
}

// A schedule in its old form is shown as it is written now, and one that cannot be read as it is.
func TestOldFormOfAPeriod(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	for was, want := range map[string]string{"every 30m0s": "every 30m", "every 5m": "every 5m", "cron 0 9 * * *": "cron 0 9 * * *", "every now and then": "every now and then"} {
		r := &jobRows{list: []scheduler.Job{{Trigger: scheduler.Trigger{ID: 1, Name: "a", Prompt: "x", Created: now}, Spec: was, Zone: "UTC", Due: now.Add(time.Hour)}}}
		if list, err := r.jobs(now).List(t.Context()); err != nil || list[0].Spec != want {
			t.Errorf("%q is shown as %q, %v", was, list[0].Spec, err)
		}
	}
}

// A job answers where it was made: in the chat, also when that is hob chat, and to the owner when he made it on the command line.
func TestWhereAJobAnswers(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	for _, c := range []struct {
		wish scheduler.Draft
		want event.Address
	}{
		{scheduler.Draft{ReplyTo: event.CLI}, event.CLI},
		{scheduler.Draft{ReplyTo: event.CLI, Typed: true}, event.ToOwner},
		{scheduler.Draft{ReplyTo: "telegram:5"}, "telegram:5"},
		{scheduler.Draft{}, event.ToOwner},
		{scheduler.Draft{ReplyTo: event.CLI, Deliver: string(event.ToNone)}, event.ToNone},
	} {
		c.wish.When, c.wish.Prompt = "every 1h", "x"
		if j := madeJob(t, &jobRows{}, now, c.wish); j.Deliver != c.want {
			t.Errorf("%+v answers to %s", c.wish, j.Deliver)
		}
	}
}

// Rights of its own take a job out of the common conversation, and the echo says so, once.
func TestNotesOfAJob(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	apart, nine := "it has rights of its own, so it runs in a session of its own: what others say in yours cannot use them", "no time was given: 9:00 is assumed"
	for _, c := range []struct {
		first, wish scheduler.Draft
		session     string
		want        []string
	}{
		{scheduler.Draft{}, scheduler.Draft{Allow: "exec"}, "isolated", []string{apart}},
		{scheduler.Draft{Session: "isolated"}, scheduler.Draft{Allow: "exec"}, "isolated", nil},
		{scheduler.Draft{}, scheduler.Draft{Allow: "exec", Session: "isolated"}, "isolated", nil},
		{scheduler.Draft{}, scheduler.Draft{When: "every other tuesday"}, "auto", []string{nine}},
		{scheduler.Draft{When: "every weekday"}, scheduler.Draft{Prompt: "y"}, "auto", nil},
		{scheduler.Draft{Allow: "exec"}, scheduler.Draft{Allow: scheduler.NoRights}, "isolated", nil},
	} {
		r := &jobRows{}
		first := scheduler.Draft{When: "every 1h", Prompt: "x", Session: c.first.Session, Allow: c.first.Allow}
		madeJob(t, r, now, first)
		c.wish.ID = 1
		if j := madeJob(t, r, now, c.wish); j.Session != c.session || !slices.Equal(j.Notes, c.want) {
			t.Errorf("%+v after %+v: %s, %q", c.wish, c.first, j.Session, j.Notes)
		}
	}
	if j := madeJob(t, &jobRows{}, now, scheduler.Draft{When: "every weekday", Prompt: "x", Allow: "exec"}); !slices.Equal(j.Notes, []string{nine, apart}) {
		t.Errorf("%q", j.Notes)
	}
	// A name that was taken is told, because the owner cancels a job by its name.
	r := &jobRows{}
	for _, want := range [][]string{nil, {"its name is dinner-2, because there is a job dinner already"}} {
		if j := madeJob(t, r, now, scheduler.Draft{When: "in 20m", Prompt: "say: dinner"}); !slices.Equal(j.Notes, want) {
			t.Errorf("%s: %q, want %q", j.Name, j.Notes, want)
		}
	}
}

// To stop what is stopped, and to let go on what goes on, changes nothing.
func TestPauseAndResumeTwice(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	for _, c := range []struct {
		paused bool
		verb   automation.Verb
		want   tools.Change
	}{
		{false, automation.Pause, scheduler.Pause{ID: 1, Paused: true, Due: now.Add(time.Hour)}},
		{true, automation.Pause, nil},
		{true, automation.Resume, scheduler.Pause{ID: 1, Due: now.Add(time.Hour)}},
		{false, automation.Resume, nil},
	} {
		r := &jobRows{}
		view := madeJob(t, r, now, scheduler.Draft{Name: "a", When: "every 1h", Prompt: "x"})
		r.list[0].Paused, view.ID = c.paused, 1
		if _, change, err := r.jobs(now).Alter(t.Context(), view, c.verb, "k"); err != nil || change != c.want {
			t.Errorf("%s, paused %v: %+v, %v", c.verb, c.paused, change, err)
		}
	}
}

// F6: a gate whose program is not there is said when the job is made. Words of the shell and paths are left to the run.
func TestAGateThatCannotRunIsSaid(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	for command, want := range map[string][]string{
		"no_such_command_x --all": {"the program no_such_command_x of its gate is not in the PATH: until it is there, the job does not run"},
		"exit:no_such_command_x":  {"the program no_such_command_x of its gate is not in the PATH: until it is there, the job does not run"},
		"go version":              nil,
		"test -e x":               nil,
		"./here/some.sh":          nil,
	} {
		if j := madeJob(t, &jobRows{}, now, scheduler.Draft{Every: "1h", Prompt: "x", GateText: command}); !slices.Equal(j.Notes, want) {
			t.Errorf("%s: %q, want %q", command, j.Notes, want)
		}
	}
}
