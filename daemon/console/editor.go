package console

import (
	"io"

	"golang.org/x/term"
)

// lineEditor is a terminal in raw mode with an input line at the bottom and the conversation's view above it.
//
// golang.org/x/term removes the input line before every write and draws it again below. So whatever the view draws, the line that is
// being typed stays whole and is always the last one.
type lineEditor struct {
	view    *view
	term    *term.Terminal
	keys    *keys
	start   chan struct{} // requests one line
	lines   chan typed
	editing bool
	err     error
}

// typed is a line that the editor returned.
type typed struct {
	line   string
	pasted bool
	err    error
}

// newLineEditor makes an editor that reads from keys and draws on out, which must be in raw mode.
func newLineEditor(out io.Writer, look Look, size func() (int, int), typing *typing) *lineEditor {
	k := newKeys()
	rw := struct {
		io.Reader
		io.Writer
	}{k, out}
	d := &lineEditor{term: term.NewTerminal(rw, ""), keys: k, start: make(chan struct{}, 1), lines: make(chan typed, 1)}
	d.view = &view{write: d.output, size: size, look: look, after: "\n"}
	d.term.History, d.term.AutoCompleteCallback = typing.history, typing.pressed
	return d
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
	d.view.runs("")
	d.Break()
	d.term.SetPrompt("")
	d.output("\n")
}

// begin requests a line from edit, unless one is being edited.
func (d *lineEditor) begin(prompt string) {
	if d.editing {
		return
	}
	d.resized()
	d.term.SetPrompt(prompt)
	d.editing = true
	d.start <- struct{}{}
}

// reprompt changes the prompt while a line is edited. An empty write makes the terminal draw it.
func (d *lineEditor) reprompt(prompt string) {
	d.term.SetPrompt(prompt)
	d.output("")
}

// resized draws the input line and the live part for the terminal's present size.
func (d *lineEditor) resized() {
	w, h := d.view.size()
	d.keep(d.term.SetSize(w, h))
	d.view.draw("")
}

// ended records that the line was entered.
func (d *lineEditor) ended() { d.editing = false }

// Stream implements screen.
func (d *lineEditor) Stream(piece string) { d.view.stream(piece) }

// Break implements screen.
func (d *lineEditor) Break() { d.view.end() }

// Say implements screen.
func (d *lineEditor) Say(message string) { d.view.say(message) }

// Ask implements screen.
func (d *lineEditor) Ask(question string) { d.view.ask(question) }

// Note implements screen.
func (d *lineEditor) Note(line string) {
	if line != "" {
		d.view.remark(line)
	}
}

// terminal implements terminal.
func (d *lineEditor) terminal() *view {
	if !d.view.look.Moves {
		return nil
	}
	return d.view
}

// output draws through the terminal, which puts its input line below again.
func (d *lineEditor) output(s string) {
	_, err := io.WriteString(d.term, s)
	d.keep(err)
}

// keep stores the first error: the terminal is unusable after it, and the conversation ends.
func (d *lineEditor) keep(err error) {
	if err != nil && d.err == nil {
		d.err = err
	}
}
