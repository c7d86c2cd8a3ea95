package triggers_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/triggers"
	"hob/scheduler"
)

// jobSection returns a config with one job.
func jobSection(name string, in scheduler.Draft) []triggers.Wanted {
	return []triggers.Wanted{{Name: name, Decode: func(to any) error {
		*to.(*scheduler.Draft) = in
		return nil
	}}}
}

// A section whose times stay as they are keeps its slots, whatever else is changed in it: also those that came due while hob was not
// running, and the instant that a period counts from.
func TestSyncKeepsSlots(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	for _, in := range []scheduler.Draft{{Every: "6h"}, {Cron: "0 9 * * *"}, {When: "tomorrow at 9"}} {
		r := &jobRows{}
		in.Prompt = "brief me"
		put := func(at time.Time) {
			t.Helper()
			if off, err := r.jobs(at).Sync(t.Context(), jobSection("a", in), triggers.Heartbeat{}); err != nil || len(off) > 0 {
				t.Fatalf("%+v: %v, %v", in, off, err)
			}
		}
		put(now)
		before := r.list[0]
		in.Prompt = "brief me well"
		put(now.Add(70 * time.Hour))
		got := r.list[0]
		if got.Prompt != in.Prompt || !got.Due.Equal(before.Due) || !got.Created.Equal(before.Created) || got.Spec != before.Spec {
			t.Errorf("%+v was %+v", got, before)
		}
		if put(now.Add(90 * time.Hour)); r.puts != 2 {
			t.Errorf("%+v: the same again is put", in)
		}
		in.When, in.Cron, in.Every = "every friday at 9", "", ""
		put(now.Add(70 * time.Hour))
		if got := r.list[0]; !got.Due.Equal(time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)) || got.ID != before.ID {
			t.Errorf("with other times it is due %v", got.Due)
		}
	}
}

// A single time that was never read before and has passed is a mistake; so is a section that names no time.
func TestSyncRefusesThePast(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	r := &jobRows{}
	for _, in := range []scheduler.Draft{{At: "2026-11-20 09:00", Prompt: "x"}, {Prompt: "x"}} {
		off, err := r.jobs(now).Sync(t.Context(), jobSection("a", in), triggers.Heartbeat{})
		if err != nil || len(off) != 1 || !strings.HasPrefix(off[0], "jobs.a is off: ") || r.puts != 0 {
			t.Errorf("%+v: %v, %v, %d puts", in, off, err, r.puts)
		}
	}
}

// A row that was put aside is made anew from the section, with times of its own.
func TestSyncMendsARow(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)
	r := &jobRows{}
	want := jobSection("a", scheduler.Draft{Cron: "0 9 * * *", Prompt: "x"})
	for range 2 {
		if off, err := r.jobs(now).Sync(t.Context(), want, triggers.Heartbeat{}); err != nil || len(off) > 0 {
			t.Fatal(off, err)
		}
		if len(r.list) == 1 && r.puts == 1 {
			r.list[0].Broken, r.list[0].Spec = "it is spoilt", "cron 0 99 * * *"
		}
	}
	if got := r.list[0]; got.Broken != "" || got.Spec != "cron 0 9 * * *" || r.puts != 2 {
		t.Errorf("%+v after %d puts", got, r.puts)
	}
}
