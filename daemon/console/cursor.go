package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Cursor is the path of a file with the number of the newest event up to which the user has seen everything, and the numbers of later messages
// that he has seen. "" stores nothing.
type Cursor string

// maxAhead is how many later messages are kept, the newest.
const maxAhead = 1000

// Place reads the number; it is 0 when the file is missing or damaged.
func (c Cursor) Place() (int64, error) {
	list, err := c.read()
	return list[0], err
}

// read returns the place, and the messages seen after it.
func (c Cursor) read() ([]int64, error) {
	none := []int64{0}
	if c == "" {
		return none, nil
	}
	b, err := os.ReadFile(string(c))
	if errors.Is(err, os.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read where you left off: %w", err)
	}
	var list []int64
	for word := range strings.FieldsSeq(string(b)) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return none, nil //nolint:nilerr // a damaged file only repeats some messages
		}
		list = append(list, n)
	}
	if len(list) == 0 {
		return none, nil
	}
	return list, nil
}

// noted returns when the number was written; zero if it is missing.
func (c Cursor) noted() time.Time {
	info, err := os.Stat(string(c))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Move writes the number. It is not synced: losing it only repeats some messages.
func (c Cursor) Move(seq int64) error { return c.write(seq) }

// Add notes messages that the user has seen, while something before them is still unseen.
func (c Cursor) Add(messages []int64) error {
	list, err := c.read()
	if err != nil || len(messages) == 0 {
		return err
	}
	ahead := append(list[1:], messages...)
	return c.write(append(list[:1:1], ahead[max(0, len(ahead)-maxAhead):]...)...)
}

// write replaces what the file says.
func (c Cursor) write(list ...int64) error {
	if c == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(string(c)), 0o700) // a user of the system-wide hob may have no home yet
	if err == nil {
		err = c.replace([]byte(strings.Trim(fmt.Sprint(list), "[]") + "\n"))
	}
	if err != nil {
		return fmt.Errorf("note where you left off: %w", err)
	}
	return nil
}

// replace writes the file. A process that is killed leaves the whole old file or the new one. Several terminals may write at the same time.
func (c Cursor) replace(content []byte) error {
	part, err := os.CreateTemp(filepath.Dir(string(c)), filepath.Base(string(c))+".*")
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), string(c))
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}
