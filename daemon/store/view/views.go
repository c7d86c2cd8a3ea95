// Package view is what people and programs see of the rows: lists, one row with its details, and the chain behind a
// message. It only reads, from the readers' side of the database.
package view

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/daemon/sqlite"

	"hob/daemon/event"
	"hob/daemon/netguard"
)

// Rows in one list when the caller names no limit, and at the most.
const (
	defaultRows = 50
	mostRows    = 1000
)

// View reads over the given pool. It is safe for concurrent use.
type View struct {
	Meter
	read *sqlite.Readers
}

// New makes a view over the readers of a database.
func New(readers *sqlite.Readers) *View { return &View{Meter: Meter{rows: readers}, read: readers} }

func limit(f event.Filter) int {
	if f.Limit <= 0 {
		return defaultRows
	}
	return min(f.Limit, mostRows)
}

// InboxRow is one row of the inbox as people and programs see it.
type InboxRow struct {
	Seq       int64         `json:"seq"`
	Source    string        `json:"source"`
	ExtID     string        `json:"ext_id"`
	Session   string        `json:"session"`
	Kind      string        `json:"kind"`
	Rank      int           `json:"rank"`
	Trust     event.Trust   `json:"trust"`
	Sender    string        `json:"sender"`
	ReplyTo   event.Address `json:"reply_to"`
	Text      string        `json:"text"` // of a message without one, the names of its files
	Received  time.Time     `json:"received"`
	NotBefore time.Time     `json:"not_before,omitzero"`
	NotAfter  time.Time     `json:"not_after,omitzero"`
	State     string        `json:"state"`
	Turn      int64         `json:"turn,omitempty"`
	Fire      int64         `json:"fire,omitempty"`
	Reason    string        `json:"reason,omitempty"`
}

// InboxRows lists the inbox, newest first.
func (s *View) InboxRows(ctx context.Context, f event.Filter) ([]InboxRow, error) {
	return s.inboxRows(ctx, "(?1 = '' OR state = ?1) AND (?2 = '' OR session = ?2 OR source = ?2) ORDER BY seq DESC LIMIT ?3", f.State, f.Name, limit(f))
}

