package runtime

import (
	"maps"
	"slices"
	"sync"
)

// activeSandboxes tracks the commands that run in a sandbox, so that all of them can be frozen
// while another sandbox is set up. It is safe for concurrent use. A nil value tracks nothing.
type activeSandboxes struct {
	alone sync.Mutex // held by the one caller that froze the others

	mu      sync.Mutex
	running map[*running]struct{}
}

// add tracks a confined command until leave is called. It ignores other commands.
func (b *activeSandboxes) add(r *running, confined bool) (leave func()) {
	if b == nil || !confined {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[r] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, r)
	}
}

// freezeAll stops every tracked process until thaw is called. Only one caller at a time may hold
// them frozen.
func (b *activeSandboxes) freezeAll() (thaw func()) {
	if b == nil {
		return func() {}
	}
	b.alone.Lock()
	b.mu.Lock()
	list := slices.Collect(maps.Keys(b.running))
	b.mu.Unlock()
	wake := freeze(list)
	return func() {
		wake()
		b.alone.Unlock()
	}
}
