package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/schedulertest"
)

// berlin is an instant by the clocks of Berlin.
func berlin(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", text, zone(t, "Europe/Berlin"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAway(t *testing.T) {
	sat, sun := berlin(t, "2026-11-21 21:10"), berlin(t, "2026-11-22 08:02")
	morning := scheduler.Overdue{Job: "morning", Runs: 1, Late: time.Hour + 2*time.Minute}
	for _, tc := range []struct {
		name string
		jobs []scheduler.Overdue
		want string
	}{
		{"nothing", nil, ""},
		{"nothing worth a word", []scheduler.Overdue{{Job: "shut"}}, ""},
		{"one run late", []scheduler.Overdue{{Job: "morning", Runs: 1, Late: time.Hour}}, "morning ran 1 h late"},
		{"runs late", []scheduler.Overdue{{Job: "backup", Runs: 3, Late: 3 * time.Hour}}, "backup: 3 runs up to 3 h late"},
		{"one missed", []scheduler.Overdue{{Job: "backup", Gone: 1}}, "backup: 1 run missed"},
		{"some missed", []scheduler.Overdue{{Job: "backup", Gone: 3}}, "backup: 3 runs missed"},
		{"one stands for one", []scheduler.Overdue{{Job: "tick", Coalesced: 1, Runs: 1, Late: time.Minute}}, "tick: 1 missed, one run replaces it"},
		{"one stands for many", []scheduler.Overdue{{Job: "tick", Coalesced: 118, Runs: 1, Late: 5 * time.Minute}}, "tick: 118 missed, one run replaces them"},
		{"folded into a run before", []scheduler.Overdue{{Job: "tick", Coalesced: 7}}, "tick: 7 folded into a run that is not done"},
		{"missed, the newest late", []scheduler.Overdue{{Job: "backup", Gone: 2, Runs: 1, Late: 20 * time.Minute}}, "backup: 2 missed, 1 ran 20 min late"},
		{"missed, the newest in time", []scheduler.Overdue{{Job: "backup", Gone: 2, Runs: 1, Late: time.Second}}, "backup: 2 runs missed"},
		{"missed, and one stands for others", []scheduler.Overdue{{Job: "backup", Gone: 5, Coalesced: 1, Runs: 1, Late: 12 * time.Second}}, "backup: 5 missed, one run replaces 1 more"},
		{"missed, and others folded", []scheduler.Overdue{{Job: "backup", Gone: 2, Coalesced: 3}}, "backup: 2 missed, 3 folded into a run that is not done"},
		{"missed, ten late", []scheduler.Overdue{{Job: "all", Gone: 2, Runs: 10, Late: 9 * time.Hour}}, "all: 2 missed, 10 ran up to 9 h late"},
		{
			"of all kinds",
			[]scheduler.Overdue{morning, {Job: "backup", Gone: 3}, {Job: "shut"}, {Job: "tick", Coalesced: 118, Runs: 1}},
			"morning ran 1 h 2 min late · backup: 3 runs missed · tick: 118 missed, one run replaces them",
		},
	} {
		for i := range tc.jobs {
			tc.jobs[i].Zone, tc.jobs[i].First, tc.jobs[i].Last, tc.jobs[i].Until = "Europe/Berlin", sat, sun.Add(-time.Hour), sun
		}
		want := tc.want
		if want != "" {
			want = "While hob was not running (Sat 21:10 to Sun 08:02): " + want
		}
		if got := scheduler.MissedReport(tc.jobs); got != want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, want)
		}
	}
}

// Each job is told in its own zone where most have another one.
func TestAwayZones(t *testing.T) {
	from, until := berlin(t, "2026-11-21 21:10"), berlin(t, "2026-11-22 08:02")
	in := func(job, zone string, first, last time.Time) scheduler.Overdue {
		return scheduler.Overdue{Job: job, Zone: zone, First: first, Last: last, Until: until, Gone: 1}
	}
	got := scheduler.MissedReport([]scheduler.Overdue{
		in("york", "America/New_York", from, from), in("a", "Europe/Berlin", from, from), in("b", "Europe/Berlin", from, from), in("lost", "Nowhere/Land", from, until),
	})
	want := "While hob was not running (Sat 21:10 to Sun 08:02 CET): york: 1 run missed (Sat 15:10 EST) · a: 1 run missed · b: 1 run missed · lost: 1 run missed (Sat 20:10 to Sun 07:02 UTC)"
	if got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	for last, want := range map[string]string{
		"2026-11-21 22:00": "(Sat 21:10 to 22:00)", "2026-11-27 21:10": "(Sat 21:10 to Fri 21:10)", "2026-11-28 21:10": "(21 Nov 21:10 to 28 Nov 21:10)",
	} {
		o := in("a", "Europe/Berlin", from, from)
		o.Until = berlin(t, last)
		if got := scheduler.MissedReport([]scheduler.Overdue{o}); !strings.Contains(got, want) {
			t.Errorf("until %s: %q, want %q", last, got, want)
		}
	}
}

