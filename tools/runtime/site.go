package runtime

import (
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
	"hob/tools/runtime/inspect"
)

// Why files that a command wrote count as foreign.
const (
	byTainted   = "written by a turn that had read foreign text"
	byUnboxed   = "written by a command outside the sandbox"
	byNetworked = "written by a command with network access"
	byInput     = "written by a command that a turn with foreign text wrote to"
	bySight     = "written by a command that could see foreign files"
)

// Why an output counts as foreign although it did not when its command began.
const (
	afterInput = "output of a command that a turn with foreign text wrote to"
	seesFiles  = "output of a command that sees foreign files"
)

// site is where a command runs, and what follows from it.
type site struct {
	host    string         // name of a host; "": this machine
	folder  *fsguard.Place // on this machine
	cwd     string         // its path
	boxed   bool           // in the sandbox
	box     sandbox.Box
	network bool              // it can reach the network
	own     bool              // the folder holds hob's own configuration, or lies beside it
	open    bool              // the files with foreign text in it are too many to be hidden
	unsure  bool              // the folder may show keys that were not found
	inside  bool              // its folder lies in one that holds somebody else's text, and so cannot be hidden
	others  string            // what it shows of a foreign root, which the call names; "" nothing
	foreign string            // why its output is somebody else's text; "" when it is not
	why     string            // why what it writes is; "" when it is not
	covered map[string]string // what is hidden as foreign, by path, in the version that was there when the command began
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
	at := &site{folder: &p, cwd: p.Path, network: true, own: p.Own}
	if e.Sandbox != nil {
		if home := e.Sandbox.Own(); home != "" && below(p.Path, home) {
			at.own = true
		}
	}
	if err := e.confine(at, call, in); err != nil {
		return nil, err
	}
	at.judge(call, in)
	return at, nil
}

// judge says whose text the command's output and files will be.
func (s *site) judge(call tools.Call, in Command) {
	s.foreign, s.why = s.source(call, in), ""
	switch {
	case call.Tainted && !s.boxed:
		s.why = byTainted
	case !s.boxed:
		s.why = byUnboxed
	case s.network && !s.box.Sealed:
		s.why = byNetworked
	case s.open, s.foreign != "" && !s.box.Sealed:
		s.why = bySight
	}
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
	if err := realFolders(fsguard.ForeignFolders(e.Guard.Workspace())); err != nil {
		return err
	}
	e.fill(at, call, in, judging())
	plain := at.box
	plain.Scratch = "" // it is made when the command runs
	switch err := e.Sandbox.Fits(plain); {
	case err == nil, at.box.Scratch != "" && below(at.box.Scratch, at.cwd), errors.Is(err, sandbox.ErrMoved): // which is seen again when it runs
		at.boxed, at.network = true, state.Network
		return nil
	case errors.Is(err, sandbox.ErrChanged):
		return tools.Refuse(tools.Conflict, "put it back, or restart hob so that it is taken as it is now", "a folder of [tools] roots or [tools.exec] binds was replaced: %v", err)
	case e.Sandbox.Required() || !errors.Is(err, sandbox.ErrBox):
		return tools.Refuse(tools.Denied, "run it in the workspace, or in a folder of [tools] roots", "workdir: %v", err)
	default:
		return nil // the owner is asked, as wherever there is no sandbox
	}
}

// maxCovered is how many files and folders are hidden one by one, counting those that must be held in place for it. It costs bubblewrap
// half a second, and grows with the square.
const maxCovered = 500

// judging bounds the search for keys while a call is judged: somebody waits, and a folder that is too large for it is asked about.
func judging() KeyLimits { return KeyLimits{Entries: 20_000, Time: 300 * time.Millisecond} }

// starting bounds the search for keys once more, right before a command starts: a busy machine must not make it find less.
func starting() KeyLimits { return KeyLimits{Entries: 25_000, Time: 10 * time.Second} }

