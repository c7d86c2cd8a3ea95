// Package watchtest holds a store of watches in memory, and an oracle that says what a watch must have seen.
package watchtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hob/daemon/event"
	"hob/scheduler/filewatch"
)

// Memory keeps watches and snapshots as a database would. It survives a Watcher, not the process.
//
// The maps are by the ID of a watch, and below that by path. keys holds the keys of all fires, so that a second commit of one is counted in
// twice.
type Memory struct {
	mu      sync.Mutex
	watches []filewatch.Watch
	files   map[int64]map[string]filewatch.File
	newest  map[int64]map[string]int64 // versions that were ever put since the first look, also of rows that went
	keys    map[string]bool
	inbox   []event.In
	trouble map[int64][]string
	commits int
	twice   int
	refuse  func(filewatch.Seen) error
	changed chan struct{}
	moved   chan struct{} // closed and made anew with each commit and each trouble
}

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{
		files: map[int64]map[string]filewatch.File{}, newest: map[int64]map[string]int64{}, keys: map[string]bool{}, trouble: map[int64][]string{},
		changed: make(chan struct{}, 1), moved: make(chan struct{}),
	}
}

// Changed signals that watches were changed.
func (m *Memory) Changed() <-chan struct{} { return m.changed }

// Put makes a watch, or replaces the one with the same ID; ID 0 is a new one.
func (m *Memory) Put(w filewatch.Watch) filewatch.Watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.ID == 0 {
		w.ID = int64(len(m.watches) + 1)
	}
	m.watches = append(slices.DeleteFunc(m.watches, func(o filewatch.Watch) bool { return o.ID == w.ID }), w)
	m.signal()
	return w
}

// Remove deletes a watch; its snapshot stays.
func (m *Memory) Remove(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches = slices.DeleteFunc(m.watches, func(o filewatch.Watch) bool { return o.ID == id })
	m.signal()
}

// signal wakes the watcher. One signal may stand for many, as for the signal of the real store.
func (m *Memory) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Refuse lets every commit fail for which f gives an error. Nil: none.
func (m *Memory) Refuse(f func(filewatch.Seen) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = f
}

// Watches is part of watch.Store.
func (m *Memory) Watches(context.Context) ([]filewatch.Watch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.watches), nil
}

// Snapshot is part of watch.Store.
func (m *Memory) Snapshot(_ context.Context, id int64) ([]filewatch.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []filewatch.File
	for _, f := range m.files[id] {
		f.Text = nil
		list = append(list, f)
	}
	return list, nil
}

// Text is part of watch.Store.
func (m *Memory) Text(_ context.Context, id int64, path string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[id][path].Text, nil
}

// Saw is part of watch.Store. A row that does not fit the one before is refused, as the database's own rules would.
func (m *Memory) Saw(_ context.Context, s filewatch.Seen) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The checks come first, so that a refused commit changes nothing.
	if !slices.ContainsFunc(m.watches, func(w filewatch.Watch) bool { return w.ID == s.Watch.ID }) {
		return fmt.Errorf("watch %d: %w", s.Watch.ID, filewatch.ErrStopped)
	}
	if m.refuse != nil {
		if err := m.refuse(s); err != nil {
			return err
		}
	}
	for _, f := range s.Files {
		if err := fits(m.files[s.Watch.ID][f.Path], f, m.newest[s.Watch.ID][f.Path]); err != nil {
			return err
		}
	}
	m.put(s.Watch.ID, s.Files)
	if s.In != nil {
		// A key that has a fire already stores the rows only, as Store requires.
		if key := fmt.Sprint(s.Watch.ID, " ", s.Key); m.keys[key] {
			m.twice++
		} else {
			m.keys[key] = true
			m.inbox = append(m.inbox, *s.In)
		}
	}
	m.commits++
	m.stir()
	return nil
}

// put stores the rows of files, and removes those of files that are gone.
// newest counts only after the first scan is done: until then nothing was reported, so versions may be used again.
func (m *Memory) put(id int64, files []filewatch.File) {
	if m.files[id] == nil {
		m.files[id], m.newest[id] = map[string]filewatch.File{}, map[string]int64{}
	}
	for _, f := range files {
		if m.files[id]["."].Version > 0 {
			m.newest[id][f.Path] = f.Version
		}
		if m.files[id][f.Path] = f; f.Gone {
			delete(m.files[id], f.Path)
		}
	}
}

// fits says what is wrong with a row over an old one; newest is the newest version that the path ever had.
// The zero File means a missing row.
func fits(old, now filewatch.File, newest int64) error {
	same := old.Hash == now.Hash
	switch {
	case now.Path == "" || now.Version <= 0:
		return fmt.Errorf("row %q has version %d", now.Path, now.Version)
	case now.Version < newest:
		return fmt.Errorf("version of %s went back from %d to %d", now.Path, newest, now.Version)
	case old.Version == 0 && now.Version == newest:
		return fmt.Errorf("%s has come back under its old version %d", now.Path, newest)
	case old.Version > 0 && !same && !now.Gone && now.Version == old.Version:
		return fmt.Errorf("%s has new content under the old version %d", now.Path, now.Version)
	}
	return nil
}

// stir wakes all tests that wait on Moved.
func (m *Memory) stir() {
	close(m.moved)
	m.moved = make(chan struct{})
}

// Moved is closed with the next commit or trouble.
func (m *Memory) Moved() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved
}

// Trouble is part of watch.Store.
func (m *Memory) Trouble(_ context.Context, id int64, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trouble[id] = append(m.trouble[id], text)
	m.stir()
	return nil
}

// Troubles lists what was said of a watch, in order.
func (m *Memory) Troubles(id int64) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.trouble[id])
}

// Inbox lists the inputs that were queued, in order.
func (m *Memory) Inbox() []event.In {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.inbox)
}

// Twice counts the commits whose key had a fire already.
func (m *Memory) Twice() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.twice
}

// Commits counts what was committed.
func (m *Memory) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// File is the row of a path, with its text; the zero File when there is none.
func (m *Memory) File(id int64, path string) filewatch.File {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[id][path]
}

// Lines are the lines of all events that name files, in order, each without its dash: "created /x, 3 bytes".
// The list of files is the last part of an event, after the prompt.
func (m *Memory) Lines() []string {
	var list []string
	for _, in := range m.Inbox() {
		text := in.Parts[len(in.Parts)-1].Text
		for line := range strings.SplitSeq(text, "\n") {
			if line == "" {
				break // the diffs begin
			}
			if name, ok := strings.CutPrefix(line, "- "); ok {
				list = append(list, name)
			}
		}
	}
	return list
}

// Forget drops the snapshot of a watch.
func (m *Memory) Forget(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, id)
	delete(m.newest, id)
}
