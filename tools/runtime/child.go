package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	goruntime "runtime"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
)

// Times around the end of a command.
const (
	drainTime     = 250 * time.Millisecond // for processes that still write after the shell has exited
	stopGrace     = 800 * time.Millisecond // between TERM and KILL, so that a stop takes less than a second
	pollInterval  = 10 * time.Millisecond  // between two checks for remaining processes
	limitInterval = 200 * time.Millisecond // between two checks of a sandbox's resource use
	killRounds    = 100                    // checks after KILL; a process inside a system call takes a while to end
)

// maxEntryTries limits the attempts to start one command in its sandbox.
const maxEntryTries = 4

// maxEntryOutput limits how much output of a failed sandbox start goes into the error, in bytes.
const maxEntryOutput = 4 << 10

// The size of a command's terminal, in characters.
const (
	terminalRows    = 40
	terminalColumns = 120
)

// order describes a command that is ready to be started.
type order struct {
	argv   []string
	env    []string
	folder *fsguard.Place // working folder; nil: dir
	dir    string         // working folder of a program that is not confined; "": hob's own
	mark   string         // NAME=VALUE, which all its processes inherit in their environment
	limit  time.Duration
	grace  time.Duration // between TERM and KILL when it is ended
	pty    bool          // it runs in a terminal
	input  bool          // stdin stays open for process input
	apart  bool          // stderr has a pipe of its own

	// wrap builds the sandbox around argv; nil means that the command is not confined. The process
	// that hob then starts is the sandbox's own first process. Its own command line and environment
	// do not contain argv and env, and it exits when everything inside it has exited.
	wrap            func() (*sandbox.Command, error)
	activeSandboxes *activeSandboxes // all sandboxes that run now
}

// sandboxed reports whether the command runs in a sandbox.
func (o *order) sandboxed() bool { return o.wrap != nil }

// reason tells why a command ended.
type reason int

const (
	finished reason = iota
	timedOut
	cancelled
	killed
	overBound
)

// stop is a request to end a command.
type stop struct {
	why   reason
	grace time.Duration // between TERM and KILL
}

// ended describes how a command ended.
type ended struct {
	why   reason
	code  int
	took  time.Duration
	limit time.Duration
	over  string // the sandbox limit that it exceeded, "" none
	left  int    // processes that outlived the shell and were ended
	stuck int    // processes that could not be ended
}

// supervise starts a command and waits until none of its processes is left, as far as the system
// can find them (see processTree). It sends the result of the start to started. The goroutine
// belongs to the process group that proc.start was given.
func (p *proc) supervise(once func(string, func() error), g *fsguard.Guard, started chan<- error) error {
	// The kernel sends the parent-death signal when the thread that started the child exits. The
	// thread must therefore live as long as the child.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	p.text.markStarted()
	r, err := begin(g, p.order)
	if err != nil {
		close(p.done)
		close(p.reported)
		started <- err
		return nil
	}
	p.markStarted(r)
	started <- nil
	drained, exited := make(chan error, 1), make(chan error, 1)
	once("exec artifact", p.out.recording.run)
	once("exec output", func() error { drained <- p.out.drain(r.read); return nil })
	once("exec wait", func() error { exited <- awaitExit(r.cmd); return nil })
	r.decide(once)
	defer p.order.activeSandboxes.add(r, p.order.sandboxed())()
	taken := p.watched(once, r)
	end, err := p.watch(r, drained, exited)
	over := taken()
	if r.bound != nil && over == "" {
		var closing error
		over, closing = r.bound.Close()
		err = errors.Join(err, closing)
	}
	if end.over = over; end.why == overBound {
		end.why = finished
	}
	return errors.Join(err, p.markEnded(end, err))
}

// watched polls the resource limits of a sandbox where the kernel does not enforce them, and stops
// the command when it exceeds one. The returned function ends the polling and names the limit, or
// returns "".
func (p *proc) watched(once func(string, func() error), r *running) (taken func() string) {
	if r.bound == nil || !r.bound.Watched() {
		return func() string { return "" }
	}
	ended, over := make(chan struct{}), make(chan string, 1)
	once("exec limits", func() error {
		for {
			select {
			case <-ended:
				over <- ""
				return nil
			case <-time.After(limitInterval):
			}
			if why := r.bound.Over(r.cmd.Process.Pid); why != "" {
				over <- why
				p.stop(stop{overBound, 0})
				return nil
			}
		}
	})
	return func() string { close(ended); return <-over }
}

