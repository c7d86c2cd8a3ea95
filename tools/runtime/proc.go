package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/tools"
)

// inputPatience is how long a process that does not read its input is waited for.
const inputPatience = 5 * time.Second

// request is what a command was started for.
type request struct {
	by      tools.Call // which started it
	at      *site
	summary string // the command, in short
	note    string // to be said with its result
	named   bool   // its call named a timeout
}

// proc is a command that was started.
type proc struct {
	order
	request
	id    string
	out   *output
	text  *origin
	tell  func(*ended) error // reports the end of a background process
	stops chan stop
	done  chan struct{} // closed when it has ended
	told  chan struct{} // closed when that was reported too, or need not be

	mu    sync.Mutex
	begun time.Time
	run   *running // nil when it has been reaped
	timer *time.Timer
	back  bool            // nobody waits for it
	quiet bool            // somebody tells of its end already
	seen  map[int64]int64 // bytes of output that were shown, by the session that saw them
	end   *ended
	err   error
}

func newProc(o order, r request, shelf int) *proc {
	return &proc{
		order: o, request: r, text: originOf(r.at), out: &output{limit: shelf}, begun: time.Now(), seen: map[int64]int64{},
		stops: make(chan stop, 1), done: make(chan struct{}), told: make(chan struct{}),
	}
}

// start starts a command. It is its starter's until it is adopted by a registry.
func (p *proc) start(group *sys.Group, g *fsguard.Guard) error {
	started := make(chan error, 1)
	group.Once("exec", func() error { return p.supervise(group.Once, g, started) })
	return <-started
}

// begins notes that a command was started: from now on its time runs.
func (p *proc) begins(r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.begun = r, time.Now()
	p.timer = time.AfterFunc(p.limit, func() { p.stop(stop{timedOut, p.grace}) })
}

// ends notes that a command has ended, and reports it when it ran in the background.
func (p *proc) ends(end *ended, err error) error {
	p.mu.Lock()
	p.timer.Stop()
	p.end, p.err = end, err
	tell := p.back && !p.quiet
	p.mu.Unlock()
	close(p.done)
	defer close(p.told)
	if !tell {
		return nil
	}
	return p.tell(end)
}

// stop asks for its end; the first to ask says why.
func (p *proc) stop(s stop) {
	select {
	case p.stops <- s:
	default:
	}
}

func (p *proc) over() bool { return closed(p.done) }

// closed tells whether a channel is, on which nothing is sent.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// toBackground lets a command go on by itself. It is false when it has ended.
func (p *proc) toBackground() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back = p.end == nil
	return p.back
}

// lasts sets how long it may run, counted from its start.
func (p *proc) lasts(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil && p.timer.Stop() {
		p.limit = limit
		p.timer.Reset(limit - time.Since(p.begun))
	}
}

func (p *proc) age() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.begun)
}

// outcome is how it ended; nil when that is not known, for the reason of the error.
func (p *proc) outcome() (*ended, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end, p.err
}

// hush keeps its end from being reported: whoever ends it says so.
func (p *proc) hush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
}

// signal sends a signal to all of its processes.
func (p *proc) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return tools.Refuse(tools.Conflict, "", "%s has ended", p.id)
	}
	return p.run.kin(p.mark, p.boxed()).signal(sig)
}

// unseen is the output that was not shown to the session that started it, which has still to ask for it: at most keep characters.
func (p *proc) unseen(keep int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	head, missed, tail := p.out.since(p.seen[p.by.Session])
	return p.readable(excerpt(head, missed, tail, keep))
}

// take returns the output that was not shown to a session before, at most keep characters of it; of its lines those that match, when
// there is a filter. An unfinished line is then left for later.
func (p *proc) take(session int64, filter *regexp.Regexp, keep int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	head, missed, tail := p.out.since(p.seen[session])
	p.seen[session] += int64(len(head)) + missed + int64(len(tail))
	if filter == nil {
		return p.readable(excerpt(head, missed, tail, keep))
	}
	last := &head
	if len(tail) > 0 {
		last = &tail
	}
	if whole := bytes.LastIndexByte(*last, '\n') + 1; p.end == nil {
		p.seen[session] -= int64(len(*last) - whole)
		*last = (*last)[:whole]
	}
	return excerpt(matching(filter, p.readable(validUTF8(head))), 0, nil, keep) + excerpt(matching(filter, p.readable(validUTF8(tail))), 0, nil, keep)
}

