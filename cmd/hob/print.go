package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"hob/daemon/control/console"
)

// document prints one JSON document.
func (a *app) document(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

// text prints as it is.
func (a *app) text(s string) error {
	_, err := io.WriteString(a.out, s)
	return err
}

// table prints rows under a head, cut to the terminal.
func (a *app) table(head []string, rows [][]string) error {
	return a.text(console.Table(head, rows, columns(a.out)))
}

// columns of the terminal that a stream is, 0 when it is none.
func columns(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
