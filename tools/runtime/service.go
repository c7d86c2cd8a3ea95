package runtime

import (
	"cmp"
	"errors"
	"io"
	"os"
	goruntime "runtime"
	"sync"
	"time"

	"hob/daemon/sandbox"
	"hob/daemon/sys"
)

// serviceGrace is the time between the end of a service's input, or TERM, and KILL.
const serviceGrace = 2 * time.Second

// ServiceSpec describes a program that runs as long as hob needs it and speaks over its stdin and stdout, such as an MCP server.
type ServiceSpec struct {
	Name string
	Argv []string
	Env  map[string]string // its whole environment besides PATH, HOME and LANG
	Home string            // the owner's home
	Dir  string            // its working folder
	Wrap func(argv, env []string) (*sandbox.Command, error)
	// Instance marks its processes, so that a later start of hob finds those that outlived a kill.
	Instance string
	Environ  []string // hob's own environment, of which only PATH, HOME, LANG and their like are handed on
}

// Service is a program that was started by StartService. Its processes end with hob.
type Service struct {
	In   io.WriteCloser
	Out  io.ReadCloser
	Errs io.ReadCloser

	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
	over  string // the limit of the sandbox that it exceeded; read after ended is closed
	code  int    // its exit code; the same holds
}

// StartService starts a program. With Wrap it runs in that sandbox, within the sandbox's limits of memory and processes. The caller reads
// Out and Errs to their ends and calls Stop.
func (g *Registry) StartService(spawn *sys.Group, s ServiceSpec) (*Service, error) {
	mark := s.Instance + "/mcp-" + s.Name + "/" + sys.RandomIDs().Code(8)
	env := newEnviron(s.Environ, environSetting{Home: s.Home, Cwd: s.Dir, Mark: mark, Sandboxed: s.Wrap != nil}, s.Env)
	o := order{argv: s.Argv, env: env, mark: CallMark + "=" + mark, input: true, apart: true, activeSandboxes: g.sandboxes()}
	if s.Wrap == nil {
		o.dir = s.Dir
	} else {
		o.wrap = func() (*sandbox.Command, error) { return s.Wrap(s.Argv, env) }
	}
	v := &Service{stop: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error, 1)
	spawn.Once("service "+s.Name, func() error { return v.supervise(spawn, o, started) })
	return v, <-started
}

// supervise starts the program and waits until all its processes have ended.
func (v *Service) supervise(spawn *sys.Group, o order, started chan<- error) error {
	// The kernel sends the parent-death signal when the thread that started the child exits, so the thread lives as long as the child.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	defer close(v.ended)
	r, err := begin(nil, o)
	if err != nil {
		started <- err
		return nil
	}
	out, errs := newServiceOutput(r.read), newServiceOutput(r.errs)
	v.In, v.Out, v.Errs = r.write, out, errs
	r.decide(spawn.Once)
	defer o.activeSandboxes.add(r, o.sandboxed())()
	started <- nil
	exited := make(chan error, 1)
	spawn.Once("service wait", func() error { exited <- awaitExit(r.cmd); return nil })
	waited, gone := v.wait(r, exited)
	r.processTree(o.mark, o.sandboxed()).end(serviceGrace)
	if !gone {
		waited = <-exited
	}
	v.code, err = exitCode(r.cmd, errors.Join(waited, reap(r.cmd)))
	if r.bound != nil {
		over, closing := r.bound.Close()
		v.over = cmp.Or(v.over, over)
		err = errors.Join(err, closing)
	}
	// The last output of the program is still in the pipes. A process that has escaped may keep them open.
	late := make(chan struct{})
	defer time.AfterFunc(drainTime, func() { close(late) }).Stop()
	for _, o := range []*serviceOutput{out, errs} {
		select {
		case <-o.ended:
		case <-late:
		}
	}
	return errors.Join(err, r.close())
}

// serviceOutput is a pipe that knows when its reader is done.
type serviceOutput struct {
	*os.File
	once  sync.Once
	ended chan struct{} // closed after the end was read, or when the reader has closed it
}

func newServiceOutput(f *os.File) *serviceOutput {
	return &serviceOutput{File: f, ended: make(chan struct{})}
}

func (o *serviceOutput) finish() { o.once.Do(func() { close(o.ended) }) }

// Read reads what the program says.
func (o *serviceOutput) Read(p []byte) (int, error) {
	n, err := o.File.Read(p)
	if err != nil {
		o.finish()
	}
	return n, err
}

// Close ends the reading.
func (o *serviceOutput) Close() error {
	defer o.finish()
	return o.File.Close()
}

// wait returns when the program exits, when Stop is called, or when the program exceeds the limits of its sandbox.
func (v *Service) wait(r *running, exited <-chan error) (waited error, gone bool) {
	var tick <-chan time.Time
	if r.bound != nil && r.bound.Watched() {
		t := time.NewTicker(serviceCheck)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case waited = <-exited:
			return waited, true
		case <-v.stop:
			return nil, false
		case <-tick:
			if v.over = r.bound.Over(r.cmd.Process.Pid); v.over != "" {
				return nil, false
			}
		}
	}
}

// serviceCheck is the interval between two checks of a service's resource use. A service may run for hours, so it is longer than that of
// commands.
const serviceCheck = 2 * time.Second

// Stop starts to end the program and all its processes. Ended is closed when that is done.
func (v *Service) Stop() { v.once.Do(func() { close(v.stop) }) }

// Ended is closed when all processes have ended.
func (v *Service) Ended() <-chan struct{} { return v.ended }

// Over names the limit of its sandbox that the program exceeded; "": none. It is known after Ended.
func (v *Service) Over() string {
	select {
	case <-v.ended:
		return v.over
	default:
		return ""
	}
}

// Code is the exit code of the program. It is known after Ended.
func (v *Service) Code() int {
	select {
	case <-v.ended:
		return v.code
	default:
		return 0
	}
}
