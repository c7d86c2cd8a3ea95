package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// What takes more memory here than bytes on the wire counts as so many bytes.
const (
	messageCost = 4 << 10  // each message
	requestCost = 32 << 10 // each request of a server, which hob answers
	batchCost   = 64       // times its size, a batch: it holds many messages
	stderrKept  = 2 << 10  // bytes of a program's stderr for an error
)

// errFlood is the error of a server that sends more than it may.
var errFlood = errors.New("it sends too much")

// open makes the wire of a server.
func (v *server) open(ctx context.Context) (wire, error) {
	if v.conf.URL != "" {
		return v.service(ctx)
	}
	return v.program(ctx)
}

// program is a server that hob has started.
type program struct {
	service *runtime.Service
	in      *gauge
	frame   int // bytes of one message
	out     *patient
	stray   *strays
	note    func(what string, line []byte) // of each line that is sent or received
	errs    tail
	file    string // what was started, see fileOf
	remove  string // a folder to remove at the end; "": none
	drained chan struct{}
}

// program starts the server's program in its sandbox.
func (v *server) program(ctx context.Context) (wire, error) {
	env, err := v.values(ctx, "env", v.conf.Env)
	if err != nil {
		return nil, err
	}
	p := &program{drained: make(chan struct{}), frame: v.svc.Limits.Frame, stray: &v.stray}
	p.note = func(what string, line []byte) { v.svc.Recorder.Line(subjectOf(v.name), what, line) }
	if p.remove, err = workFolder(v.svc); err != nil {
		return nil, err
	}
	spec, err := p.spec(ctx, v)
	if err != nil {
		return nil, errors.Join(err, p.clean())
	}
	spec.Env = env
	if p.service, err = v.svc.Registry.StartService(v.svc.Spawn, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec.Argv[0], err), p.clean())
	}
	p.in = newGauge(p.service.Out, v.svc)
	p.out = &patient{WriteCloser: p.service.In, most: v.svc.Limits.Write, late: func(err error) {
		p.in.stop(err)
		p.service.Stop()
	}}
	v.svc.Spawn.Once("MCP stderr", func() error { return p.drain(v.svc) })
	return p, nil
}

// spec is how the program is started: its command line, the folder that it works in, and its sandbox.
func (p *program) spec(ctx context.Context, v *server) (spec runtime.ServiceSpec, err error) {
	work, shown := filepath.Join(p.remove, "work"), filepath.Join(p.remove, "server")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(shown, 0o700)); err != nil {
		return spec, err
	}
	spec = runtime.ServiceSpec{Name: v.name, Dir: cmp.Or(v.home(v.conf.Cwd), work), Home: v.svc.Home, Instance: v.svc.Instance, Environ: v.svc.Environ}
	view := sandbox.Spec{Dir: spec.Dir, Writable: []string{spec.Dir}}
	var pins map[string]string
	if v.conf.Install != "" {
		spec.Argv, pins, err = p.installed(v, shown)
		view.Readable = []string{shown, spec.Argv[0]}
	} else if spec.Argv, err = v.lookUp(v.conf.Command); err == nil {
		p.file = fileOf(spec.Argv[0])
	}
	if err != nil {
		return spec, err
	}
	spec.Argv = append(spec.Argv, v.conf.Args...)
	if self, ok := describesMachine(v.conf, spec.Argv); ok {
		spec.Argv[0] = self
		return spec, nil
	}
	box, err := v.svc.Ways.ServerSandbox(ctx, v.svc.Config(), v.name, v.conf, pins)
	if err != nil {
		return spec, err
	}
	if box != nil && !v.conf.Network && fetches(v.conf.Command) {
		return spec, fmt.Errorf("%s fetches its package at each start, and the program has no network", v.conf.Command)
	}
	if box != nil {
		spec.Wrap = func(argv, env []string) (*sandbox.Command, error) { return box.Wrap(view, argv, env) }
	}
	return spec, nil
}

// describesMachine reports whether a program is hob mcp system-info of the hob that runs. It only reads, and in the sandbox it would describe the
// sandbox. The file must be the one of this process, and nothing else may be given to it: no other program leaves the sandbox this way.
func describesMachine(c config.MCPServer, argv []string) (self string, ok bool) {
	if len(c.Env) > 0 || c.Cwd != "" || c.Install != "" || !slices.Equal(argv[1:], []string{"mcp", "system-info"}) {
		return "", false
	}
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	running := self
	if goruntime.GOOS == "linux" {
		running = "/proc/self/exe" // the file of this process, even if another one has its name now (proc_pid_exe(5))
	}
	own, err := os.Stat(running)
	if err != nil {
		return "", false
	}
	other, err := os.Stat(argv[0])
	return self, err == nil && os.SameFile(own, other)
}

// installed is the command line of an installed server, without its arguments. at is a folder in which its sandbox shows its files; pins says so.
func (p *program) installed(v *server, at string) (argv []string, pins map[string]string, err error) {
	m, err := v.svc.Installs().read(v.name, v.conf.Install)
	if err != nil {
		return []string{""}, nil, err
	}
	p.file = m.Source + ", of which all files have the SHA-256 " + m.Digest
	switch folder := v.svc.Installs().folder(v.name); {
	case v.free:
		at = folder
	case goruntime.GOOS == "linux":
		pins = map[string]string{at: folder} // the state folder itself is in no sandbox
	default:
		err = os.CopyFS(at, os.DirFS(folder))
	}
	argv = []string{filepath.Join(at, m.File)}
	if err == nil && strings.HasPrefix(m.Source, config.FromNPM+":") {
		node, missing := v.lookUp("node")
		if missing == nil {
			node[0], missing = filepath.EvalSymlinks(node[0])
		}
		if missing != nil {
			return []string{""}, nil, missing
		}
		p.file += "; with " + fileOf(node[0])
		argv = append(node, argv...)
	}
	return argv, pins, err
}

