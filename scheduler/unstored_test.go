package scheduler_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/scheduler"
)

var errFull = errors.New("the disk is full")

// R2: a fire that could not be committed is tried again after 1 s, doubling to 60 s; after a success the pause begins with 1 s again.
func TestRunnerTriesAgainAfterASecond(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		start := r.clock.Wall()
		j := r.add("every 1s", nil)
		var tried []time.Duration
		refuse := func(scheduler.Firing) error {
			tried = append(tried, r.clock.Wall().Sub(start))
			return errFull
		}
		r.Refuse(refuse)
		r.run()
		r.wait(200 * time.Second)
		want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 124, 184}
		if len(tried) != len(want) {
			t.Fatalf("tried at %v, want %v", tried, want)
		}
		for i, d := range want {
			if tried[i] != d*time.Second {
				t.Errorf("try %d at %v, want %v s", i, tried[i], int(d))
			}
		}
		r.Refuse(nil)
		r.wait(50 * time.Second) // at 244 s it works
		if rows := r.rows(j.ID); len(rows) != 250 {
			t.Fatalf("%d rows, want one for each of 250 s", len(rows))
		}
		tried = nil
		r.Refuse(refuse)
		r.wait(4 * time.Second)
		if len(tried) != 3 || tried[1]-tried[0] != time.Second {
			t.Errorf("after a success it was tried at %v", tried)
		}
	})
}

// R2: what was missed because it could not be stored is told as that: to the model, and in the slots that the owner's report is made of.
func TestRunnerSaysWhatItCouldNotStore(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		j := r.add("every 1m0s", nil)
		r.run()
		r.wait(150 * time.Second)
		r.Refuse(func(scheduler.Firing) error { return errFull })
		r.wait(10 * time.Minute)
		r.Refuse(nil)
		r.wait(2 * time.Minute)
		unstored := 0
		for _, s := range r.rows(j.ID) {
			if s.StoreFailed {
				unstored++
			}
		}
		if unstored < 9 || unstored > 12 {
			t.Errorf("%d slots could not be stored: %+v", unstored, r.rows(j.ID))
		}
		var notes []string
		for _, in := range r.Inbox() {
			if _, note, ok := strings.Cut(in.Text(), "\n"); ok {
				notes = append(notes, note)
			}
		}
		if len(notes) != 1 || !strings.HasSuffix(notes[0], "earlier runs of this job were missed while hob could not write to its disk.)") {
			t.Errorf("the model is told %q", notes)
		}
		if last := r.rows(j.ID); last[len(last)-1].StoreFailed {
			t.Error("a slot after the outage counts as one that could not be stored")
		}
	})
}

// R2: a runner that starts on a disk that is full tells both: the time in which hob was not running, and that in which it could not store.
func TestRunnerTellsDowntimeFromAFullDisk(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		j := r.add("every 1m0s", nil)
		r.wait(time.Hour)
		r.Refuse(func(scheduler.Firing) error { return errFull })
		r.run()
		r.wait(10 * time.Minute)
		r.Refuse(nil)
		r.wait(time.Minute)
		counts := map[bool]int{}
		for _, s := range r.rows(j.ID) {
			counts[s.StoreFailed]++
		}
		if counts[false] < 58 || counts[true] < 9 {
			t.Errorf("%d slots while hob was not running, %d while it could not store", counts[false], counts[true])
		}
		if in := r.Inbox(); !strings.Contains(in[0].Text(), "missed while hob was not running or could not write to its disk.)") {
			t.Errorf("the model is told %q", in[0].Text())
		}
	})
}

// R2: the owner reads which time was which.
func TestAwayWhileNothingCouldBeStored(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 11, 22, 13, 22+minutes, 0, 0, time.UTC) }
	lost := scheduler.Overdue{Job: "t", Zone: "UTC", First: at(0), Last: at(1), Until: at(1), Gone: 60, StoreFailed: true}
	if got, want := scheduler.MissedReport([]scheduler.Overdue{lost}), "hob could not write to its disk from Sun 13:22 to 13:23: t: 60 runs missed"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	short := lost
	short.Until = at(0)
	if got, want := scheduler.MissedReport([]scheduler.Overdue{short}), "hob could not write to its disk at Sun 13:22: t: 60 runs missed"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	before := scheduler.Overdue{Job: "t", Zone: "UTC", First: at(-20), Last: at(-10), Until: at(0), Gone: 10}
	want := "hob could not write to its disk from Sun 13:22 to 13:23: t: 60 runs missed\nWhile hob was not running (Sun 13:02 to 13:22): t: 10 runs missed"
	if got := scheduler.MissedReport([]scheduler.Overdue{before, lost}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
