// This file holds the tool tmux: terminals that outlive hob.

package runtime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/tools"
)

// tmuxTime limits one call of the tmux program, which normally answers in milliseconds.
const tmuxTime = 10 * time.Second

// TmuxInput is the input of tmux.
type TmuxInput struct {
	Action  string `json:"action" jsonschema:"what to do" enum:"create,send,capture,kill,list"`
	Session string `json:"session,omitempty" jsonschema:"name of the session; all but list need it"`
	Window  string `json:"window,omitempty" jsonschema:"name or number of a window; create makes a new one in a session that exists"`
	Pane    string `json:"pane,omitempty" jsonschema:"number of a pane"`
	Command string `json:"command,omitempty" jsonschema:"create, send: a line to type, or a key such as C-c or Enter"`
}

// TmuxOutput is the output of tmux.
type TmuxOutput struct {
	Sessions []string `json:"sessions,omitempty" jsonschema:"list: the sessions, a line each"`
	Screen   string   `json:"screen,omitempty" jsonschema:"capture: what the pane shows, with its history"`
	Attach   string   `json:"attach" jsonschema:"the command by which people see it"`
}

// The size of a terminal that nobody is attached to, in characters.
const rows, columns = 40, 120

// TmuxDeps holds the dependencies and settings of the tool tmux.
type TmuxDeps struct {
	Guard    *fsguard.Guard
	Sandbox  *sandbox.Sandbox // nil: commands are not confined
	Environ  []string         // hob's own environment; the terminals inherit little of it
	Instance string           // part of the tmux server's name
	Preview  int              // maximum characters of a screen per call; 0: 10,000
	Zone     string           // the owner's time zone (IANA name) for TmuxSessions; "": UTC. A call has its own
}

// NewTmux builds the tool tmux, which runs terminals on a tmux server of this instance. They
// outlive hob and are not confined. Where the configuration requires the sandbox, the tool can only
// capture, list and kill.
func NewTmux(d TmuxDeps) tools.Tool {
	m := multiplexer{d}
	return available{m, tools.New[TmuxInput, TmuxOutput](tools.Spec{
		Name: "tmux", Group: "runtime", SelfPaging: true, Positional: "action", Example: "list",
		Description: "Terminals that outlive hob, for what must keep running. create, send a line, capture the screen, kill, list.",
	}, m.intent, m.run)}
}

// available adds to tmux the check whether it is installed. It is a tools.Tracer.
type available struct {
	multiplexer
	tools.Tool
}

// Traces lists the marks of the files that an interrupted call may have changed.
func (a available) Traces(_ context.Context, _ tools.Call, intent tools.Intent, since time.Time) []tools.Change {
	if intent.Effect == tools.Read {
		return nil
	}
	return a.marks(since.Add(-tmuxTick))
}

// Missing returns "tmux is not installed", or "" if it is.
func (a available) Missing() string {
	if _, err := a.Sandbox.Program("tmux"); err != nil {
		return "tmux is not installed"
	}
	return ""
}

// multiplexer carries out the tool's actions through the tmux program.
type multiplexer struct{ TmuxDeps }

// tmuxTick is more than the difference between FileClock and the clock that times the calls.
const tmuxTick = 20 * time.Millisecond

// marks marks the files that changed at since or later: a terminal may have written them.
func (m multiplexer) marks(since time.Time) []tools.Change {
	var list []tools.Change
	for _, path := range ChangedFiles(m.Guard, since) {
		list = append(list, tools.Mark{Path: path, Why: "written by a command outside the sandbox"})
	}
	return list
}

// made returns when a session was created, in whole seconds.
func (m multiplexer) made(ctx context.Context, call tools.Call, session string) (time.Time, error) {
	text, err := m.tmux(ctx, call, "display-message", "-p", "-t", "="+session+":", "#{session_created}")
	if err != nil {
		return time.Time{}, err
	}
	if strings.TrimSpace(text) == "" {
		return time.Time{}, tools.Refuse(tools.NotFound, "list shows the sessions", "tmux: there is no session %s", session)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask tmux when %s was made: %w", session, err)
	}
	return time.Unix(seconds, 0), nil
}

// tmuxName matches names that tmux takes as one word of a target, tmuxKey the names of keys.
var (
	tmuxName = sys.Regexp(`^[A-Za-z0-9_-]{1,64}$`)
	tmuxKey  = sys.Regexp(`^((C|M|C-M)-.|Enter|Escape|Tab|BSpace|Space|Up|Down|Left|Right|Home|End|PageUp|PageDown|F[1-9]|F1[0-2])$`)
)

