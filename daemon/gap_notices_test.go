package daemon_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/store"
)

// TestGapsOverARestart: of a server that comes and goes the owner hears once, and an hour later of all the rest, also of what an earlier process
// has gathered.
func TestGapsOverARestart(t *testing.T) {
	home := t.TempDir()
	h := newHouse(t, home)
	miss := func(ago time.Duration) {
		t.Helper()
		at := time.Now().Add(-ago).Truncate(time.Second)
		if err := h.Gaps.Missed(t.Context(), "x", channels.Gap{From: at, To: at.Add(time.Minute), Why: "the server keeps nothing"}); err != nil {
			t.Fatal(err)
		}
	}
	told := func() []string {
		t.Helper()
		rows, err := store.NewView(h.Store.Reader(), time.Now).OutboxRows(t.Context(), event.Filter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, r := range slices.Backward(rows) {
			list = append(list, string(r.To)+": "+r.Body)
		}
		return list
	}
	for _, minutes := range []time.Duration{50, 40, 30} {
		miss(minutes * time.Minute)
	}
	if got := told(); len(got) != 1 || !strings.Contains(got[0], "cli") || !strings.Contains(got[0], "Messages on x may be missing, from ") {
		t.Fatalf("told %q, want the first at once", got)
	}
	h.close()
	h = newHouse(t, home)
	h.ahead.Store(int64(time.Hour + time.Minute))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Gaps.Run(ctx) }()
	rung := h.Store.Events.EventsSignal()
	for limit := time.After(patience); len(told()) < 2; rung = h.Store.Events.EventsSignal() {
		select {
		case <-rung:
		case <-limit:
			t.Fatalf("told %q", told())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := told()[1]; !strings.Contains(got, "may be missing, 2 times between ") || !strings.Contains(got, "2m0s in all: the server keeps nothing.") {
		t.Errorf("told %q", got)
	}
}
