package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/tools"
)

// Reasons why files that a command wrote count as foreign text.
const (
	byTainted   = "written by a turn that had read foreign text"
	byUnboxed   = "written by a command outside the sandbox"
	byNetworked = "written by a command with network access"
	byInput     = "written by a command that a turn with foreign text wrote to"
	bySight     = "written by a command that could see foreign files"
	byNames     = "written by a command that could see the name of a foreign file"
)

// Reasons why an output counts as foreign text although it did not when its command started.
const (
	afterInput = "output of a command that a turn with foreign text wrote to"
	seesFiles  = "output of a command that sees foreign files"
)

// site is the place where a command runs (this machine or a host, folder, sandbox) and everything
// that follows from it: what the command can see and reach, and whose text its output and files
// will be. The intent creates it, and the run uses the same one.
type site struct {
	host      string         // configured name of a remote host; "": this machine
	folder    *fsguard.Place // the working folder on this machine; nil on a host
	cwd       string         // path of the working folder
	sandboxed bool           // it runs in the sandbox
	sandbox   sandbox.Spec
	network   bool              // it has network access, or reaches programs through the owner's sockets
	own       bool              // the folder holds hob's own configuration, or is next to it
	open      bool              // it contains too many files with foreign text to hide them
	unsure    bool              // the folder may contain keys that were not found
	keys      []string          // what the last search for keys found
	searched  search            // that search
	inside    bool              // the folder is inside one with foreign text, which therefore cannot be hidden
	others    string            // the files of a foreign root or bind that the call names, in words; "" none
	bound     []string          // the binds, which the sandbox shows besides what its Spec names
	unnamed   []string          // binds that are hidden because the call does not name them
	foreign   string            // why its output is foreign text; "": it is not
	why       string            // why its files are foreign text; "": they are not
	confirm   string            // why the owner confirms the call; "": what the call asks for, the configuration gives
	covered   map[string]string // hidden foreign paths, with their versions at the start of the command
	names     []string          // what the sandbox shows of them: their names, and the targets of links
	command   string            // its text
}

// site decides where a command runs. It changes nothing.
func (e executor) site(call tools.Call, in ExecInput) (*site, error) {
	host, err := e.hostOf(in)
	if err != nil {
		return nil, err
	}
	if host != "" && (in.Network || in.Outside) {
		return nil, tools.Refuse(tools.Validation, "leave them out", "network and outside are about the sandbox of this machine; a command on the host %s has none", host)
	}
	if host != "" {
		return &site{host: host, network: true, foreign: "output of a command on " + host}, nil
	}
	p, err := e.folder(call, in)
	if err != nil {
		return nil, err
	}
	at := &site{folder: &p, cwd: p.Path, network: true, own: p.Own}
	if e.Sandbox != nil {
		if home := e.Sandbox.Own(); home != "" && below(p.Path, home) {
			at.own = true
		}
	}
	if err := e.confine(at, call, in); err != nil {
		return nil, err
	}
	if !at.sandboxed && strings.Contains(in.Command+at.cwd, "scripts") && names(e.Guard, at, in)(filepath.Join(e.Guard.Workspace(), skillsFolder)) {
		return nil, tools.Refuse(tools.ConfigError, "hob doctor says what the sandbox lacks here", "scripts of skills run only in the sandbox")
	}
	at.classify(call, in)
	return at, nil
}

// skillsFolder is the folder of the workspace with the skills.
const skillsFolder = "skills"

// classify decides whose text the command's output and files will be.
func (s *site) classify(call tools.Call, in ExecInput) {
	s.foreign, s.why = s.source(call, in), ""
	switch {
	case call.Tainted && !s.sandboxed:
		s.why = byTainted
	case !s.sandboxed:
		s.why = byUnboxed
	case s.network && !s.sandbox.ScratchOnly:
		s.why = byNetworked
	case s.open, s.foreign != "" && !s.sandbox.ScratchOnly:
		s.why = bySight
	}
}

