package daemon_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/gate"
)

// hung is the parts of the world on which something may hang for ever, whatever its context says.
type hung struct {
	scheduler.Store
	gate.Evaluator
	in   string
	free chan struct{}
}

func (h hung) hangs(in string) {
	if h.in == in {
		<-h.free
	}
}

func (h hung) Moved(context.Context, int64) ([]scheduler.Entry, int64, error) {
	h.hangs("list of jobs")
	return nil, 0, nil
}

func (h hung) Report(context.Context) (bool, error) {
	h.hangs("report")
	return false, nil
}

func (h hung) Gated(context.Context, time.Time, int) ([]gate.Slot, error) {
	h.hangs("list of slots")
	if h.in != "gate" {
		return nil, nil
	}
	return []gate.Slot{{Fire: 1, Job: scheduler.Job{Zone: "UTC", Gate: scheduler.Gate{Command: "x"}}}}, nil
}

func (h hung) GatesWait(context.Context) (bool, error) { return h.in == "gate", nil }

func (h hung) Judge(context.Context, gate.Verdict) error { return nil }

func (h hung) Command(context.Context, scheduler.Job) (gate.Output, error) {
	h.hangs("gate")
	return gate.Output{}, nil
}

// What fires by itself feeds health and the watchdog: whichever part of it hangs, it shows within two minutes, and never while all is well.
func TestHungPartsShow(t *testing.T) {
	for _, in := range []string{"", "list of jobs", "report", "list of slots", "gate", "file watches"} {
		t.Run("in "+in, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				h, c, log := hung{in: in, free: make(chan struct{})}, sys.RealClock(), slog.New(slog.DiscardHandler)
				runner, gateRunner := scheduler.NewRunner(h, c, nil, log), gate.NewRunner(h, h, c, nil, log)
				watcher := filewatch.NewWatcher(nil, c, nil, nil, filewatch.Access{}, log) // its own tests let it run
				ended := make(chan error, 2)
				go func() { ended <- runner.Run(ctx) }()
				go func() { ended <- gateRunner.Run(ctx) }()
				shown := false
				for range 12 {
					if in != "file watches" {
						watcher = filewatch.NewWatcher(nil, c, nil, nil, filewatch.Access{}, log)
					}
					time.Sleep(10 * time.Second)
					synctest.Wait()
					shown = shown || daemon.Idle(c.Mono(), runner, gateRunner, watcher) > daemon.StuckAfter
				}
				if shown != (in != "") {
					t.Errorf("stuck: %v", shown)
				}
				stop()
				close(h.free)
				for range 2 {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
