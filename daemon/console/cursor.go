package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cursor is a file that holds the number of the newest event that the person has seen. "" keeps nothing.
type Cursor string

// Place reads the number; a file that is not there, or holds something else, means 0.
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
		return 0, nil // a damaged place costs a repeat, not the conversation
	}
	return n, nil
}

// Move writes the number. Losing it shows some messages again; so it is not synced.
func (c Cursor) Move(seq int64) error {
	if c == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(string(c)), 0o700) // whoever speaks to the system-wide hob may have no home yet
	if err == nil {
		err = os.WriteFile(string(c), []byte(strconv.FormatInt(seq, 10)+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note where you left off: %w", err)
	}
	return nil
}
