package channelstest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// SignalSelf is the account id of the fake's account.
const SignalSelf = "00000000-0000-4000-8000-000000000001"

// SignalFault replaces the normal answer to one call.
type SignalFault struct {
	Code       int    // answer with this JSON-RPC error
	Result     string // with Code: the type of the result in the error's data; otherwise of the result
	RetryAfter int    // with Result: retryAfterSeconds, with a challenge's token
	Status     int    // answer with this HTTP status
	Cut        string // "before" drops the connection before the call takes effect, "after" after it
	Raw        string // answer 200 with this
}

// SignalSent is a sent message as readers see it.
type SignalSent struct {
	Timestamp int64
	To        string // an account id, or a group's id
	Text      string
	Styles    []string
	QuoteAt   int64
	QuoteOf   string
	Files     []string // data URIs
}

// Signal is a fake of signal-cli's HTTP daemon (signal-cli-jsonrpc(5)) on a real socket, in the mode
// --receive-mode=on-connection: messages stay at Signal's server while nobody reads events. Faults of
// "events" apply to streams. With several accounts, the daemon finds an account by its number only.
type Signal struct {
	web
	script[SignalFault]
	sentLog[SignalSent]
	account string

	mu        sync.Mutex
	plain     bool // an older version: events without ids, queries decoded twice
	started   int64
	seq       int64
	buffer    []signalEvent
	waiting   []string
	streams   map[*signalStream]bool
	newest    int64 // timestamp
	said      map[string]string
	signs     []string
	lastIDs   []string // Last-Event-ID of all streams
	files     map[string]string
	listed    []map[string]any // for listAccounts; nil: the daemon serves one account
	groups    []map[string]any
	anonymous bool // getUserStatus is refused
}

type signalEvent struct {
	id, data string
	account  string // the account of the event, "" if unknown
	seq      int64
}

// signalStream is a reader of events: of one account, or of all ("").
type signalStream struct {
	account string
	lines   chan string
}

// hears reports whether the stream gets an event.
func (s *signalStream) hears(e signalEvent) bool {
	return s.account == "" || e.account == "" || s.account == e.account
}

// NewSignal starts a fake on addr, "" for any free port on the loopback interface, for an account. Its URL is
// the address for the key url.
func NewSignal(addr, account string) (*Signal, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	return SignalOn(l, account), nil
}

// SignalOn is NewSignal with a listener.
func SignalOn(l net.Listener, account string) *Signal {
	f := &Signal{
		account: account, started: time.Now().UnixMilli(), streams: map[*signalStream]bool{}, newest: 1_700_000_000_000,
		said: map[string]string{}, files: map[string]string{},
	}
	f.serveOn(l, f.serve)
	return f
}

// Plain makes the fake an older version: events have no ids and are delivered once, queries are decoded
// twice, and the answer to a request for events begins with the first event.
func (f *Signal) Plain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plain = true
}

// Say sends a message to the account. It returns the timestamp.
func (f *Signal) Say(from, text string) int64 {
	return f.Write(from, map[string]any{"message": text})
}

// Write sends a dataMessage; a missing timestamp is filled in.
func (f *Signal) Write(from string, data map[string]any) int64 {
	at := f.stamp(data)
	f.Envelope(from, map[string]any{"timestamp": at, "dataMessage": data})
	return at
}

// Edit changes a message.
func (f *Signal) Edit(from string, target int64, data map[string]any) int64 {
	at := f.stamp(data)
	f.Envelope(from, map[string]any{"timestamp": at, "editMessage": map[string]any{"targetSentTimestamp": target, "dataMessage": data}})
	return at
}

// Note sends a message from another device of the account: to itself, or to somebody else.
func (f *Signal) Note(to string, data map[string]any) int64 {
	at := f.stamp(data)
	data["destinationUuid"], data["destinationNumber"] = to, nil
	f.Envelope(SignalSelf, map[string]any{"timestamp": at, "sourceNumber": f.account, "sourceDevice": 1, "syncMessage": map[string]any{"sentMessage": data}})
	return at
}

func (f *Signal) stamp(data map[string]any) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := whole(data["timestamp"]); at != 0 {
		return at
	}
	f.newest++
	data["timestamp"] = f.newest
	return f.newest
}

// Envelope sends a message of any kind.
func (f *Signal) Envelope(from string, e map[string]any) {
	envelope := map[string]any{"source": from, "sourceNumber": nil, "sourceUuid": from, "sourceName": "Sam", "sourceDevice": 1}
	for k, v := range e {
		envelope[k] = v
	}
	raw, err := json.Marshal(map[string]any{"account": f.account, "envelope": envelope})
	if err != nil {
		panic(err) // a test's own mistake
	}
	f.mu.Lock()
	f.said[from+"/"+strconv.FormatInt(whole(envelope["timestamp"]), 10)] = string(raw)
	f.mu.Unlock()
	f.Push(string(raw))
}

// Again delivers a message a second time.
func (f *Signal) Again(from string, timestamp int64) {
	f.mu.Lock()
	raw := f.said[from+"/"+strconv.FormatInt(timestamp, 10)]
	f.mu.Unlock()
	f.Push(raw)
}

// Push sends raw data as one event.
func (f *Signal) Push(raw string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.streams) == 0 {
		f.waiting = append(f.waiting, raw)
		return
	}
	f.emit(raw)
}

