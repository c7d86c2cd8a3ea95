// Package logfile keeps hob's log as JSON lines in a file that is cut off by size, reads it back, and follows it. It is no database:
// lines may be lost when the disk is full, and whoever writes is never stopped by it.
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

// Sizes that hob uses.
const (
	MaxBytes = 10 << 20 // of one file
	Kept     = 5        // older files beside the newest
)

// Writer appends whole lines to a file. When the next line would make it larger than its limit, the file becomes path.1, path.1
// becomes path.2, and so on. What cannot be written is dropped and counted; the next line that can be written says so. A file that
// was deleted or moved is made anew. It is safe for concurrent use.
type Writer struct {
	path string
	most int64
	kept int

	mu   sync.Mutex
	file *os.File
	size int64
	torn bool // the last line was written in part
	lost int  // lines since the last one that was written
}

// New makes a writer for a path. Files are opened at the first line, with their folder; most is the size of one file in bytes,
// kept the number of older ones.
func New(path string, most int64, kept int) *Writer {
	return &Writer{path: path, most: most, kept: kept}
}

// Write appends one line, which ends with a line break. It reports success also when the line was dropped: a log must not stop
// what it tells of.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(line); err != nil {
		w.lost++
	}
	return len(line), nil
}

// Lost is how many lines were dropped since the last one that was written.
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

func (w *Writer) append(line []byte) error {
	note := w.note()
	more := int64(len(note) + len(line))
	if err := w.ready(more); err != nil {
		return err
	}
	text := append(note, line...)
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

// note is the line that tells of lost ones, as slog's JSON handler would write it.
func (w *Writer) note() []byte {
	if w.lost == 0 {
		return nil
	}
	at := time.Now().Format(time.RFC3339Nano)
	return []byte(`{"time":"` + at + `","level":"WARN","msg":"lines of the log could not be written","lines":` + strconv.Itoa(w.lost) + "}\n")
}

// ready makes the file at the path the open one, with room for more bytes.
func (w *Writer) ready(more int64) error {
	if w.file != nil && !w.inPlace() {
		if err := w.shut(); err != nil {
			return err
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	if w.size == 0 || w.size+more <= w.most {
		return nil
	}
	return w.turnOver()
}

// inPlace reports whether the open file is still the one at the path.
func (w *Writer) inPlace() bool {
	there, err := os.Stat(w.path)
	if err != nil {
		return false
	}
	mine, err := w.file.Stat()
	return err == nil && os.SameFile(there, mine)
}

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
		return errors.Join(fmt.Errorf("look at the log: %w", err), f.Close())
	}
	w.file, w.size, w.torn = f, info.Size(), false
	if w.size > 0 { // what a killed process has left
		last := make([]byte, 1)
		_, err := f.ReadAt(last, w.size-1)
		w.torn = err == nil && last[0] != '\n'
	}
	return nil
}

// turnOver moves every file one number up and opens a new one. A file that cannot be moved is written on.
func (w *Writer) turnOver() error {
	if err := w.shut(); err != nil {
		return err
	}
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

// Older is the path of the nth older file; 1 is the youngest of them.
func Older(path string, n int) string { return path + "." + strconv.Itoa(n) }
