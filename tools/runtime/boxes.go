package runtime

import (
	"maps"
	"slices"
	"sync"
)

// boxes are the sandboxes that run. It is safe for concurrent use; nil knows of none.
type boxes struct {
	alone sync.Mutex // one start at a time has all others rest

	mu      sync.Mutex
	running map[*running]struct{}
}

// add counts a command among them, when it is confined, until the returned function is called.
func (b *boxes) add(r *running, confined bool) (leave func()) {
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

// rest stops all that runs in them, until the returned function is called.
func (b *boxes) rest() (wake func()) {
	if b == nil {
		return func() {}
	}
	b.alone.Lock()
	b.mu.Lock()
	list := slices.Collect(maps.Keys(b.running))
	b.mu.Unlock()
	thaw := freeze(list)
	return func() {
		thaw()
		b.alone.Unlock()
	}
}
