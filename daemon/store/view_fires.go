package store

import (
	"context"
	"database/sql"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
)

// fireOutcome is the outcome for people: a run that started after its limit is "late".
const fireOutcome = "iif(f.outcome = 'ran' AND f.limit_us > 0 AND f.late_us > f.limit_us, 'late', f.outcome)"

// fireAnswers selects the messages of a fire's turn.
const fireAnswers = "FROM outbox o WHERE o.cause_kind = 'step' AND o.cause_id = f.turn"

// triggerNamed selects triggers by name, id or "KIND:NAME", including removed ones.
const triggerNamed = `SELECT id FROM triggers WHERE name = ?2 UNION SELECT id FROM triggers WHERE id = cast(?2 AS INTEGER) AND cast(id AS TEXT) = ?2
	UNION SELECT id FROM triggers WHERE name = substr(?2, instr(?2, ':') + 1) AND kind || ':' || name = ?2`

// FireRows lists slots, newest first. f.Name is the name or id of a trigger, or "KIND:NAME"; f.State is a state or an outcome.
func (s *View) FireRows(ctx context.Context, f event.Filter) ([]api.Fire, error) {
	return fireRows(ctx, s.read, whereFilter(f, fireState(f.State), "f.trigger IN ("+triggerNamed+")")+" ORDER BY f.id DESC LIMIT ?3", f.State, f.Name, rowLimit(f))
}

// fireState selects the slots with the state or outcome ?1. Its texts are those of indexes: all but "done" and "ran" are few.
func fireState(state string) string {
	switch state {
	case string(scheduler.StateDone), string(scheduler.OutcomeRan):
		return "f.state = ?1 OR " + fireOutcome + " = ?1"
	case "late":
		return "f.outcome = 'ran' AND f.limit_us > 0 AND f.late_us > f.limit_us"
	case string(scheduler.OutcomeFailed), string(scheduler.OutcomeMissed), string(scheduler.OutcomeCoalesced), string(scheduler.OutcomeSkipped):
		return "f.outcome = ?1 AND f.outcome NOT IN ('', 'ran')"
	}
	return "f.state = ?1 AND f.state <> 'done'"
}

// FireRow finds a slot by its number.
func (s *View) FireRow(ctx context.Context, id string) (api.Fire, error) {
	list, err := fireRows(ctx, s.read, hasID("f.id"), id)
	return singleRow(list, err, "slot", id)
}

// fireRows reads fires with their cost, including sub-agents, and what became of the answers.
func fireRows(ctx context.Context, read *sqlite.Readers, where string, args ...any) ([]api.Fire, error) {
	rs, err := read.QueryContext(ctx, `SELECT f.id, t.name, t.kind, coalesce(json_extract(t.body, '$.zone'), ''), f.key, f.due, f.state, `+fireOutcome+`, f.late_us / 1000, f.limit_us / 1000, f.stands, f.reason,
		coalesce(f.turn, 0), f.created, f.started, f.ended,
		EXISTS (SELECT 1 FROM turns u JOIN sessions s ON s.id = u.session WHERE u.id = f.turn AND (u.tainted = 1 OR s.watermark <> 'owner')),
		(SELECT iif(coalesce(sum(x.cost), 0) = 0 AND max(EXISTS (SELECT 1 FROM steps p WHERE p.turn = x.id AND `+unpriced+`)), -1, coalesce(sum(x.cost), 0)) FROM turns x WHERE x.fire = f.id OR x.parent IN (SELECT id FROM turns WHERE fire = f.id)),
		(SELECT coalesce(sum(x.tokens), 0) FROM turns x WHERE x.fire = f.id OR x.parent IN (SELECT id FROM turns WHERE fire = f.id)),
		(SELECT CASE WHEN sum(o.state = 'dead') > 0 THEN 'failed' WHEN sum(o.state = 'expired') > 0 THEN 'expired' WHEN sum(o.state = 'held') > 0 THEN 'held'
			WHEN sum(o.state IN ('draft', 'ready')) > 0 THEN 'sending' WHEN sum(o.state = 'done') > 0 THEN 'sent' WHEN count(*) > 0 THEN 'dropped'
			WHEN f.outcome <> 'ran' THEN '' WHEN (SELECT u.reply_to FROM turns u WHERE u.id = f.turn) = '`+string(event.ToNone)+`' THEN 'to nobody' ELSE 'nothing to say' END `+fireAnswers+`),
		coalesce((SELECT coalesce(nullif(o.reason, ''), (SELECT d.error FROM deliveries d WHERE d.outbox = o.id AND d.error <> '' LIMIT 1), '') `+fireAnswers+` AND o.state NOT IN ('done', 'draft') ORDER BY o.id LIMIT 1), '')
		FROM fires f JOIN triggers t ON t.id = f.trigger WHERE `+where, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.Fire, err error) {
		return r, rs.Scan(&r.ID, &r.Job, &r.Kind, &r.Zone, &r.Key, sqlite.Stamp(&r.Due), &r.State, &r.Outcome, &r.LateMS, &r.LimitMS, &r.Slots, &r.Reason, &r.Turn, sqlite.Stamp(&r.Created), sqlite.Stamp(&r.Started),
			sqlite.Stamp(&r.Ended), &r.Tainted, &r.CostMicros, &r.Tokens, &r.RunDelivery.Outcome, &r.Why)
	})
}

// Limits of the runs that predict the next one's cost: of the same job, and of all jobs.
const (
	ownRuns = 20
	anyRuns = 200
	newest  = "f.id > (SELECT coalesce(max(id), 0) - 100000 FROM fires) AND " // number of rows examined
)

// RunCost returns the mean cost of a job's last 20 runs. Without any, it uses the newest 200 runs of all jobs since an instant. Runs that
// asked no model do not count. Zero means that there are none.
func RunCost(ctx context.Context, read *sqlite.Readers, job int64, since time.Time) (scheduler.Cost, error) {
	c, err := meanCost(ctx, read, newest+"f.trigger = ?1 ORDER BY f.id DESC LIMIT ?2", job, ownRuns)
	// Without runs of its own, a new job gets the mean of the others.
	if err != nil || c.Tokens > 0 {
		return c, err
	}
	return meanCost(ctx, read, newest+"f.created >= ?1 AND EXISTS (SELECT 1 FROM triggers t WHERE t.id = f.trigger AND t.kind = 'job') ORDER BY f.id DESC LIMIT ?2", sqlite.Micros(since), anyRuns)
}

// meanCost averages the cost and the tokens of ended fires, with those of their subagents. Fires without a request do not count.
func meanCost(ctx context.Context, read *sqlite.Readers, where string, args ...any) (c scheduler.Cost, err error) {
	err = read.QueryRowContext(ctx, `SELECT coalesce(cast(avg(cost) AS INTEGER), 0), coalesce(cast(avg(tokens) AS INTEGER), 0) FROM (
		SELECT (SELECT sum(x.cost) FROM turns x WHERE x.id = f.turn OR x.parent = f.turn) AS cost, (SELECT sum(x.tokens) FROM turns x WHERE x.id = f.turn OR x.parent = f.turn) AS tokens
		FROM fires f WHERE f.state = 'done' AND EXISTS (SELECT 1 FROM turns u WHERE u.id = f.turn AND u.tokens > 0) AND `+where+`)`, args...).Scan(&c.Micros, &c.Tokens) // #nosec G202 -- constants
	return c, err
}
