package store

import (
	"cmp"
	"context"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// sessionCalled selects a session by its key ?1 or its id ?1. A key selects the live session; without one, it selects the archived session
// that the next message brings back.
func sessionCalled() string {
	return `s.id = coalesce((SELECT id FROM sessions WHERE key = ?1 AND archived = 0), (SELECT id FROM sessions WHERE key = ?1 AND revive = 1),
		(SELECT id FROM sessions WHERE ` + hasID("id") + "))"
}

// Archive ends a session. The next message with its key opens a new one.
func (r Sessions) Archive(ctx context.Context, name string) error {
	return r.core.write(ctx, func(tx *Tx) error {
		n, err := tx.Change("UPDATE sessions SET archived = ?2 WHERE archived = 0 AND id = (SELECT id FROM sessions s WHERE "+sessionCalled()+")", name, sqlite.Micros(tx.Now))
		return oneRow(n, err, "there is no live session %s", "hob sessions list shows them", name)
	})
}

// PutAway archives a session. The next message with its key brings it back. An archived session stays as it is.
func (r Sessions) PutAway(ctx context.Context, name string) error {
	return r.core.write(ctx, func(tx *Tx) error {
		s, err := namedSession(tx, name)
		if err != nil || !s.live {
			return err
		}
		// A key can bring back only one session.
		if err := tx.Run("UPDATE sessions SET revive = 0 WHERE key = ? AND revive = 1", s.key); err != nil {
			return err
		}
		return tx.Run("UPDATE sessions SET archived = ?, revive = 1 WHERE id = ?", sqlite.Micros(tx.Now), s.id)
	})
}

// nothingLeft selects the sessions s that were forgotten, or ended before anything was said in them. Their rows stay for the costs of their turns.
const nothingLeft = "(s.archived > 0 AND s.revive = 0 AND NOT EXISTS (SELECT 1 FROM items i WHERE i.session = s.id))"

// BringBack makes an archived session live again. It fails if another live session has the same key, or nothing is left of the session. A
// live session stays as it is.
func (r Sessions) BringBack(ctx context.Context, name string) error {
	return r.core.write(ctx, func(tx *Tx) error {
		s, err := namedSession(tx, name)
		if fault, ok := event.AsFault(err); ok { // a key does not lead to a session that has ended: several can have had it
			return event.NewFault(fault.Kind, "hob sessions list --archived shows them with their ids", "no archived session comes back by the name %s", name)
		}
		if err != nil || s.live {
			return err
		}
		var other int64
		var gone bool
		if err := tx.One("SELECT coalesce(max(id), 0), (SELECT "+nothingLeft+" FROM sessions s WHERE s.id = ?2) FROM sessions WHERE key = ?1 AND archived = 0", []any{s.key, s.id}, &other, &gone); err != nil {
			return err
		}
		if gone {
			return event.NewFault(event.Clash, "what is written to its name "+s.key+" begins a new one", "session %s cannot come back: it is forgotten, and nothing is left of it", name)
		}
		if other != 0 {
			return event.NewFault(event.Clash, "archive that one first: hob sessions archive "+s.key, "session %s cannot come back: session %d has its key %s now", name, other, s.key)
		}
		return revive(tx, s.key, s.id)
	})
}

// revive makes an archived session the live session of its key. The prompt is built again, because the config may have changed.
func revive(tx *Tx, key string, id int64) error {
	if err := tx.Run("UPDATE sessions SET revive = 0 WHERE key = ? AND revive = 1", key); err != nil {
		return err
	}
	return tx.Run("UPDATE sessions SET archived = 0, prompt = NULL, guest_prompt = NULL WHERE id = ?", id)
}

// sessionRow is what a change needs to know of a session.
type sessionRow struct {
	id   int64
	key  string
	live bool
}

// namedSession finds a session as sessionCalled does.
func namedSession(tx *Tx, name string) (s sessionRow, err error) {
	var n int
	err = tx.One("SELECT count(*), coalesce(max(id), 0), coalesce(max(key), ''), coalesce(max(archived) = 0, 0) FROM (SELECT id, key, archived FROM sessions s WHERE "+sessionCalled()+")", []any{name}, &n, &s.id, &s.key, &s.live)
	if err == nil && n == 0 {
		err = notFound("session", name)
	}
	return s, err
}

// archiveSession ends the live session of a key permanently: the next message with the key opens a new session. Its rows stay readable.
func archiveSession(tx *Tx, key string) error {
	return tx.Run("UPDATE sessions SET archived = iif(archived = 0, ?, archived), revive = 0 WHERE key = ? AND (archived = 0 OR revive = 1)", sqlite.Micros(tx.Now), key)
}

// earlyInputs is the number of inputs of a session that are searched for the owner's first message.
const earlyInputs = "20"

// sessionTitle selects the text from which the title of a session s is made: the stored title, or the first input. In a session with
// triggers the owner's first message is preferred to the prompts of jobs. A title from an input is not stored, so it disappears when the
// input is forgotten.
const sessionTitle = `iif(s.title <> '', json_object('title', s.title), coalesce((SELECT json_object('trust', f.trust, 'sender', coalesce(json_extract(f.envelope, '$.sender'), f.source),
		'text', (SELECT substr(json_extract(piece.value, '$.text'), 1, 1000) FROM json_each(f.parts) piece WHERE json_extract(piece.value, '$.kind') = 'text' LIMIT 1))
	FROM items f WHERE f.seq = coalesce(
		(SELECT min(e.seq) FROM (SELECT seq, trust, envelope FROM items WHERE session = s.id AND kind = 'input' ORDER BY seq LIMIT ` + earlyInputs + `) e
			WHERE e.trust = 'owner' AND json_extract(e.envelope, '$.kind') = 'message'),
		(SELECT seq FROM items WHERE session = s.id AND kind = 'input' ORDER BY seq LIMIT 1))), '{}'))`

// titleSource is a row of sessionTitle.
type titleSource struct {
	Title  string      `json:"title"`
	Trust  event.Trust `json:"trust"`
	Sender string      `json:"sender"`
	Text   string      `json:"text"`
}

// title returns the title and its author: the owner for the owner's first sentence, or the name of a foreign sender. A stored title was
// written by a model, so it has the trust of the session.
func (t titleSource) title(session event.Trust) (string, event.Trust) {
	switch {
	case t.Title != "":
		return t.Title, session
	case t.Trust == event.Owner:
		return api.Title(t.Text), event.Owner
	case t.Trust == event.Machine: // the owner has named his webhooks and watches
		return api.Title(t.Sender), event.Owner
	}
	return api.Title(t.Sender), cmp.Or(t.Trust, event.Owner)
}
