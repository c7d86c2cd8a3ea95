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
	lastWords  = 250 * time.Millisecond // for what still writes after the shell has exited
	stopGrace  = 800 * time.Millisecond // between TERM and KILL, so that a stop takes less than a second
	settle     = 10 * time.Millisecond  // between two looks at who is still there
	lookEvery  = 200 * time.Millisecond // at what a command in a sandbox takes
	killRounds = 100                    // looks after KILL; a process in a system call may take a while
)

// entryTries is how often a command is tried to be started in its sandbox.
const entryTries = 4

// mostSaid is how much of what is said of a sandbox that could not be made is kept, in bytes.
const mostSaid = 4 << 10

// The size of a command's terminal.
const (
	terminalRows    = 40
	terminalColumns = 120
)

// order is a command ready to be started.
type order struct {
	argv   []string
	env    []string
	folder *fsguard.Place // where it runs; nil: where hob does
	mark   string         // NAME=VALUE in the environment of everything that it starts
	limit  time.Duration
	grace  time.Duration // between TERM and KILL when it is ended
	pty    bool          // it runs in a terminal
	input  bool          // its stdin stays open, to be written to

	// wrap makes argv a command in the sandbox; nil: it is not confined. What is started then is the sandbox's own process, which knows
	// nothing of argv and env, and ends by itself when what is in it has ended.
	wrap  func() (*sandbox.Command, error)
	boxes *boxes // the sandboxes that run
}

func (o *order) boxed() bool { return o.wrap != nil }

type reason int

const (
	finished reason = iota
	timedOut
	cancelled
	killed
	overBound
)

// stop asks for the end of a command.
type stop struct {
	why   reason
	grace time.Duration // between TERM and KILL
}

// ended is how a command ended.
type ended struct {
	why   reason
	code  int
	took  time.Duration
	limit time.Duration
	over  string // what of the sandbox's limits it went over, "" none
	left  int    // processes that were still running when the shell had exited, and were ended
	stuck int    // processes that did not end
}

// supervise starts a command and stays with it until nothing that it started is left, as far as the system shows who was
// started (see kin). It tells started whether it could be started.
func (p *proc) supervise(once func(string, func() error), g *fsguard.Guard, started chan<- error) error {
	// The kernel sends the parent-death signal when the thread that started the child ends, so this
	// thread must live as long as the child does.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	p.text.starts()
	r, err := begin(g, p.order)
	if err != nil {
		close(p.done)
		close(p.told)
		started <- err
		return nil
	}
	p.begins(r)
	started <- nil
	drained, exited := make(chan error, 1), make(chan error, 1)
	once("exec output", func() error { drained <- p.out.drain(r.read); return nil })
	once("exec wait", func() error { exited <- awaitExit(r.cmd); return nil })
	defer p.boxes.add(r, p.boxed())()
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
	return errors.Join(err, p.ends(end, err))
}

// watched ends a command that takes more than its sandbox may, where nothing else does. The returned function says what that was.
func (p *proc) watched(once func(string, func() error), r *running) (taken func() string) {
	if r.bound == nil || !r.bound.Watched() {
		return func() string { return "" }
	}
	ended, over := make(chan struct{}), make(chan string, 1)
	once("exec limits", func() error {
		for {
			if why := r.bound.Over(r.cmd.Process.Pid); why != "" {
				over <- why
				p.stop(stop{overBound, 0})
				return nil
			}
			select {
			case <-ended:
				over <- ""
				return nil
			case <-time.After(lookEvery):
			}
		}
	})
	return func() string { close(ended); return <-over }
}

// watch waits for the end of a command, or brings it about.
func (p *proc) watch(r *running, drained, exited chan error) (*ended, error) {
	end, grace := &ended{}, p.grace
	var waited error
	select {
	case waited = <-exited:
		drainedEarly(drained, lastWords)
	case s := <-p.stops:
		end.why, grace = s.why, s.grace
	}
	end.left, end.stuck = r.kin(p.mark, p.boxed()).end(grace)
	if p.boxed() || end.why != finished {
		end.left = 0 // the sandbox ends what is in it; who was stopped left nothing
	}
	end.took, end.limit = p.age(), p.most()
	if end.why != finished {
		if end.stuck > 0 { // perhaps the shell itself, inside the kernel: it is not waited for
			end.code = -1
			return end, r.finish(drained)
		}
		waited = <-exited
	}
	code, err := p.reap(r, waited)
	end.code = code
	return end, errors.Join(err, r.finish(drained))
}

func (p *proc) most() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit
}

// reap takes the exit code. From then on the numbers of the command's processes may be those of others.
func (p *proc) reap(r *running, waited error) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run = nil
	return exitCode(r.cmd, errors.Join(waited, reap(r.cmd)))
}

