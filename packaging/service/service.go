// Package service installs hob as a service of systemd or launchd, controls it, and reports its state. It first plans everything as steps
// that can be shown, then carries them out one by one. In hob's home it touches only the folder of launchd's log.
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
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
)

// Home, socket, user and group of a system-wide service on Linux.
const (
	SystemHome   = "/var/lib/hob"
	SystemSocket = "/run/hob/hob.sock"
	SystemUser   = "hob"
)

// Spec describes the service.
type Spec struct {
	Program string // the absolute path of hob
	Home    string // hob's home; "": the default of the user that it runs as
	System  bool   // a service of the whole machine, not of one user
	Linger  bool   // Install also lets the user's services run without a login (systemd)
	Path    string // PATH of a user's service, see SearchPath; "": that of the service manager
}

// Machine describes the machine and the caller.
type Machine struct {
	OS      string // as in runtime.GOOS
	UID     int
	User    string // login name
	Home    string // the user's home folder
	Invoker string // login name of the user who called sudo; "": no sudo
	Root    string // prefix of every system path; "" except in tests
}

// Verb is an action on an installed service.
type Verb string

// The verbs.
const (
	Start   Verb = "start"
	Stop    Verb = "stop"
	Restart Verb = "restart"
)

// Manager plans how to install, change and remove the service, and reports its state. Planning changes nothing. A plan for the present
// state is empty or has no disturbing steps.
type Manager interface {
	// Install plans that the service exists, starts at boot or login, and runs.
	Install(ctx context.Context) ([]Step, error)
	// Uninstall plans that only hob's home is left. It is empty if nothing is installed.
	Uninstall(ctx context.Context) ([]Step, error)
	// Control plans a verb. If nothing is installed, the error is an *event.Fault of kind Missing.
	Control(ctx context.Context, v Verb) ([]Step, error)
	// State reads the state of the service.
	State(ctx context.Context) (State, error)
	// Logs returns the command that prints the last lines of the log and, with follow, new ones.
	Logs(lines int, follow bool) []string
}

// State is the state of the service.
type State struct {
	Manager   string    `json:"manager"` // systemd, launchd
	Scope     string    `json:"scope"`   // user, system
	Installed bool      `json:"installed"`
	Enabled   bool      `json:"enabled"` // it starts by itself at boot or login
	Running   bool      `json:"running"`
	State     string    `json:"state"`            // the manager's own term
	Since     time.Time `json:"since,omitzero"`   // start of the present run
	Restarts  int       `json:"restarts"`         // by the manager, since the last manual start
	PID       int       `json:"pid,omitempty"`    // of the running process
	Says      string    `json:"says,omitempty"`   // the status line of the running process
	File      string    `json:"file,omitempty"`   // the file that defines the service
	Lingers   *bool     `json:"lingers,omitzero"` // whether it runs without a login; nil: not applicable
	Path      string    `json:"path,omitempty"`   // the PATH that its file gives it
}

// SearchPath returns what a service keeps of a shell's PATH: each absolute folder once, in order. A relative one would mean another folder there.
func SearchPath(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(kept, dir) && !strings.ContainsAny(dir, "\n\r\"") {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// For returns the manager of a machine. The error is an *event.Fault if hob supports none.
func For(m Machine, s Spec) (Manager, error) {
	switch m.OS {
	case "linux":
		// The unit of the whole machine has a fixed home (see SystemUnit).
		if s.System {
			s.Home = SystemHome
		}
		return systemd{m, s}, nil
	case "darwin":
		return launchd{m, s}, nil
	}
	return nil, event.NewFault(event.Clash, "start hob with your own init: hob up --no-chat", "hob knows no service manager on %s", m.OS)
}

// Installed reports whether a service file exists, either from hob or from a package.
// It looks only at files, so it also works when the manager does not answer.
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
	if u, err = user.Lookup(m.Invoker); err != nil { // a daemon on macOS works for the user who called sudo
		return m, fmt.Errorf("find the home folder of %s: %w", m.Invoker, err)
	}
	m.Home = u.HomeDir
	return m, nil
}

// Program returns the path of this program. If called, the first word of the command line, is a link to it, the link is returned, because
// an upgrade will point it to the new version.
func Program(called string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	found, err := exec.LookPath(called)
	if err != nil {
		return program, nil //nolint:nilerr // it was called by a name that cannot be found
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

// Choose decides which service is meant by default: an installed one, the user's own before the system's; otherwise the one that fits the
// caller.
func Choose(m Machine) (system bool) {
	return !Installed(m, false) && (Installed(m, true) || m.UID == 0)
}

// scope names the kind of the service: "system" or "user".
func (s Spec) scope() string {
	if s.System {
		return "system"
	}
	return "user"
}

// may rejects a caller without the necessary rights, and says what to type instead. also checks further; nil: nothing.
func (m Machine) may(s Spec, doing string, also func(Spec) error) error {
	command := quote([]string{s.Program, "service", doing})
	switch {
	case s.System && m.UID != 0:
		return event.NewFault(event.Clash, "type: sudo "+command+" --system", "only root may %s a service of the whole machine", doing)
	// Root without sudo may have a service of its own.
	case !s.System && m.UID == 0 && m.Invoker != "" && m.Invoker != "root":
		return event.NewFault(event.Clash, "type it without sudo: "+command+"; or for the whole machine: sudo "+command+" --system",
			"with sudo this would %s root's service, not that of %s", doing, m.Invoker)
	case also != nil:
		return also(s)
	}
	return nil
}

// lasts rejects a program that will be gone or unreachable when the service starts.
func (m Machine) lasts(s Spec) error {
	if strings.Contains(s.Program, string(filepath.Separator)+"go-build") {
		return event.NewFault(event.Clash, "build it first, for example: go install ./cmd/hob", "%s is a program that go run throws away", s.Program)
	}
	if m.OS == "linux" && strings.ContainsFunc(s.Program, func(r rune) bool { return r < ' ' || strings.ContainsRune(`"'\`, r) }) {
		return event.NewFault(event.Clash, "move it to a place with a plainer name", "systemd starts no program whose path has quotes or backslashes in it, as %s has", s.Program)
	}
	info, err := os.Stat(s.Program)
	if err != nil {
		return fmt.Errorf("stat the program: %w", err)
	}
	if !s.System || m.OS != "linux" {
		return nil
	}
	// The user of the service must be able to read and run the program, and to enter each folder above it.
	closed := ""
	if info.Mode().Perm()&0o005 != 0o005 {
		closed = s.Program
	}
	for dir := filepath.Dir(s.Program); closed == "" && dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("stat the program's folder: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			closed = dir
		}
	}
	for _, hidden := range []string{"/home/", "/root/", "/tmp/", "/var/tmp/", "/run/user/"} { // hidden by the unit's own hardening
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

// missing is the fault of a service that is not installed.
func (s Spec) missing() error {
	hint := "install it with: hob service install --user"
	if s.System { // root may not have said which one is meant
		hint = "install the one of the whole machine with: sudo hob service install --system, or your own with: hob service install --user"
	}
	return event.NewFault(event.Missing, hint, "hob is not installed as a %s service", s.scope())
}

// exists reports whether a path exists. A link counts even if its target is missing.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// holds reports whether a file has exactly this text.
// A missing file does not have it.
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
