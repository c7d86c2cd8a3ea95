package console

import (
	"io"
	"strings"
)

// Pipes is a screen on two writers: answers go to Out, remarks to Err.
type Pipes struct {
	Out, Err io.Writer
	Live     bool                       // Out is a terminal: the answer is shown while the model writes it
	Screen   Look                       // of Out, if it is a terminal
	Size     func() (width, height int) // of Out, if it is a terminal
	Dim      bool                       // show remarks in the terminal's dim style
	Quiet    bool                       // no remarks
	shown    *view                      // draws on Out
	err      error
}

// unplaced remarks that the user's place could not be noted; nil: it was.
func unplaced(out screen, err error) {
	if err != nil {
		out.Note(err.Error() + "; the next terminal may show again what was shown here")
	}
}

// view returns what draws on the terminal.
func (p *Pipes) view() *view {
	if p.shown == nil {
		size := p.Size
		if size == nil {
			size = func() (int, int) { return 80, 24 }
		}
		p.shown = &view{write: func(s string) { p.print(p.Out, s) }, size: size, look: p.Screen}
	}
	return p.shown
}

// Stream implements screen. It shows a piece on a terminal only; the caller prints the whole answer to a pipe.
func (p *Pipes) Stream(piece string) {
	if p.Live {
		p.view().stream(piece)
	}
}

// Break implements screen.
func (p *Pipes) Break() {
	if p.Live {
		p.view().end()
	}
}

// Say implements screen. It shows a message on a terminal only, as a pipe gets just the answer.
func (p *Pipes) Say(message string) {
	if p.Live {
		p.view().say(message)
	}
}

// Ask implements screen. Where the answer goes to a pipe, the question goes to Err.
func (p *Pipes) Ask(question string) {
	if p.Live {
		p.Break()
		p.view().ask(question)
		return
	}
	p.Note(question)
}

// Note implements screen.
func (p *Pipes) Note(line string) {
	switch {
	case p.Quiet || line == "":
	case p.terminal() != nil:
		p.view().remark(line)
	default:
		p.print(p.Err, dim(Clean(line), p.Dim)+"\n")
	}
}

// terminal implements terminal.
func (p *Pipes) terminal() *view {
	if !p.Live || !p.Screen.Moves {
		return nil
	}
	return p.view()
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
	return "\x1b[2m  " + strings.TrimRight(s, "\n") + "\x1b[0m"
}