// confine puts the command into the sandbox if the sandbox works and can show the folder. It fails
// if the configuration requires a sandbox and none is possible.
func (e executor) confine(at *site, call tools.Call, in ExecInput) error {
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
	if in.Outside {
		at.confirm = "the call asks to run outside the sandbox"
		if e.Sandbox.Required() {
			return tools.Refuse(tools.ConfigError, `[tools.exec] sandbox = "auto" lets the owner be asked`, `[tools.exec] sandbox = "require", so no command runs outside`)
		}
		return nil
	}
	if err := realFolders(fsguard.ForeignFolders(e.Guard.Workspace())); err != nil {
		return err
	}
	e.fill(at, call, in, intentKeyLimits())
	plain := at.sandbox
	plain.Scratch = "" // created only when the command runs
	switch err := e.Sandbox.Fits(plain); {
	case err == nil, at.sandbox.Scratch != "" && below(at.sandbox.Scratch, at.cwd), errors.Is(err, sandbox.ErrMoved): // the run checks again
		at.sandboxed, at.network = true, (state.Network || state.Sockets || in.Network) && !at.sandbox.Offline
		if in.Network && at.network && !state.Network {
			at.confirm = "the call asks for the network"
		}
		return nil
	case errors.Is(err, sandbox.ErrChanged):
		return tools.Refuse(tools.Conflict, "put it back, or restart hob to accept it as it is now", "a folder of [tools] roots or [tools.exec] binds was replaced: %v", err)
	case e.Sandbox.Required() || !errors.Is(err, sandbox.ErrSpec):
		return tools.Refuse(tools.Denied, "run it in the workspace, or in a folder of [tools] roots", "workdir: %v", err)
	default:
		return nil // the owner is asked, as for any command without a sandbox
	}
}

// maxCovered limits how many files and folders are hidden one by one, including the folders that
// must be held in place for it. At this number bubblewrap needs half a second to start, and the
// time grows with the square.
const maxCovered = 500

// intentKeyLimits bounds the search for keys during an intent: somebody waits for it. If the folder
// is too large for these limits, the owner is asked.
func intentKeyLimits() KeyLimits { return KeyLimits{Entries: 20_000, Time: 300 * time.Millisecond} }

// startKeyLimits bounds the second search, right before a start that comes later than keysFresh. It is larger, so that a busy
// machine does not find less than the first time.
func startKeyLimits() KeyLimits { return KeyLimits{Entries: 25_000, Time: 10 * time.Second} }

// fill decides what a command in the sandbox can see and write.
func (e executor) fill(at *site, call tools.Call, in ExecInput, most KeyLimits) {
	p := *at.folder
	b := sandbox.Spec{Dir: p.Path, Writable: []string{e.Guard.Workspace()}}
	calls := names(e.Guard, at, in)
	// What runs a skill's script has no network, and what has the network does not see the skills.
	skills := filepath.Join(e.Guard.Workspace(), skillsFolder)
	b.Online = in.Network
	if b.Offline = calls(skills); !b.Offline && (b.Online || e.Sandbox.State().Network || e.Sandbox.State().Sockets) {
		b.Hidden = append(b.Hidden, skills)
	}
	at.others, at.bound, at.unnamed = "", nil, nil
	for _, r := range e.Guard.Roots() {
		switch {
		case r.Write:
			b.Writable = append(b.Writable, r.Path)
		case r.Foreign && !calls(r.Path):
			b.Hidden = append(b.Hidden, r.Path) // in case another root shows it
		default:
			b.Readable = append(b.Readable, r.Path)
			if r.Foreign {
				at.others = "files of the foreign root " + r.Path
			}
		}
	}
	for _, bind := range e.Guard.Binds() {
		at.bound = append(at.bound, bind.Path)
		switch named := calls(bind.Path); {
		case named && !bind.Own:
			at.others = "files of the bind " + bind.Path
		case !named && bind.Data:
			b.Hidden, at.unnamed = append(b.Hidden, bind.Path), append(at.unnamed, bind.Path)
		}
	}
	if p.Area != fsguard.RootRO && !inAny(b.Writable, p.Path) {
		b.Writable = append(b.Writable, p.Path) // the permission rules have decided on it
	}
	if home := e.Sandbox.Own(); home != "" && !at.own && inAny(b.Writable, home) {
		b.Readable = append(b.Readable, home) // a root includes it, but the owner was not asked about it
	}
	if !at.searched.valid(p.Path) {
		at.searched = newSearch(p.Path)
		at.keys, at.unsure = e.keys(p, most)
	}
	b.Hidden = append(b.Hidden, at.keys...)
	// A workspace file that the owner has locked is a read-only mount of its own, which no command can replace or move.
	for _, l := range fsguard.Locks(e.Guard) {
		if inAny(b.Writable, l.Path) {
			b.Readable = append(b.Readable, l.Path)
		}
	}
	at.sandbox, at.covered, at.open, at.inside = b, nil, false, false
	if call.Tainted {
		at.sandbox.ScratchOnly, at.sandbox.Scratch = true, call.Scratch
		return
	}
	e.Registry.recheckAll()
	at.command = in.Command
	at.covered, at.names = e.foreignPaths(at, namesAttachments(in))
	maps.DeleteFunc(at.covered, func(path, _ string) bool {
		around := below(path, at.cwd)
		at.inside = at.inside || around
		return around
	})
	list := slices.Sorted(maps.Keys(at.covered))
	if at.open = at.mounts(list) > maxCovered; at.open {
		at.covered, list = nil, nil
	}
	at.sandbox.Hidden = append(at.sandbox.Hidden, list...)
	// A foreign folder that is not hidden becomes a separate read-only mount. Thereby it also
	// cannot be renamed, which would free its name for a folder or link of the command.
	foreign := fsguard.ForeignFolders(e.Guard.Workspace())
	at.sandbox.Writable = slices.DeleteFunc(at.sandbox.Writable, func(path string) bool { return inAny(foreign, path) })
	for _, dir := range foreign {
		if _, hidden := at.covered[dir]; !hidden {
			at.sandbox.Readable = append(at.sandbox.Readable, dir)
		}
	}
}

