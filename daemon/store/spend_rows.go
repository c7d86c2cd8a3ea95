package store

import (
	"database/sql"
	"errors"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
)

// allScope is the scope of the daily limit.
const allScope = "all"

// spendRows is the table spend inside one transaction. Each amount is booked twice: under allScope for the limit, and under its source for
// the report.
type spendRows struct {
	Tx  *Tx
	Day func(time.Time) string // the date of an instant in the owner's zone
}

// reserve books the possible cost of a turn's request before it starts.
func (b spendRows) reserve(id int64, day string, a turn.Amount) error {
	source, err := b.source(id)
	if err != nil {
		return err
	}
	return b.Tx.Run(`INSERT INTO spend (day, scope, reserved_tokens, reserved_micros) VALUES (?1, ?2, ?4, ?5), (?1, ?3, ?4, ?5)
		ON CONFLICT (day, scope) DO UPDATE SET reserved_tokens = reserved_tokens + excluded.reserved_tokens, reserved_micros = reserved_micros + excluded.reserved_micros`,
		day, allScope, source, a.Tokens, a.Micros)
}

// add books the cost of a request outside any turn; a negative amount corrects it.
func (b spendRows) add(day, source string, a turn.Amount) error {
	for _, scope := range []string{allScope, source} {
		if err := b.Tx.Run(`INSERT INTO spend (day, scope, used_tokens, used_micros) VALUES (?1, ?2, max(?3, 0), max(?4, 0))
			ON CONFLICT (day, scope) DO UPDATE SET used_tokens = max(used_tokens + ?3, 0), used_micros = max(used_micros + ?4, 0)`, day, scope, a.Tokens, a.Micros); err != nil {
			return err
		}
	}
	return nil
}

// source returns the scope that a turn spends for. A subagent spends for its parent.
func (b spendRows) source(id int64) (scope string, err error) {
	err = b.Tx.One("SELECT 'source:' || iif(t.fire IS NULL, s.key, 'jobs') FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = (SELECT coalesce(parent, id) FROM turns WHERE id = ?)", []any{id}, &scope)
	return scope, err
}

// settle replaces a step's reservation by the request's real usage. A step without usage costs nothing.
func (b spendRows) settle(id int64, p turn.Step) error {
	var started int64
	var r turn.Amount
	err := b.Tx.One("SELECT reserve_tokens, reserve_micros, started FROM steps WHERE turn = ? AND n = ?", []any{id, p.N}, &r.Tokens, &r.Micros, &started)
	if errors.Is(err, sql.ErrNoRows) { // nothing was reserved for a free model
		return b.Tx.Run("UPDATE turns SET tokens = tokens + ? WHERE id = ?", p.Usage.Tokens(), id)
	}
	if err != nil {
		return err
	}
	// A priced request counts in money, an unpriced one in tokens, as its reservation did.
	used := turn.Amount{Micros: p.Usage.Cost}
	if !p.Usage.Priced {
		used = turn.Amount{Tokens: p.Usage.Tokens()}
	}
	return b.count(id, sqlite.Time(started), r, used, p.Usage.Tokens())
}

// count books the usage of a request on its day and its turn. The turn counts all tokens, whatever they cost.
func (b spendRows) count(id int64, started time.Time, reserved, used turn.Amount, tokens int64) error {
	source, err := b.source(id)
	if err != nil {
		return err
	}
	if err := b.Tx.Run("UPDATE turns SET tokens = tokens + ?, cost = cost + ? WHERE id = ?", tokens, used.Micros, id); err != nil {
		return err
	}
	// The owner's zone may have changed since. Then that day has no such reservation.
	return b.Tx.Run(`INSERT INTO spend (day, scope, used_tokens, used_micros) VALUES (?1, ?7, ?3, ?4), (?1, ?2, ?3, ?4)
		ON CONFLICT (day, scope) DO UPDATE SET reserved_tokens = max(reserved_tokens - ?5, 0), reserved_micros = max(reserved_micros - ?6, 0),
		used_tokens = used_tokens + ?3, used_micros = used_micros + ?4`,
		b.Day(started), source, used.Tokens, used.Micros, reserved.Tokens, reserved.Micros, allScope)
}

// bookOrphans books the open requests of interrupted turns with their full reservation, because they may have been billed.
func (b spendRows) bookOrphans() error {
	type orphan struct {
		turn    int64
		n       int
		r       turn.Amount
		started time.Time
	}
	// An interrupted turn is ready or waiting again, or it has ended lately. The steps of all turns are too many to look at.
	rs, err := b.Tx.Query(`SELECT turn, n, reserve_tokens, reserve_micros, started FROM steps WHERE kind = 'model' AND state = 'intent' AND turn IN (SELECT id FROM turns WHERE state IN ('ready', 'waiting')
		UNION SELECT id FROM turns WHERE id > (SELECT coalesce(max(id), 0) - 1000 FROM turns) AND state <> 'running')`)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (o orphan, err error) {
		return o, rs.Scan(&o.turn, &o.n, &o.r.Tokens, &o.r.Micros, sqlite.Stamp(&o.started))
	})
	if err != nil {
		return err
	}
	// Book the whole reservation: the provider may have charged it.
	for _, o := range list {
		used := o.r
		// A priced request was reserved in money; its tokens do not count against the limit of tokens.
		if used.Micros > 0 {
			used.Tokens = 0
		}
		if err := b.count(o.turn, o.started, o.r, used, used.Tokens); err != nil {
			return err
		}
		if err := b.Tx.Run("UPDATE steps SET state = 'unknown', reserve_tokens = 0, reserve_micros = 0, ended = ? WHERE turn = ? AND n = ?", sqlite.Micros(b.Tx.Now), o.turn, o.n); err != nil {
			return err
		}
	}
	return nil
}
