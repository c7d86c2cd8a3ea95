// Package sandbox confines child processes. On Linux it uses bubblewrap, with Landlock and seccomp as a second layer; on macOS it uses
// sandbox-exec. It makes command lines. It starts nothing but its own probe, and it decides nothing about permission.
//
// The flow: New records the config. The first use probes the machine (find), which tells what works here. Wrap resolves the paths of a
// Spec (layout), adds the masks, and returns a Command. The caller starts it; bwrap makes the namespaces and starts hob's own executable
// inside; package entry checks the result, applies Landlock and seccomp, and becomes the command.
//
// bwrap itself runs outside of the sandbox, so it must see nothing that the command controls. The command line and the environment of the
// command go through a descriptor straight to package entry.
//
// Inside, a command sees the system's folders read only, an empty home and empty temporary folders that vanish with it, and the folders
// that its Spec names. It never sees hob's state folder.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Mode says what happens if commands cannot be confined.
type Mode string

// The modes of [tools.exec] sandbox.
const (
	Require Mode = "require" // no command runs unconfined
	Auto    Mode = "auto"    // the owner is asked for each command; also ""
	Off     Mode = "off"     // commands are not confined
)

// Config holds what all sandboxes share.
type Config struct {
	Mode    Mode
	Home    string // the owner's home, absolute; inside it is empty except for binds. "": unknown
	State   string // hob's state folder, absolute; never visible, even inside a bind or root
	Binds   []Bind // visible in every sandbox; a path that does not exist is skipped
	Roots   []Bind // the workspace and the configured roots, which a Spec may name; they must stay the folders that they were at New
	Memory  int64  // bytes that the processes of a sandbox may use together; a quarter of it limits each temporary folder. 0: half of the machine's memory
	Network bool   // true: the machine's network, including its loopback; false: only a loopback of its own
	Sockets bool   // true: the owner's unix sockets in the folders that a sandbox shows, but with Offline or ScratchOnly; false: only its own
	Self    string // hob's own executable, which enters the sandbox; "": nothing can be confined
	Mark    string // NAME=VALUE in the environment of the probe's processes, so that a later start can find those that outlived a kill
	Pinned  Pinned // nil: none

	watched bool // no control group limits the memory, see Bound
}

// Pinned returns the folders that every sandbox shows read only in place of other folders: what stands at each path, by the path. Both are
// absolute and resolved. Unlike all else, it may be in the state folder. A path that no view shows, or that is no folder, is left out.
type Pinned func() map[string]string

// Bind shows a file or folder in every sandbox.
type Bind struct {
	Path  string // absolute
	Write bool

	Programs bool // a folder of PATH: left out, instead of an error, when it was replaced
}

// Spec describes the sandbox of one command. All paths are absolute. For a folder inside another one, the inner entry decides.
type Spec struct {
	Dir         string   // the working folder; it must be in a visible folder
	Writable    []string // the workspace and roots that may be written
	Readable    []string // roots that may only be read
	Hidden      []string // files and folders inside those that stay invisible; a path that does not exist at the start is not hidden
	ScratchOnly bool     // true: only Scratch may be written of everything that outlives the sandbox
	Scratch     string   // a writable folder, possibly inside a hidden one; it must exist. "": none
	Offline     bool     // no network, even if Config.Network or Online opens it
	Online      bool     // the machine's network, even if Config.Network does not open it
}

// Errors of Wrap and Fits.
var (
	ErrNone = errors.New("commands cannot be confined here")
	ErrSpec = errors.New("this sandbox cannot be made")
)

// State describes how commands are confined on this machine. "hob status" and "hob doctor" show it.
type State struct {
	Kind    string   `json:"kind"` // bubblewrap, sandbox-exec, none
	Mode    Mode     `json:"mode"`
	Works   bool     `json:"works"`
	Network bool     `json:"network"`           // commands can reach the machine's network
	Sockets bool     `json:"sockets,omitempty"` // commands can reach the owner's unix sockets in their folders
	Bound   string   `json:"bound,omitempty"`   // what enforces the limits of memory and processes
	Layers  []string `json:"layers,omitempty"`  // what confines, for example "pid namespace" or "landlock"
	Why     string   `json:"why,omitempty"`     // what does not work, or what a working sandbox lacks
	Hint    string   `json:"hint,omitempty"`    // how to fix it
	Probing bool     `json:"probing,omitempty"` // the probe still runs; only Mode is known, and Network from the config
}

// Sandbox confines processes. It is safe for concurrent use.
type Sandbox struct {
	conf  Config
	fixed []fixed        // Roots and Binds, as New found them
	probe func() finding // runs once, at the first use
	known chan struct{}  // closed when the probe has ended
	begun *atomic.Int64  // when it began, in Unix nanoseconds; 0: not yet
}

// wrapper makes the Command for a layout. It takes over what l holds open.
type wrapper func(l layout, argv, env []string) (*Command, error)

// finding is the result of the probe.
type finding struct {
	state State
	wrap  wrapper  // nil: commands cannot be confined
	own   []string // the programs that make the sandbox, which no sandbox may write
	above string   // the control group in which sandboxes get theirs; "": none
}

