// Package runtime holds the tools that run programs: exec (one shell command), process (commands in
// the background) and tmux (terminals that outlive hob).
//
// A call of exec passes through these steps: site decides where the command runs (host, sandbox,
// folder) and whose text its output will be; bind lists the files that an approval covers; intent
// hands all of this to the permission rules. If the permission rules allow the call, run builds an order, proc.supervise
// starts the process and collects its output, and report turns the end into a result. After a
// while, or on request, the Registry adopts the process: it goes on in the background, and its end
// becomes a Report to the session that started it.
//
// The package starts and ends processes. It never decides about permission, and passes none of
// hob's secrets on to programs.
package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/tools"
)

// maxCommand is the maximum length of one argument on Linux (MAX_ARG_STRLEN), less one byte for its
// terminator.
const maxCommand = 128<<10 - 1

// Limits are keys of [tools.exec]. Zero values mean the defaults, which each field names.
type Limits struct {
	Timeout       time.Duration // when the call sets none; 30 min
	Least         time.Duration // minimum; a smaller timeout is raised to it; 10 s
	Most          time.Duration // maximum; a larger timeout is lowered to it; 24 h
	Yield         time.Duration // a foreground command moves to the background after this; 2 min
	Life          time.Duration // time limit of a background process whose call sets no timeout; 1 h
	Background    int           // processes in the background at once; 10
	Keep          int           // characters of output shown; 100,000
	Preview       int           // characters of a background process's output shown at a time; 10,000
	ArtifactBytes int           // bytes of output stored as an artifact; 10 MB
	Grace         time.Duration // between TERM and KILL; 800 ms
}

// filled replaces zero values by the defaults.
func (l Limits) filled() Limits {
	return Limits{
		Timeout: cmp.Or(l.Timeout, 30*time.Minute), Least: cmp.Or(l.Least, 10*time.Second), Most: cmp.Or(l.Most, 24*time.Hour),
		Yield: cmp.Or(l.Yield, 2*time.Minute), Life: cmp.Or(l.Life, time.Hour), Background: cmp.Or(l.Background, 10),
		Keep: cmp.Or(l.Keep, 100_000), Preview: cmp.Or(l.Preview, 10_000), ArtifactBytes: cmp.Or(l.ArtifactBytes, 10<<20), Grace: cmp.Or(l.Grace, stopGrace),
	}
}

// Artifacts stores whole outputs on disk. It does not retain data after a call returns. If it also has a method Create (see recording), an output
// is written while its command runs.
type Artifacts interface {
	// Keep stores data under a name for people and returns its id.
	Keep(ctx context.Context, name string, data []byte) (id string, err error)
	// KeepForeign does the same for foreign text; source briefly says where the text comes from.
	KeepForeign(ctx context.Context, name, source string, data []byte) (id string, err error)
}

// ExecDeps holds the dependencies and settings of the tools exec and process.
type ExecDeps struct {
	Guard     *fsguard.Guard
	Artifacts Artifacts
	Spawn     *sys.Group
	Registry  *Registry        // background commands; one for the life of the daemon. nil: nothing runs in the background
	Sandbox   *sandbox.Sandbox // nil: commands are not confined
	Hosts     map[string]Host  // by name
	Marked    func() []string  // paths that hold foreign text, absolute; nil: there are none
	Environ   []string         // hob's own environment; commands inherit little of it
	Instance  string           // marks this instance's processes for KillOrphans; no slash in it
	Limits    Limits
	SSH       []string // the command line of ssh; nil: "ssh" with the owner's own configuration
}

// ExecInput is the input of exec.
type ExecInput struct {
	Command     string            `json:"command" jsonschema:"shell command" min:"1"`
	Description string            `json:"description,omitempty" jsonschema:"its purpose"`
	Workdir     string            `json:"workdir,omitempty" jsonschema:"folder to run in"`
	Env         map[string]string `json:"env,omitempty" jsonschema:"variables"`
	Timeout     *int              `json:"timeout,omitempty" jsonschema:"seconds, 10 to 86400"`
	Background  bool              `json:"background,omitempty" jsonschema:"do not wait"`
	PTY         bool              `json:"pty,omitempty" jsonschema:"in a terminal"`
	Host        string            `json:"host,omitempty" jsonschema:"a configured machine"`
	Network     bool              `json:"network,omitempty" jsonschema:"with network: asks"`
	Outside     bool              `json:"outside,omitempty" jsonschema:"without sandbox: asks"`
}

