package channelstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// matrixNo is a refusal.
type matrixNo struct {
	status int
	code   string
	why    string
}

// Refusals that several endpoints use.
var (
	matrixForbidden = &matrixNo{http.StatusForbidden, "M_FORBIDDEN", "not in the room"}
	matrixUnheard   = &matrixNo{http.StatusNotFound, "M_UNRECOGNIZED", "Unrecognized request"}
)

func (f *Matrix) serve(w http.ResponseWriter, r *http.Request) {
	var at []string
	for _, part := range strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/_matrix/client/"), "/") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			matrixDeny(w, http.StatusBadRequest, "M_UNKNOWN", err.Error(), nil)
			return
		}
		at = append(at, plain)
	}
	f.mu.Lock()
	token := f.token
	f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+token {
		matrixDeny(w, http.StatusUnauthorized, "M_UNKNOWN_TOKEN", "Invalid access token passed.", map[string]any{"soft_logout": false})
		return
	}
	endpoint, serve := f.endpoint(r, at)
	fault := f.fault(endpoint)
	switch {
	case fault.Status != 0:
		fault.refuse(w)
		return
	case fault.Raw != "":
		_, _ = io.WriteString(w, fault.Raw) // the reader may be gone
		return
	case fault.Cut == "before":
		hangUp(w)
		return
	case fault.Silent:
		select {
		case <-r.Context().Done():
		case <-f.quit:
		}
		return
	}
	result, no := serve()
	file, isFile := result.([]byte)
	switch {
	case fault.Cut == "after":
		hangUp(w)
	case no != nil:
		matrixDeny(w, no.status, no.code, no.why, nil)
	case isFile:
		_, _ = w.Write(file) // the reader may be gone
	default:
		reply(w, result)
	}
}

// refuse answers with the fault's status.
func (fault MatrixFault) refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", fault.RetryAfter)
	if fault.Location != "" {
		w.Header().Set("Location", fault.Location)
	}
	more := map[string]any{}
	if fault.RetryMS > 0 {
		more["retry_after_ms"] = fault.RetryMS
	}
	matrixDeny(w, fault.Status, cmp.Or(fault.Code, "M_UNKNOWN"), cmp.Or(fault.Why, "scripted"), more)
}

// endpoint returns the name and the handler of a path.
func (f *Matrix) endpoint(r *http.Request, at []string) (name string, serve func() (any, *matrixNo)) {
	is := func(method string, pattern ...string) bool {
		if r.Method != method || len(at) != len(pattern) {
			return false
		}
		for i, p := range pattern {
			if p != "*" && p != at[i] {
				return false
			}
		}
		return true
	}
	switch {
	case is("GET", "v3", "sync"):
		return "sync", func() (any, *matrixNo) { return f.sync(r) }
	case is("GET", "v3", "account", "whoami"):
		return "whoami", func() (any, *matrixNo) { return map[string]any{"user_id": f.me, "device_id": "DEV"}, nil }
	case is("GET", "v3", "profile", f.me):
		return "profile", func() (any, *matrixNo) { return map[string]any{"displayname": "Hob Goblin"}, nil }
	case is("GET", "v3", "joined_rooms"):
		return "joined_rooms", f.joinedRooms
	case is("POST", "v3", "createRoom"):
		return "createRoom", func() (any, *matrixNo) { return f.create(r) }
	case is("GET", "v3", "user", f.me, "account_data", "*"):
		return "account_data", func() (any, *matrixNo) { return f.readKept(at[4]) }
	case is("PUT", "v3", "user", f.me, "account_data", "*"):
		return "account_data", func() (any, *matrixNo) { return f.keep(r, at[4]) }
	case is("POST", "v3", "rooms", "*", "join"):
		return "join", func() (any, *matrixNo) { return f.join(at[2]) }
	case is("POST", "v3", "rooms", "*", "leave"):
		return "leave", func() (any, *matrixNo) { return f.remove(at[2], f.me) }
	case is("POST", "v3", "rooms", "*", "kick"):
		return "kick", func() (any, *matrixNo) { return f.kick(r, at[2]) }
	case is("GET", "v3", "rooms", "*", "state"):
		return "state", func() (any, *matrixNo) { return f.allState(at[2]) }
	case is("GET", "v3", "rooms", "*", "state", "*"):
		return "state", func() (any, *matrixNo) { return f.oneState(at[2], at[4]) }
	case is("GET", "v3", "rooms", "*", "messages"):
		return "messages", func() (any, *matrixNo) { return f.messages(r, at[2]) }
	case is("PUT", "v3", "rooms", "*", "send", "m.room.message", "*"):
		return "send", func() (any, *matrixNo) { return f.send(r, at[2], at[5]) }
	case is("PUT", "v3", "rooms", "*", "typing", f.me):
		return "typing", func() (any, *matrixNo) { return f.note(at[2], "typing in "+at[2]) }
	case is("POST", "v3", "rooms", "*", "receipt", "m.read", "*"):
		return "receipt", func() (any, *matrixNo) { return f.note(at[2], "read "+at[5]+" in "+at[2]) }
	case is("POST", "", "_matrix", "media", "v3", "upload"):
		return "upload", func() (any, *matrixNo) { return f.upload(r) }
	case is("GET", "v1", "media", "download", "hob.test", "*"):
		return "download", func() (any, *matrixNo) { return f.download(at[4], false) }
	case is("GET", "", "_matrix", "media", "v3", "download", "hob.test", "*"):
		return "media", func() (any, *matrixNo) { return f.download(at[6], true) }
	}
	return "unknown", func() (any, *matrixNo) { return nil, matrixUnheard }
}

