// Package record writes the raw exchange with one server into a file, while the owner wants that, and reads such files again.
//
// The flow: the clients of servers have a wrapped transport (web.go), or note their lines and messages (Line). That costs one atomic load while
// nothing is recorded. Start opens a file for one subject. From then on the exchanges of that subject are written to it, a line of JSON for each
// request and each response. Secrets are taken out of every text first (hide.go). Read returns the lines, Exchanges puts them together (read.go), and a
// Tape answers requests with them (tape.go).
//
// A recording never changes what it records, nor makes it fail. It ends by itself at its limits, at an error of the disk, and with the
// process.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/secret"
)

// Limits of a recording.
const (
	maxBody = 1 << 20  // bytes of one body; the rest is cut
	maxFile = 32 << 20 // bytes of the file
	maxTime = time.Hour
)

// Head is the first line of a file.
type Head struct {
	Format  int       `json:"hob_recording"` // 1
	Version string    `json:"version"`       // of hob
	Subject string    `json:"subject"`       // as the config names it: model, models.NAME, channels.NAME, mcp.NAME
	Backend string    `json:"backend,omitempty"`
	Model   string    `json:"model,omitempty"`
	Began   time.Time `json:"began"`

	// Of a channel, what hob needs to read it again.
	Kind   string          `json:"kind,omitempty"`
	Config json.RawMessage `json:"config,omitempty"` // its section, without secrets
	Owner  []event.Address `json:"owner,omitempty"`  // the owner's addresses there
}

// The kinds of entries.
const (
	Request  = "request"  // over HTTP
	Response = "response" // to the request with the same number
	Failed   = "failed"   // in place of a response
	Sent     = "sent"     // a line to a program, or a message over a WebSocket
	Received = "received" // a line or a message from it
	Cursor   = "cursor"   // up to where a channel had been read when it started
)

// Entry is each further line of a file.
type Entry struct {
	At     time.Time         `json:"at"`
	What   string            `json:"what"`
	N      int               `json:"n,omitempty"` // number of the request, from 1
	Method string            `json:"method,omitempty"`
	URL    string            `json:"url,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
	Base64 bool              `json:"base64,omitempty"` // the body is no text
	Bytes  int               `json:"bytes"`            // that the body had
	Cut    bool              `json:"cut,omitempty"`    // it had more than is here
	End    string            `json:"end,omitempty"`    // why the body ended early, or why there is no response
}

// State is the recording that runs, or the last one.
type State struct {
	Subject   string    `json:"subject"` // "": there was none since hob started
	File      string    `json:"file"`
	Began     time.Time `json:"began,omitzero"`
	Ended     time.Time `json:"ended,omitzero"` // zero: it runs
	Exchanges int       `json:"exchanges"`
	Bytes     int64     `json:"bytes"`
	Why       string    `json:"why,omitempty"` // it ended by itself
}

// Recorder makes one recording at a time. Its fields never change. A nil Recorder records nothing.
type Recorder struct {
	Dir     string // of the files
	Version string
	Hide    func(string) string // replaces secrets
	Now     func() time.Time
	Log     *slog.Logger

	latest atomic.Pointer[recording]
	start  sync.Mutex
}

// recording is one that runs or has run.
type recording struct {
	subject string
	until   time.Time
	ended   atomic.Bool // nothing new begins

	mu    sync.Mutex // protects the fields below
	file  *os.File   // nil: it is closed
	state State
	n     int            // requests so far
	open  map[*body]bool // responses that are still being read
}

// Start begins a recording of what h describes.
func (r *Recorder) Start(h Head) (State, error) {
	r.start.Lock()
	defer r.start.Unlock()
	if x := r.of(""); x != nil {
		return State{}, event.NewFault(event.Clash, "end it with: hob record stop", "a recording of %s runs", x.subject)
	}
	h.Config, _ = secret.JSON(h.Config, r.Hide) // it is valid
	h.Format, h.Version, h.Began = 1, r.Version, r.Now().UTC().Truncate(time.Microsecond)
	name := regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(h.Subject, "-") + "-" + h.Began.Format("20060102-150405.000000") + ".jsonl"
	x := &recording{subject: h.Subject, until: h.Began.Add(maxTime), open: map[*body]bool{}}
	x.state = State{Subject: h.Subject, File: filepath.Join(r.Dir, name), Began: h.Began}
	err := os.MkdirAll(r.Dir, 0o700)
	if err == nil {
		x.file, err = os.OpenFile(x.state.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if err == nil {
		err = x.write(h)
	}
	if err != nil {
		return State{}, event.NewFault(event.Unavailable, "make room for it, or see hob doctor", "the recording cannot be written: %v", err)
	}
	r.latest.Store(x)
	return x.state, nil
}

// Stop ends the recording that runs.
func (r *Recorder) Stop() (State, error) {
	x := r.of("")
	if x == nil {
		return State{}, event.NewFault(event.Clash, "see: hob record show", "no recording runs")
	}
	r.end(x, "")
	return r.Show(), nil
}

// Show returns the recording that runs, or the last one.
func (r *Recorder) Show() State {
	r.of("") // ends one that has run for too long
	x := r.latest.Load()
	if x == nil {
		return State{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

// Line notes a line to a program or from it, a message over a WebSocket, or a cursor.
func (r *Recorder) Line(subject, what string, line []byte) {
	if x := r.of(subject); x != nil {
		r.add(x, r.bodied(Entry{What: what}, line, len(line)))
	}
}

// of returns the recording of a subject if it runs; "" is any subject. One that has run for too long is ended.
func (r *Recorder) of(subject string) *recording {
	if r == nil {
		return nil
	}
	x := r.latest.Load()
	if x == nil || x.ended.Load() || subject != "" && subject != x.subject {
		return nil
	}
	if r.Now().After(x.until) {
		r.end(x, "an hour is over")
		return nil
	}
	return x
}

// add writes an entry. The recording ends if that is not possible.
func (r *Recorder) add(x *recording, e Entry) {
	e.At = r.Now().UTC()
	if err := x.write(e); err != nil {
		r.end(x, err.Error())
	}
}

// write writes a line.
func (x *recording) write(line any) error {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(line); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e, ok := line.(Entry); {
	case x.file == nil:
		return nil // it has ended meanwhile
	case x.state.Bytes+int64(b.Len()) > maxFile:
		return fmt.Errorf("it has reached %d MB", maxFile>>20)
	case ok && (e.What == Request || e.What == Sent):
		x.state.Exchanges++
	}
	n, err := x.file.Write(b.Bytes())
	x.state.Bytes += int64(n)
	return err
}

// end ends a recording. A response that is still being read is written as far as it was read. why is for the owner; "": the owner ended it.
func (r *Recorder) end(x *recording, why string) {
	if x.ended.Swap(true) {
		return
	}
	x.mu.Lock()
	open := slices.Collect(maps.Keys(x.open))
	x.mu.Unlock()
	for _, b := range open {
		b.finish("the recording ended")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.file.Close()
	x.file, x.state.Ended, x.state.Why = nil, r.Now().UTC(), why
	if why != "" || err != nil {
		r.Log.Warn("a recording has ended by itself", "subject", x.subject, "file", x.state.File, "why", why, "err", err)
	}
}