// fill says what a command in the sandbox sees.
func (e executor) fill(at *site, call tools.Call, in Command, most KeyLimits) {
	p := *at.folder
	b := sandbox.Box{Dir: p.Path, Writable: []string{e.Guard.Workspace()}}
	calls := names(e.Guard, at, in)
	at.others = ""
	for _, r := range e.Guard.Roots() {
		switch {
		case r.Write:
			b.Writable = append(b.Writable, r.Path)
		case r.Foreign && !calls(r.Path):
			b.Hidden = append(b.Hidden, r.Path) // where another root shows it
		default:
			b.Readable = append(b.Readable, r.Path)
			if r.Foreign {
				at.others = "files of the foreign root " + r.Path
			}
		}
	}
	if p.Area != fsguard.RootRO && !inAny(b.Writable, p.Path) {
		b.Writable = append(b.Writable, p.Path) // the gate was asked for it
	}
	if home := e.Sandbox.Own(); home != "" && !at.own && inAny(b.Writable, home) {
		b.Readable = append(b.Readable, home) // a root opens it; its own question was not asked
	}
	var secret []string
	secret, at.unsure = e.keys(p, most)
	b.Hidden = append(b.Hidden, secret...)
	at.box, at.covered, at.open, at.inside = b, nil, false, false
	if call.Tainted {
		at.box.Sealed, at.box.Scratch = true, call.Scratch
		return
	}
	e.Registry.look()
	at.covered = e.theirs(at, namesAttachments(in))
	maps.DeleteFunc(at.covered, func(path, _ string) bool {
		around := below(path, at.cwd)
		at.inside = at.inside || around
		return around
	})
	list := slices.Sorted(maps.Keys(at.covered))
	if at.open = at.mounts(list) > maxCovered; at.open {
		at.covered, list = nil, nil
	}
	at.box.Hidden = append(at.box.Hidden, list...)
	// A foreign folder that is not hidden is a view of its own that is read only. So it also cannot be renamed: its name would then be
	// free for a folder, or a link, of the command's own.
	foreign := fsguard.ForeignFolders(e.Guard.Workspace())
	at.box.Writable = slices.DeleteFunc(at.box.Writable, func(path string) bool { return inAny(foreign, path) })
	for _, dir := range foreign {
		if _, hidden := at.covered[dir]; !hidden {
			at.box.Readable = append(at.box.Readable, dir)
		}
	}
}

// mounts is how many places of a box it takes to hide a list: its own, and each folder on the way.
func (s *site) mounts(list []string) int {
	seen := map[string]bool{}
	for _, path := range list {
		for ; !seen[path] && (inAny(s.box.Writable, path) || inAny(s.box.Readable, path)); path = filepath.Dir(path) {
			seen[path] = true
		}
	}
	return len(seen)
}

// keys are the files and folders with keys that no box shows unless the configuration opens them by name: below a working folder that
// lies outside all that can be found (else it is unsure), below the roots the well-known ones. A folder of keys itself was asked for.
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

// theirs are the files and folders with somebody else's text that a box shows if nothing hides them, with their versions. The links
// among them are not: what they lead to is what counts.
func (e executor) theirs(at *site, attachments bool) map[string]string {
	list := []string{filepath.Join(e.Guard.Workspace(), fsguard.ScratchFolder)}
	if !attachments {
		list = append(list, filepath.Join(e.Guard.Workspace(), fsguard.AttachmentFolder))
	}
	if e.Marked != nil {
		list = append(list, e.Marked()...)
	}
	list = append(list, e.Registry.foreign(e.Guard)...)
	out := map[string]string{}
	for _, path := range list {
		if !inAny(at.box.Writable, path) && !inAny(at.box.Readable, path) {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			out[path] = FileVersion(info)
		}
	}
	return out
}

// sees says whether a command in the sandbox sees by now what was not foreign, or not there, when it began. What was covered then is
// seen again when another file has taken its place.
func (e executor) sees(at *site) bool {
	if !at.boxed || at.box.Sealed {
		return false
	}
	now := e.theirs(at, false)
	return slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(path string) bool { return !at.covers(path, now) })
}

