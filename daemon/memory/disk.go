package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

// refused returns an error of the index as a fault that names what is wrong with the disk, if that is the cause. A disk that takes no new file is the
// cause of every error of SQLite: an index that is made anew there would fail too.
func refused(path string, err error) error {
	cause := err
	if errors.Is(err, sqlite.ErrStorage) {
		if errors.Is(err, sqlite.ErrFull) || errors.Is(err, sqlite.ErrMoved) {
			return err
		}
		cause = tryDisk(filepath.Dir(path))
	} else if _, known := event.AsFault(err); known {
		return err
	}
	text, hint := sys.DiskProblem(cause)
	if text == "" || hint == "" {
		return err
	}
	return &event.Fault{Kind: event.Unavailable, Text: text + ": nothing was stored", Hint: hint, Err: fmt.Errorf("%w: %w", sqlite.ErrStorage, cause)}
}

// tryDisk writes a small file in a folder and removes it.
func tryDisk(folder string) error {
	f, err := os.CreateTemp(folder, "index.db.*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// advice is what to do about an error of the disk; "": it is no such error.
func advice(err error) string {
	if f, ok := event.AsFault(err); ok && errors.Is(err, sqlite.ErrStorage) && !useless(err) {
		return f.Hint
	}
	return ""
}

// said returns an error as a sentence for people.
func said(err error) string {
	if f, ok := event.AsFault(err); ok {
		return f.Text
	}
	return err.Error()
}

// advised returns an error as a sentence for people, with what to do about it.
func advised(err error) string {
	if hint := advice(err); hint != "" {
		return said(err) + "; " + hint
	}
	return said(err)
}

// logAgain is how long an error of the disk that lasts is not logged again.
const logAgain = time.Hour

// logged is the error of the disk that was logged last.
type logged struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

// warn logs an error of the disk, unless it was logged a short time ago. Others are for the caller.
func (l *logged) warn(o Options, err error) {
	f, ok := event.AsFault(err)
	if !ok || advice(err) == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := o.Now()
	if f.Text == l.text && now.Sub(l.at).Abs() < logAgain {
		return
	}
	l.text, l.at = f.Text, now
	o.Log.Warn("the memory index cannot be used", "why", f.Text, "hint", f.Hint, "err", f.Err)
}
