package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// Endpoints holds the programs that have tokens of their own, and their requests.
type Endpoints struct{ core *core }

// sameRequest is the time within which a request with the same messages counts as a repetition.
const sameRequest = 10 * time.Minute

// Limits of the search for messages that a conversation already has: the number of its newest earlier requests, and the number of digests
// in them.
const (
	knownRequests = 200
	knownMessages = 20_000
)

// Endpoints returns the service for programs with tokens of their own.
func (s *Store) Endpoints() Endpoints { return Endpoints{s.core} }

// Add stores a new program with the hash of its token.
func (s Endpoints) Add(ctx context.Context, name, token string) (e api.Endpoint, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		id, err := tx.Insert("INSERT INTO endpoints (name, token, created) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING", name, token, sqlite.Micros(tx.Now))
		if err == nil && id == 0 {
			return event.NewFault(event.Clash, "hob endpoint rm "+name+" takes its token away", "there is an endpoint %s", name)
		}
		e = api.Endpoint{ID: id, Name: name, Created: tx.Now}
		return err
	})
	return e, err
}

// Remove deletes a program and the records of its requests. Its conversations stay.
func (s Endpoints) Remove(ctx context.Context, name string) (e api.Endpoint, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		e = api.Endpoint{Name: name}
		if err := tx.One("SELECT id FROM endpoints WHERE name = ?", []any{name}, &e.ID); errors.Is(err, sql.ErrNoRows) {
			return event.NewFault(event.Missing, "hob endpoint list shows them", "there is no endpoint %s", name)
		} else if err != nil {
			return err
		}
		if err := tx.Run("DELETE FROM endpoint_requests WHERE endpoint = ?", e.ID); err != nil {
			return err
		}
		return tx.Run("DELETE FROM endpoints WHERE id = ?", e.ID)
	})
	return e, err
}

// List lists the programs by name.
func (s Endpoints) List(ctx context.Context) ([]api.Endpoint, error) {
	return s.rows(ctx, "true")
}

// Find returns the program whose token has this hash; ID 0 if there is none.
func (s Endpoints) Find(ctx context.Context, token string) (api.Endpoint, error) {
	list, err := s.rows(ctx, "token = ?", token)
	if err != nil || len(list) == 0 {
		return api.Endpoint{}, err
	}
	return list[0], s.note(ctx, list[0])
}

// note records when a token was used, at most once a minute.
func (s Endpoints) note(ctx context.Context, e api.Endpoint) error {
	if s.core.now().Sub(e.Used).Abs() < time.Minute {
		return nil
	}
	return s.core.write(ctx, func(tx *Tx) error {
		return tx.Run("UPDATE endpoints SET used = ? WHERE id = ?", sqlite.Micros(tx.Now), e.ID)
	})
}

func (s Endpoints) rows(ctx context.Context, where string, args ...any) ([]api.Endpoint, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT id, name, created, used, foreign_from FROM endpoints WHERE "+where+" ORDER BY name", args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (e api.Endpoint, err error) {
		return e, rs.Scan(&e.ID, &e.Name, sqlite.Stamp(&e.Created), sqlite.Stamp(&e.Used), &e.Foreign)
	})
}

// Begin stores a request. If the same messages came a short time ago, it returns that request instead.
func (s Endpoints) Begin(ctx context.Context, o api.ChatOpening) (r api.ChatRequest, err error) {
	var id int64
	err = s.core.write(ctx, func(tx *Tx) error {
		var err error
		if id, r, err = sameChat(tx, o); err != nil {
			return fmt.Errorf("look for the same request: %w", err)
		}
		if id == 0 {
			if id, r, err = newChat(tx, o); err != nil {
				return fmt.Errorf("store request: %w", err)
			}
		}
		return nil
	})
	if err == nil {
		err = s.known(ctx, &r, id) // after the transaction: it may read much, and earlier requests do not change
	}
	return r, err
}

// Repeats decides whether a request with the same messages as an earlier one is a repetition. Clients repeat a request whose answer they
// did not get. An earlier request that failed, was stopped or never ran does not count. inbox and turn are the states of the earlier
// request; turn is "" if it has none yet.
func Repeats(age time.Duration, inbox InboxState, state turn.Status) bool {
	switch state {
	case turn.Ready, turn.Running:
		return true
	case turn.Done, turn.Waiting:
		return age < sameRequest
	case "":
		return age < sameRequest && (inbox == "" || inbox == inboxQueued || inbox == inboxHeld)
	}
	return false
}