// matrixFilter is the part of a filter that the fake implements.
type matrixFilter struct {
	Room struct {
		Timeline struct {
			Limit int
			Types []string
		}
	}
}

// sync waits until there are events after a token.
func (f *Matrix) sync(r *http.Request) (any, *matrixNo) {
	query := r.URL.Query()
	var filter matrixFilter
	if err := json.Unmarshal([]byte(query.Get("filter")), &filter); err != nil {
		return nil, &matrixNo{http.StatusBadRequest, "M_BAD_JSON", err.Error()}
	}
	timeout, err := strconv.Atoi(query.Get("timeout"))
	if err != nil {
		return nil, &matrixNo{http.StatusBadRequest, "M_INVALID_PARAM", "timeout"}
	}
	timer := time.NewTimer(time.Duration(timeout) * time.Millisecond)
	defer timer.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	since := query.Get("since")
	f.sinces = append(f.sinces, strings.Clone(since)) // a substring would keep the whole address in memory
	for {
		if r.Header.Get("Authorization") != "Bearer "+f.token {
			return nil, &matrixNo{http.StatusUnauthorized, "M_UNKNOWN_TOKEN", "Invalid access token passed."}
		}
		from, ok := f.place(since)
		if !ok {
			return nil, &matrixNo{http.StatusBadRequest, "M_UNKNOWN", "Invalid stream token"}
		}
		if from < len(f.stream) || since == "" || timeout == 0 || f.scripted("sync") {
			return f.news(from, since == "", filter), nil
		}
		changed := f.changed
		f.waiting++
		f.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			timeout = 0
		case <-r.Context().Done():
			timeout = 0
		case <-f.quit:
			timeout = 0
		}
		f.mu.Lock()
		if f.changed == changed {
			f.waiting--
		}
	}
}

// place returns the position of a token in the stream.
func (f *Matrix) place(token string) (int, bool) {
	if token == "" {
		return 0, true
	}
	epoch, n := 0, 0
	if _, err := fmt.Sscanf(token, "s%d_%d", &epoch, &n); err != nil {
		return 0, false
	}
	return n, epoch == f.epoch && n <= len(f.stream)
}

func (f *Matrix) at(n int) string { return fmt.Sprintf("s%d_%d", f.epoch, n) }

// news returns the events after a position.
func (f *Matrix) news(from int, first bool, filter matrixFilter) any {
	join, invite, leave := map[string]any{}, map[string]any{}, map[string]any{}
	done := map[string]bool{}
	for _, e := range f.stream[from:] {
		if done[e.room] {
			continue
		}
		done[e.room] = true
		switch f.is(e.room, f.me) {
		case "join":
			join[e.room] = f.joined(e.room, from, first, filter)
		case "leave":
			if !first {
				leave[e.room] = map[string]any{"timeline": map[string]any{"events": []any{}}, "state": map[string]any{"events": []any{}}}
			}
		case "invite":
			mine := f.state(e.room)["m.room.member "+f.me]
			invite[e.room] = map[string]any{"invite_state": map[string]any{"events": []any{
				map[string]any{"type": "m.room.member", "state_key": f.me, "sender": mine["sender"], "content": mine["content"]},
			}}}
		}
	}
	return map[string]any{"next_batch": f.at(len(f.stream)), "rooms": map[string]any{"join": join, "invite": invite, "leave": leave}}
}

// joined returns a room's part of a sync. If hob has just joined the room, it begins before the token.
func (f *Matrix) joined(room string, from int, first bool, filter matrixFilter) any {
	for _, e := range f.stream[from:] {
		if e.room == room && e.raw["type"] == "m.room.member" && e.raw["state_key"] == f.me {
			from = 0
			break
		}
	}
	var list []any
	var places []int
	for i, e := range f.stream[from:] {
		if e.room == room && (len(filter.Room.Timeline.Types) == 0 || slices.Contains(filter.Room.Timeline.Types, fmt.Sprint(e.raw["type"]))) {
			list, places = append(list, e.raw), append(places, from+i)
		}
	}
	limited, begin := first, from
	if over := len(list) - filter.Room.Timeline.Limit; over > 0 {
		list, begin, limited = list[over:], places[over], true
	}
	return map[string]any{"timeline": map[string]any{"events": list, "limited": limited, "prev_batch": f.at(begin)}, "state": map[string]any{"events": []any{}}}
}

