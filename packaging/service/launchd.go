package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// label is hob's name in launchd.
const label = "hob"

// Exit codes of launchctl: no such process, no such service, and already running.
const (
	noProcess  = 3
	noService  = 113
	inProgress = 36
)

// unloadTime is the time limit for a service to disappear from launchd: hob's own shutdown and a margin.
const unloadTime = 30 * time.Second

// launchd is an agent of the logged-in user, or a daemon of the machine that runs as the user who called sudo. macOS has no simple way to
// make a user for a service.
type launchd struct {
	Machine
	Spec
}

// file is where launchd looks for the definition of an agent or a daemon (launchd.plist(5), "FILES").
func (l launchd) file() string {
	if l.System {
		return l.Root + "/Library/LaunchDaemons/" + label + ".plist"
	}
	return filepath.Join(l.Machine.Home, "Library", "LaunchAgents", label+".plist")
}

// domain is the part of launchd that holds the service (launchctl(1)). gui/UID exists only while the user is logged in at the screen.
func (l launchd) domain() string {
	if l.System {
		return "system"
	}
	return "gui/" + strconv.Itoa(l.UID)
}

// target is the name of the service for launchctl: DOMAIN/LABEL (launchctl(1)).
func (l launchd) target() string { return l.domain() + "/" + label }

// home returns hob's home. The default is filled in, because the plist always names the home.
func (l launchd) home() string {
	return cmp.Or(l.Spec.Home, filepath.Join(l.Machine.Home, ".hob"))
}

// log is the file for what hob prints before its own log is open, such as a panic at the start. launchd has no journal.
func (l launchd) log() string { return filepath.Join(l.home(), "state", "log", "service.log") }

// plist returns the service definition (launchd.plist(5)). KeepAlive restarts the service after any exit, after at least ten seconds.
// Without a PATH of the owner's shell it includes the two places where people install tools.
func (l launchd) plist() string {
	var b strings.Builder
	// entry writes one key and its value.
	entry := func(depth int, key, kind, value string) {
		tab := strings.Repeat("\t", depth)
		fmt.Fprintf(&b, "%s<key>%s</key>\n%s%s\n", tab, key, tab, plistValue(kind, value))
	}
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\">\n<dict>\n")
	entry(1, "Label", "string", label)
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, word := range []string{l.Program, "up", "--no-chat"} {
		b.WriteString("\t\t" + plistValue("string", word) + "\n")
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	entry(2, "HOB_HOME", "string", l.home())
	entry(2, "PATH", "string", cmp.Or(l.Path, "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"))
	b.WriteString("\t</dict>\n")
	if l.System {
		entry(1, "UserName", "string", l.Invoker)
	}
	entry(1, "RunAtLoad", "true", "")
	entry(1, "KeepAlive", "true", "")
	// ExitTimeOut is the time from SIGTERM to SIGKILL in seconds. Umask is a decimal number.
	entry(1, "ExitTimeOut", "integer", "20")
	entry(1, "Umask", "integer", strconv.Itoa(0o077))
	entry(1, "StandardOutPath", "string", l.log())
	entry(1, "StandardErrorPath", "string", l.log())
	b.WriteString("</dict>\n</plist>\n")
	return b.String()
}

// plistValue writes a value. One without content, such as <true/>, is an empty element.
func plistValue(kind, value string) string {
	if value == "" {
		return "<" + kind + "/>"
	}
	return "<" + kind + ">" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(value) + "</" + kind + ">"
}

// ctl makes a step of one launchctl command.
func (l launchd) ctl(words ...string) Step { return Step{Run: append([]string{"launchctl"}, words...)} }

// loaded reports whether launchd knows the service.
func (l launchd) loaded(ctx context.Context) (bool, error) {
	// launchctl print fails for a service that it does not know.
	_, err := command(ctx, nil, "launchctl", "print", l.target())
	var bad *exec.ExitError
	if errors.As(err, &bad) || errors.Is(err, exec.ErrNotFound) { // without launchctl a plan can still be shown
		return false, nil
	}
	return err == nil, err
}

// Install plans the installation: check, log folder, plist, then start.
func (l launchd) Install(ctx context.Context) ([]Step, error) {
	if l.System && (l.Invoker == "" || l.Invoker == "root") {
		return nil, event.NewFault(event.Clash, "type, as the user that hob shall work for: sudo "+quote([]string{l.Program, "service", "install", "--system"}), "it is not known who hob shall run as")
	}
	loaded, err := l.loaded(ctx)
	if err != nil {
		return nil, err
	}
	same, err := holds(l.file(), l.plist())
	if err != nil {
		return nil, err
	}
	steps := []Step{l.check("install", l.lasts)}
	if dir := filepath.Dir(l.log()); !exists(dir) {
		steps = append(steps, l.folder(dir))
	}
	if !same {
		steps = append(steps, Step{Write: l.file(), Text: l.plist()})
	}
	// Nothing has changed. kickstart without -k leaves a running service alone.
	if loaded && same {
		return append(steps, l.ctl("enable", l.target()), l.ctl("kickstart", l.target())), nil
	}
	if loaded { // launchd reads a plist only once
		steps = append(steps, l.unload())
	}
	return append(steps, l.load()...), nil
}