// sameChat returns the newest request with the same messages, if a new one counts as its repetition; 0 if there is none.
func sameChat(tx *Tx, o api.ChatOpening) (id int64, r api.ChatRequest, err error) {
	var inbox InboxState
	var state turn.Status
	err = tx.One(`SELECT r.id, r.ext_id, r.session, r.at, coalesce(i.state, ''), coalesce(t.state, '') FROM endpoint_requests r LEFT JOIN inbox i ON i.source = ? AND i.ext_id = r.ext_id LEFT JOIN turns t ON t.id = i.turn
		WHERE r.endpoint = ? AND r.digest = ? ORDER BY r.id DESC LIMIT 1`, []any{event.Endpoint, o.Client, o.Digest}, &id, &r.ExtID, &r.Session, sqlite.Stamp(&r.At), &inbox, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, r, nil
	}
	if err != nil || !Repeats(tx.Now.Sub(r.At), inbox, state) {
		return 0, r, err
	}
	return id, r, nil
}

// newChat stores a request in its conversation.
func newChat(tx *Tx, o api.ChatOpening) (int64, api.ChatRequest, error) {
	home := fmt.Sprintf("%s:%s#%d/", event.Endpoint, o.Name, o.Client) // the number, because a name can be given again
	r := api.ChatRequest{ExtID: tx.core.opt.IDs.Code(16), At: tx.Now, Session: home + "user:" + o.Person}
	if o.Person == "" {
		var err error
		if r.Session, err = continued(tx, o); err != nil {
			return 0, r, err
		}
	}
	if r.Session == "" {
		r.Session = home + "talk:" + o.Digest[:16] + "-" + tx.core.opt.IDs.Code(4)
	}
	seen, err := sqlite.Doc(o.Seen)
	if err != nil {
		return 0, r, err
	}
	id, err := tx.Insert("INSERT INTO endpoint_requests (endpoint, session, person, digest, ext_id, seen, at) VALUES (?, ?, ?, ?, ?, ?, ?)", o.Client, r.Session, o.Person, o.Digest, r.ExtID, seen, sqlite.Micros(r.At))
	return id, r, err
}

// continued returns the conversation that a request continues, or "". If the client does not name the person, the request must prove that
// its sender has the whole conversation: it must begin with the messages of the newest request and hob's answer to them. A repetition of
// the same request is not a newer one.
func continued(tx *Tx, o api.ChatOpening) (string, error) {
	if o.Before == "" {
		return "", nil
	}
	rs, err := tx.Query(`SELECT r.session, t.text, r.notice FROM endpoint_requests r JOIN inbox i ON i.source = ? AND i.ext_id = r.ext_id JOIN turns t ON t.id = i.turn JOIN sessions s ON s.id = t.session AND s.archived = 0
		WHERE r.endpoint = ? AND r.digest = ? AND r.person = '' AND NOT EXISTS (SELECT 1 FROM endpoint_requests n WHERE n.session = r.session AND n.id > r.id AND n.digest <> ?) ORDER BY r.id DESC LIMIT 20`, event.Endpoint, o.Client, o.Before, o.Digest)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (c [3]string, err error) { return c, rs.Scan(&c[0], &c[1], &c[2]) })
	i := slices.IndexFunc(list, func(c [3]string) bool { return api.TellsAnswer(o.Answer, c[1]) || api.TellsAnswer(o.Answer, c[2]) })
	if err != nil || i < 0 {
		return "", err
	}
	return list[i][0], nil
}

// known adds the digests of the messages that a conversation already has: those of earlier requests that have a turn, and hob's answers to
// them.
func (s Endpoints) known(ctx context.Context, r *api.ChatRequest, before int64) error {
	rs, err := s.core.read().QueryContext(ctx, `SELECT r.seen, t.text, r.notice FROM endpoint_requests r JOIN inbox i ON i.source = ? AND i.ext_id = r.ext_id JOIN turns t ON t.id = i.turn JOIN sessions s ON s.id = t.session AND s.archived = 0
		WHERE r.session = ? AND r.id < ? ORDER BY r.id DESC LIMIT ?`, event.Endpoint, r.Session, before, knownRequests)
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (struct{}, error) {
		var seen []string
		var text, notice string
		if len(r.Known) >= knownMessages {
			return struct{}{}, nil
		}
		err := rs.Scan(sqlite.JSON(&seen), &text, &notice)
		r.Known = append(r.Known, seen...)
		for _, s := range []string{text, notice} {
			if s != "" {
				r.Answers = append(r.Answers, s)
			}
		}
		return struct{}{}, err
	})
	return err
}

// Trim deletes the requests from before an instant. A conversation that is identified by its messages then starts again.
func (s Endpoints) Trim(ctx context.Context, before time.Time) error {
	return s.core.run(ctx, "DELETE FROM endpoint_requests WHERE at < ?", sqlite.Micros(before))
}

// Told records the text that a client got in place of an answer, so that it is recognised in the client's next request.
func (s Endpoints) Told(ctx context.Context, ext, notice string) error {
	return s.core.run(ctx, "UPDATE endpoint_requests SET notice = ? WHERE ext_id = ?", notice, ext)
}

