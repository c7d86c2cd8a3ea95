package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"hob/tools/fs/picture"
)

// Limits of the helper's process. The program itself takes about 25 MB, so that reading any file
// stays below 100 MB: the garbage collector aims at softLimit, watch ends the process above most,
// and the kernel grants no more than hardLimit.
const (
	maxTime       = 30 * time.Second
	softLimit     = 44 << 20
	maxStack      = 16 << 20 // bytes
	hardLimit     = 768 << 20
	maxPiped      = 16 << 20             // bytes of a file from a pipe
	checkInterval = 5 * time.Millisecond // interval between two checks of the memory
)

// most returns how many bytes of memory reading a kind may take. The pixels of a picture are
// bounded in advance (see package picture).
func most(kind Kind) uint64 {
	if kind == Picture || kind == Drawing {
		return 82 << 20
	}
	return 60 << 20
}

// Kind is a kind of file that a helper reads.
type Kind string

// The kinds of files, with the arguments that each takes.
const (
	PDF      Kind = "pdf"      // a selection of pages, see ParsePages
	Word     Kind = "word"     //
	Notebook Kind = "notebook" //
	Picture  Kind = "picture"  //
	Drawing  Kind = "drawing"  // a picture that is encoded anew
	Page     Kind = "page"     // a web page: its address, and its Content-Type
)

// Opening is the first line that the helper writes, as JSON. The text or the picture follows.
type Opening struct {
	Pages   int            `json:"pages,omitempty"`   // of a PDF file
	Cells   int            `json:"cells,omitempty"`   // of a notebook
	Title   string         `json:"title,omitempty"`   // of a web page
	Picture *picture.Shown `json:"picture,omitempty"` // without its bytes
}

// job is one file that a helper reads.
type job struct {
	io.ReaderAt
	size int64
	args []string
	w    *bufio.Writer
}

// begin writes the opening. Everything written to w afterwards is the text.
func (j job) begin(o Opening) error { return json.NewEncoder(j.w).Encode(o) }

// readers maps each kind to its reader.
func readers() map[Kind]reader {
	return map[Kind]reader{PDF: {1, readPDF}, Word: {0, readWord}, Notebook: {0, readNotebook}, Picture: {0, pictures(picture.Fit)}, Drawing: {0, pictures(picture.Redraw)}, Page: {2, readPage}}
}

// reader reads one kind, which takes this number of arguments.
type reader struct {
	args int
	read func(job) error
}

// trouble is what the helper writes to its error stream when it fails.
type trouble struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// kinds maps the errors that cross between the processes to names.
func kinds() map[string]error {
	return map[string]error{
		"broken": ErrBroken, "large": ErrLarge, "encrypted": ErrEncrypted, "pages": ErrPages, "no picture": picture.ErrFormat, "large picture": picture.ErrLarge,
	}
}

// Helper is the main function of the process that reads a file. The file is its standard input; its
// arguments are the kind and the arguments of that kind. It writes the opening and the text, and
// returns the exit code.
//
// A separate process is necessary because no reader is safe against its input: a file can make it
// loop, fill the memory or overflow the stack, and only the end of a process stops that. The
// process limits its own time, memory and stack.
func Helper(args []string, in *os.File, out, errs io.Writer) int {
	// Limit everything before the first byte of the file is read.
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(softLimit)
	debug.SetGCPercent(50)
	if err := confine(); err != nil {
		return report(errs, err)
	}
	if len(args) > 0 {
		stop := watch(most(Kind(args[0])))
		defer stop()
	}
	clock := time.AfterFunc(maxTime, func() { os.Exit(exitTime) })
	defer clock.Stop()
	w := bufio.NewWriterSize(out, 32<<10)
	err := readOut(args, in, w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return report(errs, err)
	}
	return 0
}

// Exit codes of the helper other than 0.
const (
	exitError  = 1
	exitTime   = 3
	exitMemory = 4
)

// watch ends the process when it uses too much memory. Go offers no other way: an allocation cannot
// be refused.
func watch(most uint64) (stop func()) {
	var m runtime.MemStats
	var clock *time.Timer
	clock = time.AfterFunc(time.Hour, func() {
		runtime.ReadMemStats(&m)
		if m.Sys-m.HeapReleased > most {
			os.Exit(exitMemory)
		}
		clock.Reset(checkInterval)
	})
	clock.Reset(checkInterval)
	return func() { clock.Stop() }
}

// readOut reads one file and converts a panic of a reader into an error. A file that comes through
// a pipe is buffered first.
func readOut(args []string, in *os.File, w *bufio.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrBroken, p)
		}
	}()
	if len(args) == 0 {
		return errors.New("want a kind of file")
	}
	r, ok := readers()[Kind(args[0])]
	if !ok || len(args) != 1+r.args {
		return fmt.Errorf("%q is not a kind of file, or has the wrong arguments", args[0])
	}
	j := job{ReaderAt: in, args: args[1:], w: w}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	// Most formats need random access, which a pipe does not offer.
	if j.size = info.Size(); info.Mode().IsRegular() {
		return r.read(j)
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxPiped+1))
	if err == nil && len(raw) > maxPiped {
		err = fmt.Errorf("%w: more than %d MB", ErrLarge, maxPiped>>20)
	}
	if err != nil {
		return err
	}
	j.ReaderAt, j.size = bytes.NewReader(raw), int64(len(raw))
	return r.read(j)
}

// report writes an error for the calling process.
func report(w io.Writer, err error) int {
	t := trouble{Text: err.Error()}
	for kind, known := range kinds() {
		if errors.Is(err, known) {
			t.Kind = kind
		}
	}
	if err := json.NewEncoder(w).Encode(t); err != nil {
		return exitMemory + 1 // nobody can read the error
	}
	return exitError
}

// readPDF writes the text of the requested pages.
func readPDF(j job) error {
	want, err := ParsePages(j.args[0])
	if err != nil {
		return err
	}
	b, err := openPDF(j, j.size)
	if err != nil {
		return err
	}
	all, err := b.pages()
	if err != nil {
		return err
	}
	if want, err = want.of(all); err != nil {
		return err
	}
	if err := j.begin(Opening{Pages: all}); err != nil {
		return err
	}
	return b.write(j.w, want, all)
}

// pictures returns the reader that writes what fit makes of a picture.
func pictures(fit func(r io.ReaderAt, size int64) (picture.Shown, error)) func(job) error {
	return func(j job) error {
		shown, err := fit(j, j.size)
		if err != nil {
			return err
		}
		if err := j.begin(Opening{Picture: &shown}); err != nil {
			return err
		}
		_, err = j.w.Write(shown.Data)
		return err
	}
}
