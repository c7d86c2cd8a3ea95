package runtime

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/tools"
	"hob/tools/runtime/inspect"
)

// Why files that a command wrote count as foreign.
const (
	byTainted   = "written by a turn that had read foreign text"
	byUnboxed   = "written by a command outside the sandbox"
	byNetworked = "written by a command with network access"
)

// site is where a command runs, and what follows from it.
type site struct {
	host    string         // name of a host; "": this machine
	folder  *fsguard.Place // on this machine
	cwd     string         // its path
	boxed   bool           // in the sandbox
	box     sandbox.Box
	network bool   // it can reach the network
	foreign string // why its output is somebody else's text; "" when it is not
	why     string // why what it writes is; "" when it is not
}

// site decides where a command runs. It only looks.
func (e executor) site(call tools.Call, in Command) (*site, error) {
	host, err := e.hostOf(in)
	if err != nil {
		return nil, err
	}
	if host != "" {
		return &site{host: host, network: true, foreign: "output of a command on " + host}, nil
	}
	p, err := e.folder(call, in)
	if err != nil {
		return nil, err
	}
	at := &site{folder: &p, cwd: p.Path, network: true}
	if err := e.confine(at, call, in); err != nil {
		return nil, err
	}
	at.foreign = at.source(call, in)
	switch {
	case call.Tainted && !at.boxed:
		at.why = byTainted
	case !at.boxed:
		at.why = byUnboxed
	case at.network && !at.box.Sealed:
		at.why = byNetworked
	}
	return at, nil
}

// confine puts a command into the sandbox when it works and can show the folder. Where it must and cannot, that is an error.
func (e executor) confine(at *site, call tools.Call, in Command) error {
	if e.Sandbox == nil {
		return nil
	}
	state := e.Sandbox.State()
	if !state.Works {
		if e.Sandbox.Required() {
			return tools.Refuse(tools.ConfigError, state.Hint, `[tools.exec] sandbox = "require", and commands cannot be confined here: %s`, state.Why)
		}
		return nil
	}
	at.box = e.box(call, in, *at.folder)
	plain := at.box
	plain.Scratch = "" // it is made when the command runs
	switch _, err := e.Sandbox.Wrap(plain, []string{"true"}); {
	case err == nil, at.box.Scratch != "" && below(at.box.Scratch, at.cwd):
		at.boxed, at.network = true, state.Network
		return nil
	case e.Sandbox.Required() || !errors.Is(err, sandbox.ErrBox):
		return tools.Refuse(tools.Denied, "run it in the workspace, or in a folder of [tools] roots", "workdir: %v", err)
	default:
		return nil // the owner is asked, as wherever there is no sandbox
	}
}

// box is what a command in the sandbox sees.
func (e executor) box(call tools.Call, in Command, p fsguard.Place) sandbox.Box {
	b := sandbox.Box{Dir: p.Path, Writable: []string{e.Guard.Workspace()}}
	for _, r := range e.Guard.Roots() {
		if r.Write {
			b.Writable = append(b.Writable, r.Path)
		} else {
			b.Readable = append(b.Readable, r.Path)
		}
	}
	if p.Area != fsguard.RootRO && !inAny(b.Writable, p.Path) {
		b.Writable = append(b.Writable, p.Path) // the gate was asked for it
	}
	if call.Tainted {
		b.Sealed, b.Scratch = true, call.Scratch
		return b
	}
	hidden := []string{filepath.Join(e.Guard.Workspace(), fsguard.ScratchFolder)}
	if !namesAttachments(in) {
		hidden = append(hidden, filepath.Join(e.Guard.Workspace(), fsguard.AttachmentFolder))
	}
	if e.Marked != nil {
		hidden = append(hidden, e.Marked()...)
	}
	hidden = append(hidden, e.Registry.foreign(e.Guard)...)
	for _, path := range hidden {
		if inAny(b.Writable, path) || inAny(b.Readable, path) {
			if !below(path, p.Path) { // who runs in a foreign folder has read it: the intent says so
				b.Hidden = append(b.Hidden, path)
			}
		}
	}
	return b
}

func inAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return below(d, path) })
}

func namesAttachments(in Command) bool { return strings.Contains(in.Command, fsguard.AttachmentFolder) }

// source says whose text the output may hold but the owner's; "" none.
func (s *site) source(call tools.Call, in Command) string {
	switch {
	case !s.boxed:
		return "output of a command outside the sandbox"
	case s.network:
		return "output of a command with network access"
	case call.Tainted:
		return "output of a command that sees foreign files"
	case s.folder.Foreign != "":
		return s.folder.Foreign + ": " + s.cwd
	case namesAttachments(in):
		return "attachments"
	default:
		return ""
	}
}

// scopes are what the gate judges: a folder that no root covers is opened for writing, which is a question of its own.
func (s *site) scopes(call tools.Call) []tools.Scope {
	list := []tools.Scope{tools.Exec}
	if s.network {
		list = append(list, tools.Net)
	}
	if s.folder != nil && s.boxed && !call.Tainted && (s.folder.Area == fsguard.Outside || s.folder.Area == fsguard.Sensitive) {
		list = append(list, tools.FSWrite)
	}
	return list
}

func (s *site) where() string {
	switch {
	case s.host != "":
		return "on " + s.host
	case s.boxed:
		return "in the sandbox"
	default:
		return "outside the sandbox"
	}
}

func (s *site) cwdID() string {
	if s.folder == nil {
		return ""
	}
	return s.folder.ID()
}

// look reads the command as the shell at this site would. Of the home on a host only the name is not known.
func (s *site) look(e executor, in Command) inspect.Verdict {
	if s.host == "" {
		return inspect.Command(in.Command, e.Guard.Home(), s.cwd)
	}
	const home = "/home/of-the-owner"
	cwd := in.Workdir
	switch {
	case cwd == "":
		cwd = home
	case cwd == "~" || strings.HasPrefix(cwd, "~/"):
		cwd = home + cwd[1:]
	case !strings.HasPrefix(cwd, "/"):
		cwd = home + "/" + cwd
	}
	return inspect.Command(in.Command, home, cwd)
}

// argv is the command line to be started.
func (e executor) argv(call tools.Call, in Command, at *site) ([]string, error) {
	if at.host != "" {
		return e.sshArgs(at.host, in)
	}
	if e.shell == nil {
		return nil, tools.Refuse(tools.ConfigError, "install bash or sh", "there is no shell on this machine")
	}
	argv := append(slices.Clone(e.shell), in.Command)
	if !at.boxed {
		return argv, nil
	}
	if at.box.Scratch != "" {
		if err := os.MkdirAll(at.box.Scratch, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder %s: %w", call.Scratch, err)
		}
	}
	if in.PTY {
		// The sandbox gives its command a session without a terminal; setsid makes the one on its stdin that session's.
		if setsid, err := osexec.LookPath("setsid"); err == nil {
			argv = append([]string{setsid, "--ctty", "--wait"}, argv...)
		}
	}
	wrapped, err := e.Sandbox.Wrap(at.box, argv)
	if err != nil {
		return nil, fmt.Errorf("confine the command: %w", err)
	}
	return wrapped, nil
}
