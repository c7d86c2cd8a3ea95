package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/spec"
)

func job(spec string, missed scheduler.Missed) scheduler.Job {
	created := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	return scheduler.Job{
		Trigger: scheduler.Trigger{ID: 7, Name: "morning", Prompt: "Brief me.", Deliver: "telegram:1", Trust: event.Owner, Typed: true, Created: created},
		Spec:    spec, Zone: "Europe/Berlin", Session: "main", Missed: missed, Overlap: scheduler.OverlapFold,
	}
}

// shape writes slots as letters: R runs, C coalesced, M missed; a capital L behind R: over the limit.
func shape(f scheduler.Firing) string {
	runs := map[int]bool{}
	for _, q := range f.Run {
		runs[q.Slot] = true
	}
	text := ""
	for i, s := range f.Slots {
		switch {
		case runs[i] && s.State == scheduler.StateQueued && strings.HasPrefix(s.Reason, "caught up"):
			text += "RL"
		case runs[i] && s.State == scheduler.StateQueued:
			text += "R"
		case s.Outcome == scheduler.OutcomeCoalesced && s.State == scheduler.StateDone && s.Reason != "":
			text += "C"
		case s.Outcome == scheduler.OutcomeMissed && s.State == scheduler.StateDone && s.Reason != "":
			text += "M"
		default:
			text += "?"
		}
	}
	if f.Ask != "" {
		text += " ask"
	}
	return text
}

func TestSlotsPolicies(t *testing.T) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	daily, often := "cron 0 9 * * *", "every 30m0s"
	for _, c := range []struct {
		spec    string
		missed  scheduler.Missed
		maxLate time.Duration
		late    time.Duration // of the first slot
		want    string
	}{
		{daily, "once", 0, -1, ""},
		{daily, "once", 0, 0, "R"},
		{daily, "once", 0, 2 * time.Hour, "R"},
		{daily, "once", 0, 2*time.Hour + 1, "RL"},
		{daily, "once", 0, 72*time.Hour + time.Minute, "CCCR"},
		{daily, "once", 0, 77 * time.Hour, "CCCRL"},
		{daily, "skip", 0, 2 * time.Hour, "R"},
		{daily, "skip", 0, 2*time.Hour + 1, "M"},
		{daily, "skip", 5 * time.Hour, 4 * time.Hour, "R"},
		{daily, "skip", time.Minute, 2 * time.Minute, "M"},
		{daily, "skip", 0, 72*time.Hour + time.Minute, "MMMR"},
		{daily, "skip", 60 * time.Hour, 72 * time.Hour, "MCCR"},
		{daily, "ask", 0, time.Minute, "R"},
		{daily, "ask", 0, 53 * time.Hour, "MMM ask"},
		{daily, "ask", 0, 48 * time.Hour, "MMR ask"},
		{daily, "ask", 60 * time.Hour, 72 * time.Hour, "MCCR ask"},
		{daily, "ask", 60 * time.Hour, 48 * time.Hour, "CCR"},
		{daily, "all", 0, 53 * time.Hour, "RLRLRL"},
		{daily, "all", 0, 12 * 24 * time.Hour, "MMM" + strings.Repeat("RL", 9) + "R"},
		{often, "skip", 0, 15 * time.Minute, "R"},
		{often, "skip", 0, 15*time.Minute + 1, "M"},
		{often, "once", 2 * time.Hour, 70 * time.Minute, "CCR"},
		{often, "skip", 2 * time.Hour, 3 * time.Hour, "MMCCCCR"},
		{"at 2026-11-20T08:00:00Z", "once", 0, 1000 * time.Hour, "R"},
		{"at 2026-11-20T08:00:00Z", "all", 0, 1000 * time.Hour, "R"},
		{"at 2026-11-20T08:00:00Z", "once", time.Hour, 2 * time.Hour, "RL"},
		{"at 2026-11-20T08:00:00Z", "skip", 0, time.Hour, "R"},
		{"at 2026-11-20T08:00:00Z", "skip", 0, 3 * time.Hour, "M"},
		{"at 2026-11-20T08:00:00Z", "ask", 0, 3 * time.Hour, "M ask"},
	} {
		j := job(c.spec, c.missed)
		j.MaxLate, j.Due = c.maxLate, due
		f, ok, err := scheduler.Slots(j, due.Add(c.late))
		if err != nil || ok != (c.want != "") || shape(f) != c.want {
			t.Errorf("%s %s max-late %v, %v late: got %q %v %v, want %q", c.spec, c.missed, c.maxLate, c.late, shape(f), ok, err, c.want)
		}
		if ok && (!f.From.Equal(due) || !f.Job.Last.Equal(f.Slots[len(f.Slots)-1].Due) || f.Job.Due.IsZero() != strings.HasPrefix(c.spec, "at")) {
			t.Errorf("%s: from %v, last %v, due %v", c.spec, f.From, f.Job.Last, f.Job.Due)
		}
	}
}

