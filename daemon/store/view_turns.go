package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sqlite"
)

// TurnRows lists turns, newest first.
func (s *View) TurnRows(ctx context.Context, f event.Filter) ([]api.Turn, error) {
	order := "t.id DESC"
	if f.Name != "" && f.State == "" { // newer conversations with the same key have newer turns
		order = "s.id DESC, t.id DESC"
	}
	return turnRows(ctx, s, whereFilter(f, "t.state = ?1", "s.key = ?2")+" ORDER BY "+order+" LIMIT ?3", f.State, f.Name, rowLimit(f))
}

// turnRows reads turns. A cost of -1 is unknown: only requests without a price were made. The running time of a running turn is committed up
// to its last row. After a wait or a crash it runs on from the end of the wait or from the start of the process.
func turnRows(ctx context.Context, s *View, where string, args ...any) ([]api.Turn, error) {
	rs, err := s.read.QueryContext(ctx, `SELECT t.id, s.key, coalesce(t.parent, 0), t.state, t.attempts, t.asker, t.reply_to, coalesce(t.fire, 0), t.started, t.ended, t.running_us / 1000,
		iif(t.state = 'running', max(t.started, coalesce((SELECT b.started FROM boots b WHERE b.epoch = t.epoch), 0), coalesce((SELECT max(max(p.started, p.ended)) FROM steps p WHERE p.turn = t.id), 0), coalesce((SELECT max(w.met) FROM waits w WHERE w.turn = t.id), 0)), 1 << 62),
		(SELECT count(*) FROM steps p WHERE p.turn = t.id), t.tokens, iif(t.cost = 0 AND EXISTS (SELECT 1 FROM steps p WHERE p.turn = t.id AND `+unpriced+`), -1, t.cost), t.why, t.text FROM turns t JOIN sessions s ON s.id = t.session WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (api.Turn, error) {
		r, since := api.Turn{}, int64(0)
		err := rs.Scan(&r.ID, &r.Session, &r.Parent, &r.State, &r.Attempts, &r.Asker, &r.ReplyTo, &r.Fire, sqlite.Stamp(&r.Started), sqlite.Stamp(&r.Ended), &r.RunningMS, &since,
			&r.Steps, &r.Tokens, &r.Cost, &r.Why, &r.Text)
		r.RunningMS += max(sqlite.Micros(s.now())-since, 0) / 1000
		return r, err
	})
}

// items lists the transcript of a session, or one turn's part of it (0: all). Links in text that may come from somebody else are disarmed.
func (s *View) items(ctx context.Context, session string, turnID, id int64) ([]api.Item, error) {
	var rows []api.Item
	rs, err := s.read.QueryContext(ctx, `SELECT i.seq, i.turn, i.step, i.role, i.kind, i.parts, i.tool, coalesce(i.call_id, ''), coalesce(i.args, ''), i.is_error, i.source, i.trust, i.provider, coalesce(i.envelope, 'null'),
		coalesce(b.received, (SELECT nullif(k.ended, 0) FROM steps k WHERE k.turn = i.turn AND k.n = i.step), t.started, 0), coalesce(b.sender, ''), i.trust <> 'owner' OR i.kind <> 'input' AND coalesce(t.tainted, 0)
		FROM items i LEFT JOIN turns t ON t.id = i.turn LEFT JOIN inbox b ON b.seq = i.inbox WHERE i.session = `+session+" ORDER BY i.seq", id) // #nosec G202 -- constants
	all, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (it llm.Item, err error) {
		var r api.Item
		var args string
		err = rs.Scan(&it.Seq, &it.Turn, &it.Step, &it.Role, &it.Kind, sqlite.JSON(&it.Parts), &it.Tool, &it.CallID, &args, &it.IsError, &it.Source, &it.Trust, &it.Provider, sqlite.JSON(&it.Envelope), sqlite.Stamp(&r.At), &r.Sender, &r.Foreign)
		it.Args = json.RawMessage(args)
		rows = append(rows, r)
		return it, err
	})
	// The exempt addresses come from all items of the session, not only from this turn.
	speech := turn.NewDefanger(true, all)
	var list []api.Item
	for n, it := range all {
		if turnID != 0 && it.Turn != turnID {
			continue
		}
		r := rows[n]
		r.Seq, r.Turn, r.Step, r.Role, r.Kind, r.Text = it.Seq, it.Turn, it.Step, string(it.Role), string(it.Kind), event.TextOf(it.Parts)
		r.Tool, r.CallID, r.Args, r.IsError, r.Source = it.Tool, it.CallID, string(it.Args), it.IsError, it.Source
		// Inputs are shown as their senders wrote them. Other text may repeat foreign links.
		if it.Kind != llm.Input && it.Trust != event.Owner {
			r.Text, r.Args = speech.Defang(r.Text), speech.Defang(r.Args)
		}
		list = append(list, r)
	}
	return list, err
}

// steps reads the model requests and tool calls of a turn, in order.
func (s *View) steps(ctx context.Context, id int64) ([]api.Step, error) {
	rs, err := s.read.QueryContext(ctx, "SELECT n, kind, state, epoch, call_id, tool, effect, coalesce(question, 0), model, why, usage, started, ended FROM steps WHERE turn = ? ORDER BY n", id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.Step, err error) {
		return r, rs.Scan(&r.N, &r.Kind, &r.State, &r.Epoch, &r.CallID, &r.Tool, &r.Effect, &r.Asked, &r.Model, &r.Why, sqlite.JSON(&r.Usage), sqlite.Stamp(&r.Started), sqlite.Stamp(&r.Ended))
	})
}

// ModelAnswers counts the answers of a model in the newest turns, and those in which something was repaired, by what it was.
func (s *View) ModelAnswers(ctx context.Context, model string, turns int) (all int, _ []api.Repair, err error) {
	counts, list := map[string]int{}, []api.Repair{}
	rs, err := s.read.QueryContext(ctx, "SELECT why, count(*) FROM steps WHERE turn > (SELECT max(id) FROM turns) - ? AND kind = 'model' AND state = 'done' AND model = ? GROUP BY why", turns, model)
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (why string, err error) {
		var n int
		err = rs.Scan(&why, &n)
		all += n
		for _, what := range slices.Compact(slices.Sorted(strings.SplitSeq(why, "; "))) { // two calls of an answer may need the same repair
			counts[what] += n
		}
		return why, err
	})
	delete(counts, "")
	for what, n := range counts {
		list = append(list, api.Repair{What: what, Answers: n})
	}
	slices.SortFunc(list, func(a, b api.Repair) int { return cmp.Or(b.Answers-a.Answers, cmp.Compare(a.What, b.What)) })
	return all, list[:min(len(list), 20)], err
}

// waits reads what the calls of a turn wait or waited for.
func (s *View) waits(ctx context.Context, id int64) ([]api.Wait, error) {
	rs, err := s.read.QueryContext(ctx, "SELECT call_id, kind, until, subject, met, how FROM waits WHERE turn = ?", id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.Wait, err error) {
		return r, rs.Scan(&r.CallID, &r.Kind, sqlite.Stamp(&r.Until), &r.Subject, sqlite.Stamp(&r.Met), &r.How)
	})
}

// TurnView reads one turn with all related rows.
func (s *View) TurnView(ctx context.Context, id int64) (v api.TurnDetail, err error) {
	rows, err := turnRows(ctx, s, "t.id = ?", id)
	if err != nil {
		return v, err
	}
	if len(rows) == 0 {
		return v, notFound("turn", id)
	}
	v.Turn = rows[0]
	if v.Items, err = s.items(ctx, "(SELECT session FROM turns WHERE id = ?)", id, id); err != nil {
		return v, err
	}
	if v.Control, err = s.steps(ctx, id); err != nil {
		return v, err
	}
	if v.Waits, err = s.waits(ctx, id); err != nil {
		return v, err
	}
	if v.Questions, err = questionRows(ctx, s.read, "turn = ? ORDER BY id", id); err != nil {
		return v, err
	}
	if v.Inbox, err = inboxRows(ctx, s.read, "turn = ? ORDER BY seq", id); err != nil {
		return v, err
	}
	if v.Outbox, err = outboxRows(ctx, s.read, "cause_kind = 'step' AND cause_id = ? ORDER BY id", id); err != nil {
		return v, err
	}
	v.Audit, err = auditRows(ctx, s.read, "turn = ? ORDER BY seq", id)
	return v, err
}

// SessionView reads one session with its transcript, by key or id.
func (s *View) SessionView(ctx context.Context, name string) (v api.SessionDetail, err error) {
	if v.Session, err = s.SessionNamed(ctx, name); err != nil {
		return v, err
	}
	v.Transcript, err = s.items(ctx, "?", 0, v.ID)
	return v, err
}