// folders is the pattern of the folders that programs of this hob work in.
func (s *Service) folders() string {
	return "hob-mcp-" + hashOf([]byte(s.Instance + "\x00" + s.Home))[:16] + "-*"
}

// sweep removes the folders that a killed run has left.
func (s *Service) sweep() {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), s.folders()))
	for _, one := range left {
		err = errors.Join(err, os.RemoveAll(one))
	}
	half, _ := filepath.Glob(filepath.Join(s.Ways.ServerFolder(), ".new-*")) // the pattern is valid
	for _, one := range half {
		err = errors.Join(err, os.RemoveAll(one))
	}
	if err != nil {
		s.Log.Warn("folders of MCP servers could not be removed", "err", err)
	}
}

// values resolves the references to secrets in a map of a section.
func (v *server) values(ctx context.Context, key string, given map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(given))
	for name, ref := range given {
		value, err := v.svc.Resolve(ctx, mcpPath(v.name, key, name), ref)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", key, name, err)
		}
		out[name] = value
	}
	return out, nil
}

func mcpPath(parts ...string) string { return "mcp.servers." + strings.Join(parts, ".") }

// lookUp returns the full path of a program.
func (v *server) lookUp(command string) ([]string, error) {
	name := v.home(command)
	if filepath.Base(name) != name && !filepath.IsAbs(name) { // it would depend on the folder in which hob was started
		return nil, fmt.Errorf("%s: want a program of PATH or an absolute path", command)
	}
	path, err := osexec.LookPath(name)
	switch {
	case filepath.IsAbs(name) && errors.Is(err, fs.ErrNotExist):
		return nil, event.NewFault(event.Unavailable, "install it, or look at the path", "there is no program %s here", command)
	case errors.Is(err, osexec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, event.NewFault(event.Unavailable, "install it, or give its whole path; hob looks at the PATH with which it was started", "there is no program %s here", command)
	case err != nil:
		return nil, event.NewFault(event.Unavailable, "give the path of a file that may be executed", "%s is no program that can be started", command)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return []string{path}, nil
}

// fileOf names a program's file, with its SHA-256 if it can be read.
func fileOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return path
	}
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer func() { _ = f.Close() }() // nothing was written
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return path
	}
	return fmt.Sprintf("%s, SHA-256 %x", path, sum.Sum(nil))
}

// home puts the owner's home in place of a ~ at the beginning.
func (v *server) home(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return filepath.Join(v.svc.Home, path[1:])
	}
	return path
}

func (p *program) transport() sdk.Transport {
	return &lines{p: p, in: bufio.NewReaderSize(p.in, 64<<10)}
}

// blocked reports whether the program does not read what it is sent at this moment, so that there is no end in order.
func (p *program) blocked() bool { return p.out.writing.Load() > 0 }

// charge counts nothing: lines has done it.
func (p *program) charge(int) error { return p.in.fault() }

func (p *program) ended() <-chan struct{} { return p.service.Ended() }

// why says how the program has ended and what it has written to its stderr, or which limit it exceeded.
func (p *program) why() string {
	if over := p.service.Over(); over != "" {
		return "it used more than it may: " + over
	}
	if err := p.in.fault(); err != nil {
		return err.Error()
	}
	select {
	case <-p.service.Ended():
	default:
		if !p.in.atEnd() {
			return p.said() // it runs
		}
	}
	select { // what it said last may be on its way
	case <-p.drained:
	case <-time.After(time.Second):
	}
	return p.said()
}

// said is its exit code, if it is known to be an error of its own, and the end of its stderr, for people.
func (p *program) said() string {
	var parts []string
	if code := p.service.Code(); code > 0 && code < signalled {
		parts = append(parts, fmt.Sprintf("its exit code is %d", code))
	}
	if said := p.errs.String(); said != "" {
		parts = append(parts, "it says "+quoted(said, 600))
	}
	return strings.Join(parts, "; ")
}

// signalled is the first exit code that may be that of a program that hob has stopped by a signal.
const signalled = 128

// close ends the program with all its processes.
func (p *program) close() {
	p.service.Stop()
	<-p.service.Ended()
	if err := p.clean(); err != nil {
		p.errs.add([]byte(err.Error()))
	}
}

func (p *program) clean() error {
	if p.remove == "" {
		return nil
	}
	return os.RemoveAll(p.remove)
}

// drain reads stderr, which counts as output too.
func (p *program) drain(s *Service) error {
	defer close(p.drained)
	from := newGauge(p.service.Errs, s)
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.errs.add(b[:n])
		if errors.Is(err, errFlood) {
			p.in.stop(err)
			p.service.Stop()
		}
		if err != nil {
			return nil //nolint:nilerr // the end of the program
		}
	}
}

// tail keeps the last bytes that were added.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write adds bytes.
func (t *tail) Write(b []byte) (int, error) { t.add(b); return len(b), nil }

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if more := len(t.kept) - stderrKept; more > 0 {
		t.kept = append(t.kept[:0], t.kept[more:]...)
	}
}

// String returns what was kept as text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(bytes.TrimSpace(t.kept)), "?"))
}