// ExecOutput is the output of exec.
type ExecOutput struct {
	ExitCode   *int   `json:"exit_code,omitempty" jsonschema:"exit code; 128 + the signal when one ended it; missing while it runs"`
	ProcessID  string `json:"process_id,omitempty" jsonschema:"of a command that goes on in the background"`
	DurationMS int64  `json:"duration_ms" jsonschema:"how long it has run"`
	Output     string `json:"output" jsonschema:"stdout and stderr in the order they came"`
	Truncated  bool   `json:"truncated,omitempty" jsonschema:"the middle of the output is cut out"`
	Artifact   string `json:"artifact,omitempty" jsonschema:"id of the whole output, for result_read"`
	TimedOut   bool   `json:"timed_out,omitempty" jsonschema:"it was ended because it took too long"`
	Cwd        string `json:"cwd,omitempty" jsonschema:"the folder it ran in, on this machine"`
	Host       string `json:"host,omitempty" jsonschema:"the machine it ran on, when that is another one"`
}

// Ran returns the folder of the command, and its exit code if it has ended.
func (o ExecOutput) Ran() (cwd string, exit *int) { return o.Cwd, o.ExitCode }

// NewExec builds the tool exec, which runs one shell command in a session of its own. No process of
// a foreground command outlives the call, unless the command takes longer than Limits.Yield: then
// it continues in the background. The shell is bash, else sh. On Windows it is cmd /C, whose
// commands package inspect cannot read, so the five denials do not apply there.
func NewExec(d ExecDeps) tools.Tool {
	d.Limits = d.Limits.filled()
	e := executor{d, shellArgs(d.Sandbox.Program)}
	where := "" // in the documents
	if d.Sandbox != nil {
		where = whereItRuns(d.Sandbox.Now())
	}
	return traced{tools.New[ExecInput, ExecOutput](tools.Spec{
		Name: "exec", Group: "runtime", Core: true, SelfPaging: true, Positional: "command", Example: "'df -h'",
		Description: "Run a shell command; after " + spanText(d.Limits.Yield) + " it becomes a process." + where,
	}, e.intent, e.run), e.traces}
}

// whereItRuns tells a model where its commands run, in one sentence.
func whereItRuns(now sandbox.State) string {
	switch {
	case now.Mode == sandbox.Off:
		return " It runs on the machine itself."
	case now.Network:
		return " It runs in a sandbox: only the workspace stays."
	}
	return " It runs in a sandbox: only the workspace stays, no network."
}

// executor implements exec, and serves the tool process.
type executor struct {
	ExecDeps
	shell []string // the arguments before the command; nil: there is no shell
}

// shellArgs returns the beginning of every command line, or nil if there is no shell.
func shellArgs(look func(string) (string, error)) []string {
	if goruntime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	if shell := shell(look); shell != "" {
		return []string{shell, "-c", "--"} // a command may begin with a hyphen
	}
	return nil
}

// intent describes the call to the permission rules. The canonical bytes hold everything that an approval
// depends on, including the hashes of the files that the command names.
func (e executor) intent(_ context.Context, call tools.Call, in ExecInput) (tools.Intent, error) {
	if err := validate(in); err != nil {
		return tools.Intent{}, err
	}
	at, err := e.site(call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	bound := bind(e, at, in)
	canonical, err := tools.Canonical(struct {
		Tool       string    `json:"tool"`
		Argv       []string  `json:"argv"`
		Cwd        string    `json:"cwd"`
		CwdID      string    `json:"cwd_id"`
		Env        []string  `json:"env"`
		Where      string    `json:"where"`
		Address    string    `json:"address,omitempty"`
		Network    bool      `json:"network,omitempty"`
		Background bool      `json:"background,omitempty"`
		PTY        bool      `json:"pty,omitempty"`
		Files      []named   `json:"files,omitempty"`
		More       *manifest `json:"more,omitempty"` // the files that are not listed
	}{
		"exec", append(slices.Clone(e.shell), in.Command), at.cwd, at.cwdID(), environPairs(in.Env),
		at.where(), e.Hosts[at.host].Address, at.network, in.Background, in.PTY, bound.files, bound.rest,
	})
	v := at.inspect(e, in)
	if in.Outside && call.Tainted {
		v.Denied = "after foreign text no command may run outside the sandbox"
	}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		if Steering(name) {
			v.Warnings = append(v.Warnings, "sets "+brief(name+"="+in.Env[name])+", which can make programs run other code")
		}
	}
	scopes := at.scopes(call)
	if !at.sandboxed && at.host == "" && slices.ContainsFunc(slices.Collect(maps.Keys(in.Env)), Loading) && !slices.Contains(scopes, tools.Config) {
		scopes = append(scopes, tools.Config) // a grant of the shell does not cover this: the owner must see it
	}
	i := tools.Intent{
		Effect: tools.Once, Scopes: scopes, Sandboxed: at.sandboxed, Foreign: at.foreign, Confirm: at.confirm,
		Summary: "run: " + brief(in.Command), Canonical: canonical, Warnings: v.Warnings, Unbound: bound.unbound, Denied: v.Denied, Keep: at,
	}
	if at.host != "" {
		i.Summary, i.Hosts = "run on "+at.host+": "+brief(in.Command), []string{e.Hosts[at.host].Address}
	} else {
		reads := call.Tainted || at.folder.Area == fsguard.RootRO || at.sandboxed && inAny(fsguard.ForeignFolders(e.Guard.Workspace()), at.cwd)
		i.Paths = []tools.Path{tools.PathOf(*at.folder, !reads)}
		i.Paths = append(i.Paths, e.looseLocks(at, call)...)
		if at.unsure {
			i.Paths[0].Area = tools.Sensitive
			i.Warnings = append(i.Warnings, "the folder is too large to be looked through for keys: the command may see some")
		}
	}
	return i, err
}

