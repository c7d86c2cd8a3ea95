package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hob/daemon/store/db"
	"hob/daemon/store/view"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// The scope that the daily cap counts.
const scopeAll = "all"

// Budget is the spending of a day.
type Budget struct {
	Day            string       `json:"day"`            // in the owner's zone
	PerDayMicros   int64        `json:"per_day_micros"` // below 0: no cap
	UsedMicros     int64        `json:"used_micros"`
	ReservedMicros int64        `json:"reserved_micros"`
	PerDayTokens   int64        `json:"tokens_per_day"` // cap for models whose price is not known; below 0: no cap
	Set            bool         `json:"set"`            // a cap by the owner, instead of the config\'s
	UsedTokens     int64        `json:"tokens_used"`
	ReservedTokens int64        `json:"tokens_reserved"`
	Sources        []view.Spent `json:"sources,omitempty"` // who it was spent for, the dearest first; only in what Spent returns
}

// exceededBy reports whether a cap does not allow an amount.
func (b Budget) exceededBy(a turn.Amount) bool {
	money := b.UsedMicros + b.ReservedMicros
	if a.Micros > 0 {
		return b.PerDayMicros >= 0 && money+a.Micros > b.PerDayMicros
	}
	if b.PerDayMicros >= 0 && money >= b.PerDayMicros {
		return true // the server may tell a cost afterwards
	}
	return b.PerDayTokens >= 0 && b.UsedTokens+b.ReservedTokens+a.Tokens > b.PerDayTokens
}

// day is the day of an instant in the owner's zone.
func (s *core) day(t time.Time) string {
	zone, err := time.LoadLocation(s.opt.Zone())
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.DateOnly)
}

// reserveSpend books what a model request may cost before it starts, on the day, and on the turn's source.
func reserveSpend(tx *Tx, p turn.Step, t turn.Turn) error {
	b, err := readBudget(tx)
	if err != nil {
		return err
	}
	if b.exceededBy(p.Reserve) {
		return fmt.Errorf("turn %d: %w", t.ID, turn.ErrBudget)
	}
	if err := warnBudget(tx, b, p.Reserve); err != nil {
		return err
	}
	source, err := sourceScope(tx, t.ID)
	if err != nil {
		return err
	}
	for _, scope := range []string{scopeAll, source} {
		if err := tx.Run(`INSERT INTO spend (day, scope, reserved_tokens, reserved_micros) VALUES (?, ?, ?, ?)
			ON CONFLICT (day, scope) DO UPDATE SET reserved_tokens = reserved_tokens + excluded.reserved_tokens, reserved_micros = reserved_micros + excluded.reserved_micros`,
			b.Day, scope, p.Reserve.Tokens, p.Reserve.Micros); err != nil {
			return err
		}
	}
	return nil
}

// sourceScope is who a turn spends for; a sub-agent spends for its parent's.
func sourceScope(tx *Tx, id int64) (scope string, err error) {
	err = tx.One("SELECT 'source:' || iif(t.fire IS NULL, s.key, 'jobs') FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = (SELECT coalesce(parent, id) FROM turns WHERE id = ?)", []any{id}, &scope)
	return scope, err
}

// settleSpend replaces a step's reservation by what the request really used. Without usage the step counts for nothing.
func settleSpend(tx *Tx, id int64, p turn.Step) error {
	var started int64
	var r turn.Amount
	err := tx.One("SELECT reserve_tokens, reserve_micros, started FROM steps WHERE turn = ? AND n = ?", []any{id, p.N}, &r.Tokens, &r.Micros, &started)
	if errors.Is(err, sql.ErrNoRows) { // nothing was reserved for a model that costs nothing
		return tx.Run("UPDATE turns SET tokens = tokens + ? WHERE id = ?", p.Usage.Tokens(), id)
	}
	if err != nil {
		return err
	}
	used := turn.Amount{Micros: p.Usage.Cost}
	if !p.Usage.Priced {
		used = turn.Amount{Tokens: p.Usage.Tokens()}
	}
	return bookSpend(tx, id, db.Time(started), r, used, p.Usage.Tokens())
}

// bookSpend counts what a request has used on its day and on its turn, whose tokens are counted whatever they cost.
func bookSpend(tx *Tx, id int64, started time.Time, reserved, used turn.Amount, tokens int64) error {
	source, err := sourceScope(tx, id)
	if err != nil {
		return err
	}
	if err := tx.Run("UPDATE turns SET tokens = tokens + ?, cost = cost + ? WHERE id = ?", tokens, used.Micros, id); err != nil {
		return err
	}
	for _, scope := range []string{scopeAll, source} {
		// The owner's zone may have changed since: then the day has no such reservation.
		if err := tx.Run(`INSERT INTO spend (day, scope, used_tokens, used_micros) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (day, scope) DO UPDATE SET reserved_tokens = max(reserved_tokens - ?5, 0), reserved_micros = max(reserved_micros - ?6, 0),
			used_tokens = used_tokens + ?3, used_micros = used_micros + ?4`,
			tx.core.day(started), scope, used.Tokens, used.Micros, reserved.Tokens, reserved.Micros); err != nil {
			return err
		}
	}
	return nil
}

