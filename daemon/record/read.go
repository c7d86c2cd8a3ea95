package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"hob/daemon/event"
)

// Log is a recording that was read.
type Log struct {
	Head
	Entries []Entry
	Cut     string // the beginning of its last line, if that is not complete
}

// maxCut is how many bytes of an incomplete line are shown.
const maxCut = 300

// Read reads a file. Errors are faults for people.
func Read(path string) (l Log, err error) {
	bad := func(format string, args ...any) (Log, error) {
		return Log{}, event.NewFault(event.Invalid, "hob record show names the file of the last recording", format, args...)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return bad("there is no file %s", path)
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile):
		return bad("%s is no recording of hob: want a file of at most %d MB", path, maxFile>>20)
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
			l.Cut = strings.ToValidUTF8(string(line[:min(len(line), maxCut)]), "") // hob was killed, or the disk was full
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

// early returns why the body of a response ended early; "": it did not, or hob wanted no more.
func (e Entry) early() string {
	if e.End == closed {
		return ""
	}
	return e.End
}

// Heard is a request with what came of it, and what hob reads in that. Of a program it is a message without a request.
type Heard struct {
	N        int      `json:"n,omitempty"` // number of the request
	Request  string   `json:"request"`     // its method and address, or what the message is
	Status   int      `json:"status,omitempty"`
	Bytes    int      `json:"bytes"`
	Parsed   bool     `json:"parsed"` // hob has read it; otherwise it is only listed
	Text     string   `json:"text,omitempty"`
	Thinking int      `json:"thinking,omitempty"` // characters
	Calls    []string `json:"calls,omitempty"`
	Repaired []string `json:"repaired,omitempty"`
	Messages []string `json:"messages,omitempty"` // JSON: of an MCP server as it sent them, of a channel as hob reads them
	Fault    string   `json:"fault,omitempty"`

	Asked  Entry   `json:"-"` // the request
	Answer *Entry  `json:"-"` // the response, or the failure in its place; nil: there is none
	Frames []Entry `json:"-"` // the messages over the WebSocket that the request opened
}

// NoResponse is the fault of a request without a response.
const NoResponse = "the recording has no response"

// Exchanges returns the requests in order, each with the first answer to it.
func (l Log) Exchanges() (list []*Heard) {
	numbered := map[int]*Heard{}
	var socket *Heard
	for _, e := range l.Entries {
		h := numbered[e.N]
		switch {
		case e.What == Request:
			h = &Heard{N: e.N, Request: e.Method + " " + e.URL, Fault: NoResponse, Asked: e}
			numbered[e.N], list = h, append(list, h)
		case socket != nil && (e.What == Sent || e.What == Received):
			socket.Frames = append(socket.Frames, e)
			socket.Bytes += e.Bytes
		case h == nil || h.Answer != nil: // it answers nothing
		case e.What == Failed:
			h.Answer, h.Fault = &e, e.End
		case e.What == Response:
			h.Answer, h.Status, h.Bytes, h.Fault = &e, e.Status, e.Bytes, e.early()
			if e.Status == http.StatusSwitchingProtocols {
				socket = h
			}
		}
	}
	return list
}