// messages returns the events of a room before a token, back to another one.
func (f *Matrix) messages(r *http.Request, room string) (any, *matrixNo) {
	query := r.URL.Query()
	f.mu.Lock()
	defer f.mu.Unlock()
	from, ok := f.place(query.Get("from"))
	to, known := f.place(query.Get("to"))
	limit, err := strconv.Atoi(query.Get("limit"))
	switch {
	case f.is(room, f.me) != "join":
		return nil, matrixForbidden
	case !ok, !known, err != nil, query.Get("dir") != "b", limit < 1:
		return nil, &matrixNo{http.StatusBadRequest, "M_INVALID_PARAM", "from, to, dir or limit"}
	}
	chunk := []any{}
	for from > to && len(chunk) < limit {
		from--
		if f.stream[from].room == room {
			chunk = append(chunk, f.stream[from].raw)
		}
	}
	answer := map[string]any{"chunk": chunk, "start": query.Get("from")}
	if from > to {
		answer["end"] = f.at(from)
	}
	return answer, nil
}

func (f *Matrix) joinedRooms() (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rooms := []string{}
	for _, e := range f.stream {
		if !slices.Contains(rooms, e.room) && f.is(e.room, f.me) == "join" {
			rooms = append(rooms, e.room)
		}
	}
	return map[string]any{"joined_rooms": rooms}, nil
}

func (f *Matrix) allState(room string) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state, ok := f.shown(room)
	if !ok {
		return nil, matrixForbidden
	}
	list := []any{}
	for _, e := range state {
		list = append(list, e)
	}
	return list, nil
}

func (f *Matrix) oneState(room, kind string) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state, ok := f.shown(room)
	e := state[kind+" "]
	switch {
	case !ok:
		return nil, matrixForbidden
	case e == nil:
		return nil, &matrixNo{http.StatusNotFound, "M_NOT_FOUND", "Event not found."}
	}
	return e["content"], nil
}

// send stores a message, once for each transaction id of a room.
func (f *Matrix) send(r *http.Request, room, txn string) (any, *matrixNo) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	content := map[string]any{}
	if err != nil || json.Unmarshal(raw, &content) != nil {
		return nil, &matrixNo{http.StatusBadRequest, "M_NOT_JSON", "Content not JSON."}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.is(room, f.me) != "join":
		return nil, matrixForbidden
	case len(raw) > 64_000:
		return nil, &matrixNo{http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "event too large"}
	case content["msgtype"] == nil || content["body"] == nil:
		return nil, &matrixNo{http.StatusBadRequest, "M_BAD_JSON", "msgtype and body are needed"}
	}
	id := f.txns[room+" "+txn]
	if id == "" {
		id = f.put(room, map[string]any{"type": "m.room.message", "sender": f.me, "content": content, "unsigned": map[string]any{"transaction_id": txn}})
		f.txns[room+" "+txn] = id
		f.enter(MatrixSent{ID: id, Room: room, Txn: txn, Content: content})
	}
	return map[string]any{"event_id": id}, nil
}

// note records a receipt or a typing sign.
func (f *Matrix) note(room, what string) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is(room, f.me) != "join" {
		return nil, matrixForbidden
	}
	f.notes = append(f.notes, what)
	return map[string]any{}, nil
}

// upload stores a file, which can then be downloaded.
func (f *Matrix) upload(r *http.Request) (any, *matrixNo) {
	data, err := io.ReadAll(io.LimitReader(r.Body, 60<<20))
	switch {
	case err != nil:
		return nil, &matrixNo{http.StatusBadRequest, "M_UNKNOWN", err.Error()}
	case len(data) > 50<<20:
		return nil, &matrixNo{http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "Cannot upload files larger than 50 MB"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	id := fmt.Sprintf("up%d", f.count)
	f.files[id] = data
	f.uploads = append(f.uploads, SentFile{Kind: "upload", Name: r.URL.Query().Get("filename"), MIME: r.Header.Get("Content-Type"), Data: string(data)})
	return map[string]any{"content_uri": "mxc://hob.test/" + id}, nil
}

// download returns a file. legacy: by the path from before v1.11, which newer files do not have.
func (f *Matrix) download(id string, legacy bool) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.files[id]
	switch {
	case f.old && !legacy:
		return nil, matrixUnheard
	case !ok, f.old != legacy:
		return nil, &matrixNo{http.StatusNotFound, "M_NOT_FOUND", "no such file"}
	}
	return content, nil
}
