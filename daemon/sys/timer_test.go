package sys_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
)

// A timer for a time of day ends at a jump of the clock. It is short only while nobody would notice one.
func TestTimersEndAtJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sys.RealClock()
		lasts := func() time.Duration {
			began := time.Now()
			if !sys.Rest(t.Context(), clock, time.Hour) {
				t.Fatal("it was interrupted")
			}
			return time.Since(began)
		}
		if d := lasts(); d != 30*time.Second {
			t.Errorf("without a watch a timer lasts %v", d)
		}
		ctx, stop := context.WithCancel(t.Context())
		jump, ended := make(chan struct{}), make(chan error)
		go func() {
			ended <- clock.WatchJumpsBy(ctx, func(ctx context.Context, happened func()) error {
				for {
					select {
					case <-ctx.Done():
						return nil
					case <-jump:
						happened()
					}
				}
			})
		}()
		synctest.Wait()
		if d := lasts(); d != sys.LongestSleep {
			t.Errorf("with a watch a timer lasts %v", d)
		}
		go func() {
			time.Sleep(time.Minute)
			jump <- struct{}{}
		}()
		if d := lasts(); d != time.Minute {
			t.Errorf("a jump after a minute ended a timer after %v", d)
		}
		timer := clock.Timer(time.Second)
		if timer.End != clock.Mono()+time.Second {
			t.Errorf("it ends at %v", timer.End)
		}
		timer.Stop()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if d := lasts(); d != 30*time.Second {
			t.Errorf("after the watch a timer lasts %v", d)
		}
	})
}

// Where the system reports no jumps, the two clocks are compared.
func TestComparedClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		clock := sys.ShiftedClock(func() time.Duration { return time.Duration(offset.Load()) })
		ctx, stop := context.WithCancel(t.Context())
		jumps := 0
		go func() {
			time.Sleep(10 * time.Minute)
			offset.Store(int64(time.Hour))
			time.Sleep(10 * time.Minute)
			offset.Store(0)
			time.Sleep(10 * time.Minute)
			stop()
		}()
		if err := sys.Compare(ctx, clock, func() { jumps++ }); err != nil || jumps != 2 {
			t.Errorf("%d jumps: %v", jumps, err)
		}
	})
}

// The system's watch of the clock begins, and ends with its context.
func TestWatchJumps(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	clock := sys.RealClock()
	// The watch ends all timers when it begins.
	timer := clock.Timer(time.Hour)
	defer timer.Stop()
	ended := make(chan error, 1)
	go func() { ended <- clock.WatchJumps(ctx) }()
	<-timer.C
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A name that goes away is noticed, a write is not.
func TestWatchNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	name := filepath.Join(dir, "a")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	happened, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() { ended <- sys.WatchNames(ctx, dir, func() { happened <- struct{}{} }) }()
	select {
	case <-happened: // the watch has begun
	case err := <-ended:
		t.Skip(err)
	}
	for what, change := range map[string]func() error{
		"removed":       func() error { return os.Remove(name) },
		"moved":         func() error { return os.Rename(name, name+"2") },
		"replaced":      func() error { put("two"); return os.Rename(name, name+"2") },
		"folder moved":  func() error { return os.Rename(dir, dir+"2") },
		"folder's back": func() error { return nil },
	} {
		put("one")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if what == "folder moved" {
			if err := os.Rename(dir+"2", dir); err != nil {
				t.Fatal(err)
			}
		}
		if what != "folder's back" {
			<-happened
		}
		for len(happened) > 0 {
			<-happened
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