// intent describes the call to the permission rules. Everything except list and capture runs programs without a
// sandbox, so it needs the scopes for that.
func (m multiplexer) intent(_ context.Context, call tools.Call, in TmuxInput) (tools.Intent, error) {
	if err := m.validate(in); err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.Canonical(struct {
		Tool   string    `json:"tool"`
		Server string    `json:"server"`
		Do     TmuxInput `json:"do"`
	}{"tmux", m.server(), in})
	i := tools.Intent{Effect: tools.Read, Summary: strings.TrimSpace("tmux " + in.Action + " " + in.shown()), Canonical: canonical}
	switch in.Action {
	case "list":
	case "capture":
		i.Foreign = "output of a command outside the sandbox"
	default:
		i.Effect, i.Scopes = tools.Once, []tools.Scope{tools.Exec, tools.Net}
		if in.Command != "" {
			v := inspectCommand(in.Command, m.Guard.Home(), m.Guard.Workspace())
			i.Summary, i.Warnings, i.Denied = i.Summary+": "+brief(in.Command), v.Warnings, v.Denied
		}
	}
	return i, err
}

// validate refuses bad names, missing input, and actions that the configuration forbids.
func (m multiplexer) validate(in TmuxInput) error {
	if in.Action == "list" {
		return nil
	}
	for name, value := range map[string]string{"session": in.Session, "window": in.Window, "pane": in.Pane} {
		if (value != "" || name == "session") && !tmuxName().MatchString(value) {
			return tools.Refuse(tools.Validation, "", "%s: want letters, digits, - and _, got %q", name, value)
		}
	}
	if in.Action == "send" && in.Command == "" {
		return tools.Refuse(tools.Validation, "", "command: the action send needs it")
	}
	if strings.ContainsAny(in.Command, "\x00\n\r") {
		return tools.Refuse(tools.Validation, "send the lines one by one", "command: want one line")
	}
	if name := secret.Placeholder(nil, []byte(in.Command)); name != "" {
		return tools.Refuse(tools.Validation, "it stands for a value that you were not shown", "command holds the placeholder %s", name)
	}
	if m.Sandbox != nil && m.Sandbox.Required() && (in.Action == "create" || in.Action == "send") {
		return tools.Refuse(tools.Denied, `[tools.exec] sandbox = "auto" allows it`, `[tools.exec] sandbox = %q: nothing runs in tmux, which is not confined`, sandbox.Require)
	}
	return nil
}

// target returns the target of the call in tmux's syntax. The = prevents a match by the prefix of a
// name.
func (in TmuxInput) target() string {
	switch {
	case in.Session == "":
		return ""
	case in.Pane != "":
		return "=" + in.Session + ":" + in.Window + "." + in.Pane
	case in.Action == "kill" && in.Window == "":
		return "=" + in.Session
	}
	return "=" + in.Session + ":" + in.Window
}

// shown describes the target for people.
func (in TmuxInput) shown() string {
	text := in.Session
	if in.Window != "" {
		text += " window " + in.Window
	}
	if in.Pane != "" {
		text += " pane " + in.Pane
	}
	return text
}

// server returns the name of this instance's tmux server.
func (m multiplexer) server() string { return "hob-" + m.Instance }

// run carries out one action. Every terminal may have changed files since its creation, so the
// result marks all of them.
func (m multiplexer) run(ctx context.Context, call tools.Call, in TmuxInput, intent tools.Intent) (tools.Result, error) {
	if err := m.validate(in); err != nil {
		return tools.Result{}, err
	}
	if intent.Denied != "" {
		return tools.Fail(tools.Denied, "", "%s", intent.Denied), nil
	}
	out := TmuxOutput{Attach: "tmux -L " + m.server() + " attach -t " + cmp.Or(in.Session, "NAME")}
	switch in.Action {
	case "list":
		d := m.TmuxDeps
		d.Zone = call.Zone
		list, err := TmuxSessions(ctx, d)
		out.Sessions = list
		return tools.Result{Content: cmp.Or(strings.Join(list, "\n"), "there are no sessions"), Data: out}, err
	case "create":
		if err := m.create(ctx, call, in); err != nil {
			return tools.Result{}, err
		}
	}
	since, err := m.made(ctx, call, in.Session) // before the action may end it
	if err != nil {
		return tools.Result{}, err
	}
	res := tools.Result{Content: in.Action + ": done; capture shows it, and people see it with: " + out.Attach}
	switch in.Action {
	case "capture":
		out.Screen, err = m.capture(ctx, call, in)
		res.Content = cmp.Or(out.Screen, "(empty)")
	case "kill":
		_, err = m.tmux(ctx, call, in.killing(), "-t", in.target())
		res.Content = "ended " + in.shown()
	default:
		err = m.send(ctx, call, in)
	}
	if err != nil {
		return tools.Result{}, err
	}
	res.Data, res.Changes = out, m.marks(since)
	return res, nil
}