// keys lists the files and folders with keys that no sandbox shows unless the configuration opens
// them by name. It searches a working folder outside the roots completely (unsure: a limit stopped
// the search), and the roots for the well-known places only. A working folder that is itself a
// folder of keys does not count: the permission rules have asked for it.
func (e executor) keys(p fsguard.Place, most KeyLimits) (list []string, unsure bool) {
	whole := true
	if p.Area == fsguard.Outside {
		list, whole = KeysBelow(e.Guard, p.Path, most)
	}
	for _, r := range e.Guard.Roots() {
		list = append(list, KnownKeys(e.Guard, r.Path)...)
	}
	return slices.DeleteFunc(list, func(path string) bool { return below(path, p.Path) || e.Sandbox.Bound(path) }), !whole
}

// inAny reports whether path lies in one of the folders.
func inAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return below(d, path) })
}

// below reports whether path is dir or lies in it. Both are absolute and clean.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// names returns a function that reports whether a command refers to a folder or to something in it:
// by its working folder, by a word that resolves into it, or literally in its text.
func names(g *fsguard.Guard, at *site, in ExecInput) func(dir string) bool {
	words := sync.OnceValue(func() []string {
		list := []string{at.cwd}
		for _, word := range fileNames(in.Command, g.Home(), at.cwd, nil, in.Env).Files {
			if p, err := g.Resolve("", word); err == nil {
				list = append(list, p.Path)
			}
		}
		return list
	})
	return func(dir string) bool {
		short := dir
		if home := g.Home(); home != "" && below(home, dir) {
			short = "~" + dir[len(home):]
		}
		return strings.Contains(in.Command, dir) || strings.Contains(in.Command, short) || slices.ContainsFunc(words(), func(path string) bool { return below(dir, path) })
	}
}

// namesAttachments reports whether the text of a command contains the name of the attachment
// folder.
func namesAttachments(in ExecInput) bool {
	return strings.Contains(in.Command, fsguard.AttachmentFolder)
}

// source returns why the output may hold foreign text, or "".
func (s *site) source(call tools.Call, in ExecInput) string {
	switch {
	case !s.sandboxed:
		return "output of a command outside the sandbox"
	case s.network:
		return "output of a command with network access"
	case call.Tainted, s.open:
		return seesFiles
	case s.folder.Foreign != "":
		return s.folder.Foreign + ": " + s.cwd
	case s.inside:
		return seesFiles
	case s.others != "":
		return s.others
	case namesAttachments(in):
		return "attachments"
	}
	return ""
}

