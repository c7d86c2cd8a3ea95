// Package walk visits a folder and everything below with several workers, up to one per processor. It follows no symbolic link and opens
// only folders and regular files. It reaches each file through its open parent folder, so that nobody can redirect it meanwhile. A
// Visitor gets the results and decides what to visit. Rules tell it what git and ripgrep would skip.
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
	Inode uint64 // as the folder reports it; 0: unknown. Only a hint: some file systems report wrong numbers
}

// Kind is the type of a file.
type Kind uint8

// The kinds. Other covers links, pipes, devices and the like, which are never opened.
const (
	Other Kind = iota
	Folder
	File
)

// Info describes a file.
type Info struct {
	Size     int64
	Links    uint64 // number of the file's names
	Modified int64  // nanoseconds since 1970
	Device   uint64 // with Inode the file's identity; 0 where the system has no such numbers
	Inode    uint64
}

// Opened is an open regular file. Info describes the opened file, not an earlier one of that name.
type Opened struct {
	Info
	stream
}

// Dir is a folder during a walk.
//
// refs counts the tasks that still need the open folder. It is closed with the last one, which may be on another worker.
type Dir struct {
	Path  string // below the start, with slashes; "": the start
	Keep  any    // data of the visitor, set in Visitor.Folder
	Above *Dir   // the parent; nil: this is the start

	file handle
	refs atomic.Int32
}

// Child returns the path of a name in the folder.
func (d *Dir) Child(name string) string {
	if d.Path == "" {
		return name
	}
	return d.Path + "/" + name
}

// Stat describes a file of the folder. A link is not followed.
func (d *Dir) Stat(name string) (Info, error) { return d.file.stat(name) }

// Open opens a regular file of the folder, without blocking and without following a link. It reads nothing yet. If the name now belongs
// to anything else, the error is fs.ErrNotExist.
func (d *Dir) Open(name string) (*Opened, error) { return d.file.open(name) }

// Identity returns the folder's device and inode; 0 where the system has no such numbers.
func (d *Dir) Identity() (device, inode uint64) { return d.file.identity() }

// Identity returns the device and inode of a file; 0 where the system has no such numbers.
func Identity(info fs.FileInfo) (device, inode uint64) { return numbers(info) }

// Links returns the number of names of a file. Where the system does not tell, it is 1 on Windows and 2 elsewhere.
func Links(info fs.FileInfo) uint64 { return links(info) }

// Visitor gets the results of a walk. Several workers call it at once.
type Visitor interface {
	// Folder gets a folder with all its entries and returns those to continue with: folders are entered, files are passed to File. It may
	// reorder and overwrite entries.
	Folder(d *Dir, entries []Entry) []Entry
	// File processes a file. worker is below Workers().
	File(worker int, d *Dir, e Entry)
	// Failed gets a folder that cannot be read.
	Failed(path string, err error)
}

// Workers returns the largest number of workers of a walk.
func Workers() int { return max(1, min(runtime.GOMAXPROCS(0), 16)) }

// batch is the number of files of a folder that a worker takes at once.
// A large folder is divided in this way, so that other workers can help with it.
const batch = 48

// Walk visits a folder and everything below that the visitor selects. It ends early with the error of ctx. A panic of the visitor becomes
// an error.
func Walk(ctx context.Context, start *os.Root, v Visitor) error {
	top, err := openTop(start)
	if err != nil {
		return err
	}
	// The start is the first task; it is counted like those of push.
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
			defer w.halt() // a worker ends when everything is done, or after a panic; the others must not wait then
			w.work(n)
			return nil
		})
	}
	group.Wait()
	// After an early end, tasks are left that hold folders open.
	for _, t := range w.tasks {
		t.dir.release()
	}
	if err := crash.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

// walk is the state of one walk, shared by its workers.
//
// The tasks are a stack, so the walk goes into the depth first and keeps few folders open. mu guards the fields below it.
type walk struct {
	ctx     context.Context //nolint:containedctx // only for this walk, which ends with the call
	visitor Visitor
	mu      sync.Mutex
	wake    sync.Cond
	tasks   []task // a stack
	idle    int    // number of waiting workers
	open    int    // number of unfinished tasks
	halted  bool
}

// task is one of three things: read dir, open and read the folder name in dir, or visit some files of dir.
//
// A folder is opened only when its task runs, because the number of open files is limited.
type task struct {
	dir   *Dir
	name  string  // of a folder in dir that is to be opened
	files []Entry // in dir
}

// halt makes all workers stop.
func (w *walk) halt() {
	w.mu.Lock()
	w.halted = true
	w.mu.Unlock()
	w.wake.Broadcast()
}

// push adds tasks and wakes idle workers.
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

// take returns the next task, and waits for one. false: there will be none.
func (w *walk) take() (task, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		// A running task may still push more, so an empty stack alone is not the end.
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

// done marks a task as finished. After the last one it wakes all workers, so that they end.
func (w *walk) done() {
	w.mu.Lock()
	w.open--
	last := w.open == 0
	w.mu.Unlock()
	if last {
		w.wake.Broadcast()
	}
}

// work executes tasks until there are none. n is the number of the worker, which the visitor gets.
func (w *walk) work(n int) {
	r := newReader()
	for {
		t, ok := w.take()
		if !ok {
			return
		}
		w.run(n, r, t)
		w.done()
	}
}

// run executes one task and releases its folder.
func (w *walk) run(n int, r *reader, t task) {
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

// folder reads a folder, asks the visitor, and pushes tasks for what is in it.
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
	// The folders come first, so that idle workers can begin before this one visits the files.
	w.push(folders...)
	for len(files) > batch {
		// The reference is taken before the push, because another worker may finish the task at once.
		d.refs.Add(1)
		w.push(task{dir: d, files: files[:batch]})
		files = files[batch:]
	}
	// The last files need no task: this worker visits them.
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

// failed reports an error, unless the file has just disappeared or the walk was cancelled.
func (w *walk) failed(path string, err error) {
	if w.ctx.Err() == nil && !errors.Is(err, os.ErrNotExist) {
		w.visitor.Failed(path, err)
	}
}

// release closes the folder when no worker uses it any more.
func (d *Dir) release() {
	if d.refs.Add(-1) == 0 {
		d.file.close()
	}
}