// folder makes a folder that belongs to the user that hob will run as. launchd does not start a service if it cannot open its log.
func (l launchd) folder(dir string) Step {
	if !l.System {
		return Step{Folder: dir}
	}
	return Step{Run: []string{"sudo", "-u", l.Invoker, "sh", "-c", "umask 077 && mkdir -p " + quote([]string{dir})}}
}

// load makes launchd read the plist and start the service. A service that was just unloaded may still be known for a while, so bootstrap
// is retried.
func (l launchd) load() []Step {
	bootstrap := l.ctl("bootstrap", l.domain(), l.file())
	bootstrap.retryFor = unloadTime
	return []Step{l.ctl("enable", l.target()), bootstrap}
}

// unload accepts the exit codes that mean that the service is already gone.
func (l launchd) unload() Step {
	s := l.ctl("bootout", l.target())
	s.okCodes = []int{noProcess, inProgress, noService}
	return s
}

// Uninstall plans to unload the service and to remove its plist. hob's home and its log stay.
func (l launchd) Uninstall(ctx context.Context) ([]Step, error) {
	loaded, err := l.loaded(ctx)
	if err != nil || !loaded && !exists(l.file()) {
		return nil, err
	}
	steps := []Step{l.check("uninstall", nil)}
	if loaded {
		steps = append(steps, l.unload())
	}
	if exists(l.file()) {
		steps = append(steps, Step{Remove: l.file()})
	}
	return steps, nil
}

// Control restarts with kickstart: an interrupted unload and load would leave nothing loaded. A stop must unload, because KeepAlive would
// restart the service; the next login or boot loads it again.
func (l launchd) Control(ctx context.Context, v Verb) ([]Step, error) {
	if !exists(l.file()) {
		return nil, l.missing()
	}
	loaded, err := l.loaded(ctx)
	if err != nil {
		return nil, err
	}
	steps := []Step{l.check(string(v), nil)}
	switch {
	case v == Stop && !loaded:
		return steps, nil
	case v == Stop:
		return append(steps, l.unload()), nil
	case !loaded:
		return append(steps, l.load()...), nil
	case v == Restart:
		return append(steps, l.ctl("kickstart", "-k", l.target())), nil
	}
	return append(steps, l.ctl("kickstart", l.target())), nil
}

// check verifies, before anything is changed, that the caller has the right and that launchd has a domain for the service.
func (l launchd) check(doing string, also func(Spec) error) Step {
	return Step{check: func(ctx context.Context) error {
		if err := l.may(l.Spec, doing, also); err != nil {
			return err
		}
		_, err := command(ctx, nil, "launchctl", "print", l.domain())
		var bad *exec.ExitError
		if errors.As(err, &bad) && !l.System {
			return &event.Fault{
				Kind: event.Clash, Err: err, Text: "nobody is logged in at the screen of this Mac, and only then a user's services run",
				Hint: "log in there and type this again, or let it run without a login: sudo " + quote([]string{l.Program, "service", "install", "--system"}),
			}
		}
		return err
	}}
}

// State combines three outputs: print-disabled says whether the service is enabled, print has its process, and ps the start time.
func (l launchd) State(ctx context.Context) (State, error) {
	st := State{Manager: "launchd", Scope: l.scope(), Installed: exists(l.file()), State: "not loaded"}
	if !st.Installed {
		return st, nil
	}
	st.File = l.file()
	disabled, err := command(ctx, nil, "launchctl", "print-disabled", l.domain())
	if err != nil {
		return State{}, err
	}
	st.Enabled = !launchdDisabled(disabled)
	loaded, err := l.loaded(ctx)
	if err != nil || !loaded {
		return st, err
	}
	text, err := command(ctx, nil, "launchctl", "print", l.target())
	if err != nil {
		return State{}, err
	}
	launchdState(text, &st)
	if st.PID == 0 {
		return st, nil
	}
	began, err := command(ctx, nil, "ps", "-o", "lstart=", "-p", strconv.Itoa(st.PID))
	if err != nil {
		return st, nil //nolint:nilerr // it has ended meanwhile
	}
	// The time is in UTC, because command sets TZ.
	if st.Since, err = time.Parse("Mon Jan _2 15:04:05 2006", strings.TrimSpace(began)); err != nil {
		return State{}, fmt.Errorf("read what ps printed: %w", err)
	}
	return st, nil
}

// launchdField matches a top-level line of launchctl print, which is indented by one tab.
var launchdField = sys.Regexp(`(?m)^\t(state|pid|runs) = (.+)$`)

// launchdState parses the output of launchctl print.
func launchdState(text string, st *State) {
	for _, m := range launchdField().FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		switch {
		case m[1] == "state":
			st.State, st.Running = m[2], m[2] == "running"
		case err != nil:
		case m[1] == "pid":
			st.PID = n
		// runs counts the first start too.
		default:
			st.Restarts = max(0, n-1)
		}
	}
}

// launchdDisabled parses launchctl print-disabled: "hob" => disabled, on older systems => true.
// A service that it does not list is enabled.
func launchdDisabled(text string) bool {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if name == strconv.Quote(label) {
			return value == "disabled" || value == "true"
		}
	}
	return false
}

// Logs reads the log with tail. -F opens the file again after it has been replaced.
func (l launchd) Logs(lines int, follow bool) []string {
	words := []string{"tail", "-n", strconv.Itoa(lines)}
	if follow {
		words = append(words, "-F")
	}
	return append(words, l.log())
}
