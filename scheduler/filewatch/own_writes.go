package filewatch

import (
	"slices"
	"sync"
)

// Limits of OwnWrites.
// A path may be written several times before the watcher reads it, so several hashes of it count.
const (
	ownPaths  = 4096
	ownHashes = 4 // per path
)

// OwnWrites records what hob itself has written, so that a watch does not fire for it. It is safe for concurrent use. It keeps the newest
// 4,096 paths; a forgotten write counts as somebody else's. The zero value is ready to use.
type OwnWrites struct {
	mu    sync.Mutex
	notes map[string][]string // hashes by path, newest last
	order []string            // paths, newest last
	kept  func(Note)
}

// Note is one write of hob: the absolute path with links resolved, and the SHA-256 of the new content in hex; "" if hob removed the file.
type Note struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// Keep also passes each later note to f, under the lock. f may append it to a file; after a restart, Note fills a new OwnWrites from it.
func (l *OwnWrites) Keep(f func(Note)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = f
}

// Note records a write. It must be called before the content is visible at the path, or at least within the settle time.
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
	// The path that was written least recently is forgotten.
	if len(l.order) > ownPaths {
		delete(l.notes, l.order[0])
		l.order = l.order[1:]
	}
	if l.kept != nil {
		l.kept(Note{path, hash})
	}
}

// Wrote implements Own. After a content that hob did not write, earlier notes of the path no longer count: if somebody restores that
// content, it is a change. Several watches may call it.
func (l *OwnWrites) Wrote(path, hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.notes[path]
	i := slices.Index(list, hash)
	// The watcher has seen this content, so only somebody else can bring back an older one. This one stays for other watches.
	if i > 0 {
		l.notes[path] = list[i:]
	}
	if i < 0 && len(list) > 0 {
		delete(l.notes, path)
		l.order = slices.DeleteFunc(l.order, func(p string) bool { return p == path })
	}
	return i >= 0
}
