// Package service makes hob a service of systemd or launchd: what each wants to read, in which order it is told, and how the
// service does. It decides everything first, as steps that can be shown, and carries them out one by one. It never touches
// hob's home but for the folder of launchd's log.
package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hob/daemon/event"
)

// The home and the socket of a system-wide service on Linux, and the user and group it runs as.
const (
	SystemHome   = "/var/lib/hob"
	SystemSocket = "/run/hob/hob.sock"
	SystemUser   = "hob"
)

// Spec is the service that is meant.
type Spec struct {
	Program string // the absolute path of hob
	Home    string // hob's home; "": the default one of whoever it runs as
	System  bool   // of the whole machine, not of one user
	Linger  bool   // Install also lets the user's services run without a login (systemd)
}

// Machine is where the service is to be, as the caller sees it.
type Machine struct {
	OS      string // as runtime.GOOS
	UID     int
	User    string // login name
	Home    string // the user's home folder
	Invoker string // the login name of whoever called sudo, "" without
	Root    string // in front of every path of the system; "" outside tests
}

// Verb is what can be done to an installed service.
type Verb string

// The verbs.
const (
	Start   Verb = "start"
	Stop    Verb = "stop"
	Restart Verb = "restart"
)

// Manager plans what makes, changes and removes the service, and tells how it does. Planning only looks. A plan for what is
// already so is empty or repeats nothing that would disturb.
type Manager interface {
	// Install plans that the service is there, starts at boot or login, and runs.
	Install(ctx context.Context) ([]Step, error)
	// Uninstall plans that nothing is left but the home. What is not there needs no steps.
	Uninstall(ctx context.Context) ([]Step, error)
	// Control plans a verb. The error is an *event.Fault of kind Missing when nothing is installed.
	Control(ctx context.Context, v Verb) ([]Step, error)
	// State looks.
	State(ctx context.Context) (State, error)
	// Logs is the command that prints the last lines of the log, and with follow goes on.
	Logs(lines int, follow bool) []string
}

// State is how the service does.
type State struct {
	Manager   string    `json:"manager"` // systemd, launchd
	Scope     string    `json:"scope"`   // user, system
	Installed bool      `json:"installed"`
	Enabled   bool      `json:"enabled"` // starts by itself at boot or login
	Running   bool      `json:"running"`
	State     string    `json:"state"`            // in the manager's words
	Since     time.Time `json:"since,omitzero"`   // when it began to run
	Restarts  int       `json:"restarts"`         // by the manager itself, since it was last started
	PID       int       `json:"pid,omitempty"`    // of the running process
	Says      string    `json:"says,omitempty"`   // the status line of the running process
	File      string    `json:"file,omitempty"`   // that defines it
	Lingers   *bool     `json:"lingers,omitzero"` // whether it runs without a login; nil where that is no question
}

// For finds the manager of a machine. The error is an *event.Fault where hob knows none.
func For(m Machine, s Spec) (Manager, error) {
	switch m.OS {
	case "linux":
		if s.System {
			s.Home = SystemHome
		}
		return systemd{m, s}, nil
	case "darwin":
		return launchd{m, s}, nil
	}
	return nil, event.NewFault(event.Clash, "let what starts programs there run: hob up --no-chat", "hob knows no service manager on %s", m.OS)
}

// Installed reports whether a file of the service stands where For's manager would put it, or where a package puts it.
func Installed(m Machine, system bool) bool {
	switch m.OS {
	case "linux":
		s := systemd{m, Spec{System: system}}
		return exists(s.file()) || system && s.packaged() != ""
	case "darwin":
		return exists(launchd{m, Spec{System: system}}.file())
	}
	return false
}

// Here describes this machine and its caller.
func Here() (Machine, error) {
	m := Machine{OS: runtime.GOOS, UID: os.Getuid()}
	u, err := user.Current()
	if err != nil {
		return m, fmt.Errorf("find out who you are: %w", err)
	}
	m.User = u.Username
	if m.Home, err = os.UserHomeDir(); err != nil {
		return m, fmt.Errorf("find your home folder: %w", err)
	}
	if m.UID != 0 {
		return m, nil
	}
	m.Invoker = os.Getenv("SUDO_USER")
	if m.OS != "darwin" || m.Invoker == "" {
		return m, nil
	}
	if u, err = user.Lookup(m.Invoker); err != nil { // a daemon of macOS works for whoever asked for it
		return m, fmt.Errorf("find the home folder of %s: %w", m.Invoker, err)
	}
	m.Home = u.HomeDir
	return m, nil
}