// A short stretch says that hob may have been at work, and has one time where both ends are of the same minute.
func TestAwayForSeconds(t *testing.T) {
	from := berlin(t, "2026-11-21 21:10")
	for stretch, want := range map[time.Duration]string{
		0: "hob was not running or could not keep up (Sat 21:10): ", 59 * time.Second: "hob was not running or could not keep up (Sat 21:10): ",
		time.Minute: "hob was not running or could not keep up (Sat 21:10 to 21:11): ", 61 * time.Second: "hob was not running (Sat 21:10 to 21:11): ",
	} {
		o := scheduler.Overdue{Job: "a", Zone: "Europe/Berlin", First: from, Last: from, Until: from.Add(stretch), Gone: 1}
		if got := scheduler.MissedReport([]scheduler.Overdue{o}); got != "While "+want+"a: 1 run missed" {
			t.Errorf("%v: %q, want %q", stretch, got, want)
		}
	}
	// V1: hob says that it was not running only if it was not.
	ran := scheduler.Overdue{Job: "a", Zone: "Europe/Berlin", First: from, Last: from, Until: from.Add(time.Hour), Gone: 1, Running: true}
	if got := scheduler.MissedReport([]scheduler.Overdue{ran}); got != "While the machine slept or its clock went ahead (Sat 21:10 to 22:10): a: 1 run missed" {
		t.Errorf("while hob ran: %q", got)
	}
}

func TestAwayNamesTwenty(t *testing.T) {
	var list []scheduler.Overdue
	for i := range 23 {
		list = append(list, scheduler.Overdue{Job: fmt.Sprintf("j%d", i), Zone: "UTC", Gone: 1})
	}
	if got := scheduler.MissedReport(list[:20]); !strings.HasSuffix(got, "j19: 1 run missed") {
		t.Errorf("20 jobs: %q", got)
	}
	if got := scheduler.MissedReport(list); !strings.HasSuffix(got, "j19: 1 run missed · and 3 more") {
		t.Errorf("23 jobs: %q", got)
	}
}

// What was not served within a minute is to be told of: every row of that wake, since the report counts them.
func TestSlotsToTell(t *testing.T) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		spec    string
		missed  scheduler.Missed
		maxLate time.Duration
		late    time.Duration
		tell    bool
		limit   time.Duration
		slots   int
	}{
		{"cron 0 9 * * *", "once", 0, 0, false, 2 * time.Hour, 1},
		{"cron 0 9 * * *", "once", 0, time.Minute, false, 2 * time.Hour, 1},
		{"cron 0 9 * * *", "once", 0, time.Minute + 1, true, 2 * time.Hour, 1},
		{"cron 0 9 * * *", "skip", 3 * time.Hour, 48*time.Hour + time.Second, true, 3 * time.Hour, 3},
		{"every 10s", "once", 0, 59 * time.Second, false, 5 * time.Second, 6},
		{"every 10s", "once", 0, 61 * time.Second, true, 5 * time.Second, 7},
		{"at 2026-11-20T08:00:00Z", "once", 0, 72 * time.Hour, true, 0, 1}, // no lateness is too late for it
		{"at 2026-11-20T08:00:00Z", "skip", 0, 72 * time.Hour, true, 2 * time.Hour, 1},
	} {
		j := job(tc.spec, tc.missed)
		j.Created, j.Due, j.MaxLate = due.Add(-10*time.Second), due, tc.maxLate
		f, _, err := scheduler.Slots(j, due.Add(tc.late))
		if err != nil || len(f.Slots) != tc.slots {
			t.Fatalf("%s: %d slots, %v", tc.spec, len(f.Slots), err)
		}
		for _, s := range f.Slots {
			if s.Tell != tc.tell || s.Limit != tc.limit || s.Represents != 0 {
				t.Errorf("%s, %v late: %+v", tc.spec, tc.late, s)
			}
		}
	}
	j := job("every 1s", scheduler.MissedOnce)
	j.Created, j.Due = due.Add(-time.Second), due
	f, _, err := scheduler.Slots(j, due.Add(4*time.Hour)) // 14,401 slots in 10,001 rows
	if err != nil || len(f.Slots) != 10_001 || f.Slots[0].Represents != 4_401 {
		t.Errorf("%d slots, %v, the oldest stands for %d", len(f.Slots), err, f.Slots[0].Represents)
	}
}