// capture returns the screen of a pane with its history.
func (m multiplexer) capture(ctx context.Context, call tools.Call, in TmuxInput) (string, error) {
	screen, err := m.tmux(ctx, call, "capture-pane", "-p", "-J", "-S", "-", "-t", in.target())
	if err != nil {
		return "", err
	}
	return excerpt([]byte(strings.TrimRight(screen, "\n")), 0, nil, cmp.Or(m.Preview, 10_000)), nil
}

// killing returns the tmux command that ends the target.
func (in TmuxInput) killing() string {
	switch {
	case in.Pane != "":
		return "kill-pane"
	case in.Window != "":
		return "kill-window"
	}
	return "kill-session"
}

// create creates a session, or a window in an existing session.
func (m multiplexer) create(ctx context.Context, call tools.Call, in TmuxInput) error {
	dir := cmp.Or(call.Workdir, m.Guard.Workspace())
	if _, err := m.tmux(ctx, call, "has-session", "-t", "="+in.Session); err == nil {
		if in.Window == "" {
			return tools.Refuse(tools.Conflict, "give a window to make one in it, or use send", "there is a session %s already", in.Session)
		}
		_, err := m.tmux(ctx, call, "new-window", "-d", "-t", "="+in.Session+":", "-n", in.Window, "-c", dir)
		return err
	}
	args := []string{"new-session", "-d", "-s", in.Session, "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", dir}
	if in.Window != "" {
		args = append(args, "-n", in.Window)
	}
	_, err := m.tmux(ctx, call, args...)
	return err
}

// send types a line and Enter, or presses one key.
func (m multiplexer) send(ctx context.Context, call tools.Call, in TmuxInput) error {
	if in.Command == "" {
		return nil
	}
	if tmuxKey().MatchString(in.Command) {
		_, err := m.tmux(ctx, call, "send-keys", "-t", in.target(), in.Command)
		return err
	}
	if _, err := m.tmux(ctx, call, "send-keys", "-l", "-t", in.target(), "--", in.Command); err != nil {
		return err
	}
	_, err := m.tmux(ctx, call, "send-keys", "-t", in.target(), "Enter")
	return err
}

// tmux calls the program. The server, and everything in it, gets the same environment and shell as
// commands do, without CallMark: otherwise KillOrphans would end it at the next start.
func (m multiplexer) tmux(ctx context.Context, call tools.Call, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tmuxTime)
	defer cancel()
	program, err := m.Sandbox.Program("tmux")
	if err != nil {
		return "", fmt.Errorf("call tmux %s: %w", args[0], err)
	}
	cmd := osexec.CommandContext(ctx, program, append([]string{"-L", m.server(), "-f", "/dev/null"}, args...)...) //nolint:gosec // the permission rules have allowed this call
	given := map[string]string{}
	if shell := shell(m.Sandbox.Program); shell != "" {
		given["SHELL"] = shell // the program that tmux starts in a new window
	}
	env := newEnviron(m.Environ, environSetting{Home: m.Guard.Home(), Zone: call.Zone, Cwd: m.Guard.Workspace(), PTY: true}, given)
	cmd.Env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, CallMark+"=") })
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err = cmd.Run()
	if _, failed := errors.AsType[*osexec.ExitError](err); failed && ctx.Err() == nil {
		return "", tools.Refuse(tools.NotFound, "list shows the sessions", "tmux: %s", strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		return "", fmt.Errorf("call tmux %s: %w", args[0], err)
	}
	return out.String(), nil
}

// TmuxSessions lists the sessions of this instance's tmux server for people, one line each. They
// are the only processes that may outlive hob. The list is empty if tmux is missing or no server
// runs.
func TmuxSessions(ctx context.Context, d TmuxDeps) ([]string, error) {
	m := multiplexer{d}
	if (available{multiplexer: m}).Missing() != "" {
		return nil, nil
	}
	text, err := m.tmux(ctx, tools.Call{}, "list-sessions", "-F", "#{session_created} #{session_windows} #{session_name}")
	if err != nil {
		if tools.ErrorResult(err).Code == tools.NotFound { // no server runs
			return nil, nil
		}
		return nil, err
	}
	zone, err := tools.Zone(d.Zone)
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(text) {
		shown, err := sessionLine(strings.TrimSuffix(line, "\n"), zone)
		if err != nil {
			return nil, err
		}
		list = append(list, shown)
	}
	return list, nil
}

// sessionLine formats "1795283400 2 work" (creation time, windows, name) for people.
func sessionLine(line string, zone *time.Location) (string, error) {
	made, rest, _ := strings.Cut(line, " ")
	windows, name, _ := strings.Cut(rest, " ")
	seconds, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return "", fmt.Errorf("read tmux's list of sessions: %w", err)
	}
	unit := "windows"
	if windows == "1" {
		unit = "window"
	}
	return fmt.Sprintf("%s: %s %s, since %s", name, windows, unit, time.Unix(seconds, 0).In(zone).Format("2006-01-02 15:04 MST")), nil
}