// looseLocks lists the locked workspace files that a command in the sandbox could change in spite of their read-only mount. The permission rules
// ask about them.
func (e executor) looseLocks(at *site, call tools.Call) []tools.Path {
	var list []tools.Path
	if at.sandboxed && !call.Tainted {
		for _, l := range fsguard.Locks(e.Guard) {
			if l.Loose {
				list = append(list, tools.Path{Path: l.Path, Write: true, Area: tools.Workspace})
			}
		}
	}
	return list
}

// hiddenSecret is the hint for a call that contains a placeholder instead of a secret.
const hiddenSecret = "it stands for a value that you were not shown: let the program read it where it is kept"

// validate refuses commands that a shell cannot be given, and commands in which a placeholder has
// replaced a secret.
func validate(in ExecInput) error {
	if len(in.Command) > maxCommand {
		return tools.Refuse(tools.Validation, "write it to a file and run that", "the command is longer than %d KB", (maxCommand+1)>>10)
	}
	if strings.ContainsRune(in.Command, 0) {
		return tools.Refuse(tools.Validation, "", "the command holds a NUL byte")
	}
	if name := secret.Placeholder(nil, []byte(in.Command)); name != "" {
		return tools.Refuse(tools.Validation, hiddenSecret, "the command holds the placeholder %s", name)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		if bad := badVariable(name); bad != "" {
			return tools.Refuse(tools.Validation, "", "env.%s: %s", strings.ToValidUTF8(name, "?"), bad)
		}
		if strings.ContainsRune(in.Env[name], 0) {
			return tools.Refuse(tools.Validation, "", "env.%s holds a NUL byte", name)
		}
		if mark := secret.Placeholder(nil, []byte(in.Env[name])); mark != "" {
			return tools.Refuse(tools.Validation, hiddenSecret, "env.%s holds the placeholder %s", name, mark)
		}
	}
	return nil
}

// folder resolves the working folder of a command on this machine.
func (e executor) folder(call tools.Call, in ExecInput) (fsguard.Place, error) {
	p, err := e.Guard.Resolve(call.Workdir, cmp.Or(in.Workdir, "."))
	if err != nil {
		return p, tools.Refuse(tools.Validation, "", "workdir: %v", err)
	}
	switch {
	case p.Area == fsguard.State:
		return p, tools.Refuse(tools.Denied, "", "workdir: this is hob's own state; no tool may reach it")
	case !p.Exists():
		return p, tools.Refuse(tools.NotFound, "mkdir -p makes it", "workdir: there is no folder %s", p.Path)
	case !p.IsDir():
		return p, tools.Refuse(tools.Validation, "", "workdir: %s is %s, not a folder", p.Path, fsguard.Kind(p.Info.Mode()))
	}
	return p, nil
}

