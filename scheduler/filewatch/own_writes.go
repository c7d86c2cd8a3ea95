package filewatch

import (
	"slices"
	"sync"
)

// Bounds of a OwnWrites.
const (
	ownPaths  = 4096
	ownHashes = 4 // of one path
)

// OwnWrites notes what hob itself wrote, so that its own writes do not wake it. It is safe for concurrent use, and keeps the
// newest 4,096 paths; what it has forgotten counts as written by somebody else. The zero OwnWrites is empty and ready.
type OwnWrites struct {
	mu    sync.Mutex
	notes map[string][]string // hashes of a path, the newest last
	order []string            // paths, the newest last
	kept  func(Note)
}

// Note is one thing that hob wrote: a path (absolute, links resolved) and the SHA-256 of its new content in hex, "" when hob
// removed it.
type Note struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// Keep hands each further note to f too, under the lock: f may append it to something that outlives the process, from
// which Note fills a new OwnWrites.
func (l *OwnWrites) Keep(f func(Note)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = f
}

// Note notes a write. It is to be called before the content can be seen at the path, or at least before a settle time has
// passed since.
func (l *OwnWrites) Note(path, hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notes == nil {
		l.notes = map[string][]string{}
	}
	list, known := l.notes[path]
	if known {
		l.order = slices.DeleteFunc(l.order, func(p string) bool { return p == path })
	}
	l.order = append(l.order, path)
	l.notes[path] = append(list[max(0, len(list)+1-ownHashes):], hash)
	if len(l.order) > ownPaths {
		delete(l.notes, l.order[0])
		l.order = l.order[1:]
	}
	if l.kept != nil {
		l.kept(Note{path, hash})
	}
}

// Wrote is part of Own. Once a content was seen that hob did not write, what was noted before counts no more: when somebody
// brings it back, that is a change. It may be asked by several watches.
func (l *OwnWrites) Wrote(path, hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.notes[path]
	i := slices.Index(list, hash)
	if i > 0 {
		l.notes[path] = list[i:]
	}
	if i < 0 && len(list) > 0 {
		delete(l.notes, path)
		l.order = slices.DeleteFunc(l.order, func(p string) bool { return p == path })
	}
	return i >= 0
}
