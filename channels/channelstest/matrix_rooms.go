package channelstest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// join makes hob a member of a room to which it was invited.
func (f *Matrix) join(room string) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is(room, f.me) != "join" {
		if f.is(room, f.me) != "invite" {
			return nil, &matrixNo{http.StatusForbidden, "M_FORBIDDEN", "You are not invited to this room."}
		}
		f.put(room, map[string]any{"type": "m.room.member", "state_key": f.me, "sender": f.me, "content": map[string]any{"membership": "join"}})
	}
	return map[string]any{"room_id": room}, nil
}

// create creates a room with hob, and invites people.
func (f *Matrix) create(r *http.Request) (any, *matrixNo) {
	var p struct {
		Invite []string `json:"invite"`
		Direct bool     `json:"is_direct"`
	}
	if no := matrixRead(r, &p); no != nil {
		return nil, no
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	room := fmt.Sprintf("!made%d:hob.test", f.count)
	f.put(room, map[string]any{"type": "m.room.member", "state_key": f.me, "sender": f.me, "content": map[string]any{"membership": "join"}})
	if f.seals {
		f.put(room, map[string]any{"type": "m.room.encryption", "state_key": "", "sender": f.me, "content": map[string]any{"algorithm": "m.megolm.v1.aes-sha2"}})
	}
	for _, person := range p.Invite {
		f.put(room, map[string]any{"type": "m.room.member", "state_key": person, "sender": f.me, "content": map[string]any{"membership": "invite", "is_direct": p.Direct}})
	}
	return map[string]any{"room_id": room}, nil
}

// kick removes a person from a room, or withdraws an invitation.
func (f *Matrix) kick(r *http.Request, room string) (any, *matrixNo) {
	var p struct {
		Person string `json:"user_id"`
	}
	if no := matrixRead(r, &p); no != nil {
		return nil, no
	}
	return f.remove(room, p.Person)
}

// remove ends a membership on hob's request.
func (f *Matrix) remove(room, person string) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is := f.is(room, person); person != f.me && f.is(room, f.me) != "join" || is != "join" && is != "invite" {
		return nil, matrixForbidden
	}
	f.put(room, map[string]any{"type": "m.room.member", "state_key": person, "sender": f.me, "content": map[string]any{"membership": "leave"}})
	return map[string]any{}, nil
}

// readKept returns account data of a type.
func (f *Matrix) readKept(kind string) (any, *matrixNo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.kept[kind]) == 0 {
		return nil, &matrixNo{http.StatusNotFound, "M_NOT_FOUND", "Account data not found."}
	}
	return maps.Clone(f.kept[kind]), nil
}

// keep stores account data of a type.
func (f *Matrix) keep(r *http.Request, kind string) (any, *matrixNo) {
	var data map[string]any
	if no := matrixRead(r, &data); no != nil {
		return nil, no
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept[kind] = data
	return map[string]any{}, nil
}

// matrixRead parses the body of a request.
func matrixRead(r *http.Request, into any) *matrixNo {
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(into); err != nil {
		return &matrixNo{http.StatusBadRequest, "M_NOT_JSON", err.Error()}
	}
	return nil
}