// hides is how many files and folders are hidden from the command because they are marked as foreign. The folders that always hold foreign
// text do not count. Their names are not said: somebody else may have chosen them.
func (s *site) hides() (n int) {
	for path := range s.covered {
		if base := filepath.Base(path); base != fsguard.ScratchFolder && base != fsguard.AttachmentFolder {
			n++
		}
	}
	return n
}

// covers says whether a path, or a folder that it lies in, is hidden since the command began. now are the versions of today.
func (s *site) covers(path string, now map[string]string) bool {
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if was, ok := s.covered[dir]; ok && was == now[dir] {
			return true
		}
	}
	return false
}

func inAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return below(d, path) })
}

// below says whether path is dir or lies in it. Both are absolute and clean.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// names tells of a folder whether a command names it, or something in it: by its folder, by a word that leads there, or in its text.
func names(g *fsguard.Guard, at *site, in Command) func(dir string) bool {
	words := sync.OnceValue(func() []string {
		list := []string{at.cwd}
		for _, word := range inspect.Files(in.Command, g.Home(), at.cwd, nil, in.Env).Files {
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

func namesAttachments(in Command) bool { return strings.Contains(in.Command, fsguard.AttachmentFolder) }

// source says whose text the output may hold but the owner's; "" none.
func (s *site) source(call tools.Call, in Command) string {
	switch {
	case !s.boxed:
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
	default:
		return ""
	}
}

// shell are the scopes of running a command here, whatever its folder.
func (s *site) shell() []tools.Scope {
	if s.network {
		return []tools.Scope{tools.Exec, tools.Net}
	}
	return []tools.Scope{tools.Exec}
}

// scopes are what the gate judges. A folder that no root covers, or that may hold keys, is opened for writing, by a tainted turn for
// reading: that is a question of its own. So is one that opens hob's configuration.
func (s *site) scopes(call tools.Call) []tools.Scope {
	list := s.shell()
	if s.folder != nil && (s.folder.Area == fsguard.Sensitive || s.boxed && s.folder.Area == fsguard.Outside) {
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

// line makes what is started: a command line and its environment, or a command in the sandbox.
func (e executor) line(call tools.Call, in Command, at *site, env []string) (order, error) {
	if at.host != "" {
		argv, err := e.sshArgs(at.host, in)
		return order{argv: argv, env: env}, err
	}
	if e.shell == nil {
		return order{}, tools.Refuse(tools.ConfigError, "install bash or sh", "there is no shell on this machine")
	}
	o := order{argv: append(slices.Clone(e.shell), in.Command), env: env}
	if !at.boxed {
		return o, nil
	}
	if err := e.foreignFolders(at.box.Scratch); err != nil {
		return o, err
	}
	// Since the intent was made, a question may have waited for hours. What is to be hidden is looked for again, and so is whose text the
	// command sees: its folder may have been marked meanwhile.
	asked := at.unsure
	if e.fill(at, call, in, starting()); at.unsure && !asked {
		return o, tools.Refuse(tools.Conflict, "repeat the call: the owner is asked then", "the folder %s has grown too large to be looked through for keys", at.cwd)
	}
	at.folder.Foreign = or(at.folder.Foreign, e.Guard.Foreign(at.cwd, at.folder.Area))
	at.judge(call, in)
	now, tried := *at, false
	o.wrap = func() (*sandbox.Command, error) {
		if tried {
			e.fill(&now, call, in, starting())
		}
		tried = true
		c, err := e.Sandbox.Wrap(now.box, o.argv, o.env)
		if err != nil {
			return nil, fmt.Errorf("confine the command: %w", err)
		}
		return c, nil
	}
	return o, nil
}

// foreignFolders makes the folders that foreign text lies in: what is not there cannot be hidden, and a command could make it. scratch is
// the command's own, "" when it has none.
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

// realFolders refuses links in the place of folders that foreign text lies in: what lies where they lead is no more hidden.
func realFolders(list []string) error {
	for _, dir := range list {
		if err := fsguard.RealFolder(dir); err != nil {
			return tools.Refuse(tools.ConfigError, "put a real folder in its place; what is there counts as foreign text", "%v", err)
		}
	}
	return nil
}
