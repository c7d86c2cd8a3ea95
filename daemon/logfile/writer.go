// Package logfile writes hob's log as JSON lines into a file with rotation by size, reads it back, and follows it. It is not a database:
// lines may be lost when the disk is full, and a log error never stops the program.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// The sizes that hob uses.
const (
	MaxBytes = 10 << 20 // of one file
	Kept     = 5        // number of older files
)

// Writer appends whole lines to a file. When the next line would exceed the limit, the file becomes path.1, path.1 becomes path.2, and so
// on. Lines that cannot be written are dropped and counted; the next successful write reports the count. A file that was deleted or moved
// is created again. It is safe for concurrent use.
//
// The up command makes the only one; the handler of Lines writes to it. most counts bytes, kept counts older files, and mu guards the rest.
type Writer struct {
	path string
	most int64
	kept int

	mu   sync.Mutex
	file *os.File
	size int64
	torn bool // the last line was written only in part
	lost int  // dropped lines since the last successful write
}

// New makes a writer for a path. The file and its folder are made with the first line. most is the size limit of one file in bytes, kept
// the number of older files.
func New(path string, most int64, kept int) *Writer {
	return &Writer{path: path, most: most, kept: kept}
}

// Write appends one line, including its line break. It reports success even if the line was dropped, because a log must not stop the
// program.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(line); err != nil {
		w.lost++
	}
	return len(line), nil
}

// Lost returns how many lines were dropped since the last successful write.
func (w *Writer) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Close closes the file. A later line opens it again.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shut()
}

// shut closes the file with the lock held. The file counts as closed even after an error.
func (w *Writer) shut() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return fmt.Errorf("close the log: %w", err)
	}
	return nil
}

// append writes one line, after a note about lost lines if there are any.
func (w *Writer) append(line []byte) error {
	note := w.note()
	more := int64(len(note) + len(line))
	if err := w.ready(more); err != nil {
		return err
	}
	text := append(note, line...)
	// The first part of the torn line stays; a line break keeps it from spoiling the next line.
	if w.torn {
		text = append([]byte("\n"), text...)
	}
	n, err := w.file.Write(text)
	w.size += int64(n)
	if err != nil {
		w.torn = w.torn && n == 0 || n > 0 && text[n-1] != '\n'
		return fmt.Errorf("write the log: %w", err)
	}
	w.torn, w.lost = false, 0
	return nil
}

// note is the line that reports lost lines, in the format of slog's JSON handler.
func (w *Writer) note() []byte {
	if w.lost == 0 {
		return nil
	}
	at := time.Now().Format(time.RFC3339Nano)
	return []byte(`{"time":"` + at + `","level":"WARN","msg":"log lines could not be written","lines":` + strconv.Itoa(w.lost) + "}\n")
}

// ready makes sure that the file at the path is open and has room for more bytes.
func (w *Writer) ready(more int64) error {
	if w.file != nil && !w.inPlace() {
		if err := w.shut(); err != nil {
			return err
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	// A line that is longer than the limit gets a file of its own.
	if w.size == 0 || w.size+more <= w.most {
		return nil
	}
	return w.rotate()
}

// inPlace reports whether the path still names the open file.
func (w *Writer) inPlace() bool {
	there, err := os.Stat(w.path)
	if err != nil {
		return false
	}
	mine, err := w.file.Stat()
	return err == nil && os.SameFile(there, mine)
}

// open opens or creates the file for appending, if it is not open. Only the user that hob runs as may read it.
func (w *Writer) open() error {
	if w.file != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return fmt.Errorf("make the log's folder: %w", err)
	}
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("stat the log: %w", err), f.Close())
	}
	w.file, w.size, w.torn = f, info.Size(), false
	if w.size > 0 { // a killed process may have left a partial line
		last := make([]byte, 1)
		_, err := f.ReadAt(last, w.size-1)
		w.torn = err == nil && last[0] != '\n'
	}
	return nil
}

// rotate renames every file to the next number and opens a new one. If a file cannot be renamed, the present file stays in use.
func (w *Writer) rotate() error {
	if err := w.shut(); err != nil {
		return err
	}
	// Begin with the oldest file, which is overwritten. After a failure stop: the next rename would overwrite a file that is still needed.
	var failed error
	for n := w.kept; n > 0 && failed == nil; n-- {
		from := w.path
		if n > 1 {
			from = Older(w.path, n-1)
		}
		if err := os.Rename(from, Older(w.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	return w.open()
}

// Older returns the path of the nth older file; 1 is the newest of them.
func Older(path string, n int) string { return path + "." + strconv.Itoa(n) }
