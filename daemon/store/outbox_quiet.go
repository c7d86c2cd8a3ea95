package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// The reasons that hold back a message, besides its own delay.
const (
	waitsQuiet  = "quiet" // the owner's quiet hours
	waitsCancel = "hold"  // a message to somebody else, which the owner can still stop
)

// The settings of /quiet and /quiet off.
const (
	keyQuiet = "quiet_until"
	keyAwake = "awake_until" // quiet hours do not count before this time
)

// DelayRule decides which rule can hold back a message: quiet for the owner's quiet hours, hold for the delay of messages to others; "" for none.
// What the local chat shows, urgent messages to the owner, and what the owner or hob itself sends to others go out at once.
func DelayRule(o event.Out, to event.Address, owner bool) string {
	switch {
	case to.Committed(), owner && o.Urgency == event.Urgent:
		return ""
	case owner:
		return waitsQuiet
	case o.Cause.Kind == event.ByCommand || o.Cause.Kind == event.ByNotice:
		return ""
	}
	return waitsCancel
}

// QuietUntil decides how long a message to the owner waits, and why. A message with a delay of its own that ends in a quiet time waits for its
// end, but has no reason: it keeps its time when the owner ends the quiet early.
func QuietUntil(q QuietTimes, now, notBefore time.Time) (until time.Time, waits string) {
	at := later(now, notBefore)
	switch end := q.End(at); {
	case !end.After(at):
		return notBefore, ""
	case notBefore.After(now):
		return end, ""
	default:
		return end, waitsQuiet
	}
}

// CancelDelayUntil decides how long a message to somebody else waits, and why. last is the end of the longest wait at its address: a later message never
// overtakes an earlier one, even if the delay has been shortened.
func CancelDelayUntil(delay time.Duration, last, now, notBefore time.Time) (until time.Time, waits string) {
	at := later(now, notBefore)
	if until = later(at.Add(delay), last); !until.After(at) {
		return notBefore, ""
	}
	return until, waitsCancel
}

// delayOf reads what the rule for a message needs, and returns until when it waits, and why.
func delayOf(tx *Tx, o event.Out, to event.Address) (until time.Time, waits string, err error) {
	switch DelayRule(o, to, slices.Contains(tx.core.opt.Owner(), to)) {
	case waitsQuiet:
		q, err := readQuiet(tx)
		if err != nil {
			return o.NotBefore, "", err
		}
		until, waits = QuietUntil(q, tx.Now, o.NotBefore)
		return until, waits, nil
	case waitsCancel:
		var last time.Time
		if err := tx.One("SELECT coalesce(max(not_before), 0) FROM outbox WHERE address = ? AND state = 'ready' AND waits = 'hold'", []any{to}, sqlite.Stamp(&last)); err != nil {
			return o.NotBefore, "", err
		}
		until, waits = CancelDelayUntil(tx.core.opt.Config().CancelDelay, last, tx.Now, o.NotBefore)
		return until, waits, nil
	}
	return o.NotBefore, "", nil
}

// announce tells the owner about a held message to somebody else, if the config says so.
func announce(tx *Tx, id int64, to event.Address, body string, until time.Time) error {
	if !tx.core.opt.Config().Announce {
		return nil
	}
	text := fmt.Sprintf("To %s in %s: %s\n/cancel %d stops it.", to, until.Sub(tx.Now).Round(time.Second), channels.Excerpt(body), id)
	return queueOut(tx, event.Out{Key: fmt.Sprintf("outbox:%d:hold", id), Cause: event.Cause{Kind: event.ByNotice, ID: id}, To: event.ToOwner, Body: text, Urgency: event.Urgent})
}

// QuietTimes are the owner's quiet times.
type QuietTimes struct {
	Asked time.Time                 // end of the quiet that /quiet asked for
	Awake time.Time                 // after /quiet off: quiet hours do not count before this time
	Hours func(time.Time) time.Time // end of the quiet hours at an instant, zero outside; nil: there are none
}

// End returns when the quiet at an instant ends; the instant itself if it is not quiet.
func (q QuietTimes) End(at time.Time) time.Time {
	end := later(at, q.Asked)
	// Quiet that was asked for can end within the quiet hours, which then extend it.
	if q.Hours != nil && !end.Before(q.Awake) {
		end = later(end, q.Hours(end))
	}
	return end
}

// quietEnd returns the end of the owner's quiet at an instant.
func quietEnd(tx *Tx, at time.Time) (time.Time, error) {
	q, err := readQuiet(tx)
	return q.End(at), err
}

// readQuiet reads the owner's quiet times.
func readQuiet(tx *Tx) (q QuietTimes, err error) {
	if q.Asked, err = readTime(tx, keyQuiet); err != nil {
		return q, err
	}
	q.Awake, err = readTime(tx, keyAwake)
	q.Hours = tx.core.opt.Config().Quiet
	return q, err
}

// readTime reads a setting with a time; zero if missing. An unreadable one holds nothing back.
func readTime(tx *Tx, key string) (time.Time, error) {
	v, err := readSetting(tx, key)
	if err != nil || v == "" {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // see above
	}
	return t, nil
}

// later returns the later of two instants.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// setQuiet makes it quiet until a time. A past time ends the quiet, including the current quiet hours. Held messages follow the new end.
//
// Rows that already wait get the new time in the same commit, so nothing is sent by the old one.
func setQuiet(tx *Tx, until time.Time) error {
	// "" removes a setting. At most one of the two is set.
	quiet, awake := "", ""
	if until.After(tx.Now) {
		quiet = until.UTC().Format(time.RFC3339)
	} else if hours := tx.core.opt.Config().Quiet; hours != nil && !hours(tx.Now).IsZero() {
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

// Quiet returns until when messages to the owner are held back, zero if they are not, and the number of held messages.
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

// join ends rows whose texts are part of another row's message.
func join(tx *Tx, id int64, joined []int64) error {
	for _, j := range joined {
		n, err := tx.Change(`UPDATE outbox SET state = 'cancelled', ended = ?1, joined = ?2, reason = ?3 WHERE id = ?4 AND state = 'ready'
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id) AND EXISTS (SELECT 1 FROM outbox c WHERE c.id = ?2 AND c.state = 'ready')`,
			sqlite.Micros(tx.Now), id, fmt.Sprintf("went out together with message %d", id), j)
		if err == nil && n == 0 {
			err = fmt.Errorf("join outbox row %d with %d: %w", j, id, channels.ErrNotReady)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part reverses join: the joined message was dropped before any part was sent.
func part(tx *Tx, id int64) error {
	return tx.Run(`UPDATE outbox SET state = 'ready', ended = 0, joined = 0, reason = '' WHERE joined = ?1 AND joined > 0
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = ?1 AND d.attempts > 0)`, id)
}
