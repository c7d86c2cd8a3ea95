package document

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"
)

// Limits of the helper's process.
const (
	maxTime   = 30 * time.Second
	maxMemory = 1 << 30   // bytes, where the system can limit them
	softLimit = 600 << 20 // bytes at which memory is collected more often
	maxStack  = 64 << 20  // bytes
)

// opening is the first line that the helper writes; behind it stands the text.
type opening struct {
	Pages int `json:"pages"`
}

// trouble is what the helper writes to its error stream when it ends with an error.
type trouble struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// kinds are the errors that cross between the processes.
func kinds() map[string]error {
	return map[string]error{"broken": ErrBroken, "large": ErrLarge, "encrypted": ErrEncrypted, "pages": ErrPages}
}

// Helper is the main function of the process that reads a PDF file: the file is its standard input, its one argument the
// pages that are wanted (see ParsePages). It writes one line of JSON (the number of pages) and the text, and returns the exit code.
//
// PDF is read by a process of its own because no reader of it is safe from what it reads: a file can make it loop, fill the memory or
// overflow the stack, and only the end of a process ends that. The process limits its own time, memory and stack.
func Helper(args []string, in *os.File, out, errs io.Writer) int {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(softLimit)
	if err := confine(); err != nil {
		return report(errs, err)
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
	exitError = 1
	exitTime  = 3
)

func readOut(args []string, in *os.File, w io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrBroken, p)
		}
	}()
	if len(args) != 1 {
		return fmt.Errorf("%w: want one argument", ErrPages)
	}
	want, err := ParsePages(args[0])
	if err != nil {
		return err
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	b, err := openPDF(in, info.Size())
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
	if err := json.NewEncoder(w).Encode(opening{all}); err != nil {
		return err
	}
	return b.write(w, want, all)
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
		return exitTime + 1 // nobody reads it
	}
	return exitError
}