func (s *View) inboxRows(ctx context.Context, where string, args ...any) ([]InboxRow, error) {
	rs, err := s.read.QueryContext(ctx, `SELECT seq, source, ext_id, session, kind, rank, trust, sender, reply_to, coalesce(nullif(json_extract(parts, '$[0].text'), ''),
		(SELECT '[' || group_concat(json_extract(p.value, '$.name'), ', ') || ']' FROM json_each(inbox.parts) p WHERE json_extract(p.value, '$.name') IS NOT NULL), ''), received, not_before, not_after, state,
		coalesce(turn, 0), coalesce(fire, 0), reason FROM inbox WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (InboxRow, error) {
		var r InboxRow
		err := rs.Scan(&r.Seq, &r.Source, &r.ExtID, &r.Session, &r.Kind, &r.Rank, &r.Trust, &r.Sender, &r.ReplyTo, &r.Text,
			sqlite.Stamp(&r.Received), sqlite.Stamp(&r.NotBefore), sqlite.Stamp(&r.NotAfter), &r.State, &r.Turn, &r.Fire, &r.Reason)
		return r, err
	})
}

// OutboxRow is one row of the outbox with its deliveries.
type OutboxRow struct {
	ID         int64         `json:"id"`
	Key        string        `json:"key"`
	Cause      event.Cause   `json:"cause"`
	To         event.Address `json:"to"`
	Body       string        `json:"body"`
	Files      []File        `json:"files,omitempty"` // go behind the body
	Urgency    string        `json:"urgency"`
	State      string        `json:"state"`
	Reason     string        `json:"reason,omitempty"`
	Created    time.Time     `json:"created"`
	NotBefore  time.Time     `json:"not_before,omitzero"`
	Waits      string        `json:"waits,omitempty"`  // for not_before: quiet, or hold, in which the owner may still stop it
	Joined     int64         `json:"joined,omitempty"` // the row in whose message it went out
	NotAfter   time.Time     `json:"not_after,omitzero"`
	Ended      time.Time     `json:"ended,omitzero"`
	Deliveries []PartRow     `json:"deliveries"`
}

// File is a file that goes with a message.
type File struct {
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size"` // in bytes
	Path string `json:"path,omitempty"`
}

// PartRow is one delivery of an outbox row.
type PartRow struct {
	Part     int       `json:"part"`
	Attempts int       `json:"attempts"`
	State    string    `json:"state"`
	RemoteID string    `json:"remote_id,omitempty"`
	NextAt   time.Time `json:"next_at,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// OutboxRows lists the outbox, newest first.
func (s *View) OutboxRows(ctx context.Context, f event.Filter) ([]OutboxRow, error) {
	return s.outboxRows(ctx, "(?1 = '' OR state = ?1) AND (?2 = '' OR address = ?2) ORDER BY id DESC LIMIT ?3", f.State, f.Name, limit(f))
}

func (s *View) outboxRows(ctx context.Context, where string, args ...any) ([]OutboxRow, error) {
	rs, err := s.read.QueryContext(ctx, `SELECT id, key, cause_kind, cause_id, cause_step, address, body, files, urgency, state, reason, created, not_before, waits, joined, not_after, ended,
		(SELECT coalesce(json_group_array(json_object('part', part, 'attempts', attempts, 'state', state, 'remote_id', remote_id, 'error', error)), '[]') FROM deliveries d WHERE d.outbox = outbox.id)
		FROM outbox WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (OutboxRow, error) {
		var r OutboxRow
		err := rs.Scan(&r.ID, &r.Key, &r.Cause.Kind, &r.Cause.ID, &r.Cause.Step, &r.To, &r.Body, sqlite.JSON(&r.Files), &r.Urgency, &r.State, &r.Reason,
			sqlite.Stamp(&r.Created), sqlite.Stamp(&r.NotBefore), &r.Waits, &r.Joined, sqlite.Stamp(&r.NotAfter), sqlite.Stamp(&r.Ended), sqlite.JSON(&r.Deliveries))
		return r, err
	})
}

// SessionRow is one session.
type SessionRow struct {
	ID        int64       `json:"id"`
	Key       string      `json:"key"`
	Title     string      `json:"title"`
	Kind      string      `json:"kind"`
	Watermark event.Trust `json:"watermark"`
	Created   time.Time   `json:"created"`
	Archived  time.Time   `json:"archived,omitzero"`
	Items     int         `json:"items"`
	Turns     int         `json:"turns"`
}

// SessionRows lists sessions, the live ones first, then newest first.
func (s *View) SessionRows(ctx context.Context, f event.Filter) ([]SessionRow, error) {
	return s.sessionRows(ctx, "(?1 = '' OR (?1 = 'live') = (archived = 0)) AND (?2 = '' OR kind = ?2) ORDER BY archived > 0, id DESC LIMIT ?3", f.State, f.Name, limit(f))
}

