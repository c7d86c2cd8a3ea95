package fs

import (
	"bytes"
	"crypto/sha256"
	"io"
	iofs "io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"hob/daemon/fsguard"
)

// Limits of Seen.
const (
	maxSeen       = 4096     // files remembered in all sessions together
	hashLimit     = 4 << 20  // larger files are identified by time and size only
	comparedLimit = 64 << 10 // the content of larger files is not compared in a question
)

// Seen remembers in memory how each file looked when a session last read or wrote it, so that a
// write does not overwrite changes by somebody else. It forgets the oldest files first, and
// everything at a restart. A file that it does not remember may be written.
type Seen struct {
	mu    sync.Mutex
	marks map[seenKey]mark
	order []seenKey // oldest first
}

// seenKey is a file as one session knows it.
type seenKey struct {
	session int64
	path    string
}

// mark is the state of a file. Without a hash, time and size identify it.
type mark struct {
	mtime  time.Time
	size   int64
	hash   [sha256.Size]byte
	hashed bool
}

// NewSeen returns an empty memory.
func NewSeen() *Seen { return &Seen{marks: map[seenKey]mark{}} }

// note records how a file looks now. Session 0 means no session: nothing is recorded.
func (s *Seen) note(session int64, path string, m mark) {
	if session == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := seenKey{session, path}
	if _, known := s.marks[k]; !known {
		s.order = append(s.order, k)
	}
	s.marks[k] = m
	// Drop the oldest file. The new backing array lets the collector free its key.
	if len(s.order) > maxSeen {
		delete(s.marks, s.order[0])
		s.order = append(s.order[:0:0], s.order[1:]...)
	}
}

// look returns what a session knows of a file.
func (s *Seen) look(session int64, path string) (mark, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.marks[seenKey{session, path}]
	return m, ok
}

// Changed reports whether a file differs from what the session last saw; false if it never saw the
// file. It compares the content; for files too large to hash, time and size.
func (s *Seen) Changed(g *fsguard.Guard, session int64, p fsguard.Place) (bool, error) {
	was, ok := s.look(session, p.Path)
	if !ok {
		return false, nil
	}
	if !p.Exists() {
		return true, nil
	}
	// A different size needs no reading.
	if p.Info.Size() != was.size {
		return true, nil
	}
	// A large file has no hash: its time decides. For the others a new time alone is no change.
	if !was.hashed {
		return !p.Info.ModTime().Equal(was.mtime), nil
	}
	f, err := g.Open(p)
	if err != nil {
		return false, err
	}
	now, err := markOf(f, p.Info)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err == nil && now.hash != was.hash, err
}

// markOf returns the mark of an open file.
func markOf(f *os.File, info iofs.FileInfo) (mark, error) {
	m := mark{mtime: info.ModTime(), size: info.Size()}
	if m.size > hashLimit {
		return m, nil
	}
	h := sha256.New()
	// The file may grow while it is read. One byte over the limit shows that.
	n, err := io.Copy(h, io.NewSectionReader(f, 0, hashLimit+1))
	if err != nil {
		return m, err
	}
	m.size, m.hashed = n, n <= hashLimit
	h.Sum(m.hash[:0])
	return m, nil
}

// Wrote records what a session has just written.
func (s *Seen) Wrote(session int64, path string, info iofs.FileInfo, data []byte) {
	// data may be only the beginning of a large file; size and time are those of the whole file.
	m := mark{mtime: info.ModTime(), size: info.Size(), hashed: len(data) <= hashLimit}
	if m.hashed {
		m.hash = sha256.Sum256(data)
	}
	s.note(session, path, m)
}

// Forget drops what a session knows of a file.
func (s *Seen) Forget(session int64, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := seenKey{session, path}
	delete(s.marks, k)
	s.order = slices.DeleteFunc(s.order, func(o seenKey) bool { return o == k })
}

// holds reports whether a file contains exactly these bytes.
func holds(f *os.File, want []byte) (bool, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, err
	}
	sum := sha256.Sum256(want)
	return bytes.Equal(h.Sum(nil), sum[:]), nil
}