func matching(filter *regexp.Regexp, text string) []byte {
	var out []byte
	for line := range strings.Lines(text) {
		if filter.MatchString(strings.TrimSuffix(line, "\n")) {
			out = append(out, line...)
		}
	}
	return out
}

// readable is a piece of its output as it is shown.
func (p *proc) readable(text string) string {
	if p.pty {
		return plainText(text)
	}
	return text
}

// write gives it input. A single Ctrl-D ends the input of a process that has no terminal.
func (p *proc) write(text string) error {
	p.mu.Lock()
	r := p.run
	p.mu.Unlock()
	if r == nil || r.write == nil {
		return tools.Refuse(tools.Conflict, "start it with background or pty to write to it", "%s takes no input", p.id)
	}
	if text == "\x04" && !p.pty {
		return r.write.Close()
	}
	if err := r.write.SetWriteDeadline(time.Now().Add(inputPatience)); err != nil {
		return fmt.Errorf("write to %s: %w", p.id, err)
	}
	n, err := r.write.WriteString(text)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tools.Refuse(tools.Timeout, "", "%s does not read: %d of %d bytes were taken", p.id, n, len(text))
	case errors.Is(err, os.ErrClosed):
		return tools.Refuse(tools.Conflict, "", "the input of %s is closed", p.id)
	case err != nil:
		return fmt.Errorf("write to %s: %w", p.id, err)
	}
	return nil
}

const (
	stateRunning = "running"
	stateEnded   = "ended"
)

// Process is a process in the background, as the tool shows it.
type Process struct {
	ID       string `json:"process_id" jsonschema:"its id"`
	State    string `json:"state" jsonschema:"running or ended"`
	Command  string `json:"command" jsonschema:"what runs, in short"`
	Where    string `json:"where" jsonschema:"in the sandbox, outside it, or on a host"`
	Seconds  int64  `json:"seconds" jsonschema:"how long it has run"`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema:"when it has ended; 128 + the signal when one ended it"`
	Why      string `json:"why,omitempty" jsonschema:"what ended it, when it did not end by itself"`
	Bytes    int64  `json:"bytes" jsonschema:"bytes of output so far"`
	Unread   int64  `json:"unread" jsonschema:"bytes that were not polled yet"`
}

// status is how it is now; what is unread is so by a session.
func (p *proc) status(session int64) Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Process{ID: p.id, State: stateRunning, Command: p.summary, Where: p.at.where(), Seconds: int64(time.Since(p.begun).Seconds()), Bytes: p.out.total()}
	s.Unread = s.Bytes - p.seen[session]
	if p.end != nil {
		s.State, s.Seconds, s.Why = stateEnded, int64(p.end.took.Seconds()), p.end.cause()
		s.ExitCode = new(p.end.code)
	}
	return s
}

// cause says what ended a command that did not end by itself.
func (end *ended) cause() string {
	switch end.why {
	case timedOut:
		return "it ran longer than " + spanText(end.limit)
	case cancelled:
		return "it was stopped"
	case killed:
		return "it was killed"
	default:
		return end.over
	}
}

// line is a process in one line.
func (s Process) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", s.ID, s.State)
	if s.ExitCode != nil {
		fmt.Fprintf(&b, " with exit code %d", *s.ExitCode)
	}
	fmt.Fprintf(&b, " (%s, %s", spanText(time.Duration(s.Seconds)*time.Second), s.Where)
	if s.Why != "" {
		b.WriteString(", " + s.Why)
	}
	fmt.Fprintf(&b, "), %s of output, %s unread: %s", byteCount(s.Bytes), byteCount(s.Unread), s.Command)
	return b.String()
}
