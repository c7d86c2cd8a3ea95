// Package cli holds what all commands of hob share: the global flags and streams, exit codes, the connection to the daemon, lists and details
// of rows, verbs on rows, completion, and questions at the terminal. It knows no single command.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/term"

	"hob/daemon/api/client"
	"hob/daemon/console"
)

// Exit codes.
// Scripts depend on them, and the help of hob lists them (newRoot).
const (
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNoDaemon = 3
	ExitDenied   = 4
	ExitWaiting  = 5
)

// App holds the global flags and the three streams. newRoot binds its fields to the flags, and every command
// gets a pointer to it.
type App struct {
	Home    string // --home
	JSON    bool   // --json
	Quiet   bool   // --quiet
	NoColor bool   // --no-color
	In      *os.File
	Out     *os.File
	Err     *os.File
	lost    error // the first output error; Exit reports it
}

// New takes the streams of the process.
func New() *App { return &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// Problem is an error with a hint and an exit code of its own; without one it is ExitFailed.
// One without a Text and a Doc only sets the exit code: its message was printed before.
type Problem struct {
	Code int
	Text string
	Hint string
	Doc  any // printed with --json instead of the error; nil: the error
}

// Error is its sentence.
func (p *Problem) Error() string { return p.Text }

// Usage is the error of a command line that is wrong.
func Usage(hint, format string, args ...any) error {
	return &Problem{Code: ExitUsage, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// WantsJSON finds --json without parsing, because errors of parsing are printed as JSON too. Arguments after
// "--" are texts.
func WantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// Exit reports an error, once, and returns the exit code. It is the only place that prints errors: commands
// return them.
func (a *App) Exit(err error, inJSON bool) int {
	// A command that could not print its answer has failed, even if it did everything else.
	if err == nil {
		err = a.lost
	}
	if err == nil {
		return 0
	}
	code, text, hint := Explain(err)
	var p *Problem
	if errors.As(err, &p) && p.Text == "" && p.Doc == nil {
		return code // the message was printed before
	}
	// Messages may quote text of others, so control characters are replaced. JSON escapes them.
	if !inJSON {
		a.Print(a.Err, "hob: "+console.Clean(text))
		if hint != "" {
			a.Print(a.Err, "  "+strings.ReplaceAll(console.Clean(hint), "\n", "\n  "))
		}
		return code
	}
	doc := any(map[string]string{"error": text, "hint": hint})
	if p != nil && p.Doc != nil {
		doc = p.Doc
	}
	if err := a.Document(doc); err != nil {
		a.Print(a.Err, "hob: "+err.Error())
	}
	return code
}

// Explain returns the exit code, the message and the hint of any error. Errors of the API carry a kind
// (event.FaultKind); the exit code follows from it.
func Explain(err error) (code int, text, hint string) {
	var p *Problem
	var m *console.Mistake
	switch {
	case errors.As(err, &p):
		return cmp.Or(p.Code, ExitFailed), p.Text, p.Hint
	case errors.As(err, &m):
		return ExitUsage, m.Text, m.Hint
	case errors.Is(err, client.ErrNoDaemon):
		return ExitNoDaemon, err.Error(), "start it with: hob up"
	case errors.Is(err, client.ErrSilent):
		return ExitFailed, err.Error(), "look at it with: hob doctor; start it again with: hob service restart, or end the process"
	case errors.Is(err, client.ErrClosed):
		return ExitFailed, err.Error(), "only its owner may, or for the system-wide hob the group hob: sudo usermod -aG hob $USER, and log in again"
	case errors.Is(err, context.Canceled):
		return ExitFailed, "stopped", ""
	}
	// All other errors come from the API or have no kind. A kind that is not listed here is a plain failure.
	text, hint, kind := client.Explain(err)
	switch kind {
	case "invalid":
		return ExitUsage, text, hint
	case "denied":
		return ExitDenied, text, hint
	case "approval":
		return ExitWaiting, text, hint
	}
	return ExitFailed, text, hint
}

// HomeDir is --home, else $HOB_HOME, else ~/.hob; named is true when the caller has chosen it.
func (a *App) HomeDir() (dir string, named bool, err error) {
	dir = a.Home
	dir = cmp.Or(dir, os.Getenv("HOB_HOME"))
	if dir != "" {
		dir, err = filepath.Abs(dir)
		return dir, true, err
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", false, fmt.Errorf("find your home folder (name one with --home): %w", err)
	}
	return filepath.Join(user, ".hob"), false, nil
}

// Hob returns the beginning of a command that a hint names, with the home if the caller named one by the flag.
func (a *App) Hob() string {
	if a.Home == "" {
		return "hob"
	}
	return "hob --home " + Quote(a.Home)
}

// CheckHome refuses a home that is not a folder, as the daemon does.
func CheckHome(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return &Problem{Code: ExitFailed, Text: "the home " + dir + " is not a folder", Hint: "choose another with --home"}
	}
	return nil
}

// Client finds the daemon. The system-wide one answers only for callers who have not named a home. Every
// command that needs a daemon comes through here, so all of them fail alike when none runs.
func (a *App) Client(ctx context.Context) (*client.Client, error) {
	home, named, err := a.HomeDir()
	if err != nil {
		return nil, err
	}
	if err := CheckHome(home); err != nil {
		return nil, err
	}
	c, err := client.Find(ctx, home, !named)
	if err == nil && c.System {
		a.Note("this is the system-wide hob in " + client.SystemHome)
	}
	return c, err
}

// Call finds the daemon and sends it the request of a route: an App is a client.Caller for a command that asks once.
func (a *App) Call(ctx context.Context, route, id string, in, out any) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return c.Call(ctx, route, id, in, out)
}

// Note prints a remark to standard error, unless --quiet or --json is set.
func (a *App) Note(text string) {
	if !a.Quiet && !a.JSON {
		a.Print(a.Err, "hob: "+text)
	}
}

// Say prints a sentence as the answer of a command. It may contain text of others, so control characters are
// removed.
func (a *App) Say(format string, args ...any) {
	a.Print(a.Out, console.Clean(fmt.Sprintf(format, args...)))
}

// Color reports whether a stream may get colours.
func (a *App) Color(f *os.File) bool {
	return !a.NoColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(f)
}

// IsTerminal reports whether a person looks at a stream.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Logger writes for people who read a terminal or a journal.
func (a *App) Logger(w io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if a.Quiet {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// Joined is the words of a command line as one text.
func Joined(args []string) string { return strings.TrimSpace(strings.Join(args, " ")) }