// One question is about all slots beyond their limit, and says which of them ran by itself.
func TestSlotsQuestion(t *testing.T) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		spec string
		late time.Duration // of the first slot
		want string
	}{
		{"cron 0 9 * * *", 3 * time.Hour, "Job morning missed its run of Fri 20 Nov 09:00. Run it now?"},
		{"cron 0 9 * * *", 51 * time.Hour, "Job morning missed 3 runs, the last one on Sun 22 Nov 09:00. Run it once now?"},
		{"cron 0 9 * * *", 25 * time.Hour, "Job morning missed its run of Fri 20 Nov 09:00. The one of Sat 21 Nov 09:00 is in time. Run it once more now?"},
		{"cron 0 9 * * *", 49 * time.Hour, "Job morning missed 2 runs, the last one on Sat 21 Nov 09:00. The one of Sun 22 Nov 09:00 is in time. Run it once more now?"},
		{"every 10s", 4 * time.Second, ""},
		{"every 1s", 20_000 * time.Second, "Job morning missed 20000 runs, the last one on Fri 20 Nov 14:33. The one of Fri 20 Nov 14:33 is in time. Run it once more now?"},
	} {
		j := job(c.spec, scheduler.MissedAsk)
		j.Created, j.Due = due.Add(-24*time.Hour), due
		if f, _, err := scheduler.Slots(j, due.Add(c.late)); err != nil || f.Ask != c.want {
			t.Errorf("%s, %v late: asks %q, %v; want %q", c.spec, c.late, f.Ask, err, c.want)
		}
	}
}

func TestSlotsInput(t *testing.T) {
	j := job("cron 0 9 * * *", scheduler.MissedOnce)
	j.Due = time.Date(2026, 11, 18, 8, 0, 0, 0, time.UTC)
	now := time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC)
	f, _, err := scheduler.Slots(j, now)
	if err != nil || len(f.Run) != 1 {
		t.Fatal(f, err)
	}
	in := f.Run[0].In
	if in.Source != "cron" || in.ExtID != "job:7:2026-11-21T08:00:00Z" || in.Session != "main" || in.Kind != event.Fire || in.Rank != event.RankSchedule ||
		in.Trust != event.Owner || !in.Typed || in.ReplyTo != "telegram:1" || in.Sender != "morning" || !in.Received.Equal(now) || !in.NotBefore.IsZero() {
		t.Errorf("got %+v", in)
	}
	if want := "Brief me.\n(3 earlier runs of this job were missed while hob was not running.)"; in.Text() != want || len(in.Parts) != 2 {
		t.Errorf("got %q, want %q", in.Text(), want)
	}
	if f.Slots[3].Late != 30*time.Minute || !f.Job.Due.Equal(time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("late %v, next %v", f.Slots[3].Late, f.Job.Due)
	}
	j.Session, j.Due = "isolated", time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	f, _, err = scheduler.Slots(j, now)
	if err != nil {
		t.Fatal(err)
	}
	in = f.Run[0].In
	if in.Session != "job:morning" || !strings.Contains(in.Text(), "(1 earlier run of this job was missed") {
		t.Errorf("got %+v", in)
	}
}

func TestSlotsShortStallIsNoDowntime(t *testing.T) {
	j := job("every 1s", scheduler.MissedOnce)
	j.Due = j.Created.Add(time.Second)
	f, _, err := scheduler.Slots(j, j.Due.Add(10*time.Second))
	if err != nil || shape(f) != strings.Repeat("C", 10)+"R" || len(f.Run[0].In.Parts) != 1 {
		t.Errorf("got %q, %v", shape(f), err)
	}
}

func TestSlotsUnusable(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for name, spoil := range map[string]func(*scheduler.Job){
		"spec":     func(j *scheduler.Job) { j.Spec = "cron 61 * * * *" },
		"zone":     func(j *scheduler.Job) { j.Zone = "Local" },
		"session":  func(j *scheduler.Job) { j.Session = "" },
		"missed":   func(j *scheduler.Job) { j.Missed = "maybe" },
		"max-late": func(j *scheduler.Job) { j.MaxLate = -1 },
	} {
		j := job("cron 0 9 * * *", scheduler.MissedOnce)
		j.Due = now
		spoil(&j)
		if _, ok, err := scheduler.Slots(j, now); ok || err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "time ")) {
			t.Errorf("%s: got %v, %v", name, ok, err)
		}
	}
	for name, idle := range map[string]func(*scheduler.Job){
		"paused": func(j *scheduler.Job) { j.Paused = true },
		"broken": func(j *scheduler.Job) { j.Broken = "why" },
		"done":   func(j *scheduler.Job) { j.Due = time.Time{} },
		"served": func(j *scheduler.Job) { j.Last = now },
	} {
		j := job("cron 0 9 * * *", scheduler.MissedOnce)
		j.Due = now
		idle(&j)
		if _, ok, err := scheduler.Slots(j, now); ok || err != nil {
			t.Errorf("%s: got %v, %v", name, ok, err)
		}
	}
}

