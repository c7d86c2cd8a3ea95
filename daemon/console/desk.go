package console

import (
	"io"
	"strings"

	"golang.org/x/term"
)

// desk is a raw terminal with a line editor at its foot. While a line is edited, what comes is
// written above it in whole lines; otherwise it is streamed.
type desk struct {
	term    *term.Terminal
	keys    *keys
	start   chan struct{} // one line is wanted
	lines   chan typed
	editing bool
	begun   bool   // Stream has begun a line
	held    string // the begun line of a stream, while a line is edited
	dim     bool
	err     error
}

// typed is what the line editor returned.
type typed struct {
	line   string
	pasted bool
	err    error
}

func newDesk(out io.Writer, dim bool) *desk {
	k := newKeys()
	rw := struct {
		io.Reader
		io.Writer
	}{k, out}
	return &desk{term: term.NewTerminal(rw, ""), keys: k, start: make(chan struct{}, 1), lines: make(chan typed, 1), dim: dim}
}

// edit runs the line editor; it returns when the desk is closed.
func (d *desk) edit() error {
	for range d.start {
		line, err := d.term.ReadLine()
		t := typed{line: line, err: err}
		if err == term.ErrPasteIndicator { //nolint:errorlint // the package returns this very value
			t.pasted, t.err = true, nil
		}
		d.lines <- t
		if t.err != nil {
			return nil
		}
	}
	return nil
}

func (d *desk) close() {
	close(d.start)
	d.keys.close()
}

// leave takes the prompt away and ends the line, so that what follows begins a new one.
func (d *desk) leave() {
	d.Break()
	d.term.SetPrompt("")
	d.write("\n")
}

// begin asks for a line.
func (d *desk) begin(prompt string, width, height int) {
	if d.editing {
		return
	}
	if d.begun {
		d.write("\n")
		d.begun = false
	}
	d.note(d.term.SetSize(width, height))
	d.term.SetPrompt(prompt)
	d.editing = true
	d.start <- struct{}{}
}

// reprompt changes the prompt of the line that is being edited.
func (d *desk) reprompt(prompt string) {
	d.term.SetPrompt(prompt)
	d.write("")
}

// ended notes that the line has been entered; what was held goes on as a stream.
func (d *desk) ended() {
	d.editing = false
	if d.held != "" {
		d.write(d.held)
		d.held, d.begun = "", true
	}
}

// Stream implements screen.
func (d *desk) Stream(piece string) {
	piece = Clean(piece)
	if !d.editing {
		d.write(piece)
		d.begun = !strings.HasSuffix(piece, "\n")
		return
	}
	d.held += piece
	if i := strings.LastIndexByte(d.held, '\n'); i >= 0 {
		d.write(d.held[:i+1])
		d.held = d.held[i+1:]
	}
}

// Break implements screen.
func (d *desk) Break() {
	if d.held != "" || d.begun {
		d.write(d.held + "\n")
		d.held, d.begun = "", false
	}
}

// Say implements screen.
func (d *desk) Say(message string) {
	d.Break()
	d.write(Clean(strings.TrimRight(message, "\n")) + "\n")
}

// Ask implements screen.
func (d *desk) Ask(question string) { d.Say(question) }

// Note implements screen.
func (d *desk) Note(line string) {
	if line != "" {
		d.Break()
		d.write(dim(Clean(line), d.dim) + "\n")
	}
}

func (d *desk) write(s string) {
	_, err := io.WriteString(d.term, s)
	d.note(err)
}

// note remembers the first error: the terminal is gone then.
func (d *desk) note(err error) {
	if err != nil && d.err == nil {
		d.err = err
	}
}