// watch waits until the shell exits or somebody requests a stop. Then it ends all processes that
// are left and takes the exit code.
func (p *proc) watch(r *running, drained, exited chan error) (*ended, error) {
	end, grace := &ended{}, p.order.grace
	var waited error
	select {
	case waited = <-exited:
		drainedEarly(drained, drainTime)
	case s := <-p.stops:
		end.why, grace = s.why, s.grace
	}
	end.left, end.stuck = r.processTree(p.order.mark, p.order.sandboxed()).end(grace)
	if p.order.sandboxed() || end.why != finished {
		end.left = 0 // the sandbox ends its own processes; a stopped command leaves nothing
	}
	end.took, end.limit = p.age(), p.most()
	if end.why != finished {
		if end.stuck > 0 { // possibly the shell itself, blocked inside the kernel: do not wait for it
			end.code = -1
			return end, r.finish(drained)
		}
		waited = <-exited
	}
	code, err := p.reap(r, waited)
	end.code = code
	return end, errors.Join(err, r.finish(drained))
}

// most returns the current time limit; setLimit may have changed it since the start.
func (p *proc) most() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.order.limit
}

// reap takes the exit code. From then on the kernel may reuse the process ids of the command.
func (p *proc) reap(r *running, waited error) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run = nil
	return exitCode(r.cmd, errors.Join(waited, reap(r.cmd)))
}

// drainedEarly waits up to most for the end of the output. A background process that the command
// left may hold the output open.
func drainedEarly(drained chan error, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case err := <-drained:
		drained <- err
	case <-t.C:
	}
}

// running is a started command.
type running struct {
	cmd   *osexec.Cmd
	begun time.Time      // just before the start
	read  *os.File       // its output
	write *os.File       // its input; nil: it has none. The same file as read for a terminal
	errs  *os.File       // its stderr; nil: read has it too
	bound *sandbox.Bound // resource limits; nil: it is not confined
	calls *sandbox.Calls // the calls that hob decides about; nil: none
}

// begin starts a command. Commands in other sandboxes can rename files while this sandbox mounts
// them, which breaks its start. In that case begin freezes the others and tries again.
func begin(g *fsguard.Guard, o order) (*running, error) {
	if !o.sandboxed() {
		return launch(g, o, nil)
	}
	r, err := o.enter(g)
	for try := 1; try < maxEntryTries && (errors.Is(err, sandbox.ErrEntry) || errors.Is(err, sandbox.ErrMoved)); try++ {
		r, err = o.enterAlone(g)
	}
	return r, err
}

// enter starts a command in its sandbox.
func (o order) enter(g *fsguard.Guard) (*running, error) {
	c, err := o.wrap()
	if err != nil {
		return nil, err
	}
	fail.Point("exec.wrapped")
	r, err := launch(g, o, c)
	if err != nil {
		_, closing := c.Bound.Close()
		err = errors.Join(err, closing)
	}
	return r, errors.Join(err, c.Close())
}

// enterAlone is enter while all other sandboxes are frozen.
func (o order) enterAlone(g *fsguard.Guard) (*running, error) {
	defer o.activeSandboxes.freezeAll()()
	return o.enter(g)
}