// What is missed for good is to be told however short the stop was; what runs less than a minute late is not.
func TestMissedIsToldAfterAnyStop(t *testing.T) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		spec    string
		missed  scheduler.Missed
		maxLate time.Duration
		late    time.Duration
		want    string // T: to be told, -: not
	}{
		{"at 2026-11-20T08:00:00Z", "skip", 5 * time.Second, 5 * time.Second, "-"},
		{"at 2026-11-20T08:00:00Z", "skip", 5 * time.Second, 24 * time.Second, "T"},
		{"every 10s", "skip", 0, 57 * time.Second, "TTTTTT"},
		{"every 10s", "skip", 0, 52 * time.Second, "TTTTT-"},
		{"every 10s", "once", 0, 57 * time.Second, "------"},
		{"every 10s", "skip", 15 * time.Second, 22 * time.Second, "T--"},
		{"every 1s", "all", 0, 12 * time.Second, "TTT----------"},
		{"every 10s", "ask", 0, 17 * time.Second, "TT"},
	} {
		j := job(tc.spec, tc.missed)
		j.Created, j.Due, j.MaxLate = due.Add(-10*time.Second), due, tc.maxLate
		f, _, err := scheduler.Slots(j, due.Add(tc.late))
		got := ""
		for _, s := range f.Slots {
			got += map[bool]string{true: "T", false: "-"}[s.Tell]
		}
		if err != nil || got != tc.want {
			t.Errorf("%s %s, %v late: %s, %v; want %s", tc.spec, tc.missed, tc.late, got, err, tc.want)
		}
	}
}

// told writes down which jobs each report was about.
func (r *runnerHarness) told() (list []string) {
	for _, report := range r.Told() {
		names := map[string]int{}
		for _, line := range report {
			name, _, _ := strings.Cut(line, " ")
			names[name]++
		}
		list = append(list, fmt.Sprint(names))
	}
	return list
}

func TestRunnerReportsOnce(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		r.add("every 5m", func(j *scheduler.Job) { j.Name = "a" })
		r.add("every 20m", func(j *scheduler.Job) { j.Name = "b" })
		for i := range 200 { // more than one commit takes
			r.add("every 1h", func(j *scheduler.Job) { j.Name = fmt.Sprintf("c%d", i) })
		}
		r.run()
		r.wait(50 * time.Second)
		r.offset.Add(int64(50 * time.Second)) // short: nothing came due, nothing is told
		r.wait(31 * time.Second)
		r.offset.Add(int64(70 * time.Minute))
		r.wait(31 * time.Second)
		if told := r.told(); len(told) != 1 || !strings.Contains(told[0], "map[a:14 b:3 c0:1 ") || strings.Count(told[0], "c") != 200 {
			t.Fatalf("told %.80s in %d reports", told, len(told))
		}
		r.wait(3 * time.Hour)
		if n := len(r.Told()); n != 1 {
			t.Errorf("%d reports when all has been well since", n)
		}
	})
}

// counted counts how often a store is asked to report; the first time it cannot.
type counted struct {
	*schedulertest.Memory
	asked int
}

func (c *counted) Report(ctx context.Context) (bool, error) {
	if c.asked++; c.asked == 1 {
		return false, errors.New("the disk is full")
	}
	return c.Memory.Report(ctx)
}

// A report that could not be made is made at the next wake. Each wake asks: what is told may be none of the runner's own doing.
func TestRunnerReportsUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Memory: schedulertest.NewMemory()}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		runner := scheduler.NewRunner(store, sys.RealClock(), nil, slog.New(slog.DiscardHandler))
		go func() { ended <- runner.Run(ctx) }()
		time.Sleep(5 * time.Minute)
		cancel()
		if err := <-ended; err != nil || store.asked < 10 || store.asked > 11 {
			t.Errorf("asked %d times, %v", store.asked, err)
		}
	})
}

// What a crash has left untold is told by the next start, though nothing is overdue then.
func TestRunnerReportsAfterACrash(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		j := r.add("every 1h", nil)
		f, _, err := scheduler.Slots(j, r.clock.Wall().Add(3*time.Hour))
		if err == nil {
			err = r.Fire(t.Context(), []scheduler.Firing{f})
		}
		if err != nil {
			t.Fatal(err)
		}
		r.offset.Add(int64(3 * time.Hour))
		r.run()
		if n := len(r.Told()); n != 1 {
			t.Errorf("%d reports", n)
		}
	})
}

// What people read of a slot is told by the job's clocks.
func TestReasonsAreInTheJobsZone(t *testing.T) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for spec, want := range map[string]string{
		"cron 0 9 * * *": "the slot of 2026-11-21 09:00 CET replaces it", "every 24h0m7s": "the slot of 2026-11-21 09:00:07 CET replaces it",
	} {
		j := job(spec, scheduler.MissedOnce)
		j.Created, j.Due = due.Add(-24*time.Hour-7*time.Second), due
		f, _, err := scheduler.Slots(j, due.Add(25*time.Hour))
		if err != nil || len(f.Slots) != 2 || f.Slots[0].Reason != want {
			t.Errorf("%s: %+v, %v", spec, f.Slots, err)
		}
	}
}
