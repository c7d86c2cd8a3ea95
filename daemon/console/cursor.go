package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cursor is the path of a file with the number of the newest event that the user has seen. "" stores nothing.
type Cursor string

// Place reads the number; it is 0 when the file is missing or damaged.
func (c Cursor) Place() (int64, error) {
	if c == "" {
		return 0, nil
	}
	b, err := os.ReadFile(string(c))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read where you left off: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n < 0 {
		return 0, nil // a damaged file only repeats some messages
	}
	return n, nil
}

// Move writes the number. It is not synced: losing it only repeats some messages.
func (c Cursor) Move(seq int64) error {
	if c == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(string(c)), 0o700) // a user of the system-wide hob may have no home yet
	if err == nil {
		err = os.WriteFile(string(c), []byte(strconv.FormatInt(seq, 10)+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note where you left off: %w", err)
	}
	return nil
}
