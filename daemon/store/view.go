package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/sqlite"
)

// The default and the largest number of rows in a list.
const (
	defaultRows = 50
	mostRows    = 1000
)

// View reads rows for lists and details. It is safe for concurrent use.
type View struct {
	Meter
	read *sqlite.Readers
	now  func() time.Time
}

// NewView returns a view over the given readers. now ends the time that a running turn has run so far.
func NewView(r *sqlite.Readers, now func() time.Time) *View { return &View{Meter{rows: r}, r, now} }

// rowLimit returns the number of rows to list.
func rowLimit(f event.Filter) int {
	return min(cmp.Or(max(f.Limit, 0), defaultRows), mostRows)
}

// whereFilter joins the conditions for the state ?1 and the name ?2 of a filter, if it has them. A list thus has a statement of its own for each
// combination, which an index can serve. A condition like "?1 = ” OR state = ?1" reads every row.
func whereFilter(f event.Filter, state, name string) string {
	switch {
	case f.State != "" && f.Name != "":
		return "(" + state + ") AND (" + name + ")"
	case f.State != "":
		return state
	case f.Name != "":
		return name
	}
	return "true"
}

// hasID selects the row whose id is the text ?1, by its primary key.
func hasID(id string) string { return id + " = cast(?1 AS INTEGER) AND cast(" + id + " AS TEXT) = ?1" }

// InboxRows lists the inbox, newest first.
func (s *View) InboxRows(ctx context.Context, f event.Filter) ([]api.InboxRow, error) {
	return inboxRows(ctx, s.read, whereFilter(f, "state = ?1", "session = ?2 OR source = ?2")+" ORDER BY seq DESC LIMIT ?3", f.State, f.Name, rowLimit(f))
}

// inboxRows reads rows of the inbox. A message without text shows the names of its attachments.
func inboxRows(ctx context.Context, read *sqlite.Readers, where string, args ...any) ([]api.InboxRow, error) {
	rs, err := read.QueryContext(ctx, `SELECT seq, source, ext_id, session, kind, rank, trust, sender, reply_to, coalesce(nullif(json_extract(parts, '$[0].text'), ''),
		(SELECT '[' || group_concat(json_extract(p.value, '$.name'), ', ') || ']' FROM json_each(inbox.parts) p WHERE json_extract(p.value, '$.name') IS NOT NULL), ''), received, not_before, not_after, state,
		coalesce(turn, 0), coalesce(fire, 0), reason FROM inbox WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.InboxRow, err error) {
		return r, rs.Scan(&r.Seq, &r.Source, &r.ExtID, &r.Session, &r.Kind, &r.Rank, &r.Trust, &r.Sender, &r.ReplyTo, &r.Text,
			sqlite.Stamp(&r.Received), sqlite.Stamp(&r.NotBefore), sqlite.Stamp(&r.NotAfter), &r.State, &r.Turn, &r.Fire, &r.Reason)
	})
}

// OutboxRows lists the outbox, newest first.
func (s *View) OutboxRows(ctx context.Context, f event.Filter) ([]api.OutboxRow, error) {
	return outboxRows(ctx, s.read, whereFilter(f, "state = ?1", "address = ?2")+" ORDER BY id DESC LIMIT ?3", f.State, f.Name, rowLimit(f))
}

// outboxRows reads messages with their deliveries.
func outboxRows(ctx context.Context, read *sqlite.Readers, where string, args ...any) ([]api.OutboxRow, error) {
	rs, err := read.QueryContext(ctx, `SELECT id, key, cause_kind, cause_id, cause_step, address, body, files, urgency, state, reason, created, not_before, waits, joined, not_after, ended,
		(SELECT coalesce(json_group_array(json_object('part', part, 'attempts', attempts, 'state', state, 'remote_id', remote_id, 'error', error)), '[]') FROM deliveries d WHERE d.outbox = outbox.id)
		FROM outbox WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.OutboxRow, err error) {
		return r, rs.Scan(&r.ID, &r.Key, &r.Cause.Kind, &r.Cause.ID, &r.Cause.Step, &r.To, &r.Body, sqlite.JSON(&r.Files), &r.Urgency, &r.State, &r.Reason,
			sqlite.Stamp(&r.Created), sqlite.Stamp(&r.NotBefore), &r.Waits, &r.Joined, sqlite.Stamp(&r.NotAfter), sqlite.Stamp(&r.Ended), sqlite.JSON(&r.Deliveries))
	})
}