func (s *View) sessionRows(ctx context.Context, where string, args ...any) ([]SessionRow, error) {
	rs, err := s.read.QueryContext(ctx, `SELECT id, key, title, kind, watermark, created, archived, (SELECT count(*) FROM items i WHERE i.session = sessions.id),
		(SELECT count(*) FROM turns t WHERE t.session = sessions.id) FROM sessions WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (SessionRow, error) {
		var r SessionRow
		err := rs.Scan(&r.ID, &r.Key, &r.Title, &r.Kind, &r.Watermark, sqlite.Stamp(&r.Created), sqlite.Stamp(&r.Archived), &r.Items, &r.Turns)
		return r, err
	})
}

// SessionNamed finds a session by its key (the live one) or its id.
func (s *View) SessionNamed(ctx context.Context, name string) (SessionRow, error) {
	list, err := s.sessionRows(ctx, "(key = ?1 AND archived = 0) OR cast(id AS TEXT) = ?1 LIMIT 1", name)
	if err != nil {
		return SessionRow{}, err
	}
	if len(list) == 0 {
		return SessionRow{}, notFound("session", name)
	}
	return list[0], nil
}

// QuestionRow is one question.
type QuestionRow struct {
	ID      int64         `json:"id"`
	Code    string        `json:"code"`
	Subject string        `json:"subject"`
	Turn    int64         `json:"turn,omitempty"`
	Text    string        `json:"text"`
	Options []string      `json:"options"`
	Pattern string        `json:"pattern,omitempty"`
	To      event.Address `json:"to"`
	Asked   time.Time     `json:"asked"`
	Until   time.Time     `json:"until"`
	State   string        `json:"state"`
	Answer  string        `json:"answer,omitempty"`
	By      string        `json:"answered_by,omitempty"` // the person, else the channel
	When    time.Time     `json:"answered,omitzero"`
}

// QuestionRows lists questions, newest first.
func (s *View) QuestionRows(ctx context.Context, f event.Filter) ([]QuestionRow, error) {
	return s.questionRows(ctx, "(?1 = '' OR state = ?1) ORDER BY id DESC LIMIT ?2", f.State, limit(f))
}

func (s *View) questionRows(ctx context.Context, where string, args ...any) ([]QuestionRow, error) {
	rs, err := s.read.QueryContext(ctx, `SELECT id, code, subject, coalesce(turn, 0), text, options, pattern, address, asked, until, state, answer,
		coalesce((SELECT coalesce(nullif(i.sender, ''), i.source) FROM inbox i WHERE i.seq = answered_by), ''), coalesce((SELECT i.received FROM inbox i WHERE i.seq = answered_by), 0)
		FROM questions WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (QuestionRow, error) {
		var r QuestionRow
		err := rs.Scan(&r.ID, &r.Code, &r.Subject, &r.Turn, &r.Text, sqlite.JSON(&r.Options), &r.Pattern, &r.To, sqlite.Stamp(&r.Asked), sqlite.Stamp(&r.Until), &r.State, &r.Answer, &r.By, sqlite.Stamp(&r.When))
		r.Pattern = netguard.Defang(r.Pattern)
		return r, err
	})
}

// AuditRow is one call that passed the gate, or did not.
type AuditRow struct {
	Seq      int64       `json:"seq"`
	At       time.Time   `json:"at"`
	Turn     int64       `json:"turn,omitempty"`
	Call     string      `json:"call"`
	Tool     string      `json:"tool"`
	Actor    string      `json:"actor"`
	Trust    event.Trust `json:"trust"`
	Decision string      `json:"decision"`
	Reason   string      `json:"reason"`
	Summary  string      `json:"summary"`
	Hash     string      `json:"hash"`
	Outcome  string      `json:"outcome"`
	MS       int64       `json:"ms"`
	Tainted  bool        `json:"tainted,omitempty"`     // its turn had read foreign text
	Cwd      string      `json:"cwd,omitempty"`         // of a command: where it ran
	Exit     *int        `json:"exit,omitempty"`        // and its exit code
	In       int64       `json:"in"`                    // bytes of the arguments
	Out      int64       `json:"out"`                   // bytes of the result
	Result   string      `json:"result_hash,omitempty"` // of the result's text
	Warnings string      `json:"warnings,omitempty"`    // patterns in the call that are often mistakes
}

// AuditRows lists the audit, newest first. f.State is a verdict of the gate, or "denied": what was not allowed, by the gate or by
// the owner.
func (s *View) AuditRows(ctx context.Context, f event.Filter) ([]AuditRow, error) {
	return s.auditRows(ctx, "(?1 = '' OR verdict = ?1 OR ?1 = 'denied' AND (verdict = 'deny' OR outcome = 'PERMISSION_DENIED')) AND (?2 = '' OR tool = ?2) ORDER BY seq DESC LIMIT ?3", f.State, f.Name, limit(f))
}