// emit sends an event to all readers.
func (f *Signal) emit(raw string) {
	f.seq++
	var about struct{ Account string }
	_ = json.Unmarshal([]byte(raw), &about) // without an account it is for everybody
	e := signalEvent{data: raw, account: about.Account, seq: f.seq}
	if !f.plain {
		e.id = fmt.Sprintf("%d-%d", f.started, f.seq)
		f.buffer = append(f.buffer, e)
		f.buffer = f.buffer[max(0, len(f.buffer)-1000):]
	}
	for s := range f.streams {
		if s.hears(e) {
			s.lines <- e.lines()
		}
	}
}

func (e signalEvent) lines() string {
	id := ""
	if e.id != "" {
		id = "id:" + e.id + "\n"
	}
	return id + "event:receive\ndata:" + e.data + "\n\n"
}

// Skip counts events of other accounts.
func (f *Signal) Skip(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq += n
}

// Restart restarts the daemon: streams end, stored events are gone, and ids begin at one.
func (f *Signal) Restart() {
	f.mu.Lock()
	f.started, f.seq, f.buffer = max(f.started+1, time.Now().UnixMilli()), 0, nil
	f.mu.Unlock()
	f.CutStreams()
}

// CutStreams breaks all streams in the middle.
func (f *Signal) CutStreams() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.streams {
		delete(f.streams, s)
		close(s.lines)
	}
}

// File stores an attachment.
func (f *Signal) File(id, base64 string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[id] = base64
}

// Accounts makes the daemon serve several accounts, as in listAccounts.
func (f *Signal) Accounts(list ...map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = list
}

// Group adds a group to listGroups.
func (f *Signal) Group(id, name string, member bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.groups = append(f.groups, map[string]any{"id": id, "name": name, "isMember": member})
}

// Signs returns the chats in which the typing sign was shown.
func (f *Signal) Signs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.signs)
}

// LastIDs returns the Last-Event-ID headers of all streams.
func (f *Signal) LastIDs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lastIDs)
}

// Listening waits until a client reads events, or ctx ends.
func (f *Signal) Listening(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.streams) > 0
	})
}

func (f *Signal) serve(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v1/check":
		f.fault("check")
	case "GET /api/v1/events":
		f.events(w, r)
	case "POST /api/v1/rpc":
		f.rpc(w, r)
	default:
		http.NotFound(w, r)
	}
}

// events serves one stream. It ends with the connection, with CutStreams or with the server.
func (f *Signal) events(w http.ResponseWriter, r *http.Request) {
	fault := f.fault("events")
	switch {
	case fault.Status != 0:
		w.WriteHeader(fault.Status)
		return
	case fault.Cut != "":
		hangUp(w)
		return
	}
	f.mu.Lock()
	account := f.asked(r.URL)
	if account != "" && !slices.ContainsFunc(f.listed, func(a map[string]any) bool { return a["number"] == account }) {
		f.mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s := &signalStream{account: account, lines: make(chan string, 20_000)}
	last := r.Header.Get("Last-Event-ID")
	f.lastIDs = append(f.lastIDs, last)
	f.replay(s, last)
	f.streams[s] = true
	for _, raw := range f.waiting {
		f.emit(raw)
	}
	f.waiting = nil
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.streams, s)
		f.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	if fault.Raw != "" {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, fault.Raw) // the reader may be gone
		return
	}
	f.pour(w, r, s)
}

// asked returns the account in a query, like signal-cli's HttpServerHandler: an older version decodes the
// result of URI.getQuery once more, so that "+" becomes a space; a newer one takes the raw query. A daemon
// for one account ignores it.
func (f *Signal) asked(u *url.URL) string {
	if f.listed == nil {
		return ""
	}
	_, name, _ := strings.Cut(u.RawQuery, "account=")
	var err error
	if f.plain {
		name, err = url.PathUnescape(name)
	} else {
		name = strings.ReplaceAll(name, "+", "%2B")
	}
	if err == nil {
		name, err = url.QueryUnescape(name)
	}
	if err != nil {
		return "no account"
	}
	return name
}

// pour writes events to a stream. An older version sends the header of its answer with the first event.
func (f *Signal) pour(w http.ResponseWriter, r *http.Request, s *signalStream) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		panic("a server that cannot flush")
	}
	f.mu.Lock()
	late := f.plain
	f.mu.Unlock()
	if !late {
		flusher.Flush()
	}
	for {
		select {
		case line, open := <-s.lines:
			if !open {
				hangUp(w)
				return
			}
			_, _ = io.WriteString(w, line) // as above
			flusher.Flush()
		case <-r.Context().Done():
			return
		case <-f.quit:
			return
		}
	}
}

// replay sends the events after an id; after an unknown id, all stored events.
func (f *Signal) replay(s *signalStream, last string) {
	if last == "" {
		return
	}
	after := int64(0)
	if n, ok := strings.CutPrefix(last, strconv.FormatInt(f.started, 10)+"-"); ok {
		after, _ = strconv.ParseInt(n, 10, 64) // one that is none is not known
	}
	for _, e := range f.buffer {
		if e.seq > after && s.hears(e) {
			s.lines <- e.lines()
		}
	}
}

// Alive sends a keep-alive to all readers.
func (f *Signal) Alive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.streams {
		s.lines <- ":\n"
	}
}
