package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

const unitName = "hob.service"

// notLoaded is systemctl's exit code for a unit that is not loaded (LSB: program is not installed).
const notLoaded = 5

// systemd is a unit of the system, or of one user's own manager.
type systemd struct {
	Machine
	Spec
}

// file is the place of an administrator's or a user's unit, which takes precedence over a packaged one (systemd.unit(5)).
func (s systemd) file() string {
	if s.System {
		return s.Root + "/etc/systemd/system/" + unitName
	}
	return filepath.Join(s.Machine.Home, ".config", "systemd", "user", unitName)
}

// users is the file that defines the user of a system-wide service (sysusers.d(5)).
func (s systemd) users() string { return s.Root + "/etc/sysusers.d/hob.conf" }

// packaged returns the unit file of a distribution package; "": none.
func (s systemd) packaged() string {
	for _, dir := range []string{"/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		if path := s.Root + dir + unitName; s.System && exists(path) {
			return path
		}
	}
	return ""
}

// unit returns the text of the unit that hob would install.
func (s systemd) unit() string {
	if s.System {
		return SystemUnit(s.Program)
	}
	return UserUnit(s.Program, s.Spec.Home, s.Path)
}

// ctl returns a systemctl command line, with the word order that the library uses too.
func (s systemd) ctl(verb string, args ...string) []string {
	words := []string{"systemctl", verb}
	if !s.System {
		words = append(words, "--user")
	}
	return append(words, args...)
}

// step runs a verb of systemctl on the unit. okCodes are exit codes that count as success, beside 0.
func (s systemd) step(verb string, okCodes ...int) Step {
	return Step{Run: s.ctl(verb, unitName), okCodes: okCodes, env: s.env()}
}

// env returns the variable by which systemctl --user finds the user's manager. A login over SSH has it; su and cron do not.
func (s systemd) env() []string {
	run := s.Root + "/run/user/" + strconv.Itoa(s.UID)
	if s.System || os.Getenv("XDG_RUNTIME_DIR") != "" || !exists(run) {
		return nil
	}
	return []string{"XDG_RUNTIME_DIR=" + run}
}

// Install plans the unit, and for a whole machine its user first, because the unit names it. Where a package of the distribution has brought
// the unit, the plan only enables and starts it. Every plan begins with the check, so that nothing is changed when a later step must fail.
func (s systemd) Install(context.Context) ([]Step, error) {
	steps := []Step{s.check("install", s.lasts)}
	if s.packaged() != "" && !exists(s.file()) {
		return append(steps, s.step("enable"), s.step("start")), nil
	}
	if s.System {
		same, err := holds(s.users(), SystemUsers())
		if err != nil {
			return nil, err
		}
		if !same {
			steps = append(steps, Step{Write: s.users(), Text: SystemUsers()})
		}
		steps = append(steps, Step{Run: []string{"systemd-sysusers", s.users()}})
	}
	unit, err := s.place()
	if err != nil {
		return nil, err
	}
	steps = append(steps, unit...)
	if s.Linger {
		steps = append(steps, Step{Run: []string{"loginctl", "enable-linger", s.User}})
	}
	return steps, nil
}

// place installs the unit and starts it. The library does not overwrite a file, so an older unit is removed first.
func (s systemd) place() ([]Step, error) {
	same, err := holds(s.file(), s.unit())
	switch {
	case err != nil:
		return nil, err
	case same:
		return []Step{s.step("enable"), s.step("start")}, nil
	case exists(s.file()):
		steps := append([]Step{{Remove: s.file()}}, s.libraryInstall()...)
		return append(steps, s.step("restart")), nil
	}
	return append(s.libraryInstall(), s.step("start")), nil
}

// Uninstall plans the reverse order: stop, remove the unit, forget a failed state. The user of a system-wide service stays, because files in
// its home belong to it: without its definition (sysusers.d(5)) it is only not made again. A packaged unit belongs to the package manager.
func (s systemd) Uninstall(context.Context) ([]Step, error) {
	steps := []Step{s.check("uninstall", nil)}
	if exists(s.file()) {
		steps = append(steps, s.step("stop", notLoaded))
		steps = append(steps, s.libraryUninstall()...)
		steps = append(steps, s.step("reset-failed", 1)) // exit code 1: there was nothing to reset
	} else if s.packaged() != "" {
		return nil, event.NewFault(event.Clash, "type: "+sys.PackageCommand("hob", true), "the service belongs to the package hob")
	}
	if s.System && exists(s.users()) {
		steps = append(steps, Step{Remove: s.users()})
	}
	if len(steps) == 1 {
		return nil, nil
	}
	return steps, nil
}

// Control plans one verb of systemctl. Starting a running service and stopping a stopped one succeed without a change.
func (s systemd) Control(_ context.Context, v Verb) ([]Step, error) {
	if !exists(s.file()) && s.packaged() == "" {
		return nil, s.missing()
	}
	return []Step{s.check(string(v), nil), s.step(string(v))}, nil
}

