package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"hob/daemon/console"
	"hob/daemon/sys"
)

// Document prints one JSON document.
// It ends with a line feed, so that a command can print one document per line.
func (a *App) Document(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return a.Text(console.CleanJSON(string(b)) + "\n")
}

// Text prints as it is.
// It may contain escape sequences of hob's own, so the caller replaces control characters in text of others.
func (a *App) Text(s string) error {
	_, err := io.WriteString(a.Out, s)
	return err
}

// put writes a text. A write error makes the command fail at its end. It returns no error, so that commands need not check each line.
func (a *App) put(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil && a.lost == nil {
		a.lost = fmt.Errorf("print: %w", err)
	}
}

// Print writes a line. At a terminal it breaks a longer one at its words.
func (a *App) Print(w io.Writer, line string) {
	if f, ok := w.(*os.File); ok && !strings.Contains(line, "\x1b") { // hob's own colours belong to drawings, which fit
		line = folded(line, Columns(f))
	}
	a.put(w, line+"\n")
}

// folded breaks each line of a text that is wider than a terminal, 0 being none. What follows has the indent of the line. A longer word stays
// whole, so that an address can be copied.
func folded(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if width > 0 && console.Cells(line) > width {
			bare := strings.TrimLeft(line, " ")
			lines[i] = strings.TrimSuffix(Wrap(bare, line[:len(line)-len(bare)], width), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// Table prints rows under a head, cut to the terminal.
func (a *App) Table(head []string, rows [][]string) error {
	return a.Text(console.Table(head, rows, Columns(a.Out)))
}

// Waiting runs something that may take long. It says first what that is, and at a terminal every second how long it has taken.
func (a *App) Waiting(what string, do func() error) error {
	if a.Quiet || a.JSON || !IsTerminal(a.Err) {
		a.Note(what + " …")
		return do()
	}
	ended := make(chan error, 1)
	sys.NewGroup(slog.New(slog.DiscardHandler), nil).Once("wait", func() error {
		ended <- do()
		return nil
	})
	second := time.NewTicker(time.Second)
	defer second.Stop()
	line := "hob: " + what + " …"
	moves := a.Look().Moves && console.Cells(line)+len(" 1000 s") < Columns(a.Err)
	a.put(a.Err, line)
	for n := 1; ; n++ {
		select {
		case err := <-ended:
			a.Print(a.Err, "")
			return err
		case <-second.C:
			switch {
			case moves:
				a.put(a.Err, fmt.Sprintf("\r%s %d s", line, n))
			case n%10 == 0:
				a.put(a.Err, fmt.Sprintf(" %d s", n))
			}
		}
	}
}

// Columns of the terminal that a stream is, 0 when it is none.
func Columns(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