// Program is the path of this program as it was called (called is the first word of the command line), when that is a link
// that an upgrade will turn to the new one; else the program itself.
func Program(called string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	found, err := exec.LookPath(called)
	if err != nil {
		return program, nil //nolint:nilerr // it was called by a name that says nothing
	}
	if found, err = filepath.Abs(found); err != nil {
		return program, nil //nolint:nilerr // as above
	}
	mine, err1 := os.Stat(program)
	theirs, err2 := os.Stat(found)
	if err1 != nil || err2 != nil || !os.SameFile(mine, theirs) {
		return program, nil
	}
	return found, nil
}

// Choose reports whether the service of the whole machine is meant by somebody who does not say: the installed one, the
// user's own before it, else the one that fits the caller.
func Choose(m Machine) (system bool) {
	return !Installed(m, false) && (Installed(m, true) || m.UID == 0)
}

// scope names who the service is for.
func (s Spec) scope() string {
	if s.System {
		return "system"
	}
	return "user"
}

// may refuses a caller who cannot do what is asked, and says what to type instead.
func (m Machine) may(s Spec, doing string) error {
	command := quote([]string{s.Program, "service", doing})
	switch {
	case s.System && m.UID != 0:
		return event.NewFault(event.Clash, "type: sudo "+command+" --system", "only root may %s a service of the whole machine", doing)
	case !s.System && m.UID == 0 && m.Invoker != "" && m.Invoker != "root":
		return event.NewFault(event.Clash, "type it without sudo: "+command+"; or for the whole machine: sudo "+command+" --system",
			"with sudo this would %s root's service, not that of %s", doing, m.Invoker)
	}
	return nil
}

// lasts refuses a program that will not be there, or not be reachable, when the service starts.
func (m Machine) lasts(s Spec) error {
	if strings.Contains(s.Program, string(filepath.Separator)+"go-build") {
		return event.NewFault(event.Clash, "build it first, for example: go install ./cmd/hob", "%s is a program that go run throws away", s.Program)
	}
	if m.OS == "linux" && strings.ContainsFunc(s.Program, func(r rune) bool { return r < ' ' || strings.ContainsRune(`"'\`, r) }) {
		return event.NewFault(event.Clash, "move it to a place with a plainer name", "systemd starts no program whose path has quotes or backslashes in it, as %s has", s.Program)
	}
	info, err := os.Stat(s.Program)
	if err != nil {
		return fmt.Errorf("look at the program: %w", err)
	}
	if !s.System || m.OS != "linux" {
		return nil
	}
	closed := ""
	if info.Mode().Perm()&0o005 != 0o005 {
		closed = s.Program
	}
	for dir := filepath.Dir(s.Program); closed == "" && dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("look at the program's folder: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			closed = dir
		}
	}
	for _, hidden := range []string{"/home/", "/root/", "/tmp/", "/var/tmp/", "/run/user/"} { // by the unit itself
		if closed == "" && strings.HasPrefix(s.Program, hidden) {
			closed = hidden
		}
	}
	if closed == "" {
		return nil
	}
	const public = "/usr/local/bin/hob"
	return event.NewFault(event.Clash, "type: sudo "+quote([]string{"install", "-m", "755", s.Program, public})+" && sudo "+public+" service install --system",
		"the user %s cannot run %s: %s is closed to it", SystemUser, s.Program, closed)
}

// missing is the fault of a service that is not there.
func (s Spec) missing() error {
	return event.NewFault(event.Missing, "install it with: hob service install --"+s.scope(), "hob is not installed as a %s service", s.scope())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// holds reports whether a file has exactly this text.
func holds(path, text string) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare %s: %w", path, err)
	}
	return string(b) == text, nil
}
