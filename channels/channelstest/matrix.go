package channelstest

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MatrixFault is what the fake does instead of serving one call.
type MatrixFault struct {
	Status     int    // answer with this status,
	Code       string // this errcode ("": M_UNKNOWN),
	Why        string // this error ("": scripted),
	Location   string // these headers,
	RetryAfter string
	RetryMS    int64  // and this retry_after_ms
	Cut        string // "before" drops the connection without doing anything, "after" does it first
	Raw        string // answer 200 with this
	Silent     bool   // say nothing until the caller has gone
}

// MatrixSent is a message that hob has sent, as the room has it.
type MatrixSent struct {
	ID, Room, Txn string
	Content       map[string]any
}

// Body is the plain text of a message.
func (s MatrixSent) Body() string {
	body, _ := s.Content["body"].(string)
	return body
}

// Matrix is a fake homeserver with one account on one device, on a real socket (https://spec.matrix.org, Client-Server API v1.11). Everything
// that happens in all its rooms is one stream; a sync token is a place in it. A transaction id counts once in what was sent.
type Matrix struct {
	web
	script[MatrixFault]
	ledger[MatrixSent]
	me    string
	token string

	mu      sync.Mutex
	stream  []matrixEvent
	count   int                       // of ids
	kept    map[string]map[string]any // account data, by type
	old     bool                      // it is of before v1.11
	seals   bool                      // it encrypts new rooms
	txns    map[string]string         // event ids, by room and transaction id
	uploads []SentFile
	files   map[string][]byte
	notes   []string // receipts and signs
	sinces  []string
	epoch   int // of sync tokens
	waiting int // syncs that wait on changed
	changed chan struct{}
}

// matrixEvent is one thing that has happened in a room.
type matrixEvent struct {
	room string
	raw  map[string]any
}

// NewMatrix starts a fake on addr, "" for any free port of the loopback, for the account with this id and token. Its URL is the address to
// configure as homeserver.
func NewMatrix(addr, me, token string) (*Matrix, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	return MatrixOn(l, me, token), nil
}

// MatrixOn is NewMatrix with a listener.
func MatrixOn(l net.Listener, me, token string) *Matrix {
	f := &Matrix{me: me, token: token, kept: map[string]map[string]any{}, txns: map[string]string{}, files: map[string][]byte{}, changed: make(chan struct{})}
	f.serveOn(l, f.serve)
	return f
}

// Room makes a room that hob is in with these people. A title of "" is none.
func (f *Matrix) Room(room, title string, people ...string) {
	for _, p := range append(people, f.me) {
		f.Member(room, p, "join")
	}
	if title != "" {
		f.State(room, people[0], "m.room.name", "", map[string]any{"name": title})
	}
}

// Member sets what a person is in a room: join, invite, leave.
func (f *Matrix) Member(room, person, membership string) {
	f.State(room, person, "m.room.member", person, map[string]any{"membership": membership, "displayname": "The " + strings.TrimLeft(strings.Split(person, ":")[0], "@")})
}

// Invite is somebody inviting hob to a room that he has made.
func (f *Matrix) Invite(room, by string, direct bool) {
	f.Member(room, by, "join")
	f.State(room, by, "m.room.member", f.me, map[string]any{"membership": "invite", "is_direct": direct})
}

// State sets a state event of a room.
func (f *Matrix) State(room, sender, kind, key string, content map[string]any) {
	f.Put(room, map[string]any{"sender": sender, "type": kind, "state_key": key, "content": content})
}

// Say is somebody writing in a room. It returns the event's id.
func (f *Matrix) Say(room, sender, text string) string {
	return f.Write(room, sender, map[string]any{"msgtype": "m.text", "body": text})
}

// Write is somebody sending a message with any content.
func (f *Matrix) Write(room, sender string, content map[string]any) string {
	return f.Put(room, map[string]any{"sender": sender, "type": "m.room.message", "content": content})
}

// Put adds an event; what it lacks (event_id, origin_server_ts) is filled in.
func (f *Matrix) Put(room string, event map[string]any) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.put(room, event)
}

func (f *Matrix) put(room string, event map[string]any) string {
	f.begun(room, event)
	if event["event_id"] == nil {
		f.count++
		event["event_id"] = "$e" + strconv.Itoa(f.count)
	}
	if event["origin_server_ts"] == nil {
		event["origin_server_ts"] = time.Now().UnixMilli()
	}
	if event["type"] == "m.room.member" && event["state_key"] == f.me {
		if before := f.state(room)["m.room.member "+f.me]; before != nil {
			event["unsigned"] = map[string]any{"prev_content": before["content"]}
		}
	}
	f.stream = append(f.stream, matrixEvent{room, event})
	f.wake()
	id, _ := event["event_id"].(string)
	return id
}

// begun makes a room of which nothing is known yet: whoever does the first thing in it has made it; mu is held.
func (f *Matrix) begun(room string, event map[string]any) {
	if event["type"] == "m.room.create" || slices.ContainsFunc(f.stream, func(e matrixEvent) bool { return e.room == room }) {
		return
	}
	f.stream = append(f.stream, matrixEvent{room, map[string]any{
		"event_id": "$made-" + room, "type": "m.room.create", "state_key": "", "sender": event["sender"], "content": map[string]any{}, "origin_server_ts": time.Now().UnixMilli(),
	}})
}

