// This file is the only place that starts goroutines. Each has an owner that waits for it. A panic is caught, reported and followed by a
// restart with backoff; it never ends the process.

package sys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// The backoff of restarts.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = time.Minute
	calmAfter  = 5 * time.Minute // a run of at least this length resets the backoff
)

// ErrPanic marks an error that was a panic.
var ErrPanic = errors.New("panic")

// Group owns goroutines and waits for them.
type Group struct {
	wg     sync.WaitGroup
	log    *slog.Logger
	report func(name string, err error)
}

// NewGroup makes a group. report is called after every failed run and must not block; it may be nil.
func NewGroup(log *slog.Logger, report func(name string, err error)) *Group {
	if report == nil {
		report = func(string, error) {}
	}
	return &Group{log: log, report: report}
}

// Go runs f until it returns nil or ctx ends. After an error or a panic it runs f again, after a pause that doubles from 250 ms to 1 min.
func (g *Group) Go(ctx context.Context, name string, f func(context.Context) error) {
	g.wg.Go(func() {
		pause := firstPause
		for {
			start := time.Now()
			err := guarded(name, func() error { return f(ctx) })
			if err == nil || ctx.Err() != nil {
				return
			}
			g.log.Error("component failed, restarting", "component", name, "pause", pause, "err", err)
			g.report(name, err)
			if time.Since(start) > calmAfter {
				pause = firstPause
			}
			if !Sleep(ctx, pause) {
				return
			}
			pause = min(2*pause, lastPause)
		}
	})
}

// Once runs f once. An error or a panic is logged and reported.
func (g *Group) Once(name string, f func() error) {
	g.wg.Go(func() {
		if err := guarded(name, f); err != nil {
			g.log.Error("task failed", "task", name, "err", err)
			g.report(name, err)
		}
	})
}

// Wait blocks until all goroutines of the group have ended.
func (g *Group) Wait() { g.wg.Wait() }

// Both runs two functions at the same time and waits for both. A panic of one is an error.
func Both(f, g func() error) error {
	var first error
	group := NewGroup(slog.New(slog.DiscardHandler), func(_ string, err error) { first = err })
	group.Once("one of two", f)
	second := guarded("the other of two", g)
	group.Wait()
	return errors.Join(first, second)
}

// guarded runs f and turns a panic into an error with its stack.
func guarded(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %w: %v\n%s", name, ErrPanic, p, debug.Stack())
		}
	}()
	return f()
}
