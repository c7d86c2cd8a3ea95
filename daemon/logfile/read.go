package logfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"
)

// Query selects lines of the log.
// The API and the logs command make it from their parameters. All conditions must hold.
type Query struct {
	Limit int        // at most this many, the newest; below 1: all
	Level slog.Level // this level and above
	Turn  int64      // only lines about this turn; 0: all
	Since time.Time  // zero: from the beginning
}

// head holds the fields by which lines are selected.
// The other fields of a line are passed on without being parsed.
type head struct {
	Time  time.Time       `json:"time"`
	Level slog.Level      `json:"level"`
	Turn  json.RawMessage `json:"turn"` // a number in hob's own lines
}

// wants reports whether a line is selected. Text that is not a JSON object, such as the rest of a truncated line, never is.
func (q Query) wants(line []byte) bool {
	if q.Turn != 0 && !bytes.Contains(line, []byte(`"turn":`)) { // most lines are skipped without parsing
		return false
	}
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return false
	}
	return h.Level >= q.Level && (q.Turn == 0 || string(h.Turn) == strconv.FormatInt(q.Turn, 10)) && !h.Time.Before(q.Since)
}

// Poll is the interval at which Follow checks for new lines.
// It compares the file's size each time and needs no file events.
const Poll = 250 * time.Millisecond

// Follow calls each for every selected line, oldest first, without the line break. With stay it then continues with new lines, across log
// rotations, until ctx or stop ends (stop may be nil). A missing log is empty. An error of each ends Follow and is returned.
//
// Limit applies to the existing lines only. A line that is not complete yet waits for its end.
func Follow(ctx context.Context, path string, q Query, stay bool, stop <-chan struct{}, each func(line []byte) error) error {
	t := &tail{path: path}
	defer t.close()
	lines, err := t.backlog(q)
	if err != nil {
		return err
	}
	tick := time.NewTicker(Poll)
	defer tick.Stop()
	for {
		for _, line := range lines {
			if err := each(line); err != nil {
				return err
			}
		}
		if !stay {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-stop:
			return nil
		case <-tick.C:
		}
		if lines, err = t.more(q); err != nil {
			return err
		}
	}
}

// tail is a position in the log.
type tail struct {
	path string
	file *os.File // nil: there is no file yet
	at   int64    // everything before it was read
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// open opens the newest file, if it exists.
func (t *tail) open() error {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	t.file, t.at = f, 0
	return nil
}

// backlog reads existing lines: the newest file first, older files only as far as needed.
// The lines come oldest first.
func (t *tail) backlog(q Query) ([][]byte, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	var newest [][]byte // newest first
	var seen []os.FileInfo
	if t.file != nil {
		text, info, err := whole(t.file)
		if err != nil {
			return nil, err
		}
		// A partial line at the end is left for more.
		t.at = int64(bytes.LastIndexByte(text, '\n') + 1)
		newest, seen = q.backwards(newest, text[:t.at]), append(seen, info)
	}
	for n := 1; !q.enough(newest); n++ {
		text, info, err := older(Older(t.path, n), seen)
		// A file that was last written before Since has no line that counts, and neither has an older one.
		if errors.Is(err, fs.ErrNotExist) || err == nil && info != nil && info.ModTime().Before(q.Since) {
			break
		}
		if err != nil {
			return nil, err
		}
		newest, seen = q.backwards(newest, text), append(seen, info)
	}
	slices.Reverse(newest)
	return newest, nil
}

func (q Query) enough(lines [][]byte) bool { return q.Limit > 0 && len(lines) >= q.Limit }

// backwards adds the selected lines of a text, the last one first, until the limit is reached.
func (q Query) backwards(to [][]byte, text []byte) [][]byte {
	for rest := bytes.TrimRight(text, "\n"); len(rest) > 0 && !q.enough(to); {
		cut := bytes.LastIndexByte(rest, '\n')
		if line := rest[cut+1:]; q.wants(line) {
			to = append(to, line)
		}
		rest = rest[:max(cut, 0)]
	}
	return to
}

// older reads an older file, unless it was read already: the log may be rotated meanwhile.
// A missing file is fs.ErrNotExist.
func older(path string, seen []os.FileInfo) ([]byte, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, info, err := whole(f)
	if slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
		text = nil
	}
	return text, info, err
}

// whole reads a file up to its present size. Lines that are written meanwhile are left for the next read.
func whole(f *os.File) ([]byte, os.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("stat the log: %w", err)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return nil, nil, fmt.Errorf("read the log: %w", err)
	}
	return text, info, nil
}

// more reads new lines. After a rotation it reads the end of the old file and then the new one.
func (t *tail) more(q Query) ([][]byte, error) {
	moved := t.moved() // checked before the old file is read for the last time: later lines go to the new file
	lines, err := t.grown(q)
	if err != nil || !moved {
		return lines, err
	}
	t.close()
	if err := t.open(); err != nil {
		return nil, err
	}
	rest, err := t.grown(q)
	return append(lines, rest...), err
}

// moved reports whether the path now names another file than the open one, or no file is open.
func (t *tail) moved() bool {
	there, err := os.Stat(t.path)
	if err != nil {
		return false // deleted, or in the middle of a rotation: the open file may still grow
	}
	if t.file == nil {
		return true
	}
	mine, err := t.file.Stat()
	return err == nil && !os.SameFile(there, mine)
}

// grown reads the complete lines that were added to the open file. A file that has become shorter is read from the beginning.
func (t *tail) grown(q Query) ([][]byte, error) {
	if t.file == nil {
		return nil, nil
	}
	info, err := t.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat the log: %w", err)
	}
	// Somebody has emptied the file in place.
	if info.Size() < t.at {
		t.at = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(t.file, t.at, info.Size()-t.at))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	t.at += int64(len(text))
	lines := Query{Level: q.Level, Turn: q.Turn, Since: q.Since}.backwards(nil, text)
	slices.Reverse(lines)
	return lines, nil
}