// check verifies, before anything is changed, that the caller has the right and that the manager answers.
func (s systemd) check(doing string, also func(Spec) error) Step {
	return Step{check: func(ctx context.Context) error {
		if err := s.may(s.Spec, doing, also); err != nil {
			return err
		}
		return s.answers(ctx)
	}}
}

// answers sends the manager a harmless request and explains why it does not answer.
func (s systemd) answers(ctx context.Context) error {
	_, err := command(ctx, s.env(), s.ctl("show", "--property=Version")...)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return &event.Fault{Kind: event.Clash, Text: "there is no systemd here (" + platform() + ")", Hint: "start hob with your own init: " + s.byHand(), Err: err}
	case s.System:
		return &event.Fault{Kind: event.Clash, Text: "systemd does not answer", Hint: "if systemd runs this machine, see why: systemctl show --property=Version; if it does not, start hob with your own init: " + s.byHand(), Err: err}
	}
	return &event.Fault{
		Kind: event.Clash, Text: "your service manager, systemctl --user, does not answer", Err: err,
		Hint: "if systemd runs this machine: sudo loginctl enable-linger " + quote([]string{s.User}) + ", and type this again; if it does not, start hob with your own init: " + s.byHand(),
	}
}

// byHand is the command of the service, for other programs that start programs.
func (s systemd) byHand() string {
	words := []string{s.Program, "up", "--no-chat"}
	if s.Spec.Home != "" && (!s.System || Installed(s.Machine, true)) { // a caller without the service of the machine means a home of the own
		words = append(words, "--home", s.Spec.Home)
	}
	return quote(words)
}

// Lingers reports whether the user's services run without a login. Before the first login this is unknown and reported as false.
func Lingers(ctx context.Context, user string) (bool, error) {
	out, err := command(ctx, nil, "loginctl", "show-user", user, "--property=Linger", "--value")
	var bad *exec.ExitError
	if errors.As(err, &bad) {
		return false, nil
	}
	return strings.TrimSpace(out) == "yes", err
}

// State asks systemctl for the properties of the unit. If that fails, answers explains a manager that does not answer; only then is the
// first error of use.
func (s systemd) State(ctx context.Context) (State, error) {
	out, err := command(ctx, s.env(), s.ctl("show", unitName,
		"--property=LoadState,ActiveState,SubState,UnitFileState,ActiveEnterTimestamp,NRestarts,MainPID,StatusText,FragmentPath,Environment")...)
	if err != nil {
		if quiet := s.answers(ctx); quiet != nil {
			return State{}, quiet
		}
		return State{}, err
	}
	st, err := systemdState(out)
	if err != nil {
		return State{}, err
	}
	st.Scope = s.scope()
	if st.Installed && !s.System {
		lingers, err := Lingers(ctx, s.User)
		if err != nil {
			return State{}, err
		}
		st.Lingers = &lingers
	}
	return st, nil
}

// pathOf returns the PATH in the property Environment of systemctl show, which has pairs with blanks between them; one with a blank is in quotes.
func pathOf(env string) string {
	if m := pathForm().FindStringSubmatch(env); m != nil {
		return m[1] + m[2]
	}
	return ""
}

var pathForm = sys.Regexp(`(?:^| )(?:"PATH=([^"]*)"|PATH=([^ ]*))`)

// systemdState parses the output of systemctl show: KEY=value lines, with times in UTC because TZ is set.
func systemdState(text string) (State, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		values[key] = value
	}
	active := values["ActiveState"]
	// Even a unit that does not exist has an ActiveState.
	if active == "" {
		return State{}, errors.New("systemctl show did not say how the unit does")
	}
	st := State{
		Manager: "systemd", Installed: values["LoadState"] != "not-found", Enabled: strings.HasPrefix(values["UnitFileState"], "enabled"),
		Running: active == "active" || active == "reloading", State: active + " (" + values["SubState"] + ")", File: values["FragmentPath"], Path: pathOf(values["Environment"]),
	}
	for key, field := range map[string]*int{"NRestarts": &st.Restarts, "MainPID": &st.PID} {
		n, err := strconv.Atoi(values[key])
		if err != nil {
			return State{}, fmt.Errorf("read %s of systemctl show: %w", key, err)
		}
		*field = n
	}
	if !st.Running {
		return st, nil // systemd remembers the status line of the last run
	}
	st.Says = values["StatusText"]
	if since := values["ActiveEnterTimestamp"]; since != "" {
		t, err := time.Parse("Mon 2006-01-02 15:04:05 MST", since)
		if err != nil {
			return State{}, fmt.Errorf("read ActiveEnterTimestamp of systemctl show: %w", err)
		}
		st.Since = t.UTC()
	}
	return st, nil
}

// Logs reads the journal. --user-unit finds the entries of a user's service, which have another field than those of the system's.
func (s systemd) Logs(lines int, follow bool) []string {
	words := []string{"journalctl", "--unit=" + unitName}
	if !s.System {
		words[1] = "--user-unit=" + unitName
	}
	words = append(words, "--lines="+strconv.Itoa(lines), "--no-pager")
	if follow {
		words = append(words, "--follow")
	}
	return words
}
