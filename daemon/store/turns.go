package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sqlite"
	"hob/scheduler"
)

// askedFor selects the turn that caused another turn: the other turn was opened by a report of a subagent, a process or another
// conversation that a call of this turn had started.
const askedFor = `SELECT s.turn FROM line l JOIN inbox i ON i.turn = l.id AND i.kind = 'report' JOIN steps s ON s.turn = CAST(substr(i.ext_id, 2) AS INTEGER) AND s.call_id = i.ext_id`

// usedBy sums up the tokens of the turn r, of its subagents, and of all turns that their reports opened.
const usedBy = `WITH RECURSIVE related (id) AS (SELECT r.id UNION SELECT x.id FROM related k JOIN turns x ON x.parent = k.id
	UNION SELECT i.turn FROM related k JOIN steps s ON s.turn = k.id AND s.kind = 'tool' JOIN inbox i ON i.source IN ('sub-agent', 'process', 'session') AND i.ext_id = s.call_id WHERE i.turn > 0)
	SELECT sum(x.tokens) FROM related k JOIN turns x ON x.id = k.id`

// guestTurn selects the turns that must not see what only the owner may know. These are the turns of other people, and all turns in
// conversations of other people, groups and machines, even those of the owner's messages: the others can read everything there. The session
// keys of channels contain a colon.
const guestTurn = "(t.asker <> 'owner' OR s.kind IN ('thread', 'group', 'hook', 'watch') OR s.kind = 'chat' AND instr(s.key, ':') > 0)"

// plainTurn selects the turns of triggers and tasks that the built-in interpreter carries out.
const plainTurn = `(EXISTS (SELECT 1 FROM fires f JOIN triggers g ON g.id = f.trigger WHERE f.id = t.fire AND g.body ->> '$.plain')
	OR EXISTS (SELECT 1 FROM inbox i JOIN tasks k ON k.id = CAST(i.ext_id AS INTEGER) WHERE i.turn = t.id AND i.source = 'task' AND k.plain = 1))`

// turnColumns are the columns of a turn. A turn has the limits of the run that it belongs to, even in a subagent or after a report.
const turnColumns = `t.id, t.session, s.key, coalesce(t.parent, 0), t.state, t.attempts, t.asker, t.reply_to, t.reply_ref, coalesce(t.fire, 0), t.started, t.ended, t.running_us * 1000, t.why, t.tokens, t.cost,
	coalesce((SELECT f.late_us * 1000 FROM fires f JOIN triggers g ON g.id = f.trigger WHERE f.id = t.fire AND f.told = 0 AND g.kind = 'job'), 0),
	t.tainted = 1 OR s.watermark <> 'owner', iif(t.foreign_from <> '', t.foreign_from, s.foreign_from),
	coalesce((SELECT json_extract(g.body, '$.allow') FROM fires f JOIN triggers g ON g.id = f.trigger WHERE f.id = t.fire AND s.key <> 'main'), '[]'),
	coalesce((WITH RECURSIVE line (id) AS (SELECT t.id UNION SELECT x.parent FROM line l JOIN turns x ON x.id = l.id WHERE x.parent > 0 UNION ` + askedFor + `)
		SELECT json_object('tools', json_extract(g.body, '$.tools'), 'max_tokens', json_extract(g.body, '$.tokens'), 'used', iif(json_extract(g.body, '$.tokens') > 0, (` + usedBy + `), 0))
		FROM line l JOIN turns r ON r.id = l.id JOIN fires f ON f.id = r.fire JOIN triggers g ON g.id = f.trigger LIMIT 1), '{}'), EXISTS (SELECT 1 FROM plans p WHERE p.session = t.session), ` + plainTurn + `, ` + guestTurn

// scanTurn reads a row of turnColumns. The limits of a run come as JSON from the trigger that started it.
func scanTurn(rs *sql.Rows) (t turn.Turn, err error) {
	var limits turn.RunLimits
	var late time.Duration
	err = rs.Scan(&t.ID, &t.Session, &t.Key, &t.Parent, &t.State, &t.Attempts, &t.Asker, &t.ReplyTo, &t.ReplyRef, &t.Fire,
		sqlite.Stamp(&t.Started), sqlite.Stamp(&t.Ended), &t.Running, &t.Why, &t.Tokens, &t.Cost, &late, &t.Tainted, &t.Foreign, sqlite.JSON(&t.Rights), sqlite.JSON(&limits), &t.Plan, &t.Plain, &t.Guest)
	t.Late = scheduler.LateBy(late)
	t.Only, t.MaxTokens, t.UsedTokens = limits.Only, limits.MaxTokens, limits.UsedTokens
	return t, err
}

