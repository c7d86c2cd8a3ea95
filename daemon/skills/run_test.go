package skills_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"hob/daemon/api"
)

// The owner may answer before the pass that asks him has ended. His answer is acted on at once all the same.
func TestAnAnswerWhileTheFoldersAreReadIsNotMissed(t *testing.T) {
	w := newWorld(t)
	w.good("lamp")
	var mu sync.Mutex
	next, used := make(chan struct{}), make(chan struct{})
	w.rows.asked = func() {
		w.rows.answer(api.SkillAccepted)
		mu.Lock()
		defer mu.Unlock()
		close(next)
		next = make(chan struct{})
	}
	w.rows.used = func() { close(used) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- w.Run(ctx, func() <-chan struct{} {
			mu.Lock()
			defer mu.Unlock()
			return next
		})
	}()
	select {
	case <-used:
	case <-time.After(10 * time.Second):
		t.Error("nobody acted on the answer")
	}
	cancel()
	must(t, <-done)
}
