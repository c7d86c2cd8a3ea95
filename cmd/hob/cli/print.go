package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"hob/daemon/console"
)

// Document prints one JSON document.
// It ends with a line feed, so that a command can print one document per line.
func (a *App) Document(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = a.Out.Write(append(b, '\n'))
	return err
}

// Text prints as it is.
// It may contain escape sequences of hob's own, so the caller replaces control characters in text of others.
func (a *App) Text(s string) error {
	_, err := io.WriteString(a.Out, s)
	return err
}

// Table prints rows under a head, cut to the terminal.
func (a *App) Table(head []string, rows [][]string) error {
	return a.Text(console.Table(head, rows, Columns(a.Out)))
}

// Columns of the terminal that a stream is, 0 when it is none.
func Columns(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
