package console

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"golang.org/x/term"
)

// lineEditor is a terminal with an input line at the bottom and the conversation's view above it.
//
// golang.org/x/term removes the input line before every write and draws it again below. So whatever the view draws, the line that is
// being typed stays whole and is always the last one. It needs raw mode and a terminal that can move its cursor; on any other terminal
// the system edits the line, and the editor only reads it.
type lineEditor struct {
	view    *view
	out     io.Writer
	term    *term.Terminal // nil: the system edits the line
	typing  *typing
	keys    *keys
	start   chan struct{} // requests one line
	lines   chan typed
	editing bool
	prompt  string
	err     error
}

// typed is a line that the editor returned.
type typed struct {
	line string
	rows []string // the line as it was drawn after the prompt
	err  error
}

// newLineEditor makes an editor that reads from keys and draws on out.
func newLineEditor(out io.Writer, look Look, size func() (int, int), typing *typing) *lineEditor {
	d := &lineEditor{out: out, typing: typing, keys: newKeys(), start: make(chan struct{}, 1), lines: make(chan typed, 1)}
	d.view = &view{write: d.output, size: size, look: look, after: "\n"}
	typing.leave = d.keys.close
	if look.Moves {
		d.term = term.NewTerminal(d, "")
		d.term.History, d.term.AutoCompleteCallback = typing, typing.pressed
	}
	return d
}

// Read and Write are the terminal of golang.org/x/term, whose lines are cells.
func (d *lineEditor) Read(p []byte) (int, error) { return d.keys.Read(p) }

func (d *lineEditor) Write(p []byte) (int, error) {
	_, err := io.WriteString(d.out, d.typing.shown(string(p)))
	return len(p), err
}

// edit reads one line for each request. It returns after close.
func (d *lineEditor) edit() error {
	system := bufio.NewReader(d.keys)
	for range d.start {
		var t typed
		if d.term == nil {
			t.line, t.err = system.ReadString('\n')
			t.line = strings.TrimRight(t.line, "\r\n")
		} else {
			line, err := d.term.ReadLine()
			t = typed{d.typing.text(line), d.typing.rows(line), err}
			d.typing.clear()
		}
		d.lines <- t
		if t.err != nil {
			return nil
		}
	}
	return nil
}

// open and close begin and end the use of the terminal. close also ends edit and its read.
func (d *lineEditor) open() {
	if d.term != nil {
		d.term.SetBracketedPasteMode(true)
	}
}

func (d *lineEditor) close() {
	close(d.start)
	d.keys.close()
}

// leave removes the prompt and ends its line, so that later output begins on a new one.
func (d *lineEditor) leave() {
	d.view.entered("", 0)
	d.view.runs("", "")
	d.Break()
	d.editing = false
	if d.term != nil {
		d.term.SetBracketedPasteMode(false)
		d.term.SetPrompt("")
	}
	d.output("\n")
}

// begin requests a line from edit, unless one is being edited.
func (d *lineEditor) begin(prompt string) {
	if d.editing {
		return
	}
	d.prompt = prompt
	if d.term == nil {
		d.output(prompt)
	} else {
		d.resized()
		d.term.SetPrompt(prompt)
	}
	d.editing = true
	d.start <- struct{}{}
}

// reprompt changes the prompt while a line is edited. An empty write makes the terminal draw it.
func (d *lineEditor) reprompt(prompt string) {
	d.prompt = prompt
	if d.term != nil {
		d.term.SetPrompt(prompt)
		d.fit()
	}
	d.output("")
}

// resized draws the input line and the live part for the terminal's present size.
func (d *lineEditor) resized() {
	if d.term == nil {
		return
	}
	w, h := d.view.size()
	d.keep(d.term.SetSize(w, h))
	d.fit()
	d.view.draw("")
}

// fit lays the input line out for the prompt and the size.
func (d *lineEditor) fit() {
	w, _ := d.view.size()
	d.typing.fit(d.prompt, w)
	if d.editing {
		d.keys.put([]byte(string(rune(keyLayout))))
	}
}

// typed passes typed bytes to edit.
func (d *lineEditor) typed(b []byte) {
	if d.term != nil {
		b = d.typing.put(b)
		if d.editing && bytes.IndexByte(b, enter) >= 0 {
			d.view.pause()
		}
	}
	d.keys.put(b)
}

// again puts a message into the input line.
func (d *lineEditor) again(message string) {
	if d.term != nil {
		d.keys.put(d.typing.offer(message))
	}
}

// wipe empties the input line.
func (d *lineEditor) wipe(prompt string) {
	if !d.editing {
		return
	}
	d.typing.drop()
	d.keys.put([]byte(string(rune(keyDropAll))))
	d.reprompt(prompt)
}

// enter is the key that ends a line. Within a paste, and with Alt, typing turns it into another key.
const enter = '\r'

// ended records that a line was entered. It stays on the screen, above the live part.
func (d *lineEditor) ended(t typed) {
	d.editing = false
	d.typing.fill(false)
	if t.err != nil || d.term == nil {
		t.rows = nil
	}
	d.view.entered(d.prompt+strings.Join(t.rows, "\n"), len(t.rows))
}

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

// output draws through the terminal, which puts its input line below again. Without one, output begins below the line that is edited.
func (d *lineEditor) output(s string) {
	var err error
	switch {
	case d.term != nil:
		_, err = io.WriteString(d.term, s)
	case d.editing:
		_, err = io.WriteString(d.out, "\n"+s+d.prompt)
	default:
		_, err = io.WriteString(d.out, s)
	}
	d.keep(err)
}

// keep stores the first error: the terminal is unusable after it, and the conversation ends.
func (d *lineEditor) keep(err error) {
	if err != nil && d.err == nil {
		d.err = err
	}
}
