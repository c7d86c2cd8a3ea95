package console

import (
	"io"
	"strings"

	"golang.org/x/term"
)

// lineEditor is a terminal in raw mode with an input line at the bottom. While a line is edited, output appears above it in whole lines;
// otherwise it is streamed.
//
// golang.org/x/term writes the prompt and the typed text again after every write, which would tear a streamed line apart. So the last,
// unfinished line of a stream is held until it is complete or the input line was entered.
type lineEditor struct {
	term    *term.Terminal
	keys    *keys
	start   chan struct{} // requests one line
	lines   chan typed
	editing bool
	begun   bool   // Stream has begun a line that has not ended
	held    string // the unfinished line of a stream, while a line is edited
	dim     bool
	err     error
}

// typed is a line that the editor returned.
type typed struct {
	line   string
	pasted bool
	err    error
}

// newLineEditor makes an editor that reads from keys and draws on out, which must be in raw mode.
func newLineEditor(out io.Writer, dim bool) *lineEditor {
	k := newKeys()
	rw := struct {
		io.Reader
		io.Writer
	}{k, out}
	return &lineEditor{term: term.NewTerminal(rw, ""), keys: k, start: make(chan struct{}, 1), lines: make(chan typed, 1), dim: dim}
}

// edit reads one line for each request. It returns after close.
func (d *lineEditor) edit() error {
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

// close ends edit and its read.
func (d *lineEditor) close() {
	close(d.start)
	d.keys.close()
}

// leave removes the prompt and ends its line, so that later output begins on a new one.
func (d *lineEditor) leave() {
	d.Break()
	d.term.SetPrompt("")
	d.write("\n")
}

// begin requests a line from edit, unless one is being edited.
func (d *lineEditor) begin(prompt string, width, height int) {
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

// reprompt changes the prompt while a line is edited. An empty write makes the terminal draw it.
func (d *lineEditor) reprompt(prompt string) {
	d.term.SetPrompt(prompt)
	d.write("")
}

// ended records that the line was entered. The held output continues as a stream.
func (d *lineEditor) ended() {
	d.editing = false
	if d.held != "" {
		d.write(d.held)
		d.held, d.begun = "", true
	}
}

// Stream implements screen.
func (d *lineEditor) Stream(piece string) {
	piece = Clean(piece)
	if !d.editing {
		d.write(piece)
		d.begun = !strings.HasSuffix(piece, "\n")
		return
	}
	d.held += piece
	// Whole lines can be shown above the input line; the rest waits.
	if i := strings.LastIndexByte(d.held, '\n'); i >= 0 {
		d.write(d.held[:i+1])
		d.held = d.held[i+1:]
	}
}

// Break implements screen.
func (d *lineEditor) Break() {
	if d.held != "" || d.begun {
		d.write(d.held + "\n")
		d.held, d.begun = "", false
	}
}

// Say implements screen.
func (d *lineEditor) Say(message string) {
	d.Break()
	d.write(Clean(strings.TrimRight(message, "\n")) + "\n")
}

// Ask implements screen.
func (d *lineEditor) Ask(question string) { d.Say(question) }

// Note implements screen.
func (d *lineEditor) Note(line string) {
	if line != "" {
		d.Break()
		d.write(dim(Clean(line), d.dim) + "\n")
	}
}

// write draws through the terminal, which puts its input line below again.
func (d *lineEditor) write(s string) {
	_, err := io.WriteString(d.term, s)
	d.note(err)
}

// note keeps the first error: the terminal is unusable after it, and the conversation ends.
func (d *lineEditor) note(err error) {
	if err != nil && d.err == nil {
		d.err = err
	}
}