// TestSlotsManyMissed checks the row that stands for the oldest slots against a walk with Next.
func TestSlotsManyMissed(t *testing.T) {
	for _, c := range []struct{ spec, zone string }{
		{"every 37s", "UTC"},
		{"cron */2 * * * *", "Australia/Lord_Howe"},
		{"cron */3 0-4,22,23 * * *", "Australia/Lord_Howe"},
		{"cron */3 0-4,22,23 * * *", "Africa/Cairo"},
		{"cron */1 1-3 * * *", "America/New_York"},
		{"cron 0-58/2 * 1-20 * 1-5", "America/Havana"},
		{"cron */20 * 0-4 * * *", "Europe/Berlin"},
	} {
		j := job(c.spec, scheduler.MissedOnce)
		j.Zone, j.Created = c.zone, time.Date(2026, 1, 1, 0, 0, 11, 0, time.UTC)
		s, z := parse(t, c.spec), zone(t, c.zone)
		first, _ := s.Next(j.Created, z, j.Created)
		now := j.Created.AddDate(0, 11, 3)
		var all []time.Time
		for at := first; !at.After(now); at, _ = s.Next(at, z, j.Created) {
			all = append(all, at)
		}
		j.Due = first
		f, _, err := scheduler.Slots(j, now)
		if err != nil || len(f.Slots) != 10_001 || !f.Slots[0].Due.Equal(first) {
			t.Fatalf("%s: %d rows, %v", c.spec, len(f.Slots), err)
		}
		if older := fmt.Sprintf("the oldest %d slots", len(all)-10_000); !strings.Contains(f.Slots[0].Reason, older) {
			t.Errorf("%s in %s: %q does not say %q", c.spec, c.zone, f.Slots[0].Reason, older)
		}
		for i, slot := range f.Slots[1:] {
			if want := all[len(all)-10_000+i]; !slot.Due.Equal(want) {
				t.Fatalf("%s: row %d is %v, want %v", c.spec, i+1, slot.Due, want)
			}
		}
		if text := f.Run[0].In.Text(); !strings.Contains(text, fmt.Sprintf("(%d earlier runs", len(all)-1)) {
			t.Errorf("%s: got %q", c.spec, text)
		}
	}
}

func TestSlotsManyMissedByACenturyIsQuick(t *testing.T) {
	j := job("cron * * * * * *", scheduler.MissedSkip)
	j.Due = j.Created
	f, ok, err := scheduler.Slots(j, j.Created.AddDate(100, 0, 0))
	if !ok || err != nil || shape(f) != strings.Repeat("M", 10_000)+"R" {
		t.Errorf("%d rows, %v", len(f.Slots), err)
	}
	if want := "the oldest 3155663601 slots"; !strings.Contains(f.Slots[0].Reason, want) {
		t.Errorf("reason %q does not say %q", f.Slots[0].Reason, want)
	}
}

func TestSlotsEachOnceHoweverTimeIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := job(rapid.SampledFrom([]string{"cron 30 2 * * *", "cron */15 * * * *", "cron */20 1-3 * * *", "every 47m0s", "cron 0 0 13 * 5", "at 2026-10-25T01:30:00Z"}).Draw(t, "spec"), "once")
		j.Missed = scheduler.Missed(rapid.SampledFrom([]string{"once", "skip", "all", "ask"}).Draw(t, "missed"))
		j.Zone = rapid.SampledFrom([]string{"Europe/Berlin", "Australia/Lord_Howe", "UTC"}).Draw(t, "zone")
		j.Created = time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)
		s, err := spec.Parse(j.Spec)
		if err != nil {
			t.Fatal(err)
		}
		z, err := scheduler.Zone(j.Zone)
		if err != nil {
			t.Fatal(err)
		}
		j.Due, _ = s.Next(j.Created, z, j.Created)
		rows := map[string]int{}
		now, latest := j.Created, j.Created
		for _, minutes := range rapid.SliceOfN(rapid.IntRange(-300, 3000), 1, 20).Draw(t, "wakes") {
			now = now.Add(time.Duration(minutes) * time.Minute)
			f, ok, err := scheduler.Slots(j, now)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			if f.Job.Last.Before(j.Last) || f.Job.Last.After(now) || !f.Job.Due.IsZero() && !f.Job.Due.After(now) {
				t.Fatalf("last %v → %v, due %v, now %v", j.Last, f.Job.Last, f.Job.Due, now)
			}
			for _, s := range f.Slots {
				rows[s.Key]++
			}
			j, latest = f.Job, now
		}
		count := 0
		for at, ok := s.Next(j.Created, z, j.Created); ok && !at.After(latest); at, ok = s.Next(at, z, j.Created) {
			if count++; rows[scheduler.Key(at)] != 1 {
				t.Fatalf("slot %v has %d rows", at, rows[scheduler.Key(at)])
			}
		}
		if count != len(rows) {
			t.Fatalf("%d rows for %d slots", len(rows), count)
		}
	})
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := scheduler.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parse(t testing.TB, text string) spec.Spec {
	t.Helper()
	s, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBackoff(t *testing.T) {
	for failures, minutes := range []int{0, 1, 5, 15, 60, 60, 60} {
		if got := scheduler.Backoff(failures); got != time.Duration(minutes)*time.Minute {
			t.Errorf("%d failures: got %v", failures, got)
		}
	}
}