// bookOrphans counts the requests that were in flight when their turn was interrupted: they may have been billed.
func bookOrphans(tx *Tx) error {
	type orphan struct {
		turn    int64
		n       int
		r       turn.Amount
		started time.Time
	}
	rs, err := tx.Query("SELECT turn, n, reserve_tokens, reserve_micros, started FROM steps WHERE kind = 'model' AND state = 'intent' AND turn NOT IN (SELECT id FROM turns WHERE state = 'running')")
	list, err := db.Collect(rs, err, func(rs *sql.Rows) (orphan, error) {
		var o orphan
		err := rs.Scan(&o.turn, &o.n, &o.r.Tokens, &o.r.Micros, db.Stamp(&o.started))
		return o, err
	})
	if err != nil {
		return err
	}
	for _, o := range list {
		used := o.r
		if used.Micros > 0 {
			used.Tokens = 0
		}
		if err := bookSpend(tx, o.turn, o.started, o.r, used, used.Tokens); err != nil {
			return err
		}
		if err := tx.Run("UPDATE steps SET state = 'unknown', reserve_tokens = 0, reserve_micros = 0, ended = ? WHERE turn = ? AND n = ?", db.Micros(tx.Now), o.turn, o.n); err != nil {
			return err
		}
	}
	return nil
}

func readBudget(tx *Tx) (Budget, error) {
	p := tx.core.opt.Policy()
	b := Budget{Day: tx.core.day(tx.Now), PerDayMicros: p.PerDayMicros, PerDayTokens: p.PerDayTokens}
	for key, to := range map[string]*int64{keyDayMoney: &b.PerDayMicros, keyDayCount: &b.PerDayTokens} {
		v, err := readSetting(tx, key)
		if err != nil {
			return b, err
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			*to, b.Set = n, true
		}
	}
	err := tx.One("SELECT reserved_tokens, used_tokens, reserved_micros, used_micros FROM spend WHERE day = ? AND scope = ?", []any{b.Day, scopeAll},
		&b.ReservedTokens, &b.UsedTokens, &b.ReservedMicros, &b.UsedMicros)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return b, err
}

// warnBudget tells the owner once a day that 80 % of a cap is reached.
func warnBudget(tx *Tx, b Budget, r turn.Amount) error {
	money := b.PerDayMicros > 0 && 10*(b.UsedMicros+b.ReservedMicros+r.Micros) >= 8*b.PerDayMicros
	tokens := b.PerDayTokens > 0 && r.Micros == 0 && 10*(b.UsedTokens+b.ReservedTokens+r.Tokens) >= 8*b.PerDayTokens
	if !money && !tokens {
		return nil
	}
	return addNotice(tx, "budget:80:"+b.Day, tx.core.epoch, "80 % of today's budget is used or reserved. To raise it: hob budget set --per-day AMOUNT or --tokens-per-day N")
}

// Spent returns today's budget, and who it was spent for.
func (s Spending) Spent(ctx context.Context) (Budget, error) {
	var b Budget
	err := s.view(ctx, func(tx *Tx) (err error) {
		b, err = readBudget(tx)
		return err
	})
	if err == nil {
		b.Sources, err = view.Sources(ctx, s.read(), b.Day)
	}
	return b, err
}

// Cap is a new daily cap, as in [budget]: 0 spends nothing, -1 is no cap. nil leaves one alone.
type Cap struct {
	Micros, Tokens *int64
	Config         bool // both are the config's again
}

// SetBudget stores caps that hold instead of the configured ones.
func (s Spending) SetBudget(ctx context.Context, c Cap) (Budget, error) {
	var b Budget
	err := s.Write(ctx, func(tx *Tx) (err error) {
		for key, v := range map[string]*int64{keyDayMoney: c.Micros, keyDayCount: c.Tokens} {
			text := ""
			switch {
			case v != nil:
				text = strconv.FormatInt(*v, 10)
			case !c.Config:
				continue
			}
			if err := putSetting(tx, key, text); err != nil {
				return err
			}
		}
		b, err = readBudget(tx)
		return err
	})
	return b, err
}

// addNotice tells the owner something once; cause is the row that it is about.
func addNotice(tx *Tx, key string, cause int64, body string) error {
	return queueOut(tx, event.Out{Key: "notice:" + key, Cause: event.Cause{Kind: event.ByNotice, ID: max(cause, 1)}, To: event.ToOwner, Body: body, Urgency: event.Urgent})
}
