package store

import (
	"context"
	"database/sql"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// TurnRow is one turn in a list.
type TurnRow struct {
	ID        int64         `json:"id"`
	Session   string        `json:"session_key"`
	Parent    int64         `json:"parent,omitempty"`
	State     turn.Status   `json:"state"`
	Attempts  int           `json:"attempts"`
	Asker     event.Trust   `json:"asker"`
	ReplyTo   event.Address `json:"reply_to"`
	Fire      int64         `json:"fire,omitempty"`
	Started   time.Time     `json:"started"`
	Ended     time.Time     `json:"ended,omitzero"`
	RunningMS int64         `json:"running_ms"`
	Steps     int           `json:"steps"`
	Tokens    int64         `json:"tokens"`
	Cost      int64         `json:"cost_micros"`
	Why       string        `json:"why,omitempty"`
	Text      string        `json:"text"`
}

// TurnRows lists turns, newest first.
func (s *Store) TurnRows(ctx context.Context, f event.Filter) ([]TurnRow, error) {
	return s.turnRows(ctx, "(?1 = '' OR t.state = ?1) AND (?2 = '' OR s.key = ?2) ORDER BY t.id DESC LIMIT ?3", f.State, f.Name, limit(f))
}

func (s *Store) turnRows(ctx context.Context, where string, args ...any) ([]TurnRow, error) {
	rs, err := s.read.QueryContext(ctx, `SELECT t.id, s.key, coalesce(t.parent, 0), t.state, t.attempts, t.asker, t.reply_to, coalesce(t.fire, 0), t.started, t.ended, t.running_us / 1000,
		(SELECT count(*) FROM steps p WHERE p.turn = t.id), t.tokens, t.cost, t.why, t.text FROM turns t JOIN sessions s ON s.id = t.session WHERE `+where, args...) // #nosec G202 -- constants
	return collect(rs, err, func(rs *sql.Rows) (TurnRow, error) {
		var r TurnRow
		err := rs.Scan(&r.ID, &r.Session, &r.Parent, &r.State, &r.Attempts, &r.Asker, &r.ReplyTo, &r.Fire, stamp{&r.Started}, stamp{&r.Ended}, &r.RunningMS,
			&r.Steps, &r.Tokens, &r.Cost, &r.Why, &r.Text)
		return r, err
	})
}

// TurnView is one turn with everything that belongs to it.
type TurnView struct {
	TurnRow
	Items     []ItemRow     `json:"items"`
	Control   []turn.Step   `json:"steps"`
	Waits     []turn.Wait   `json:"waits"`
	Questions []QuestionRow `json:"questions"`
	Inbox     []InboxRow    `json:"inbox"`
	Outbox    []OutboxRow   `json:"outbox"`
	Audit     []AuditRow    `json:"audit"`
}

// ItemRow is one item of a transcript as people see it.
type ItemRow struct {
	Seq     int64  `json:"seq"`
	Turn    int64  `json:"turn"`
	Step    int    `json:"step"`
	Role    string `json:"role"`
	Kind    string `json:"kind"`
	Text    string `json:"text,omitempty"`
	Tool    string `json:"tool,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Args    string `json:"args,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
	Source  string `json:"source"`
}

func itemRows(items []llm.Item) []ItemRow {
	rows := make([]ItemRow, len(items))
	for i, it := range items {
		rows[i] = ItemRow{
			Seq: it.Seq, Turn: it.Turn, Step: it.Step, Role: string(it.Role), Kind: string(it.Kind), Text: event.TextOf(it.Parts),
			Tool: it.Tool, CallID: it.CallID, Args: string(it.Args), IsError: it.IsError, Source: it.Source,
		}
	}
	return rows
}

// TurnView reads one turn with everything that belongs to it.
func (s *Store) TurnView(ctx context.Context, id int64) (v TurnView, err error) {
	rows, err := s.turnRows(ctx, "t.id = ?", id)
	if err != nil {
		return v, err
	}
	if len(rows) == 0 {
		return v, notFound("turn", id)
	}
	v.TurnRow = rows[0]
	items, err := s.items(ctx, "turn = ?", id)
	if err != nil {
		return v, err
	}
	v.Items = itemRows(items)
	if v.Control, err = s.steps(ctx, id); err != nil {
		return v, err
	}
	if v.Waits, err = s.waits(ctx, id); err != nil {
		return v, err
	}
	if v.Questions, err = s.questionRows(ctx, "turn = ? ORDER BY id", id); err != nil {
		return v, err
	}
	if v.Inbox, err = s.inboxRows(ctx, "turn = ? ORDER BY seq", id); err != nil {
		return v, err
	}
	if v.Outbox, err = s.outboxRows(ctx, "cause_kind = 'step' AND cause_id = ? ORDER BY id", id); err != nil {
		return v, err
	}
	v.Audit, err = s.auditRows(ctx, "turn = ? ORDER BY seq", id)
	return v, err
}

// SessionView is one session with its transcript.
type SessionView struct {
	SessionRow
	Transcript []ItemRow `json:"transcript"`
}

// SessionView reads one session with its transcript, by key or id.
func (s *Store) SessionView(ctx context.Context, name string) (v SessionView, err error) {
	if v.SessionRow, err = s.SessionNamed(ctx, name); err != nil {
		return v, err
	}
	items, err := s.items(ctx, "session = ?", v.ID)
	v.Transcript = itemRows(items)
	return v, err
}