// drainedEarly waits until the output has ended, but not long: a process left in the background may hold it open.
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
	begun time.Time      // before it was started
	read  *os.File       // its output
	write *os.File       // its input; nil: it has none. Of a terminal the same as read
	bound *sandbox.Bound // of what it takes; nil: it is not confined
}

// begin starts a command. What runs in other sandboxes may be renaming what this one shows, and so break its start: then it is started
// once more while they rest.
func begin(g *fsguard.Guard, o order) (*running, error) {
	if !o.boxed() {
		return launch(g, o, nil)
	}
	r, err := o.enter(g)
	for try := 1; try < entryTries && (errors.Is(err, sandbox.ErrEntry) || errors.Is(err, sandbox.ErrMoved)); try++ {
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

func (o order) enterAlone(g *fsguard.Guard) (*running, error) {
	defer o.boxes.rest()()
	return o.enter(g)
}

// launch starts the process of a command, in its sandbox when it is confined.
func launch(g *fsguard.Guard, o order, confined *sandbox.Command) (*running, error) {
	dir := ""
	if o.folder != nil {
		entered, release, err := enter(g, *o.folder)
		if err != nil {
			return nil, err
		}
		defer release()
		dir = entered
	}
	r, theirs, err := streams(o)
	if err != nil {
		return nil, err
	}
	r.cmd = osexec.Command(o.argv[0], o.argv[1:]...) //nolint:gosec // running commands is what this tool is for; the gate has decided
	r.cmd.Env = o.env
	if confined != nil {
		r.cmd = &osexec.Cmd{Env: []string{o.mark}}
		confined.Prepare(r.cmd)
	}
	r.cmd.Dir, r.cmd.SysProcAttr = dir, attributes(o.pty && !o.boxed())
	if confined != nil {
		r.bound = confined.Bound
		if err := r.bound.Attach(r.cmd.SysProcAttr); err != nil {
			return nil, errors.Join(err, theirs.close(), r.close())
		}
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = theirs.in(), theirs.out, theirs.out
	r.begun = time.Now()
	err = r.cmd.Start()
	if closing := theirs.close(); err == nil && closing != nil {
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

// enters waits until a command has begun in its sandbox. One that does not is ended; what was said of it is the error.
func (r *running) enters(o order, confined *sandbox.Command) error {
	err := confined.Entered()
	if err == nil {
		return nil
	}
	r.kin(o.mark, true).end(0)
	said := make([]byte, mostSaid)
	n, reading := 0, r.read.SetReadDeadline(time.Now().Add(lastWords))
	if reading == nil || errors.Is(reading, os.ErrNoDeadline) {
		n, _ = io.ReadFull(r.read, said) // as much as there is
	}
	_ = r.cmd.Wait() // it says no more than that it has ended
	return errors.Join(fmt.Errorf("%w: %s", err, strings.TrimSpace(strings.ToValidUTF8(string(said[:n]), "?"))), r.close())
}

// ends are the ends of its streams that a command is given.
type ends struct{ stdin, out *os.File }

// in is the command's stdin: a nil interface, which means nothing to read, when it has none.
func (e ends) in() io.Reader {
	if e.stdin != nil {
		return e.stdin
	}
	return nil
}

func (e ends) close() error {
	err := e.out.Close()
	if e.stdin != nil && e.stdin != e.out {
		err = errors.Join(err, e.stdin.Close())
	}
	return err
}

func streams(o order) (*running, ends, error) {
	if o.pty {
		master, terminal, err := openTerminal()
		if err != nil {
			return nil, ends{}, err
		}
		return &running{read: master, write: master}, ends{terminal, terminal}, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, ends{}, fmt.Errorf("make a pipe: %w", err)
	}
	widen(write)
	r, theirs := &running{read: read}, ends{out: write}
	if o.input {
		if theirs.stdin, r.write, err = os.Pipe(); err != nil {
			return nil, ends{}, errors.Join(fmt.Errorf("make a pipe: %w", err), read.Close(), write.Close())
		}
	}
	return r, theirs, nil
}

// finish ends the reading: what a process that could not be ended still writes is not waited for.
func (r *running) finish(drained <-chan error) error {
	if err := r.read.SetReadDeadline(time.Now().Add(time.Second)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return errors.Join(err, r.close(), <-drained)
	}
	return errors.Join(<-drained, r.close())
}

// close closes hob's ends of the streams; the input may have been closed before.
func (r *running) close() error {
	err := r.read.Close()
	if r.write != nil && r.write != r.read {
		if closing := r.write.Close(); !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}
	return err
}

// exitCode reads the exit code as shells tell it: 128 + the signal when one ended the command.
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