// Progress returns the state of a request.
func (s Endpoints) Progress(ctx context.Context, ext string) (p api.ChatProgress, err error) {
	var kind string
	err = s.core.read().QueryRowContext(ctx, `SELECT i.state, coalesce(t.id, 0), coalesce(t.state, ''), coalesce(t.why, i.reason), coalesce(t.text, ''), NOT EXISTS (SELECT 1 FROM items WHERE turn = t.id AND role = 'assistant'), coalesce(w.kind, ''),
		(SELECT coalesce(json_group_array(q.id), '[]') FROM questions q WHERE q.turn = t.id AND q.state = 'open'),
		(SELECT coalesce(sum(usage ->> '$.input'), 0) FROM steps WHERE turn = t.id), (SELECT coalesce(sum(usage ->> '$.output'), 0) FROM steps WHERE turn = t.id)
		FROM inbox i LEFT JOIN turns t ON t.id = i.turn LEFT JOIN waits w ON w.turn = t.id AND w.call_id = t.parked_on AND w.met = 0 AND t.state = 'waiting' WHERE i.source = ? AND i.ext_id = ?`, event.Endpoint, ext).
		Scan(&p.Inbox, &p.Turn, &p.State, &p.Why, &p.Text, &p.Silent, &kind, sqlite.JSON(&p.Questions), &p.Input, &p.Output)
	p.Waits = slices.Contains([]string{"question", "timer", "event"}, kind)
	return p, ignoreNoRows(err)
}

// Abort ends a request whose client has disconnected. It returns the number of a running turn, which the caller must stop, or 0.
func (s Endpoints) Abort(ctx context.Context, ext string) (running int64, err error) {
	return s.halt(ctx, "its client went away", "i.source = ? AND i.ext_id = ?", event.Endpoint, ext)
}

// Halt ends everything of a program that is being removed: its requests, its turns, and the questions about its calls. It returns the same
// as Abort.
func (s Endpoints) Halt(ctx context.Context, e api.Endpoint) (running int64, err error) {
	home := fmt.Sprintf("%s:%s#%d/", event.Endpoint, e.Name, e.ID)
	if err = s.core.write(ctx, func(tx *Tx) error {
		return expireQuestions(tx, "turn IS NULL AND call_id = ?", home+"mcp")
	}); err != nil {
		return 0, err
	}
	return s.halt(ctx, "the program was removed", "(i.state IN ('queued', 'held') OR t.ended = 0) AND i.source = ? AND substr(i.session, 1, ?) = ?", event.Endpoint, len(home), home)
}

// halt ends the inputs of programs that a condition selects, with their turns. The thread runs one turn at a time, so at most one of these
// turns is running.
func (s Endpoints) halt(ctx context.Context, why, where string, args ...any) (running int64, err error) {
	type open struct {
		seq, turn int64
		row       InboxState
		state     turn.Status
	}
	err = s.core.write(ctx, func(tx *Tx) error {
		running = 0
		rs, err := tx.Query("SELECT i.seq, i.state, coalesce(t.id, 0), coalesce(t.state, '') FROM inbox i LEFT JOIN turns t ON t.id = i.turn WHERE "+where, args...) // #nosec G202 -- constants
		list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (o open, err error) {
			return o, rs.Scan(&o.seq, &o.row, &o.turn, &o.state)
		})
		if err != nil {
			return err
		}
		for _, o := range list {
			switch {
			case o.row == inboxQueued || o.row == inboxHeld:
				err = closeIn(tx, o.seq, string(inboxDropped), why)
			case o.state == turn.Running:
				running = o.turn
			case o.state == turn.Ready || o.state == turn.Waiting:
				if err = endTurn(tx, o.turn, turn.Finish{State: turn.Stopped, Why: why}); err == nil {
					_, err = haltSubagents(tx, "t.parent = ? AND t.ended = 0", o.turn)
				}
			}
			if err != nil {
				return err
			}
		}
		tx.Wake(sqlite.SignalInbox)
		return nil
	})
	return running, err
}

// Gone reports whether the program of a request has been removed since.
func (s Endpoints) Gone(ctx context.Context, ext string) (gone bool, err error) {
	err = s.core.read().QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM endpoint_requests WHERE ext_id = ?)", ext).Scan(&gone)
	return gone, err
}

// Tainted records the first foreign text that a call returned to the program at an address.
func (s Endpoints) Tainted(ctx context.Context, at event.Address, from string) error {
	return s.core.run(ctx, "UPDATE endpoints SET foreign_from = ? WHERE foreign_from = '' AND ? = 'endpoint:' || name || '#' || id || '/mcp'", from, at)
}