// SessionRows lists sessions, the live ones first, then newest first. It leaves out those that nothing is left of.
func (s *View) SessionRows(ctx context.Context, f event.Filter) ([]api.Session, error) {
	kind := whereFilter(event.Filter{Name: f.Name}, "", "kind = ?2")
	live, ended := "archived = 0 AND ?1 IN ('', 'live') AND "+kind, "archived > 0 AND ?1 <> 'live' AND NOT "+nothingLeft+" AND "+kind
	// The rows are chosen before they are counted, which takes longer.
	const newest = "SELECT id FROM (SELECT id FROM sessions s WHERE %s ORDER BY id DESC LIMIT ?3)"
	return sessionRows(ctx, s.read, "id IN ("+fmt.Sprintf(newest+" UNION ALL "+newest+" LIMIT ?3", live, ended)+") ORDER BY archived > 0, id DESC", f.State, f.Name, rowLimit(f))
}

// sessionRows reads sessions with the numbers of their items and turns.
func sessionRows(ctx context.Context, read *sqlite.Readers, where string, args ...any) ([]api.Session, error) {
	rs, err := read.QueryContext(ctx, `SELECT id, key, `+sessionTitle+`, kind, watermark, created, archived, (SELECT count(*) FROM items i WHERE i.session = s.id),
		(SELECT count(*) FROM turns t WHERE t.session = s.id) FROM sessions s WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.Session, err error) {
		var named titleSource
		err = rs.Scan(&r.ID, &r.Key, sqlite.JSON(&named), &r.Kind, &r.Trust, sqlite.Stamp(&r.Created), sqlite.Stamp(&r.Archived), &r.Items, &r.Turns)
		r.Title, _ = named.title(r.Trust)
		return r, err
	})
}

// SessionNamed returns a session by the key that leads to it, or its id.
func (s *View) SessionNamed(ctx context.Context, name string) (api.Session, error) {
	list, err := sessionRows(ctx, s.read, sessionCalled(), name)
	return first(list, err, notFound("session", name))
}

// SessionOfTurn returns the key and the title of the session that a turn belongs to; nothing for turn 0.
func (s *View) SessionOfTurn(ctx context.Context, turn int64) (key, title string, err error) {
	if turn == 0 {
		return "", "", nil
	}
	var named titleSource
	var trust event.Trust
	err = s.read.QueryRowContext(ctx, "SELECT s.key, s.watermark, "+sessionTitle+" FROM sessions s WHERE s.id = (SELECT session FROM turns WHERE id = ?)", turn).Scan(&key, &trust, sqlite.JSON(&named))
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	title, _ = named.title(trust)
	return key, title, err
}

// QuestionRows lists questions, newest first.
func (s *View) QuestionRows(ctx context.Context, f event.Filter) ([]api.Question, error) {
	state := "state = ?1"
	switch f.State {
	case "expired":
		state += " AND answer <> '" + withdrawn + "'"
	case withdrawn:
		state = "state = 'expired' AND answer = ?1"
	}
	return questionRows(ctx, s.read, whereFilter(event.Filter{State: f.State}, state, "")+" ORDER BY id DESC LIMIT ?2", f.State, rowLimit(f))
}

// questionRows reads questions with who answered and when.
func questionRows(ctx context.Context, read *sqlite.Readers, where string, args ...any) ([]api.Question, error) {
	rs, err := read.QueryContext(ctx, `SELECT id, code, subject, coalesce(turn, 0), text, options, pattern, address, asked, until,
		iif(state = 'expired' AND answer = '`+withdrawn+`', answer, state), iif(state = 'expired', '', answer),
		coalesce((SELECT coalesce(nullif(i.sender, ''), i.source) FROM inbox i WHERE i.seq = answered_by), ''), coalesce((SELECT i.received FROM inbox i WHERE i.seq = answered_by), 0)
		FROM questions WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.Question, err error) {
		err = rs.Scan(&r.ID, &r.Code, &r.Subject, &r.Turn, &r.Text, sqlite.JSON(&r.Options), &r.Pattern, &r.To, sqlite.Stamp(&r.Asked), sqlite.Stamp(&r.Until), &r.State, &r.Answer, &r.By, sqlite.Stamp(&r.When))
		r.Pattern = netguard.Defang(r.Pattern)
		return r, err
	})
}

// AuditRows lists the audit, newest first. The state is a verdict of the permission rules, or "denied" for everything that the permission rules or the owner did
// not allow.
func (s *View) AuditRows(ctx context.Context, f event.Filter) ([]api.AuditRow, error) {
	state := auditVerdict + " = ?1"
	switch f.State {
	case "allow": // most rows are
	case "denied":
		state = "decision = 'deny' AND judged = 1 OR outcome = 'PERMISSION_DENIED'"
	default:
		state += " AND " + auditVerdict + " <> 'allow'"
	}
	return auditRows(ctx, s.read, whereFilter(f, state, "tool = ?2")+" ORDER BY seq DESC LIMIT ?3", f.State, f.Name, rowLimit(f))
}

