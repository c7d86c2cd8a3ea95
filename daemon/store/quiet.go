package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/daemon/sqlite"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// What can hold back a message, beside a time of its own.
const (
	waitsQuiet = "quiet" // to the owner: it is quiet
	waitsHold  = "hold"  // to anybody else: the owner may still stop it
)

// The settings of /quiet and of /quiet off.
const (
	keyQuiet = "quiet_until"
	keyAwake = "awake_until" // the quiet hours do not count before
)

// heldBack is until when a message waits, and what for.
func heldBack(tx *Tx, o event.Out, to event.Address) (until time.Time, waits string, err error) {
	owner := slices.Contains(tx.core.opt.Owner(), to)
	switch {
	case to.Channel() == event.CLI.Channel():
		return o.NotBefore, "", nil
	case !owner:
		return onHold(tx, o, to)
	case o.Urgency == event.Urgent:
		return o.NotBefore, "", nil
	}
	at := later(tx.Now, o.NotBefore)
	end, err := quietEnd(tx, at)
	if err != nil || !end.After(at) {
		return o.NotBefore, "", err
	}
	if o.NotBefore.After(tx.Now) {
		return end, "", nil // what has a time of its own keeps it when the quiet is cut short
	}
	return end, waitsQuiet, nil
}

// onHold gives the owner time to stop what hob says to others, but for what he or hob's own commands say. Nothing
// that waits is overtaken by what comes after it, also when the time to wait has become shorter.
func onHold(tx *Tx, o event.Out, to event.Address) (until time.Time, waits string, err error) {
	if o.Cause.Kind == event.ByCommand || o.Cause.Kind == event.ByNotice {
		return o.NotBefore, "", nil
	}
	var last time.Time
	if err := tx.One("SELECT coalesce(max(not_before), 0) FROM outbox WHERE address = ? AND state = 'ready' AND waits = 'hold'", []any{to}, sqlite.Stamp(&last)); err != nil {
		return time.Time{}, "", err
	}
	at := later(tx.Now, o.NotBefore)
	until = later(at.Add(tx.core.opt.Policy().Hold), last)
	if !until.After(at) {
		return o.NotBefore, "", nil
	}
	return until, waitsHold, nil
}

// announce tells the owner what is about to be said to somebody else, where the config wants that.
func announce(tx *Tx, id int64, to event.Address, body string, until time.Time) error {
	if !tx.core.opt.Policy().Announce {
		return nil
	}
	text := fmt.Sprintf("To %s in %s: %s\n/cancel %d stops it.", to, until.Sub(tx.Now).Round(time.Second), channels.Excerpt(body), id)
	return queueOut(tx, event.Out{Key: fmt.Sprintf("outbox:%d:hold", id), Cause: event.Cause{Kind: event.ByNotice, ID: id}, To: event.ToOwner, Body: text, Urgency: event.Urgent})
}

// QuietTimes say when it is quiet for the owner.
type QuietTimes struct {
	Asked time.Time                 // until when /quiet has asked for it
	Awake time.Time                 // the quiet hours do not count before, after /quiet off
	Hours func(time.Time) time.Time // when the quiet hours that an instant falls into are over; zero: it falls into none; nil: there are none
}

// End is until when it is quiet at an instant: that instant itself when it is not.
func (q QuietTimes) End(at time.Time) time.Time {
	end := later(at, q.Asked)
	if q.Hours != nil && !end.Before(q.Awake) {
		end = later(end, q.Hours(end))
	}
	return end
}

// quietEnd is until when it is quiet for the owner at an instant.
func quietEnd(tx *Tx, at time.Time) (time.Time, error) {
	asked, err := readTime(tx, keyQuiet)
	if err != nil {
		return at, err
	}
	awake, err := readTime(tx, keyAwake)
	if err != nil {
		return at, err
	}
	return QuietTimes{Asked: asked, Awake: awake, Hours: tx.core.opt.Policy().Quiet}.End(at), nil
}

// readTime is a setting that is a time; zero when there is none. One that cannot be read holds nothing back.
func readTime(tx *Tx, key string) (time.Time, error) {
	v, err := readSetting(tx, key)
	if err != nil || v == "" {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // said above
	}
	return t, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// setQuiet makes it quiet until the given time. One that is not ahead ends the quiet, also that of the hours, until they begin again. What
// was held back follows.
func setQuiet(tx *Tx, until time.Time) error {
	quiet, awake := "", ""
	if until.After(tx.Now) {
		quiet = until.UTC().Format(time.RFC3339)
	} else if hours := tx.core.opt.Policy().Quiet; hours != nil && !hours(tx.Now).IsZero() {
		awake = hours(tx.Now).UTC().Format(time.RFC3339)
	}
	if err := putSetting(tx, keyQuiet, quiet); err != nil {
		return err
	}
	if err := putSetting(tx, keyAwake, awake); err != nil {
		return err
	}
	end, err := quietEnd(tx, tx.Now)
	if err != nil {
		return err
	}
	tx.Wake(sqlite.SignalOutbox)
	return tx.Run("UPDATE outbox SET not_before = ? WHERE state = 'ready' AND waits = 'quiet' AND not_before > ?", sqlite.Micros(end), sqlite.Micros(tx.Now))
}

// Quiet is until when messages to the owner that do not hurry are held back, zero when they are not, and how many are.
func (s Outbox) Quiet(ctx context.Context) (until time.Time, waiting int, err error) {
	err = s.core.view(ctx, func(tx *Tx) error {
		now := s.core.now()
		if until, err = quietEnd(tx, now); err != nil {
			return err
		}
		if !until.After(now) {
			until = time.Time{}
		}
		return tx.One("SELECT count(*) FROM outbox WHERE state = 'ready' AND waits = 'quiet' AND not_before > ?", []any{sqlite.Micros(now)}, &waiting)
	})
	return until, waiting, err
}

// Answering is where the running turn will answer, "" when none runs, or it is a job's, which nobody sits and waits for.
func (s Outbox) Answering(ctx context.Context) (event.Address, error) {
	var to event.Address
	err := s.core.read().QueryRowContext(ctx, "SELECT reply_to FROM turns WHERE state = 'running' AND parent IS NULL AND fire IS NULL").Scan(&to)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return to, err
}

// Cancel ends /cancel: a message that has not been sent is dropped.
func (s Commands) Cancel(ctx context.Context, q turn.Queued, id int64) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) { return fmt.Sprintf("Message %d is stopped.", id), dropOut(tx, id) })
	return err
}

// join ends rows whose texts the row id carries.
func join(tx *Tx, id int64, joined []int64) error {
	for _, j := range joined {
		n, err := tx.Change(`UPDATE outbox SET state = 'cancelled', ended = ?1, joined = ?2, reason = ?3 WHERE id = ?4 AND state = 'ready'
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id) AND EXISTS (SELECT 1 FROM outbox c WHERE c.id = ?2 AND c.state = 'ready')`,
			sqlite.Micros(tx.Now), id, fmt.Sprintf("went out in one message with outbox row %d", id), j)
		if err == nil && n == 0 {
			err = fmt.Errorf("join outbox row %d with %d: %w", j, id, channels.ErrNotReady)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part takes rows apart again: the one that carried them was dropped before any of it was sent.
func part(tx *Tx, id int64) error {
	return tx.Run(`UPDATE outbox SET state = 'ready', ended = 0, joined = 0, reason = '' WHERE joined = ?1
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = ?1 AND d.attempts > 0)`, id)
}
