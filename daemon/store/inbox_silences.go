package store

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// botLoopReason is the reason of a row that is dropped because a program seems to answer hob.
const botLoopReason = "hob says no more there for a while: its answers were answered faster than a person writes"

// The numbers of answers and replies to examine. They leave room for messages that do not count.
const (
	lastAnswers = 4 * BotLoopReplies
	lastReplies = 20 * BotLoopReplies
)

// checkBotLoop drops an input that a program seems to have written in answer to hob. A message of the owner in the same chat starts the
// count again.
func checkBotLoop(tx *Tx, a *arrival) (over bool, err error) {
	in := a.In
	// Only messages of other people can be a loop.
	if a.State != inboxQueued || in.Kind != event.Message || in.Trust == event.Owner || in.Origin.Person == "" {
		return false, nil
	}
	// A message of the owner lifts every silence of this chat.
	if slices.Contains(tx.core.opt.Owner(), event.Address(in.Source+":"+in.Origin.Person)) {
		return false, liftSilence(tx, "address = ?", in.ReplyTo)
	}
	var until time.Time
	if err := tx.One("SELECT coalesce(max(until), 0) FROM silences WHERE address = ? AND person = ?", []any{in.ReplyTo, in.Origin.Person}, sqlite.Stamp(&until)); err != nil {
		return false, err
	}
	if until.After(tx.Now) {
		a.State, a.Reason = inboxDropped, botLoopReason
		return false, nil
	}
	// Count the replies that came faster than a person types.
	n, err := instantReplies(tx, in, until)
	if err != nil {
		return false, fmt.Errorf("look who answers: %w", err)
	}
	if n >= BotLoopReplies {
		a.State, a.Reason, a.silences = inboxDropped, botLoopReason, true
	}
	return false, nil
}

// instantReplies counts the answers with an instant reply, since a time and since the owner's last message in the chat. A draft is sent
// before its answer is complete; the row has the time of completion.
func instantReplies(tx *Tx, in event.In, since time.Time) (int, error) {
	// Only what came after the owner's last message counts.
	for _, o := range tx.core.opt.Owner() {
		var said time.Time
		if err := tx.One("SELECT coalesce(max(received), 0) FROM inbox WHERE source = ? AND person = ? AND person <> '' AND reply_to = ?", []any{o.Channel(), o.Local(), in.ReplyTo}, sqlite.Stamp(&said)); err != nil {
			return 0, err
		}
		if said.After(since) {
			since = said
		}
	}
	rs, err := tx.Query(`SELECT min(d.tried), max(max(d.tried), o.created) FROM outbox o JOIN deliveries d ON d.outbox = o.id WHERE o.address = ? AND o.cause_kind = 'step' AND d.tried > ?
		GROUP BY o.id ORDER BY o.id DESC LIMIT ?`, in.ReplyTo, sqlite.Micros(since), lastAnswers)
	answers, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (a SentAnswer, err error) {
		return a, rs.Scan(sqlite.Stamp(&a.From), sqlite.Stamp(&a.To))
	})
	if err != nil || len(answers) < BotLoopReplies {
		return 0, err
	}
	// The newest rows are read first because of the limit; InstantReplies expects the oldest first.
	slices.Reverse(answers)
	rs, err = tx.Query(`SELECT received, coalesce((SELECT sum(length(value ->> 'text')) FROM json_each(parts)), 0) FROM inbox
		WHERE source = ? AND person = ? AND person <> '' AND reply_to = ? AND received >= ? ORDER BY seq DESC LIMIT ?`, in.Source, in.Origin.Person, in.ReplyTo, sqlite.Micros(answers[0].From), lastReplies)
	replies, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (r ReplyTo, err error) { return r, rs.Scan(sqlite.Stamp(&r.At), &r.Length) })
	if err != nil {
		return 0, err
	}
	slices.Reverse(replies)
	return InstantReplies(answers, append(replies, ReplyNow(in.Text(), tx.Now))), nil
}

// silenceSender stops answering a sender for a while, and tells the owner.
//
// The row of the silence outlives a restart, and checkBotLoop reads it for each message of that sender.
func silenceSender(tx *Tx, a arrival) error {
	in, now := a.In, tx.Now
	err := tx.Run("INSERT INTO silences (address, person, until) VALUES (?, ?, ?) ON CONFLICT (address, person) DO UPDATE SET until = excluded.until",
		in.ReplyTo, in.Origin.Person, sqlite.Micros(now.Add(BotLoopSilence)))
	if err != nil {
		return fmt.Errorf("end a conversation: %w", err)
	}
	text := fmt.Sprintf("I say no more to %s on %s for an hour: %d of my answers in a row were answered faster than a person writes, as when two programs answer each other. hob inbox retry %d ends that at once",
		channels.ForeignExcerpt(in.Sender), in.ReplyTo, BotLoopReplies, a.Seq)
	if in.ReplyTo != event.Address(in.Source+":"+in.Origin.Person) {
		text += ", and so does a message of yours there that I am meant to read"
	}
	return addNotice(tx, fmt.Sprintf("silence:%d", a.Seq), a.Seq, text+".")
}

// liftSilenceOf ends the silence for which a row was dropped, because the owner wants an answer.
func liftSilenceOf(tx *Tx, seq int64) error {
	return liftSilence(tx, "(address, person) IN (SELECT reply_to, person FROM inbox WHERE seq = ?)", seq)
}

// liftSilence ends the silences that a condition selects. The rows stay, and their end is now.
func liftSilence(tx *Tx, where string, arg any) error {
	return tx.Run("UPDATE silences SET until = ?1 WHERE until > ?1 AND "+where, sqlite.Micros(tx.Now), arg) // #nosec G202 -- constants
}
