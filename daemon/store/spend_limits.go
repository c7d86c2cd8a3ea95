package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
)

// exceeds reports whether a limit forbids the amount.
func exceeds(b api.Budget, a turn.Amount) bool {
	// Reservations count as spent, so that parallel requests cannot pass the limit together.
	money := b.Used.Micros() + b.ReservedMicros
	if a.Micros > 0 {
		return b.PerDayMicros >= 0 && money+a.Micros > b.PerDayMicros
	}
	// From here on the request has no price.
	if b.PerDayMicros >= 0 && money >= b.PerDayMicros {
		return true // the server may report a cost afterwards
	}
	return b.PerDayTokens >= 0 && b.UsedTokens+b.ReservedTokens+a.Tokens > b.PerDayTokens
}

// day returns the date of an instant in the owner's zone.
func (s *core) day(t time.Time) string {
	return t.In(s.zone()).Format(time.DateOnly)
}

// reserveSpend reserves the possible cost of a model request before it starts, for the day and for the turn's source. A crash during the
// request therefore never loses its cost.
//
// The commit of a step replaces the reservation by the real cost; after a crash bookOrphans books it as it is.
func reserveSpend(tx *Tx, p turn.Step, t turn.Turn) error {
	b, err := readBudget(tx)
	if err != nil {
		return err
	}
	if exceeds(b, p.Reserve) {
		return fmt.Errorf("turn %d: %w", t.ID, turn.ErrBudget)
	}
	if err := warnBudget(tx, b, p.Reserve); err != nil {
		return err
	}
	return tx.spendRows().reserve(t.ID, b.Day, p.Reserve)
}

// spendRows returns the table spend within this transaction.
func (tx *Tx) spendRows() spendRows { return spendRows{Tx: tx, Day: tx.core.day} }

// readBudget returns today's limits and use. Limits that the owner has set by command replace those of the config.
func readBudget(tx *Tx) (api.Budget, error) {
	p := tx.core.opt.Config()
	b := api.Budget{Day: tx.core.day(tx.Now), PerDayMicros: p.PerDayMicros, PerDayTokens: p.PerDayTokens}
	for key, to := range map[string]*int64{keyDayMoney: &b.PerDayMicros, keyDayCount: &b.PerDayTokens} {
		v, err := readSetting(tx, key)
		if err != nil {
			return b, err
		}
		// A missing or unreadable setting leaves the limit of the config.
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			*to, b.Set = n, true
		}
	}
	err := tx.One("SELECT reserved_tokens, used_tokens, reserved_micros, used_micros FROM spend WHERE day = ? AND scope = ?", []any{b.Day, allScope},
		&b.ReservedTokens, &b.UsedTokens, &b.ReservedMicros, &b.Used)
	b.Used = api.CostOf(int64(b.Used), b.UsedTokens)
	return b, ignoreNoRows(err)
}

// warnBudget tells the owner once a day that 80 % of a limit is reached.
func warnBudget(tx *Tx, b api.Budget, r turn.Amount) error {
	money := b.PerDayMicros > 0 && 10*(b.Used.Micros()+b.ReservedMicros+r.Micros) >= 8*b.PerDayMicros
	tokens := b.PerDayTokens > 0 && r.Micros == 0 && 10*(b.UsedTokens+b.ReservedTokens+r.Tokens) >= 8*b.PerDayTokens
	if !money && !tokens {
		return nil
	}
	return addNotice(tx, "budget:80:"+b.Day, tx.core.epoch, "80 % of today's budget is used or reserved. To raise it: hob budget set --per-day AMOUNT or --tokens-per-day N")
}

// Spent returns today's budget, with its sources.
func (s Spending) Spent(ctx context.Context) (api.Budget, error) {
	var b api.Budget
	err := s.core.view(ctx, func(tx *Tx) (err error) {
		b, err = readBudget(tx)
		return err
	})
	if err == nil {
		b.Sources, err = spendSources(ctx, s.core.read(), b.Day)
	}
	return b, err
}

// Cap is a new daily limit, as in [budget]: 0 spends nothing, -1 is no limit. nil leaves a limit unchanged.
type Cap struct {
	Micros, Tokens *int64
	Config         bool // return to both limits of the config
}

// SetBudget stores limits that replace those of the config.
func (s Spending) SetBudget(ctx context.Context, c Cap) (api.Budget, error) {
	var b api.Budget
	err := s.core.write(ctx, func(tx *Tx) (err error) {
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

// addNotice sends the owner a message once per key. cause is the row that it is about.
func addNotice(tx *Tx, key string, cause int64, body string) error {
	return queueOut(tx, event.Out{Key: "notice:" + key, Cause: event.Cause{Kind: event.ByNotice, ID: max(cause, 1)}, To: event.ToOwner, Body: body, Urgency: event.Urgent})
}
