package main

import (
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

	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

// Exit codes.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitNoDaemon = 3
	exitDenied   = 4
	exitWaiting  = 5
)

// app holds the global flags and the three streams.
type app struct {
	home    string
	json    bool
	quiet   bool
	noColor bool
	in      *os.File
	out     *os.File
	err     *os.File
	lost    error // what went wrong where no error can be returned
}

func newApp() *app { return &app{in: os.Stdin, out: os.Stdout, err: os.Stderr} }

// problem is an error with a hint and an exit code of its own.
type problem struct {
	code int
	text string
	hint string
	doc  any // printed with --json instead of the error; nil: the error
}

func (p *problem) Error() string { return p.text }

func usage(hint, format string, args ...any) error {
	return &problem{code: exitUsage, text: fmt.Sprintf(format, args...), hint: hint}
}

// wantsJSON looks for the flag itself, because a command line that is wrong is answered in JSON too.
func wantsJSON(args []string) bool {
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

// exit reports an error, once, and returns the exit code.
func (a *app) exit(err error, inJSON bool) int {
	if err == nil {
		err = a.lost
	}
	if err == nil {
		return 0
	}
	code, text, hint := explain(err)
	var p *problem
	if errors.As(err, &p) && p.text == "" && p.doc == nil {
		return code // all has been said
	}
	if !inJSON {
		a.print(a.err, "hob: "+console.Clean(text))
		if hint != "" {
			a.print(a.err, "  "+console.Clean(hint))
		}
		return code
	}
	doc := any(map[string]string{"error": text, "hint": hint})
	if p != nil && p.doc != nil {
		doc = p.doc
	}
	if err := a.document(doc); err != nil {
		a.print(a.err, "hob: "+err.Error())
	}
	return code
}

func explain(err error) (code int, text, hint string) {
	var p *problem
	var m *console.Mistake
	switch {
	case errors.As(err, &p):
		return p.code, p.text, p.hint
	case errors.As(err, &m):
		return exitUsage, m.Text, m.Hint
	case errors.Is(err, client.ErrNoDaemon):
		return exitNoDaemon, err.Error(), "start it with: hob up"
	case errors.Is(err, client.ErrClosed):
		return exitFailed, err.Error(), "only its owner may, or for the system-wide hob the group hob: sudo usermod -aG hob $USER, and log in again"
	case errors.Is(err, context.Canceled):
		return exitFailed, "stopped", ""
	}
	text, hint, kind := client.Explain(err)
	switch kind {
	case "invalid":
		return exitUsage, text, hint
	case "denied":
		return exitDenied, text, hint
	case "approval":
		return exitWaiting, text, hint
	}
	return exitFailed, text, hint
}

// homeDir is --home, else $HOB_HOME, else ~/.hob; named is true when the caller has chosen it.
func (a *app) homeDir() (dir string, named bool, err error) {
	dir = a.home
	if dir == "" {
		dir = os.Getenv("HOB_HOME")
	}
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

// checkHome refuses a home that is not a folder, in the words of the daemon that would refuse it too.
func checkHome(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return &problem{code: exitFailed, text: "the home " + dir + " is not a folder", hint: "choose another with --home"}
	}
	return nil
}

// client finds the daemon. The system-wide one answers only for callers who have not named a home.
func (a *app) client(ctx context.Context) (*client.Client, error) {
	home, named, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	if err := checkHome(home); err != nil {
		return nil, err
	}
	c, err := client.Find(ctx, home, !named)
	if err == nil && c.System {
		a.note("this is the system-wide hob in " + client.SystemHome)
	}
	return c, err
}

// print writes a line. What cannot be printed makes the command fail, if nothing else does.
func (a *app) print(w io.Writer, line string) {
	if _, err := io.WriteString(w, line+"\n"); err != nil && a.lost == nil {
		a.lost = fmt.Errorf("print: %w", err)
	}
}

// note tells something beside the answer.
func (a *app) note(text string) {
	if !a.quiet && !a.json {
		a.print(a.err, "hob: "+text)
	}
}

// say prints a sentence as the answer of a command.
func (a *app) say(format string, args ...any) {
	a.print(a.out, console.Clean(fmt.Sprintf(format, args...)))
}

// color reports whether a stream may get colours.
func (a *app) color(f *os.File) bool {
	return !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// logger writes for people who read a terminal or a journal.
func (a *app) logger(w io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if a.quiet {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func joined(args []string) string { return strings.TrimSpace(strings.Join(args, " ")) }
