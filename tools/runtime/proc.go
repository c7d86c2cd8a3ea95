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

// inputPatience limits how long a write waits for a process that does not read its input.
const inputPatience = 5 * time.Second

// request says which call a command serves.
type request struct {
	by      tools.Call // the call that started it
	at      *site
	summary string // the command, in short
	note    string // shown with its result
	named   bool   // the call set a timeout
}

// proc is one started command, from its start to the report of its end. One goroutine (supervise)
// owns the process; all others ask through the methods below.
type proc struct {
	order    order
	request  request
	id       string
	out      *output
	text     *origin
	notify   func(*ended) error // reports the end of a background process
	stops    chan stop
	done     chan struct{} // closed when it has ended
	reported chan struct{} // closed when its end has been reported, or needs no report

	mu         sync.Mutex
	begun      time.Time
	run        *running // nil after it was reaped
	timer      *time.Timer
	background bool            // no caller waits for it
	quiet      bool            // its end needs no report
	seen       map[int64]int64 // bytes of output already shown, by session
	end        *ended
	err        error
}

// newProc returns a command that has not started. Its output is kept and recorded as far as the
// recording says.
func newProc(o order, r request, record *recording) *proc {
	return &proc{
		order: o, request: r, text: originOf(r.at), out: &output{limit: record.limit, recording: record}, begun: time.Now(), seen: map[int64]int64{},
		stops: make(chan stop, 1), done: make(chan struct{}), reported: make(chan struct{}),
	}
}

// start starts a command and returns the error of the start, if any. The caller owns it until a
// registry adopts it.
func (p *proc) start(group *sys.Group, g *fsguard.Guard) error {
	started := make(chan error, 1)
	group.Once("exec", func() error { return p.supervise(group.Once, g, started) })
	return <-started
}

// markStarted notes the start of the process. Its time limit counts from here.
func (p *proc) markStarted(r *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.begun = r, time.Now()
	p.timer = time.AfterFunc(p.order.limit, func() { p.stop(stop{timedOut, p.order.grace}) })
}

// markEnded notes the end of the process, and reports it if the process ran in the background.
func (p *proc) markEnded(end *ended, err error) error {
	p.mu.Lock()
	p.timer.Stop()
	p.end, p.err = end, err
	background, quiet := p.background, p.quiet
	p.mu.Unlock()
	close(p.done)
	defer close(p.reported)
	switch {
	case !background:
		return nil // the caller reports it
	case quiet:
		return p.out.recording.discard()
	}
	return p.notify(end)
}

// stop requests its end. The first request sets the reason.
func (p *proc) stop(s stop) {
	select {
	case p.stops <- s:
	default:
	}
}

// over reports whether it has ended.
func (p *proc) over() bool { return closed(p.done) }

// closed reports whether a channel is closed. Nothing may ever be sent on it.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// toBackground moves the command to the background. It returns false if the command has ended.
func (p *proc) toBackground() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.background = p.end == nil
	return p.background
}

// setLimit sets how long the command may run, counted from its start.
func (p *proc) setLimit(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil && p.timer.Stop() {
		p.order.limit = limit
		p.timer.Reset(limit - time.Since(p.begun))
	}
}

// age returns how long it has been running.
func (p *proc) age() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.begun)
}

// outcome returns how the command ended. If that is unknown it returns nil and the reason.
func (p *proc) outcome() (*ended, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end, p.err
}

// suppressReport prevents the report of its end: the caller reports it.
func (p *proc) suppressReport() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
}

// signal sends a signal to all its processes.
func (p *proc) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return tools.Refuse(tools.Conflict, "", "%s has ended", p.id)
	}
	return p.run.processTree(p.order.mark, p.order.sandboxed()).signal(sig)
}

// unseen returns the output that the session that started it has not seen yet, at most keep
// characters. It does not mark the output as seen.
func (p *proc) unseen(keep int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	head, missed, tail := p.out.since(p.seen[p.request.by.Session])
	return p.readable(excerpt(head, missed, tail, keep))
}

// take returns the output that a session has not seen yet, at most keep characters. With a filter
// it returns only the lines that match, and leaves an unfinished line for later.
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

// matching returns the lines of text that match.
func matching(filter *regexp.Regexp, text string) []byte {
	var out []byte
	for line := range strings.Lines(text) {
		if filter.MatchString(strings.TrimSuffix(line, "\n")) {
			out = append(out, line...)
		}
	}
	return out
}

// readable formats a piece of output for display.
func (p *proc) readable(text string) string {
	if p.order.pty {
		return plainText(text)
	}
	return text
}

// write sends input to the process. A single Ctrl-D closes the input of a process without a
// terminal.
func (p *proc) write(text string) error {
	p.mu.Lock()
	r := p.run
	p.mu.Unlock()
	if r == nil || r.write == nil {
		return tools.Refuse(tools.Conflict, "start it with background or pty to write to it", "%s takes no input", p.id)
	}
	if text == "\x04" && !p.order.pty {
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

// The states of a process, as the tool reports them.
const (
	stateRunning = "running"
	stateEnded   = "ended"
)

// Process is a process in the background, as the tool reports it.
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

// status returns the current state, with the unread output counted for a session.
func (p *proc) status(session int64) Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Process{ID: p.id, State: stateRunning, Command: p.request.summary, Where: p.request.at.where(), Seconds: int64(time.Since(p.begun).Seconds()), Bytes: p.out.total()}
	s.Unread = s.Bytes - p.seen[session]
	if p.end != nil {
		s.State, s.Seconds, s.Why = stateEnded, int64(p.end.took.Seconds()), p.end.cause()
		s.ExitCode = new(p.end.code)
	}
	return s
}

// cause returns what ended a command that did not end by itself, or "".
func (end *ended) cause() string {
	switch end.why {
	case timedOut:
		return "it ran longer than " + spanText(end.limit)
	case cancelled:
		return "it was stopped"
	case killed:
		return "it was killed"
	}
	return end.over
}

// line formats a process as one line.
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