// run starts the command and waits for it, or moves it to the background at once.
func (e executor) run(ctx context.Context, call tools.Call, in ExecInput, intent tools.Intent) (tools.Result, error) {
	if err := validate(in); err != nil {
		return tools.Result{}, err
	}
	at, ok := intent.Keep.(*site)
	if !ok {
		var err error
		if at, err = e.site(call, in); err != nil {
			return tools.Result{}, err
		}
	}
	if v := at.inspect(e, in); v.Denied != "" {
		return tools.Fail(tools.Denied, "", "%s", v.Denied), nil
	}
	p, err := e.ready(ctx, call, in, at)
	if err != nil {
		return tools.Result{}, err
	}
	if in.Background {
		if err := e.Registry.adopt(p, e.Limits.Background); err != nil {
			return tools.Result{}, err
		}
	}
	defer e.Registry.track(p.text)()
	if err := p.start(e.Spawn, e.Guard); err != nil {
		if in.Background {
			e.Registry.drop(p)
		}
		if errors.Is(err, fsguard.ErrMoved) || errors.Is(err, fs.ErrNotExist) && at.folder != nil && !at.sandboxed {
			return tools.Fail(tools.Conflict, "look again, then repeat the call", "the folder %s changed before the command started", at.cwd), nil
		}
		return tools.Result{}, err
	}
	if in.Background {
		return e.backgroundResult(p, ""), nil
	}
	return e.wait(ctx, p), nil
}

// What a command has printed is shown while it runs: how often it is looked for, and at most how many of its newest bytes.
const (
	showInterval = 250 * time.Millisecond
	shownBytes   = 4 << 10
)

// ready prepares a command for its start.
func (e executor) ready(ctx context.Context, call tools.Call, in ExecInput, at *site) (*proc, error) {
	mark := e.Instance + "/" + call.ID + "/" + sys.RandomIDs().Code(16)
	env := newEnviron(e.Environ, environSetting{Home: e.Guard.Home(), Zone: call.Zone, Cwd: at.cwd, Mark: mark, Sandboxed: at.sandboxed, PTY: in.PTY, Remote: at.host != ""}, in.Env)
	o, err := e.line(call, in, at, env)
	if err != nil {
		return nil, err
	}
	limit, note := e.limit(in)
	o.folder, o.mark, o.limit, o.grace, o.pty, o.input = at.folder, CallMark+"="+mark, limit, e.Limits.Grace, in.PTY, in.Background || at.host != ""
	o.activeSandboxes = e.Registry.sandboxes()
	p := newProc(o, request{call, at, brief(in.Command), note, in.Timeout != nil}, newRecording(e.Artifacts, e.Limits))
	p.text.recheck = func() bool { return e.noticeForeign(p) }
	p.text.named = func(path string) bool { return len(e.wroteNames(at, func() []string { return []string{path} })) > 0 }
	detached := context.WithoutCancel(ctx)
	p.notify = func(end *ended) error { return e.notify(detached, p, end) }
	return p, nil
}

// wait waits for a foreground command. After Limits.Yield the command moves to the background if
// there is room; else wait goes on waiting.
func (e executor) wait(ctx context.Context, p *proc) tools.Result {
	patience := time.NewTimer(e.Limits.Yield)
	defer patience.Stop()
	var look <-chan time.Time
	if p.request.by.Live != nil {
		ticker := time.NewTicker(showInterval)
		defer ticker.Stop()
		look = ticker.C
	}
	for shown := int64(0); ; {
		select {
		case <-look:
			if total := p.out.total(); total != shown {
				shown = total
				p.request.by.Live(p.out.recent(shownBytes))
			}
		case <-p.done:
			return e.report(ctx, p)
		case <-ctx.Done():
			p.stop(stop{cancelled, e.Limits.Grace})
			<-p.done
			return e.report(ctx, p)
		case <-patience.C:
			err := e.Registry.adopt(p, e.Limits.Background)
			if err == nil {
				return e.backgroundResult(p, "still running after "+spanText(e.Limits.Yield)+": ")
			}
			if !errors.Is(err, errEnded) {
				p.request.note = joinNotes(p.request.note, "it was waited for: "+tools.ErrorResult(err).Content)
			}
		}
	}
}

// limit returns how long the command may run, and a note if the requested timeout was changed.
func (e executor) limit(in ExecInput) (time.Duration, string) {
	if in.Timeout == nil {
		return e.Limits.Timeout, ""
	}
	const most = math.MaxInt32 // seconds, 68 years: time.Duration does not overflow
	switch d := time.Duration(min(max(*in.Timeout, 0), most)) * time.Second; {
	case d < e.Limits.Least:
		return e.Limits.Least, fmt.Sprintf("timeout raised to %s", spanText(e.Limits.Least))
	case d > e.Limits.Most:
		return e.Limits.Most, fmt.Sprintf("timeout lowered to %s", spanText(e.Limits.Most))
	default:
		return d, ""
	}
}