// auditVerdict is the verdict as lists show it. Its text is that of an index.
const auditVerdict = "iif(judged, decision, 'not judged')"

// auditRows reads entries of the audit log.
func auditRows(ctx context.Context, read *sqlite.Readers, where string, args ...any) ([]api.AuditRow, error) {
	rs, err := read.QueryContext(ctx, "SELECT seq, at, coalesce(turn, 0), call_id, tool, actor, trust, "+auditVerdict+", reason, summary, args_hash, iif(outcome = 'ok' AND exit_code <> 0, 'exit code ' || exit_code, outcome), took_us / 1000, tainted, cwd, exit_code, bytes_in, bytes_out, result_hash, warnings FROM audit WHERE "+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.AuditRow, err error) {
		return r, rs.Scan(&r.Seq, sqlite.Stamp(&r.At), &r.Turn, &r.Call, &r.Tool, &r.Actor, &r.Trust, &r.Decision, &r.Reason, &r.Summary, &r.Hash, &r.Outcome, &r.MS,
			&r.Tainted, &r.Cwd, &r.Exit, &r.In, &r.Out, &r.Result, &r.Warnings)
	})
}

// Counts are the numbers of the status.
type Counts struct {
	Queued    int   `json:"queued"` // due
	Later     int   `json:"later"`  // queued for a time that has not come
	Running   int64 `json:"turn"`
	Waiting   int   `json:"waiting"`
	Questions int   `json:"questions"`
	Unsent    int   `json:"unsent"`
	Held      int   `json:"held"`
	Jobs      int   `json:"jobs"`
	Bytes     int64 `json:"bytes"`
}

// Counts counts the open rows. The size counts free pages as well, as the file does.
func (s *View) Counts(ctx context.Context, now time.Time) (Counts, error) {
	var c Counts
	err := s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM inbox WHERE state = 'queued' AND kind NOT IN ('command', 'answer') AND not_before <= ?1),
		(SELECT count(*) FROM inbox WHERE state = 'queued' AND kind NOT IN ('command', 'answer') AND not_before > ?1), coalesce((SELECT min(id) FROM turns WHERE state = 'running'), 0),
		(SELECT count(*) FROM turns WHERE state = 'waiting'), (SELECT count(*) FROM questions WHERE state = 'open'), (SELECT count(*) FROM outbox WHERE state = 'ready'),
		(SELECT count(*) FROM outbox WHERE state = 'held'), (SELECT count(*) FROM triggers WHERE `+ofJobs+` AND removed = 0),
		(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)`, sqlite.Micros(now)).
		Scan(&c.Queued, &c.Later, &c.Running, &c.Waiting, &c.Questions, &c.Unsent, &c.Held, &c.Jobs, &c.Bytes)
	if err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	return c, nil
}

// InboxRow finds a row of the inbox by its number.
func (s *View) InboxRow(ctx context.Context, id string) (api.InboxRow, error) {
	list, err := inboxRows(ctx, s.read, hasID("seq"), id)
	return singleRow(list, err, "inbox row", id)
}

// OutboxRow finds a row of the outbox by its number.
func (s *View) OutboxRow(ctx context.Context, id string) (api.OutboxRow, error) {
	list, err := outboxRows(ctx, s.read, hasID("id"), id)
	return singleRow(list, err, "message", id)
}

// QuestionRow finds a question by its code or its number.
func (s *View) QuestionRow(ctx context.Context, id string) (api.Question, error) {
	list, err := questionRows(ctx, s.read, "code = upper(?1) OR "+hasID("id"), id)
	return singleRow(list, err, "question", id)
}

// AuditRow finds a row of the audit by its number or the id of its call.
func (s *View) AuditRow(ctx context.Context, id string) (api.AuditRow, error) {
	list, err := auditRows(ctx, s.read, "call_id = ?1 OR "+hasID("seq"), id)
	return singleRow(list, err, "audit row", id)
}

// singleRow returns the only row of a list, or a fault for an empty one.
func singleRow[T any](list []T, err error, what, id string) (T, error) {
	return first(list, err, event.NewFault(event.Missing, "list them to see what there is", "there is no %s %s", what, id))
}

// first returns the first row of a list. Of an empty one it returns the zero row, and missing.
func first[T any](list []T, err, missing error) (row T, _ error) {
	if err != nil {
		return row, err
	}
	if len(list) == 0 {
		return row, missing
	}
	return list[0], nil
}