// Load reads all rows that decide what a turn does next. turn.Next is computed from them. The caller fills in the limits.
func (s Turns) Load(ctx context.Context, id int64) (turn.Snapshot, error) {
	st := turn.Snapshot{Epoch: s.core.epoch, Now: s.core.now()}
	t, err := s.Turn(ctx, id)
	if err != nil {
		return st, err
	}
	st.Turn = t
	if st.Items, err = s.core.items(ctx, "turn = ?", id); err != nil {
		return st, fmt.Errorf("load items: %w", err)
	}
	if st.Steps, err = s.core.steps(ctx, id); err != nil {
		return st, fmt.Errorf("load steps: %w", err)
	}
	if st.Waits, err = s.core.waits(ctx, id); err != nil {
		return st, fmt.Errorf("load waits: %w", err)
	}
	if len(st.Waits) > 0 {
		st.Now = st.Now.In(s.core.zone()) // a result may tell when a wait was over; reading the zone takes time
	}
	if st.Questions, err = s.core.questionsOf(ctx, id); err != nil {
		return st, fmt.Errorf("load questions: %w", err)
	}
	if st.Relations, err = readRelations(ctx, s.core.read(), t); err != nil {
		return st, fmt.Errorf("load relations: %w", err)
	}
	err = s.core.read().QueryRowContext(ctx, newestOther, t.Session, id).Scan(&st.Overtaken)
	return st, err
}

// newestOther selects the newest input of another turn in a session.
const newestOther = "SELECT coalesce(max(seq), 0) FROM items WHERE session = ? AND turn <> ? AND kind = 'input'"

// Turn reads one turn, with the rights and limits of the run that it belongs to.
func (s Turns) Turn(ctx context.Context, id int64) (turn.Turn, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT "+turnColumns+" FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", id)
	list, err := sqlite.Collect(rs, err, scanTurn)
	return first(list, err, notFound("turn", id))
}

// itemColumns are the columns that scanItem reads. Calls and their results share a call_id.
const itemColumns = `seq, session, turn, step, role, kind, parts, envelope, coalesce(call_id, ''), tool, args, is_error, provider, model, raw, trust, source, tokens, handle`

// items reads the items that a condition selects, oldest first.
func (s *core) items(ctx context.Context, where string, args ...any) ([]llm.Item, error) {
	rs, err := s.read().QueryContext(ctx, "SELECT "+itemColumns+" FROM items WHERE "+where+" ORDER BY seq", args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, scanItem)
}

// scanItem reads an item of a conversation. args and raw are NULL if the item has none.
func scanItem(rs *sql.Rows) (it llm.Item, err error) {
	var args, raw sql.NullString
	err = rs.Scan(&it.Seq, &it.Session, &it.Turn, &it.Step, &it.Role, &it.Kind, sqlite.JSON(&it.Parts), sqlite.JSON(&it.Envelope), &it.CallID, &it.Tool, &args,
		&it.IsError, &it.Provider, &it.Model, &raw, &it.Trust, &it.Source, &it.Tokens, &it.Handle)
	if args.Valid {
		it.Args = []byte(args.String)
	}
	if raw.Valid {
		it.Raw = []byte(raw.String)
	}
	return it, err
}

