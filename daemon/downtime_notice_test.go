package daemon_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/scheduler"
)

// After a night in which hob did not run, the owner gets one message; after a short restart and at the next start none.
func TestOneMessageAfterTheNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		offset := atomic.Int64{}
		w := &simulation{t: t, dir: t.TempDir(), clock: sys.ShiftedClock(func() time.Duration { return time.Duration(offset.Load()) })}
		until := func(day, hour, minute int) {
			time.Sleep(time.Date(2026, 11, day, hour, minute, 0, 0, zone).Sub(w.clock.Wall()))
			synctest.Wait()
		}
		offset.Store(int64(time.Until(time.Date(2026, 11, 21, 20, 0, 0, 0, zone))))
		w.start()
		for name, d := range map[string]scheduler.Draft{
			"morning": {Cron: "0 7 * * *"}, "backup": {Cron: "0 22,0,3 * * *", Missed: "skip"}, "tick": {Every: "5m"}, "noon": {Cron: "0 12 * * *"},
		} {
			d.Name, d.Zone, d.Prompt, d.Deliver, d.Trust = name, "Europe/Berlin", "say: "+name, string(event.ToNone), event.Owner
			j, _, err := scheduler.New(d, zone, w.clock.Wall())
			if err == nil {
				err = w.store.Calls.Record(t.Context(), scheduler.Put{Job: j})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		until(21, 20, 32)
		w.end()
		time.Sleep(30 * time.Second)
		w.start()
		until(21, 21, 8)
		w.end()
		until(22, 8, 0)
		w.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		said := func() (list []string) {
			rows, err := store.NewView(w.store.Reader(), time.Now).OutboxRows(t.Context(), event.Filter{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				list = append(list, r.Body)
			}
			return list
		}
		// tick: from 21:10 to 8:00 there are 131 slots, and the newest runs.
		want := []string{"While hob was not running (Sat 21:10 to Sun 08:00): tick: 130 missed, one run replaces them · backup: 3 runs missed · morning ran 1 h late"}
		if got := said(); !slices.Equal(got, want) {
			t.Errorf("said\n%q, want\n%q", got, want)
		}
		w.end()
		w.start()
		until(22, 13, 0)
		if got := said(); !slices.Equal(got, want) {
			t.Errorf("said later\n%q", got)
		}
		rows, err := store.NewView(w.store.Reader(), time.Now).FireRows(t.Context(), event.Filter{Name: "morning"})
		if err != nil || len(rows) != 1 || rows[0].Outcome != "ran" || rows[0].LateMS != time.Hour.Milliseconds() || rows[0].LimitMS != (2*time.Hour).Milliseconds() {
			t.Errorf("morning in the ledger: %+v, %v", rows, err)
		}
		w.end()
	})
}