// launch starts the process of a command, inside its sandbox if it is confined.
func launch(g *fsguard.Guard, o order, confined *sandbox.Command) (*running, error) {
	dir := o.dir
	if o.folder != nil {
		entered, release, err := enter(g, *o.folder)
		if err != nil {
			return nil, err
		}
		defer release()
		dir = entered
	}
	r, child, err := streams(o)
	if err != nil {
		return nil, err
	}
	r.cmd = osexec.Command(o.argv[0], o.argv[1:]...) //nolint:gosec // this tool runs commands; the permission rules have allowed this one
	r.cmd.Env = o.env
	if confined != nil {
		r.cmd = &osexec.Cmd{Env: []string{o.mark}}
		confined.Prepare(r.cmd)
	}
	r.cmd.Dir, r.cmd.SysProcAttr = dir, attributes(o.pty && !o.sandboxed(), o.sandboxed())
	if confined != nil {
		r.bound = confined.Bound
		if err := r.bound.Attach(r.cmd.SysProcAttr); err != nil {
			return nil, errors.Join(err, child.close(), r.close())
		}
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = child.in(), child.out, child.stderr()
	r.begun = time.Now()
	err = r.cmd.Start()
	if closing := child.close(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the command: %w", err), r.close())
	}
	if confined != nil {
		if err := r.enters(o, confined); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// enters waits until the command runs inside its sandbox. If the sandbox cannot be set up, it ends
// the process, and its output becomes the error.
func (r *running) enters(o order, confined *sandbox.Command) error {
	err := confined.Entered()
	if r.calls = confined.Calls; err == nil {
		return nil
	}
	r.processTree(o.mark, true).end(0)
	said := make([]byte, maxEntryOutput)
	from := r.read
	if r.errs != nil {
		from = r.errs
	}
	n, reading := 0, from.SetReadDeadline(time.Now().Add(drainTime))
	if reading == nil || errors.Is(reading, os.ErrNoDeadline) {
		n, _ = io.ReadFull(from, said) // best effort: whatever is there
	}
	_ = r.cmd.Wait() // the error only says that it has ended
	return errors.Join(fmt.Errorf("%w: %s", err, strings.TrimSpace(strings.ToValidUTF8(string(said[:n]), "?"))), r.close())
}

// decide decides about the calls of the sandbox that wait for hob, until its last process has ended.
func (r *running) decide(once func(string, func() error)) {
	if r.calls != nil {
		once("sandbox calls", r.calls.Serve)
	}
}

// childFiles are the ends of the pipes or the terminal that the command gets.
type childFiles struct{ stdin, out, errs *os.File }

// in returns the command's stdin. Without stdin it returns a nil interface, which os/exec takes as
// an empty input.
func (e childFiles) in() io.Reader {
	if e.stdin != nil {
		return e.stdin
	}
	return nil
}

// close closes hob's copies after the start, so that hob sees the end of the output when the
// command's processes have ended.
func (e childFiles) close() error {
	err := e.out.Close()
	if e.stdin != nil && e.stdin != e.out {
		err = errors.Join(err, e.stdin.Close())
	}
	if e.errs != nil {
		err = errors.Join(err, e.errs.Close())
	}
	return err
}

// stderr returns the file that the command gets as its stderr.
func (e childFiles) stderr() *os.File {
	if e.errs != nil {
		return e.errs
	}
	return e.out
}

// streams opens the pipes or the terminal between hob and a command.
func streams(o order) (*running, childFiles, error) {
	if o.pty {
		master, terminal, err := openTerminal()
		if err != nil {
			return nil, childFiles{}, err
		}
		return &running{read: master, write: master}, childFiles{stdin: terminal, out: terminal}, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, childFiles{}, fmt.Errorf("make a pipe: %w", err)
	}
	widen(write)
	r, child := &running{read: read}, childFiles{out: write}
	if o.input {
		if child.stdin, r.write, err = os.Pipe(); err != nil {
			return nil, childFiles{}, errors.Join(fmt.Errorf("make a pipe: %w", err), read.Close(), write.Close())
		}
	}
	if o.apart {
		if r.errs, child.errs, err = os.Pipe(); err != nil {
			return nil, childFiles{}, errors.Join(fmt.Errorf("make a pipe: %w", err), child.close(), r.close())
		}
	}
	return r, child, nil
}

// finish ends the reading of the output within a second. It does not wait for processes that could
// not be ended.
func (r *running) finish(drained <-chan error) error {
	if err := r.read.SetReadDeadline(time.Now().Add(time.Second)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return errors.Join(err, r.close(), <-drained)
	}
	return errors.Join(<-drained, r.close())
}

// close closes hob's ends of the streams. The input may be closed already.
func (r *running) close() error {
	err := r.read.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // its reader has closed it
	}
	if r.write != nil && r.write != r.read {
		if closing := r.write.Close(); !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}
	if r.errs != nil {
		if closing := r.errs.Close(); !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}
	return err
}

// exitCode returns the exit code in the convention of shells: 128 + the signal if a signal ended
// the command.
func exitCode(cmd *osexec.Cmd, err error) (int, error) {
	if _, ok := errors.AsType[*osexec.ExitError](err); err != nil && !ok {
		return -1, fmt.Errorf("wait for the command: %w", err)
	}
	if cmd.ProcessState == nil {
		return -1, errors.New("wait for the command: it left no state")
	}
	if sig := signalOf(cmd.ProcessState); sig > 0 {
		return 128 + sig, nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