func (s *View) auditRows(ctx context.Context, where string, args ...any) ([]AuditRow, error) {
	rs, err := s.read.QueryContext(ctx, "SELECT seq, at, coalesce(turn, 0), call_id, tool, actor, trust, verdict, reason, summary, args_hash, outcome, took_us / 1000, tainted, cwd, exit_code, bytes_in, bytes_out, result_hash, warnings FROM (SELECT *, iif(judged, decision, 'not judged') AS verdict FROM audit) WHERE "+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (AuditRow, error) {
		var r AuditRow
		err := rs.Scan(&r.Seq, sqlite.Stamp(&r.At), &r.Turn, &r.Call, &r.Tool, &r.Actor, &r.Trust, &r.Decision, &r.Reason, &r.Summary, &r.Hash, &r.Outcome, &r.MS,
			&r.Tainted, &r.Cwd, &r.Exit, &r.In, &r.Out, &r.Result, &r.Warnings)
		return r, err
	})
}

// Counts are the numbers of status.
type Counts struct {
	Queued    int   `json:"queued"`
	Running   int64 `json:"turn"`
	Waiting   int   `json:"waiting"`
	Questions int   `json:"questions"`
	Unsent    int   `json:"unsent"`
	Held      int   `json:"held"`
	Jobs      int   `json:"jobs"`
	Bytes     int64 `json:"bytes"`
}

// Counts counts what is open.
func (s *View) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	var pages, size int64
	err := s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM inbox WHERE state = 'queued' AND kind NOT IN ('command', 'answer')), coalesce((SELECT min(id) FROM turns WHERE state = 'running'), 0),
		(SELECT count(*) FROM turns WHERE state = 'waiting'), (SELECT count(*) FROM questions WHERE state = 'open'), (SELECT count(*) FROM outbox WHERE state = 'ready'),
		(SELECT count(*) FROM outbox WHERE state = 'held'), (SELECT count(*) FROM triggers WHERE kind = 'job' AND removed = 0),
		(SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size)`).
		Scan(&c.Queued, &c.Running, &c.Waiting, &c.Questions, &c.Unsent, &c.Held, &c.Jobs, &pages, &size)
	c.Bytes = pages * size
	if err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	return c, nil
}

// One finds one row of the inbox, the outbox, the questions, the fires or the audit by its id (a question also by its code).
func (s *View) One(ctx context.Context, resource, id string) (any, error) {
	switch resource {
	case "inbox":
		list, err := s.inboxRows(ctx, "cast(seq AS TEXT) = ?", id)
		return single(list, err, "inbox row", id)
	case "outbox":
		list, err := s.outboxRows(ctx, "cast(id AS TEXT) = ?", id)
		return single(list, err, "outbox row", id)
	case "questions":
		list, err := s.questionRows(ctx, "code = upper(?1) OR cast(id AS TEXT) = ?1", id)
		return single(list, err, "question", id)
	case "audit":
		list, err := s.auditRows(ctx, "cast(seq AS TEXT) = ?1 OR call_id = ?1", id)
		return single(list, err, "audit row", id)
	case "fires":
		list, err := s.fireRows(ctx, "cast(f.id AS TEXT) = ?", id)
		return single(list, err, "slot", id)
	default:
		return nil, event.NewFault(event.Missing, "", "there is no %s %s", resource, id)
	}
}

// single is the one row of a list, or the fault that there is none.
func single[T any](list []T, err error, what, id string) (any, error) {
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, event.NewFault(event.Missing, "list them to see what there is", "there is no %s %s", what, id)
	}
	return list[0], nil
}

// notFound is the fault of a row that is not there.
func notFound(what string, id any) error {
	return event.NewFault(event.Missing, "hob "+what+"s list shows what there is", "there is no %s %v", what, id)
}
