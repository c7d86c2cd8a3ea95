package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"hob/tools/fs/picture"
)

// Limits of the helper's process. Together with what the program itself takes (about 25 MB), reading any file stays below 100 MB: memory
// is collected at softLimit, the process ends above most, and no system gives it more than hardLimit.
const (
	maxTime   = 30 * time.Second
	softLimit = 44 << 20
	maxStack  = 16 << 20 // bytes
	hardLimit = 768 << 20
	maxPiped  = 16 << 20             // bytes of a file that comes through a pipe
	lookEvery = 5 * time.Millisecond // at the memory that is taken
)

// most is how many bytes of memory reading a kind may take. A picture's pixels are bounded beforehand (see package picture).
func most(kind Kind) uint64 {
	if kind == Picture {
		return 82 << 20
	}
	return 60 << 20
}

// Kind is what a helper reads.
type Kind string

// The kinds of files that a helper reads, and the arguments that each takes.
const (
	PDF      Kind = "pdf"      // the pages that are wanted: see ParsePages
	Word     Kind = "word"     //
	Notebook Kind = "notebook" //
	Picture  Kind = "picture"  //
	Page     Kind = "page"     // a web page: its address, and its Content-Type
)

// Opening is the first line that the helper writes, as JSON; the text, or the picture, comes after it.
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

// begin writes the opening. What is written to w from then on is the text.
func (j job) begin(o Opening) error { return json.NewEncoder(j.w).Encode(o) }

// readers are what reads each kind, and how many arguments it takes.
func readers() map[Kind]reader {
	return map[Kind]reader{PDF: {1, readPDF}, Word: {0, readWord}, Notebook: {0, readNotebook}, Picture: {0, readPicture}, Page: {2, readPage}}
}

type reader struct {
	args int
	read func(job) error
}

// trouble is what the helper writes to its error stream when it ends with an error.
type trouble struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// kinds are the errors that cross between the processes.
func kinds() map[string]error {
	return map[string]error{
		"broken": ErrBroken, "large": ErrLarge, "encrypted": ErrEncrypted, "pages": ErrPages, "no picture": picture.ErrFormat, "large picture": picture.ErrLarge,
	}
}

// Helper is the main function of the process that reads a file: the file is its standard input, its arguments are the kind and what that
// kind takes. It writes the opening and the text, and returns the exit code.
//
// Files are read by a process of their own because no reader of them is safe from what it reads: a file can make it loop, fill the
// memory or overflow the stack, and only the end of a process ends that. The process limits its own time, memory and stack.
func Helper(args []string, in *os.File, out, errs io.Writer) int {
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

// Exit codes of the helper beside 0.
const (
	exitError  = 1
	exitTime   = 3
	exitMemory = 4
)

// watch ends the process when it has taken more memory than is given to it. Nothing else can: what a reader allocates is not asked for.
func watch(most uint64) (stop func()) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	var clock *time.Timer
	clock = time.AfterFunc(time.Hour, func() {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > most {
			os.Exit(exitMemory)
		}
		clock.Reset(lookEvery)
	})
	clock.Reset(lookEvery)
	return func() { clock.Stop() }
}

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
		return fmt.Errorf("%q is no kind of file, or has other arguments", args[0])
	}
	j := job{ReaderAt: in, args: args[1:], w: w}
	info, err := in.Stat()
	if err != nil {
		return err
	}
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

// report writes an error for the other process.
func report(w io.Writer, err error) int {
	t := trouble{Text: err.Error()}
	for kind, known := range kinds() {
		if errors.Is(err, known) {
			t.Kind = kind
		}
	}
	if err := json.NewEncoder(w).Encode(t); err != nil {
		return exitMemory + 1 // nobody reads it
	}
	return exitError
}

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

func readPicture(j job) error {
	shown, err := picture.Fit(j, j.size)
	if err != nil {
		return err
	}
	if err := j.begin(Opening{Picture: &shown}); err != nil {
		return err
	}
	_, err = j.w.Write(shown.Data)
	return err
}
