package console

import (
	"io"
	"strings"
)

// Pipes is a screen on two writers: answers go to Out, remarks to Err.
type Pipes struct {
	Out, Err io.Writer
	Live     bool // Out is a terminal: the answer is shown while the model writes it
	Dim      bool // show remarks in the terminal's dim style
	Quiet    bool // no remarks
	begun    bool // Stream has begun a line that has not ended
	err      error
}

// Stream implements screen. It shows a piece on a terminal only; the caller prints the whole answer to a pipe.
func (p *Pipes) Stream(piece string) {
	if !p.Live || piece == "" {
		return
	}
	p.print(p.Out, Clean(piece))
	p.begun = !strings.HasSuffix(piece, "\n")
}

// Break implements screen.
func (p *Pipes) Break() {
	if p.begun {
		p.print(p.Out, "\n")
		p.begun = false
	}
}

// Say implements screen. It shows a message on a terminal only, as a pipe gets just the answer.
func (p *Pipes) Say(message string) {
	if p.Live {
		p.Break()
		p.print(p.Out, Clean(strings.TrimRight(message, "\n"))+"\n")
	}
}

// Ask implements screen. Where the answer goes to a pipe, the question goes to Err.
func (p *Pipes) Ask(question string) {
	if p.Live {
		p.Say(question)
		return
	}
	p.Note(question)
}

// Note implements screen.
func (p *Pipes) Note(line string) {
	if p.Quiet || line == "" {
		return
	}
	p.Break()
	p.print(p.Err, dim(Clean(line), p.Dim)+"\n")
}

// print writes a text and keeps the first error. The conversation goes on; Say returns the error.
func (p *Pipes) print(w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil && p.err == nil {
		p.err = err
	}
}

// dim draws a remark in fainter letters (ECMA-48, SGR 2).
func dim(s string, on bool) string {
	if !on {
		return "  " + s
	}
	return "\x1b[2m  " + s + "\x1b[0m"
}
