package sys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Folders follows the folders that hob reads itself: those of the config, of the skills and of the memory. They share one notifier of the system, because
// each takes 0.2 MB. It is open while somebody follows a folder.
type Folders struct {
	log  *slog.Logger
	open func() (*fsnotify.Watcher, error)

	mu        sync.Mutex
	notifier  *fsnotify.Watcher // nil: nobody follows a folder
	reader    *Group            // reads the notifier
	followers map[*follower]struct{}
}

// NewFolders follows nothing yet.
func NewFolders(log *slog.Logger) *Folders {
	return &Folders{log: log, open: fsnotify.NewWatcher, followers: map[*follower]struct{}{}}
}

// Following says which folders are followed, and what is done after a change.
type Following struct {
	// Watch calls add for each folder. It runs before each Read, so that no change in between is missed. Its error ends Follow.
	Watch func(add func(folder string) error) error
	// Concerns reports whether a change needs a Read; nil: each does. The path of the event is that of an added folder, or of something directly in it.
	// It is called by another goroutine and must not block.
	Concerns func(fsnotify.Event) bool
	// Lost is told that changes were missed; a Read follows. It is called like Concerns.
	Lost func(error)
	// Read runs at the beginning, and when there has been no change for Settle, or when the first change is Patience old. With again it runs once more
	// after Settle. Its error ends Follow.
	Read             func(ctx context.Context) (again bool, err error)
	Settle, Patience time.Duration
	// Now returns a channel that is closed when there is another reason for a Read, which then runs at once; nil: there is none. It is asked before each
	// Read.
	Now func() <-chan struct{}
}

// follower is one call of Follow.
type follower struct {
	Following
	folders map[string]string // real paths of the folders, and the paths by which they were added
	changed chan struct{}     // has room for one change; closed when the notifier has ended
}

// Follow reads after each change, until ctx ends; then it returns nil. It returns an error if the system offers no notifier or if that ends. Follow may then
// be called again.
func (f *Folders) Follow(ctx context.Context, g Following) (err error) {
	w := &follower{Following: g, folders: map[string]string{}, changed: make(chan struct{}, 1)}
	if w.Now == nil {
		w.Now = func() <-chan struct{} { return nil }
	}
	if err := f.join(w); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.leave(w)) }()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	var since time.Time // of the first change that was not read yet
	next := w.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next:
			next = w.Now()
			quiet.Reset(0)
		case <-quiet.C:
			since, next = time.Time{}, w.Now()
			if err := w.Watch(func(folder string) error { return f.add(w, folder) }); err != nil {
				return err
			}
			again, err := w.Read(ctx)
			if err != nil {
				return err
			}
			if again {
				quiet.Reset(w.Settle)
			}
		case _, ok := <-w.changed:
			if !ok {
				return errors.New("the system's notifier of changes ended")
			}
			if since.IsZero() {
				since = time.Now()
			}
			// After Patience the running timer is not extended, so that a busy folder cannot delay a Read for ever.
			if time.Since(since) < w.Patience {
				quiet.Reset(w.Settle)
			}
		}
	}
}

// join opens the notifier for the first follower.
func (f *Folders) join(w *follower) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notifier == nil {
		n, err := f.open()
		if err != nil {
			return fmt.Errorf("open the system's notifier of changes: %w", err)
		}
		f.notifier, f.reader = n, NewGroup(f.log, nil)
		f.reader.Once("changes of folders", func() error {
			f.pass(n)
			return nil
		})
	}
	f.followers[w] = struct{}{}
	return nil
}

// leave closes the notifier after the last follower. Folders that only w has followed stay watched until then.
func (f *Folders) leave(w *follower) error {
	f.mu.Lock()
	delete(f.followers, w)
	n, reader := f.notifier, f.reader
	if len(f.followers) > 0 || n == nil {
		f.mu.Unlock()
		return nil
	}
	f.notifier = nil
	f.mu.Unlock()
	defer reader.Wait()
	return n.Close()
}

// add follows a folder. One that is followed already may be added again, because another one may have its name now.
func (f *Folders) add(w *follower, folder string) error {
	// Two paths of a folder are one to the notifier, which then tells of only one of them.
	path, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.folders[path] = folder
	if f.notifier == nil {
		return fsnotify.ErrClosed
	}
	return f.notifier.Add(path)
}

// pass tells the followers of what the notifier reports, until that is closed.
func (f *Folders) pass(n *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-n.Events:
			if !ok {
				f.ended(n)
				return
			}
			f.tell(func(w *follower) bool { return w.concerned(e) })
		case err, ok := <-n.Errors:
			if !ok {
				f.ended(n)
				return
			}
			f.tell(func(w *follower) bool { w.Lost(err); return true })
		}
	}
}

// tell wakes the followers for which concerned is true.
func (f *Folders) tell(concerned func(*follower) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.followers {
		if concerned(w) {
			select {
			case w.changed <- struct{}{}:
			default: // it has not been read since the last change
			}
		}
	}
}

// ended ends all followers of a notifier that ended by itself.
func (f *Folders) ended(n *fsnotify.Watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notifier != n {
		return
	}
	f.notifier = nil
	for w := range f.followers {
		close(w.changed)
		delete(f.followers, w)
	}
}

// concerned reports whether an event needs a Read: it is about a folder that w follows, or about something in it.
func (w *follower) concerned(e fsnotify.Event) bool {
	for _, rest := range []string{"", filepath.Base(e.Name)} {
		folder, followed := w.folders[filepath.Clean(e.Name[:len(e.Name)-len(rest)])]
		if followed && (w.Concerns == nil || w.Concerns(fsnotify.Event{Name: filepath.Join(folder, rest), Op: e.Op})) {
			return true
		}
	}
	return false
}