// shell returns the scopes of any command here, whatever its folder.
func (s *site) shell() []tools.Scope {
	if s.network {
		return []tools.Scope{tools.Exec, tools.Net}
	}
	return []tools.Scope{tools.Exec}
}

// scopes returns the scopes that the permission rules decide on. A folder outside all roots, or one that may
// hold keys, adds a scope of its own, so the owner is asked: for writing, or for reading if the
// turn is tainted. So does a folder that gives access to hob's configuration.
func (s *site) scopes(call tools.Call) []tools.Scope {
	list := s.shell()
	if s.folder != nil && (s.folder.Area == fsguard.Sensitive || s.sandboxed && s.folder.Area == fsguard.Outside) {
		if call.Tainted {
			list = append(list, tools.FSRead)
		} else {
			list = append(list, tools.FSWrite)
		}
	}
	if s.own {
		list = append(list, tools.Config)
	}
	return list
}

// where says for people where the command runs.
func (s *site) where() string {
	switch {
	case s.host != "":
		return "on " + s.host
	case s.sandboxed:
		return "in the sandbox"
	}
	return "outside the sandbox"
}

// cwdID identifies the working folder, so that an approval ends when another folder takes its
// place.
func (s *site) cwdID() string {
	if s.folder == nil {
		return ""
	}
	return s.folder.ID()
}

// inspect reads the command as the shell here would. The home on a host is unknown, so a
// placeholder takes its place.
func (s *site) inspect(e executor, in ExecInput) verdict {
	if s.host == "" {
		return inspectCommand(in.Command, e.Guard.Home(), s.cwd)
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
	return inspectCommand(in.Command, home, cwd)
}

// line builds the order for a command: a command line and its environment, or a sandbox around
// them.
func (e executor) line(call tools.Call, in ExecInput, at *site, env []string) (order, error) {
	if at.host != "" {
		argv, err := e.sshArgs(at.host, in)
		return order{argv: argv, env: env}, err
	}
	if e.shell == nil {
		return order{}, tools.Refuse(tools.ConfigError, "install bash or sh", "there is no shell on this machine")
	}
	o := order{argv: append(slices.Clone(e.shell), in.Command), env: env}
	if !at.sandboxed {
		return o, nil
	}
	if err := e.foreignFolders(at.sandbox.Scratch); err != nil {
		return o, err
	}
	// A question to the owner may have delayed the start by hours. So search again for what must be
	// hidden, and decide again whose text the command sees: its folder may carry a mark by now.
	asked := at.unsure
	if e.fill(at, call, in, startKeyLimits()); at.unsure && !asked {
		return o, tools.Refuse(tools.Conflict, "repeat the call: the owner is asked then", "the folder %s has grown too large to be looked through for keys", at.cwd)
	}
	at.folder.Foreign = cmp.Or(at.folder.Foreign, e.Guard.Foreign(at.cwd, at.folder.Area))
	at.classify(call, in)
	now, tried := *at, false
	o.wrap = func() (*sandbox.Command, error) {
		if tried { // something has moved in between
			now.searched = search{}
			e.fill(&now, call, in, startKeyLimits())
		}
		tried = true
		c, err := e.Sandbox.Wrap(now.sandbox, o.argv, o.env)
		if err != nil {
			return nil, fmt.Errorf("confine the command: %w", err)
		}
		return c, nil
	}
	return o, nil
}

// foreignFolders creates the folders that hold foreign text. A folder that does not exist cannot be
// hidden, and the command could create it. scratch is the command's own folder, or "".
func (e executor) foreignFolders(scratch string) error {
	list := fsguard.ForeignFolders(e.Guard.Workspace())
	if scratch != "" {
		list = append(list, scratch)
	}
	if err := realFolders(list); err != nil {
		return err
	}
	for _, dir := range list {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the folder %s: %w", dir, err)
		}
	}
	return nil
}

// realFolders refuses symbolic links in place of the folders for foreign text: their targets would
// not be hidden.
func realFolders(list []string) error {
	for _, dir := range list {
		if err := fsguard.RealFolder(dir); err != nil {
			return tools.Refuse(tools.ConfigError, "put a real folder in its place; what is there counts as foreign text", "%v", err)
		}
	}
	return nil
}
