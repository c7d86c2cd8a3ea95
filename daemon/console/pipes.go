package console

import (
	"io"
	"strings"
)

// Pipes shows a conversation on two writers: answers on Out, remarks on Err.
type Pipes struct {
	Out, Err io.Writer
	Live     bool // Out is a terminal: the answer is shown while it is made
	Dim      bool // remarks may use the terminal's dim text
	Quiet    bool // no remarks
	begun    bool // Stream has begun a line
	err      error
}

// Stream shows a piece on a terminal. A pipe gets the whole answer at the end.
func (p *Pipes) Stream(piece string) {
	if !p.Live || piece == "" {
		return
	}
	p.print(p.Out, Clean(piece))
	p.begun = !strings.HasSuffix(piece, "\n")
}

// Break ends the line that Stream has begun.
func (p *Pipes) Break() {
	if p.begun {
		p.print(p.Out, "\n")
		p.begun = false
	}
}

// Say shows a message on a terminal. A pipe gets the answer only.
func (p *Pipes) Say(message string) {
	if p.Live {
		p.Break()
		p.print(p.Out, Clean(strings.TrimRight(message, "\n"))+"\n")
	}
}

// Ask shows a question, beside the answer where that goes into a pipe.
func (p *Pipes) Ask(question string) {
	if p.Live {
		p.Say(question)
		return
	}
	p.Note(question)
}

// Note shows a remark.
func (p *Pipes) Note(line string) {
	if p.Quiet || line == "" {
		return
	}
	p.Break()
	p.print(p.Err, dim(Clean(line), p.Dim)+"\n")
}

// print remembers the first error: the answer has nowhere to go then.
func (p *Pipes) print(w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil && p.err == nil {
		p.err = err
	}
}

func dim(s string, on bool) string {
	if !on {
		return "  " + s
	}
	return "\x1b[2m  " + s + "\x1b[0m"
}
