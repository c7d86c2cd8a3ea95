// Package sandbox says how a child process is confined on this operating system: bubblewrap on Linux, with a second layer of
// Landlock and seccomp that hob's own executable puts on before it becomes the command; sandbox-exec on macOS. It makes command
// lines; it starts nothing but its own probe, and decides nothing about permission.
//
// The program that makes the sandbox runs outside of it, so nothing of the command reaches it: neither its environment nor its
// command line. Both go through a descriptor to the package entry, which hob's executable runs inside.
//
// Inside, a command sees the system's folders read only, an empty home and empty temporary folders that vanish with it, and of
// the rest only what its Box names. It never sees hob's state folder.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Mode says what is done where commands cannot be confined.
type Mode string

// The modes of [tools.exec] sandbox.
const (
	Require Mode = "require" // no command runs unconfined
	Auto    Mode = "auto"    // the owner is asked for each; also ""
	Off     Mode = "off"     // commands are not confined
)

// Config is what all boxes have in common.
type Config struct {
	Mode    Mode
	Home    string // the owner's home, absolute: not visible inside but for what is bound; "": not known
	State   string // hob's state folder, absolute: never visible, also when a bind or root would hold it
	Binds   []Bind // what is visible beside the boxes' own folders; what does not exist is passed over
	Roots   []Bind // the workspace and the configured roots: what boxes may name. They stay what they are when the sandbox is made
	Memory  int64  // bytes that the processes of a box may take together, and its temporary folders too; 0: half of the machine's
	Network bool   // the machine's network, its loopback among it; else a box has a loopback of its own and no more
	Self    string // hob's own executable, which enters the boxes; "" confines nothing
}

// Bind opens a file or folder to every box.
type Bind struct {
	Path  string // absolute
	Write bool
}

// Box is one confined process. All paths are absolute; a folder inside another one is ruled by its own line.
type Box struct {
	Dir      string   // the working folder, inside one of the visible folders
	Writable []string // the workspace, roots that may be written
	Readable []string // roots that may only be read
	Hidden   []string // files and folders inside those that are not to be seen; what does not exist at the start is not hidden
	Sealed   bool     // nothing that outlives the box may be written but Scratch
	Scratch  string   // "" or a folder that may be written, also inside a hidden one; it must exist
}

// What Wrap says no to.
var (
	ErrNone = errors.New("commands cannot be confined here")
	ErrBox  = errors.New("not a usable box")
)

// State is how commands are confined here.
type State struct {
	Kind    string   `json:"kind"` // bubblewrap, sandbox-exec, none
	Mode    Mode     `json:"mode"`
	Works   bool     `json:"works"`
	Network bool     `json:"network"`          // the machine's network can be reached from inside
	Bound   string   `json:"bound,omitempty"`  // what keeps memory and processes within limits
	Layers  []string `json:"layers,omitempty"` // what confines: "pid namespace", "landlock" …
	Why     string   `json:"why,omitempty"`    // what does not work, or is missing from what does
	Hint    string   `json:"hint,omitempty"`   // how to mend it
}

// Sandbox confines processes. It is safe for concurrent use.
type Sandbox struct {
	conf  Config
	fixed []fixed        // Roots and Binds
	probe func() finding // runs once, at the first use
}

// wrapper makes what starts a command in a box.
// It takes over what l holds.
type wrapper func(l layout, argv, env []string) (*Command, error)

// finding is how commands can be confined.
type finding struct {
	state State
	wrap  wrapper  // nil: nothing here confines
	own   []string // programs that take part, which no box may write
	above string   // the control group that boxes get theirs in; "": none
}

// New makes a sandbox. How commands can be confined here it finds out by really running it, at the first use; whoever does not
// want to wait for that then, asks for State early. It never fails: what is missing is in State.
func New(ctx context.Context, c Config) *Sandbox {
	if c.Mode == "" {
		c.Mode = Auto
	}
	if c.Memory == 0 {
		c.Memory = halfMemory()
	}
	ctx = context.WithoutCancel(ctx) // the probe has times of its own
	return &Sandbox{c, fix(c), sync.OnceValue(func() finding { return look(ctx, c) })}
}

func look(ctx context.Context, c Config) (f finding) {
	if c.Mode == Off {
		f.state = State{Kind: "none", Why: "switched off", Hint: `set [tools.exec] sandbox = "auto" or "require"`}
	} else {
		f = find(ctx, c)
	}
	if f.state.Works && maxProcesses > 0 {
		var err error
		if f.above, err = delegated(); err == nil {
			f.state.Bound = fmt.Sprintf("%s of memory and %d processes, by a control group", inMB(c.Memory), maxProcesses)
		} else {
			f.above = ""
			f.state.Bound = fmt.Sprintf("%s of memory and %d processes, by a watcher (%v)", inMB(c.Memory), maxProcesses, err)
		}
	} else if f.state.Works {
		f.state.Bound = "what the machine has: nothing limits memory and processes on this system"
	}
	f.state.Mode = c.Mode
	f.state.Network = c.Network || !f.state.Works
	return f
}

// State is how commands are confined. The caller may keep it.
func (s *Sandbox) State() State {
	state := s.probe().state
	state.Layers = slices.Clone(state.Layers)
	return state
}

// Works says whether Wrap confines.
func (s *Sandbox) Works() bool { return s.probe().state.Works }

// Required says whether no command may run unconfined.
func (s *Sandbox) Required() bool { return s.conf.Mode == Require }

// Fits says whether a command could be run in a box: nil, or what Wrap would say.
func (s *Sandbox) Fits(b Box) error {
	l, _, err := s.layout(b)
	return errors.Join(err, l.release())
}

// layout resolves a box, and holds what it shows.
func (s *Sandbox) layout(b Box) (layout, wrapper, error) {
	f := s.probe()
	if f.wrap == nil {
		return layout{}, nil, ErrNone
	}
	l, err := s.lay(b, f.own)
	return l, f.wrap, err
}

// Wrap makes what runs argv confined, with env for its environment. Streams and exit code are those of argv (128 + n for the
// signal n); the caller's process group does not reach it, but it dies with its parent, and all of its children with it. A terminal on
// its stdin, which was made for it, becomes its controlling one. A
// variable of the environment that names a folder which is not visible inside, TMPDIR above all, is the caller's to leave out.
// ErrNone where Works is false; ErrBox, with what is wrong, for a box that cannot be made; ErrChanged for a root or bind that was
// replaced; ErrMoved where something was replaced at this moment.
func (s *Sandbox) Wrap(b Box, argv, env []string) (*Command, error) {
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
