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

// MatrixFault replaces the normal answer to one call.
type MatrixFault struct {
	Status     int    // answer with this status
	Code       string // with this errcode ("": M_UNKNOWN)
	Why        string // with this error ("": scripted)
	Location   string // with these headers
	RetryAfter string
	RetryMS    int64  // with this retry_after_ms
	Cut        string // "before" drops the connection before the call takes effect, "after" after it
	Raw        string // answer 200 with this
	Silent     bool   // do not answer until the caller has gone
}

// MatrixSent is a message of hob as stored in the room.
type MatrixSent struct {
	ID, Room, Txn string
	Content       map[string]any
}

// Body returns the plain text of a message.
func (s MatrixSent) Body() string {
	body, _ := s.Content["body"].(string)
	return body
}

// Matrix is a fake homeserver with one account on one device, on a real socket (https://spec.matrix.org,
// Client-Server API v1.11). The events of all rooms form one stream; a sync token is a position in it. A
// transaction id is accepted once.
type Matrix struct {
	web
	script[MatrixFault]
	sentLog[MatrixSent]
	me    string
	token string

	mu      sync.Mutex
	stream  []matrixEvent
	count   int                       // of ids
	kept    map[string]map[string]any // account data, by type
	old     bool                      // behaves like a server before v1.11
	seals   bool                      // encrypts new rooms
	txns    map[string]string         // event ids, by room and transaction id
	uploads []SentFile
	files   map[string][]byte
	notes   []string // receipts and typing signs
	sinces  []string
	epoch   int // of sync tokens
	waiting int // waiting syncs
	changed chan struct{}
}

// matrixEvent is one event in a room.
type matrixEvent struct {
	room string
	raw  map[string]any
}

// NewMatrix starts a fake on addr, "" for any free port on the loopback interface, for the account with this
// id and token. Its URL is the address for the key homeserver.
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

// Room creates a room with hob and these people. The title may be "".
func (f *Matrix) Room(room, title string, people ...string) {
	for _, p := range append(people, f.me) {
		f.Member(room, p, "join")
	}
	if title != "" {
		f.State(room, people[0], "m.room.name", "", map[string]any{"name": title})
	}
}

// Member sets a person's membership: join, invite, leave.
func (f *Matrix) Member(room, person, membership string) {
	f.State(room, person, "m.room.member", person, map[string]any{"membership": membership, "displayname": "The " + strings.TrimLeft(strings.Split(person, ":")[0], "@")})
}

// Invite makes a person invite hob to a new room of that person.
func (f *Matrix) Invite(room, by string, direct bool) {
	f.Member(room, by, "join")
	f.State(room, by, "m.room.member", f.me, map[string]any{"membership": "invite", "is_direct": direct})
}

// State sets a state event of a room.
func (f *Matrix) State(room, sender, kind, key string, content map[string]any) {
	f.Put(room, map[string]any{"sender": sender, "type": kind, "state_key": key, "content": content})
}

// Say sends a text to a room. It returns the event's id.
func (f *Matrix) Say(room, sender, text string) string {
	return f.Write(room, sender, map[string]any{"msgtype": "m.text", "body": text})
}

// Write sends a message with any content.
func (f *Matrix) Write(room, sender string, content map[string]any) string {
	return f.Put(room, map[string]any{"sender": sender, "type": "m.room.message", "content": content})
}

// Put adds an event. Missing fields (event_id, origin_server_ts) are filled in.
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

// begun creates an unknown room; the author of its first event is the creator. The caller holds mu.
func (f *Matrix) begun(room string, event map[string]any) {
	if event["type"] == "m.room.create" || slices.ContainsFunc(f.stream, func(e matrixEvent) bool { return e.room == room }) {
		return
	}
	f.stream = append(f.stream, matrixEvent{room, map[string]any{
		"event_id": "$made-" + room, "type": "m.room.create", "state_key": "", "sender": event["sender"], "content": map[string]any{}, "origin_server_ts": time.Now().UnixMilli(),
	}})
}

// wake ends waiting syncs. The caller holds mu.
func (f *Matrix) wake() {
	close(f.changed)
	f.changed, f.waiting = make(chan struct{}), 0
}

// Redact deletes an event: from now on its content is not returned ("Redactions").
func (f *Matrix) Redact(room, sender, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, e := range f.stream {
		if e.raw["event_id"] == id {
			raw := maps.Clone(e.raw) // a reader may still use the old one
			raw["content"] = map[string]any{}
			f.stream[i].raw = raw
		}
	}
	f.put(room, map[string]any{"sender": sender, "type": "m.room.redaction", "content": map[string]any{"redacts": id}})
}

// Caught reports whether a client waits in a sync and has read everything.
func (f *Matrix) Caught() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting > 0 && f.sinces[len(f.sinces)-1] == f.at(len(f.stream))
}

// Again adds an event to the stream a second time.
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

// state returns the current state of a room by type and key. The caller holds mu.
func (f *Matrix) state(room string) map[string]map[string]any { return matrixState(f.stream, room) }

// shown returns the state that hob may see: of a room that it left, as it was then. The caller holds mu.
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

// matrixState returns the state of a room after events.
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

// is returns a person's membership. The caller holds mu.
func (f *Matrix) is(room, person string) string {
	content, _ := f.state(room)["m.room.member "+person]["content"].(map[string]any)
	membership, _ := content["membership"].(string)
	return membership
}

// Joined reports whether hob is in a room.
func (f *Matrix) Joined(room string) bool { return f.Membership(room, f.me) == "join" }

// Membership returns a person's membership: join, invite, leave, or "".
func (f *Matrix) Membership(room, person string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is(room, person)
}

// Fail scripts the next calls of an endpoint, one fault each: sync, send, messages, state, join, download and
// so on, as in the path.
func (f *Matrix) Fail(endpoint string, faults ...MatrixFault) {
	f.script.Fail(endpoint, faults...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if endpoint == "sync" {
		f.wake()
	}
}

// File stores a file that can be downloaded from mxc://hob.test/ID.
func (f *Matrix) File(id string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[id] = content
}

// Uploads returns the stored files in order, including those that no message shows.
func (f *Matrix) Uploads() []SentFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.uploads)
}

// Revoke invalidates the token.
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

// EncryptRooms makes the homeserver encrypt all new rooms (Synapse, encryption_enabled_by_default_for_room_type).
func (f *Matrix) EncryptRooms() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seals = true
}

// Age makes the homeserver behave as before v1.11: files need no token, and have another path.
func (f *Matrix) Age() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.old = true
}

// matrixDirects is the type of account data that lists private chats.
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

// Directs returns the list of private chats that hob has stored, as JSON.
func (f *Matrix) Directs() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, err := json.Marshal(f.kept[matrixDirects])
	if err != nil {
		panic(err) // it was JSON
	}
	return string(raw)
}

// Notes returns the receipts and typing signs, as "read EVENT in ROOM" and "typing in ROOM".
func (f *Matrix) Notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.notes)
}

// Sinces returns the tokens of all syncs, in order.
func (f *Matrix) Sinces() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sinces)
}

// Listening waits until a client waits in a sync, or ctx ends.
func (f *Matrix) Listening(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting > 0
	})
}

// matrixDeny answers with a homeserver's refusal.
func matrixDeny(w http.ResponseWriter, status int, code, why string, more map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"errcode": code, "error": why}
	maps.Copy(body, more)
	reply(w, body)
}
