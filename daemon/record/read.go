package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"

	"hob/daemon/event"
)

// Log is a recording that was read.
type Log struct {
	Head
	Entries []Entry
	Cut     bool // its last line is not complete
}

// Read reads a file. Errors are faults for people.
func Read(path string) (l Log, err error) {
	bad := func(format string, args ...any) (Log, error) {
		return Log{}, event.NewFault(event.Invalid, "hob record show names the file of the last recording", format, args...)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("there is no file %s", path)
	case err == nil && !info.Mode().IsRegular():
		return bad("%s is no file", path)
	case err == nil && info.Size() > maxFile:
		return bad("%s is no recording of hob: it has more than %d MB", path, maxFile>>20)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return bad("%s cannot be read: %v", path, err)
	}
	for n := 1; len(raw) > 0; n++ {
		line, rest, whole := bytes.Cut(raw, []byte("\n"))
		raw = rest
		var e Entry
		into := any(&e)
		if n == 1 {
			into = &l.Head
		}
		switch err := json.Unmarshal(line, into); {
		case n == 1 && (err != nil || l.Format < 1):
			return bad("%s is no recording of hob: its first line does not say so", path)
		case n == 1 && l.Format > 1:
			return bad("%s was written by hob %s, which is newer than this one", path, l.Version)
		case err != nil && !whole:
			l.Cut = true // hob was killed, or the disk was full
		case err != nil:
			return bad("line %d of %s is no entry of a recording", n, path)
		case n > 1:
			l.Entries = append(l.Entries, e)
		}
	}
	if l.Format == 0 {
		return bad("%s is empty", path)
	}
	return l, nil
}

// Content returns the body of an entry.
func (e Entry) Content() []byte {
	if e.Base64 {
		raw, _ := base64.StdEncoding.DecodeString(e.Body) // what is valid of it
		return raw
	}
	return []byte(e.Body)
}

// Answer returns what came of a request: the response, or what failed in its place; nil: nothing.
func (l Log) Answer(n int) *Entry {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.N == n && (e.What == Response || e.What == Failed) {
			return e
		}
	}
	return nil
}

// Heard is what hob reads in one response.
type Heard struct {
	N        int      `json:"n,omitempty"` // the request
	Request  string   `json:"request"`     // its method and address
	Status   int      `json:"status,omitempty"`
	Bytes    int      `json:"bytes"`
	Parsed   bool     `json:"parsed"` // hob has read it; otherwise it is only listed
	Text     string   `json:"text,omitempty"`
	Thinking int      `json:"thinking,omitempty"` // characters
	Calls    []string `json:"calls,omitempty"`
	Repaired []string `json:"repaired,omitempty"`
	Messages []string `json:"messages,omitempty"` // of an MCP server, in the form of the protocol
	Fault    string   `json:"fault,omitempty"`
}

// Heard describes a request and what came of it.
func (l Log) Heard(e Entry) Heard {
	h := Heard{N: e.N, Request: e.Method + " " + e.URL}
	switch a := l.Answer(e.N); {
	case a == nil:
		h.Fault = "the recording has no response"
	case a.What == Failed:
		h.Fault = a.End
	default:
		h.Status, h.Bytes = a.Status, a.Bytes
	}
	return h
}

// Tape is a transport that sends nothing: its responses are those of a recording.
type Tape struct {
	// Next returns the answer to a request; nil: the recording has none.
	Next func(*http.Request) *Entry

	mu sync.Mutex
}

// RoundTrip returns the next response. One that did not come, or broke off, is an error as it was.
func (t *Tape) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // nothing reads it
	}
	t.mu.Lock()
	e := t.Next(req)
	t.mu.Unlock()
	switch {
	case e == nil:
		return nil, errors.New("the recording has no answer to this request")
	case e.What == Failed:
		return nil, errors.New(e.End)
	}
	resp := &http.Response{
		StatusCode: e.Status, Status: fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: req, ContentLength: -1,
	}
	for name, value := range e.Header {
		resp.Header.Set(name, value)
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(e.Content()), ending(e)))
	return resp, nil
}

// ending is the end of a body: complete, or not.
func ending(e *Entry) io.Reader {
	if e.Cut || e.End != "" && e.End != closed {
		return broken{}
	}
	return strings.NewReader("")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
