// Package walk goes through a folder with as many workers as there are processors. It follows no symbolic link, opens
// nothing but folders and regular files, and reaches each by way of the folder that holds it, so that nobody can lead it
// elsewhere in between. What it finds it tells a Visitor; it decides nothing.
package walk

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"hob/daemon/sys"
)

// Entry is a name in a folder.
type Entry struct {
	Name  string
	Kind  Kind
	Inode uint64 // as the folder has it; 0: it does not tell. Only a hint: some file systems tell nonsense
}

// Kind is what a name stands for.
type Kind uint8

// The kinds. What is neither a folder nor a file (a link, a pipe, a device) is never opened.
const (
	Other Kind = iota
	Folder
	File
)

// Info is what the system knows of a file.
type Info struct {
	Size     int64
	Links    uint64 // names that the file has
	Modified int64  // nanoseconds since 1970
	Device   uint64 // with Inode its identity; 0 where the system has no such numbers
	Inode    uint64
}

// Opened is an open regular file. Its Info is that of what was opened, not of what stood there before.
type Opened struct {
	Info
	stream
}

// Dir is a folder that is being walked.
type Dir struct {
	Path  string // below the start, with slashes; "" is the start itself
	Keep  any    // the visitor's own, set in Visitor.Folder
	Above *Dir   // nil: this is the start

	file handle
	refs atomic.Int32
}

// Child is the path of a name in the folder.
func (d *Dir) Child(name string) string {
	if d.Path == "" {
		return name
	}
	return d.Path + "/" + name
}

// Stat looks at a file of the folder; a link is not followed.
func (d *Dir) Stat(name string) (Info, error) { return d.file.stat(name) }

// Open opens a regular file of the folder, without blocking and without following a link. Nothing of it is read yet.
// Anything else that stands there by now is fs.ErrNotExist.
func (d *Dir) Open(name string) (*Opened, error) { return d.file.open(name) }

// Identity are the folder's device and inode, 0 where the system has no such numbers.
func (d *Dir) Identity() (device, inode uint64) { return d.file.identity() }

// Identity are the device and inode of what a file info tells of, 0 where the system has no such numbers.
func Identity(info fs.FileInfo) (device, inode uint64) { return numbers(info) }

// Visitor is told of what is found, by several workers at once.
type Visitor interface {
	// Folder is told of a folder with all that is in it. What it returns is gone on with: folders are entered, and files are
	// handed to File. It may reorder and overwrite entries.
	Folder(d *Dir, entries []Entry) []Entry
	// File works on a file; worker is below Workers().
	File(worker int, d *Dir, e Entry)
	// Failed is told of a folder that cannot be read.
	Failed(path string, err error)
}

// Workers is how many workers a walk has at most.
func Workers() int { return max(1, min(runtime.GOMAXPROCS(0), 16)) }

// batch is how many files of a folder a worker takes at once.
const batch = 48

// Walk goes through a folder and all below it that the visitor wants. It ends early with the context's error. A panic of
// the visitor is an error.
func Walk(ctx context.Context, start *os.Root, v Visitor) error {
	top, err := openTop(start)
	if err != nil {
		return err
	}
	w := &walk{ctx: ctx, visitor: v, open: 1}
	w.wake.L = &w.mu
	root := &Dir{file: top}
	root.refs.Store(1)
	w.tasks = []task{{dir: root}}
	var crash atomic.Pointer[error]
	group := sys.NewGroup(slog.New(slog.DiscardHandler), func(_ string, err error) { crash.CompareAndSwap(nil, &err) })
	stop := context.AfterFunc(ctx, w.halt)
	defer stop()
	for n := range Workers() {
		group.Once("walk", func() error {
			defer w.halt() // a worker ends when all is done, or in a panic: then the others must not wait
			w.work(n)
			return nil
		})
	}
	group.Wait()
	for _, t := range w.tasks {
		t.dir.release()
	}
	if err := crash.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

type walk struct {
	ctx     context.Context //nolint:containedctx // of this walk alone, which lives as long as the call
	visitor Visitor
	mu      sync.Mutex
	wake    sync.Cond
	tasks   []task // the last one first
	idle    int    // workers that wait
	open    int    // tasks that are not done
	halted  bool
}

// task is a folder to read, one to open, or some files of one.
type task struct {
	dir   *Dir
	name  string  // of a folder in dir that is to be opened
	files []Entry // in dir
}

func (w *walk) halt() {
	w.mu.Lock()
	w.halted = true
	w.mu.Unlock()
	w.wake.Broadcast()
}

func (w *walk) push(list ...task) {
	if len(list) == 0 {
		return
	}
	w.mu.Lock()
	w.tasks = append(w.tasks, list...)
	w.open += len(list)
	idle := w.idle
	w.mu.Unlock()
	for range min(idle, len(list)) {
		w.wake.Signal()
	}
}

// take is the next task. false: there will be none.
func (w *walk) take() (task, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.halted || w.open == 0 {
			return task{}, false
		}
		if n := len(w.tasks); n > 0 {
			t := w.tasks[n-1]
			w.tasks = w.tasks[:n-1]
			return t, true
		}
		w.idle++
		w.wake.Wait()
		w.idle--
	}
}

func (w *walk) done() {
	w.mu.Lock()
	w.open--
	last := w.open == 0
	w.mu.Unlock()
	if last {
		w.wake.Broadcast()
	}
}

func (w *walk) work(n int) {
	r := newReader()
	for {
		t, ok := w.take()
		if !ok {
			return
		}
		w.carry(n, r, t)
		w.done()
	}
}

// carry does one task and lets go of its folder.
func (w *walk) carry(n int, r *reader, t task) {
	defer t.dir.release()
	switch {
	case t.files != nil:
		w.files(n, t.dir, t.files)
	case t.name != "":
		path := t.dir.Child(t.name)
		file, err := t.dir.file.folder(t.name)
		if err != nil {
			w.failed(path, err)
			return
		}
		d := &Dir{Path: path, Above: t.dir, file: file}
		d.refs.Store(1)
		defer d.release()
		w.folder(n, r, d)
	default:
		w.folder(n, r, t.dir)
	}
}

func (w *walk) folder(n int, r *reader, d *Dir) {
	entries, err := r.entries(d.file)
	if err != nil {
		w.failed(d.Path, err)
		return
	}
	var folders []task
	var files []Entry
	for _, e := range w.visitor.Folder(d, entries) {
		switch e.Kind {
		case Folder:
			d.refs.Add(1)
			folders = append(folders, task{dir: d, name: e.Name})
		case File:
			files = append(files, e)
		case Other:
		}
	}
	w.push(folders...)
	for len(files) > batch {
		d.refs.Add(1)
		w.push(task{dir: d, files: files[:batch]})
		files = files[batch:]
	}
	w.files(n, d, files)
}

func (w *walk) files(n int, d *Dir, files []Entry) {
	for _, e := range files {
		if w.ctx.Err() != nil {
			return
		}
		w.visitor.File(n, d, e)
	}
}

// failed passes on what is worth telling: a name that has just gone is not.
func (w *walk) failed(path string, err error) {
	if w.ctx.Err() == nil && !errors.Is(err, os.ErrNotExist) {
		w.visitor.Failed(path, err)
	}
}

// release closes the folder when nobody works in it any more.
func (d *Dir) release() {
	if d.refs.Add(-1) == 0 {
		d.file.close()
	}
}