// New makes a sandbox. The probe, a real run of bwrap or sandbox-exec, happens at the first use; call State early to avoid that wait
// later. New never fails: State says what is missing.
func New(ctx context.Context, c Config) *Sandbox {
	c.Mode = cmp.Or(c.Mode, Auto)
	if c.Memory == 0 {
		c.Memory = halfMemory()
	}
	ctx = context.WithoutCancel(ctx) // the probe has its own timeouts
	known, begun := make(chan struct{}), new(atomic.Int64)
	return &Sandbox{c, fix(c), sync.OnceValue(func() finding {
		defer close(known)
		begun.Store(time.Now().UnixNano())
		return look(ctx, c)
	}), known, begun}
}

// look probes the machine and adds the limits that apply.
func look(ctx context.Context, c Config) (f finding) {
	var above string
	var err error
	if c.Mode == Off {
		f.state = State{Kind: "none", Why: "switched off", Hint: `set [tools.exec] sandbox = "auto" or "require"`}
	} else {
		above, err = delegated()
		c.watched = err != nil
		f = find(ctx, c)
	}
	if f.state.Works && maxProcesses > 0 {
		if err == nil {
			f.above, f.state.Bound = above, fmt.Sprintf("%s of memory and %d processes, by a control group", inMB(c.Memory), maxProcesses)
		} else {
			f.state.Bound = fmt.Sprintf("%s of memory and %d processes, by a watcher (%v)", inMB(c.Memory), maxProcesses, err)
		}
	} else if f.state.Works {
		f.state.Bound = "what the machine has: nothing limits memory and processes on this system"
	}
	f.state.Mode = c.Mode
	f.state.Network = c.Network || !f.state.Works
	f.state.Sockets = c.Sockets || !f.state.Works
	return f
}

// State describes how commands are confined. The caller may keep the result.
func (s *Sandbox) State() State {
	state := s.probe().state
	state.Layers = slices.Clone(state.Layers)
	return state
}

// Now is State without its wait. While the probe runs, and before somebody has called State, it returns a state with Probing set. If the
// probe takes longer than it should, Why says so. The caller may keep the result.
func (s *Sandbox) Now() State {
	select {
	case <-s.known:
	default:
		if s.conf.Mode != Off { // which needs no probe
			now := State{Mode: s.conf.Mode, Network: s.conf.Network, Probing: true}
			if began := s.begun.Load(); began != 0 && time.Since(time.Unix(0, began)) > slowProbe {
				now.Why = fmt.Sprintf("this takes more than %s: the machine is very busy, or the program that makes the sandbox hangs", slowProbe)
			}
			return now
		}
	}
	return s.State()
}

// ShowsSystem reports whether every sandbox shows a path because it belongs to the system.
func ShowsSystem(path string) bool {
	return slices.ContainsFunc(append(systemFolders(), "/proc", "/sys", "/dev"), func(dir string) bool { return within(dir, path) })
}

// slowProbe is longer than a probe takes on an idle machine, by far.
const slowProbe = 10 * time.Second

// Works reports whether Wrap can confine commands.
func (s *Sandbox) Works() bool { return s.probe().state.Works }

// Required reports whether the config forbids commands outside of a sandbox.
func (s *Sandbox) Required() bool { return s.conf.Mode == Require }

// Fits reports whether a command could run in this sandbox. It returns the error that Wrap would return.
func (s *Sandbox) Fits(b Spec) error {
	l, _, err := s.layout(b)
	return errors.Join(err, l.release())
}

// layout resolves a Spec and opens its folders.
func (s *Sandbox) layout(b Spec) (layout, wrapper, error) {
	f := s.probe()
	if f.wrap == nil {
		return layout{}, nil, ErrNone
	}
	l, err := s.lay(b, f.own)
	return l, f.wrap, err
}

// Wrap returns a Command that runs argv confined, with env as its environment. Streams and exit code are those of argv (128 + n for
// signal n). Signals to the caller's process group do not reach it, but it and all of its children die with its parent. A terminal that
// was made for it and is its stdin becomes its controlling terminal.
//
// The caller leaves out environment variables that name folders which are not visible inside, TMPDIR above all.
//
// Errors: ErrNone if Works is false; ErrSpec, with the reason, for a sandbox that cannot be made; ErrChanged if a root or bind was
// replaced since New; ErrMoved if something was replaced during the call.
func (s *Sandbox) Wrap(b Spec, argv, env []string) (*Command, error) {
	l, wrap, err := s.layout(b)
	if err == nil {
		var c *Command
		if c, err = wrap(l, argv, env); err == nil {
			c.Bound = &Bound{memory: s.conf.Memory, above: s.probe().above}
			return c, nil
		}
	}
	return nil, errors.Join(err, l.release())
}

// PrivateFolders lists the empty folders that each sandbox has for itself and may write. home is the owner's, or "".
func PrivateFolders(home string) []string {
	list := []string{"/dev/shm", "/tmp", "/var/tmp", "/run"}
	if home != "" {
		list = append(list, home)
	}
	return list
}