// wake ends the syncs that wait; mu is held.
func (f *Matrix) wake() {
	close(f.changed)
	f.changed, f.waiting = make(chan struct{}), 0
}

// Redact is somebody deleting what he has sent: from then on nobody is told what it said ("Redactions").
func (f *Matrix) Redact(room, sender, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, e := range f.stream {
		if e.raw["event_id"] == id {
			raw := maps.Clone(e.raw) // the old one may be on its way to a reader
			raw["content"] = map[string]any{}
			f.stream[i].raw = raw
		}
	}
	f.put(room, map[string]any{"sender": sender, "type": "m.room.redaction", "content": map[string]any{"redacts": id}})
}

// Caught tells whether somebody waits for news and has read everything so far.
func (f *Matrix) Caught() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting > 0 && f.sinces[len(f.sinces)-1] == f.at(len(f.stream))
}

// Again puts an event into the stream a second time.
func (f *Matrix) Again(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.stream {
		if e.raw["event_id"] == id {
			f.stream = append(f.stream, e)
			f.wake()
			return
		}
	}
}

// state is the present state of a room, by type and key; mu is held.
func (f *Matrix) state(room string) map[string]map[string]any { return matrixState(f.stream, room) }

// shown is the state of a room as hob may see it: of one that it has left, as it was then; mu is held.
func (f *Matrix) shown(room string) (state map[string]map[string]any, ok bool) {
	switch f.is(room, f.me) {
	case "join":
		return f.state(room), true
	case "leave":
		left := len(f.stream)
		for f.stream[left-1].room != room || f.stream[left-1].raw["type"] != "m.room.member" || f.stream[left-1].raw["state_key"] != f.me {
			left--
		}
		return matrixState(f.stream[:left], room), true
	}
	return nil, false
}

// matrixState is the state of a room after events.
func matrixState(events []matrixEvent, room string) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, e := range events {
		if key, ok := e.raw["state_key"].(string); ok && e.room == room {
			kind, _ := e.raw["type"].(string)
			all[kind+" "+key] = e.raw
		}
	}
	return all
}

// is is what a person is in a room; mu is held.
func (f *Matrix) is(room, person string) string {
	content, _ := f.state(room)["m.room.member "+person]["content"].(map[string]any)
	membership, _ := content["membership"].(string)
	return membership
}

// Joined tells whether hob is in a room.
func (f *Matrix) Joined(room string) bool { return f.Membership(room, f.me) == "join" }

// Membership is what a person is in a room: join, invite, leave, or "".
func (f *Matrix) Membership(room, person string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is(room, person)
}

// Fail scripts what happens to the next calls of an endpoint, one fault each: sync, send, messages, state, join, download and so on, as the
// path names it.
func (f *Matrix) Fail(endpoint string, faults ...MatrixFault) {
	f.script.Fail(endpoint, faults...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if endpoint == "sync" {
		f.wake()
	}
}

// File is a file that may be downloaded from mxc://hob.test/ID.
func (f *Matrix) File(id string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[id] = content
}

// Uploads are the files that were stored, in order, also those that no message shows.
func (f *Matrix) Uploads() []SentFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.uploads)
}

// Revoke makes the token worthless.
func (f *Matrix) Revoke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token = "revoked"
	f.wake()
}

// Forget makes all sync tokens unknown.
func (f *Matrix) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	f.wake()
}

// Seal lets the homeserver encrypt all new rooms (Synapse, encryption_enabled_by_default_for_room_type).
func (f *Matrix) Seal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seals = true
}

// Age makes a homeserver of it that speaks only what there was before v1.11: its files need no token, and are in another place.
func (f *Matrix) Age() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.old = true
}

// matrixDirects is the type of account data that says which rooms are private chats.
const matrixDirects = "m.direct"

// Direct sets the rooms of private chats with a person.
func (f *Matrix) Direct(person string, rooms ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept[matrixDirects] == nil {
		f.kept[matrixDirects] = map[string]any{}
	}
	f.kept[matrixDirects][person] = rooms
}

// Directs are the private chats as hob has noted them, as JSON.
func (f *Matrix) Directs() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, err := json.Marshal(f.kept[matrixDirects])
	if err != nil {
		panic(err) // it was JSON
	}
	return string(raw)
}

// Notes are the receipts and signs so far, as "read EVENT in ROOM" and "typing in ROOM".
func (f *Matrix) Notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.notes)
}

// Sinces are the tokens of all syncs, in order.
func (f *Matrix) Sinces() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sinces)
}

// Listening blocks until somebody waits for news, or ctx ends.
func (f *Matrix) Listening(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting > 0
	})
}

// matrixDeny answers as a homeserver refuses.
func matrixDeny(w http.ResponseWriter, status int, code, why string, more map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"errcode": code, "error": why}
	maps.Copy(body, more)
	reply(w, body)
}