// addItem appends one item. inbox is the row that it comes from; 0: none.
func addItem(tx *Tx, it llm.Item, inbox int64) (int64, error) {
	parts, err := sqlite.Doc(it.Parts)
	if err != nil {
		return 0, err
	}
	envelope := sql.NullString{}
	if it.Envelope != nil {
		envelope.Valid = true
		if envelope.String, err = sqlite.Doc(it.Envelope); err != nil {
			return 0, err
		}
	}
	return tx.Insert(`INSERT INTO items (session, turn, step, role, kind, parts, envelope, inbox, call_id, tool, args, is_error, provider, model, raw, trust, source, tokens)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		it.Session, it.Turn, it.Step, it.Role, it.Kind, parts, envelope, sqlite.Ref(inbox), it.CallID, it.Tool, sqlite.Text(it.Args), sqlite.Bit(it.IsError),
		it.Provider, it.Model, sqlite.Text(it.Raw), it.Trust, it.Source, it.Tokens)
}

// steps reads the steps of a turn in order.
func (s *core) steps(ctx context.Context, id int64) ([]turn.Step, error) {
	rs, err := s.read().QueryContext(ctx, `SELECT n, kind, state, epoch, call_id, tool, effect, hash, coalesce(question, 0), reserve_tokens, reserve_micros, usage, started, ended, model, why, fault
		FROM steps WHERE turn = ? ORDER BY n`, id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (p turn.Step, err error) {
		return p, rs.Scan(&p.N, &p.Kind, &p.State, &p.Epoch, &p.CallID, &p.Tool, &p.Effect, &p.Hash, &p.Question, &p.Reserve.Tokens, &p.Reserve.Micros,
			sqlite.JSON(&p.Usage), sqlite.Stamp(&p.Started), sqlite.Stamp(&p.Ended), &p.Model, &p.Why, &p.Fault)
	})
}

// writeStep writes the row of a step, or replaces it. A step keeps its start time when later writes do not give one.
func writeStep(tx *Tx, id int64, p turn.Step) error {
	usage, err := sqlite.Doc(p.Usage)
	if err != nil {
		return err
	}
	return tx.Run(`INSERT INTO steps (turn, n, kind, state, epoch, call_id, tool, effect, hash, question, reserve_tokens, reserve_micros, usage, started, ended, model, why, fault)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (turn, n) DO UPDATE SET state = excluded.state, epoch = excluded.epoch, effect = excluded.effect, hash = excluded.hash, question = excluded.question,
		reserve_tokens = excluded.reserve_tokens, reserve_micros = excluded.reserve_micros, usage = excluded.usage, started = iif(excluded.started = 0, started, excluded.started), ended = excluded.ended,
		model = excluded.model, why = excluded.why, fault = excluded.fault`,
		id, p.N, p.Kind, p.State, tx.core.epoch, p.CallID, p.Tool, p.Effect, p.Hash, sqlite.Ref(p.Question), p.Reserve.Tokens, p.Reserve.Micros, usage, sqlite.Micros(p.Started), sqlite.Micros(p.Ended), p.Model, p.Why, p.Fault)
}

// waits reads the waits of a turn's calls, including those that are met. how then says what ended them.
func (s *core) waits(ctx context.Context, id int64) ([]turn.Wait, error) {
	rs, err := s.read().QueryContext(ctx, "SELECT call_id, kind, until, subject, coalesce(question, 0), met, how FROM waits WHERE turn = ?", id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (w turn.Wait, err error) {
		return w, rs.Scan(&w.CallID, &w.Kind, sqlite.Stamp(&w.Until), &w.Subject, &w.Question, sqlite.Stamp(&w.Met), &w.How)
	})
}

// addWait stores the wait of a call. A call that waits again replaces its earlier wait.
func addWait(tx *Tx, id int64, w turn.Wait) error {
	return tx.Run(`INSERT INTO waits (turn, call_id, kind, until, subject, question) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (turn, call_id) DO UPDATE SET kind = excluded.kind, until = excluded.until, subject = excluded.subject, question = excluded.question, met = 0, how = ''`,
		id, w.CallID, w.Kind, sqlite.Micros(w.Until), w.Subject, sqlite.Ref(w.Question))
}

// Ended ends the wait of a turn for a call that went on while the turn was parked.
func (s Turns) Ended(ctx context.Context, id int64, call string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		tx.Wake(sqlite.SignalInbox)
		return tx.Run("UPDATE waits SET met = ?, how = 'ended' WHERE turn = ? AND call_id = ? AND kind = 'process' AND met = 0", sqlite.Micros(tx.Now), id, call)
	})
}

// Answering returns the address of the running turn's answer. It returns "" if no turn is running or the turn belongs to a job, because
// nobody waits for a job's answer.
func (s Turns) Answering(ctx context.Context) (event.Address, error) {
	var to event.Address
	err := s.core.read().QueryRowContext(ctx, "SELECT reply_to FROM turns WHERE state = 'running' AND parent IS NULL AND fire IS NULL").Scan(&to)
	return to, ignoreNoRows(err)
}

// Busy reports whether a turn of the main thread is running, or a message of the owner waits for one.
func (s Turns) Busy(ctx context.Context, now time.Time) (busy bool, err error) {
	err = s.core.read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM turns WHERE state IN ('ready', 'running') AND parent IS NULL)
		OR EXISTS (SELECT 1 FROM inbox WHERE state = 'queued' AND kind = 'message' AND rank = 0 AND not_before <= ?)`, sqlite.Micros(now)).Scan(&busy)
	return busy, err
}
