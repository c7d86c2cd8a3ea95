package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"hob/daemon/event"
)

// Errors that mean that nothing can be stored.
var (
	// ErrStorage wraps all of them: a full or failing disk, a damaged database, files that were replaced.
	ErrStorage = errors.New("the database cannot store")
	// ErrFull means that the disk is full.
	ErrFull = fmt.Errorf("%w: the disk is full", ErrStorage)
	// ErrIO means that a file cannot be read or written.
	ErrIO = fmt.Errorf("%w: input and output fail", ErrStorage)
	// ErrMoved means that the files were deleted or replaced. It does not pass by itself.
	ErrMoved = fmt.Errorf("%w: its files were deleted or replaced", ErrStorage)
)

// retryEvery is how often a writer that fails tries again by itself. tryEvery is how often others may make it try.
const (
	retryEvery = 30 * time.Second
	tryEvery   = time.Second
)

// Storage reports whether the database can store data.
type Storage struct {
	Fault *event.Fault // why it cannot; nil: it can
	Since time.Time    // wall time of the first failure
}

// condition is the result of the last commit. Reading it needs no write.
type condition struct {
	mu      sync.Mutex
	storage Storage
	damaged bool // a commit that works does not repair a damaged database
	tried   time.Time
}

// read returns the condition and the time of the last attempt to write.
func (c *condition) read() (Storage, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.storage, c.tried
}

// failing reports whether the condition has a fault.
func (c *condition) failing() bool {
	s, _ := c.read()
	return s.Fault != nil
}

// note takes the result of a commit and reports whether it changed the condition. Errors that are not about storage change nothing.
func (c *condition) note(err error, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried = now
	if err == nil {
		well := c.storage.Fault == nil || c.damaged
		if !well {
			c.storage = Storage{}
		}
		return !well
	}
	fault, ok := event.AsFault(err)
	if !ok || !errors.Is(err, ErrStorage) {
		return false
	}
	c.damaged = c.damaged || errors.Is(err, ErrCorrupt)
	was := c.storage.Fault
	if c.storage.Fault = fault; was == nil {
		c.storage.Since = now
	}
	return was == nil || was.Text != fault.Text
}

// files are the database and its log as they were opened. They are examined by name only: closing any descriptor of them would drop
// SQLite's locks.
type files struct {
	path    string
	mu      sync.Mutex
	was     [2]fs.FileInfo
	rescued string // path of a copy of all acknowledged data, written when the files were lost; "": none
}

// moved returns an error if a name no longer leads to the file that was opened, judged by device and inode. Windows does not allow
// replacing an open file.
func (f *files) moved() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, end := range [...]string{"", "-wal"} {
		now, err := os.Lstat(f.path + end)
		switch was := f.was[i]; {
		// SQLite makes the log at the first write, so it is noted when it is first seen.
		case was == nil && err == nil:
			f.was[i] = now
		case was != nil && errors.Is(err, fs.ErrNotExist), was != nil && err == nil && !os.SameFile(was, now):
			return f.fault()
		}
	}
	return nil
}

// fault describes the loss of the database's file to the user, with the copy that was saved from the open file, if any.
//
// Stopping hob is necessary: the open file has no name any more, and a new database would be a second one.
func (f *files) fault() *event.Fault {
	hint := "stop hob; then hob backup list and hob backup restore PATH"
	if f.rescued != "" {
		hint = "all that was acknowledged is in a copy: stop hob, then hob backup restore " + f.rescued
	}
	return &event.Fault{Kind: event.Unavailable, Text: "the database was deleted or replaced while hob was running: nothing can be stored", Hint: hint, Err: ErrMoved}
}

// note takes the result of a commit. If the files are lost, it rescues the data.
func (w *writer) note(err error) {
	if !w.condition.note(err, w.now()) {
		return
	}
	switch f, ok := event.AsFault(err); {
	case w.derived:
	case ok:
		w.log.Error("the database cannot store", "what", f.Text, "err", f.Err)
	default:
		w.log.Info("the database stores again")
	}
	if errors.Is(err, ErrMoved) && !w.derived {
		w.rescue()
	}
	w.signals.send(SignalStorage)
}

// rescue writes all acknowledged data into a copy. SQLite's own connection still has the files open, even without names. If only the log
// has lost its name, its content is also copied into the database.
func (w *writer) rescue() {
	folder := BackupFolder(filepath.Dir(w.files.path))
	to := filepath.Join(folder, "hob-rescued-"+w.now().UTC().Format("20060102-150405")+".db")
	part := to + Unfinished
	_, err := w.session.conn.ExecContext(w.ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	err = errors.Join(err, os.MkdirAll(folder, 0o700), remove(part))
	if err == nil {
		err = copyPages(w.ctx, w.session.conn, part)
	}
	if err == nil {
		err = finishFile(part, to)
	}
	if err == nil {
		err = putDigest(to)
	}
	if err != nil {
		w.log.Error("what was stored could not be rescued into a copy", "err", errors.Join(Plain(err), remove(part)))
		return
	}
	w.files.mu.Lock()
	w.files.rescued = to
	w.files.mu.Unlock()
	w.condition.note(w.files.moved(), w.now()) // so that its hint names the copy
	w.log.Warn("what was stored is rescued in a copy", "path", to)
}

// LookAtFiles makes the writer check whether the files were deleted or replaced. It does not wait for the result: SignalStorage reports a fault.
func (d *DB) LookAtFiles() {
	select {
	case d.write.look <- struct{}{}:
	default: // it is about to look
	}
}

// Storage reports whether the database can store, judged by the last commit. After a failure, or if the files were replaced, it tries one
// small commit, at most once a second.
func (d *DB) Storage(ctx context.Context) Storage {
	w := d.write
	s, tried := w.condition.read()
	if s.Fault == nil && w.files.moved() == nil || s.Fault != nil && w.now().Sub(tried).Abs() < tryEvery {
		return s
	}
	// The empty write goes through the queue, so that the writer examines the files and, after a failure, writes its probe.
	c := &closure{f: func(*Conn) error { return nil }, done: make(chan error, 1)}
	if err := w.put(c); err != nil {
		return s
	}
	timer := time.NewTimer(tryEvery)
	defer timer.Stop()
	select {
	case <-c.done: //nolint:errcheck // its error is in the condition
	case <-ctx.Done():
	case <-timer.C: // the disk hangs
	}
	s, _ = w.condition.read()
	return s
}
