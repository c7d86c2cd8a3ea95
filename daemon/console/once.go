package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// stopTime is the longest time for asking the daemon to stop a turn after an interrupt.
const stopTime = 5 * time.Second

// nearby is how many events a pipe looks back for messages that the user has not seen.
const nearby = 200

// gone is the pause between attempts after which the daemon counts as gone; all pauses together are about 16 seconds.
const gone = 10 * time.Second

// Answer is the outcome of one message.
type Answer struct {
	Event    int64     `json:"event"`
	Inbox    int64     `json:"inbox"`
	Turn     int64     `json:"turn,omitempty"`
	State    string    `json:"state"` // done, failed, stopped, dead; waiting: for the answer to Question
	Text     string    `json:"text"`
	Why      string    `json:"why,omitempty"`
	Question *Question `json:"question,omitempty"`
}

// Once posts one message and follows it until it is settled.
type Once struct {
	API    API
	Out    *Pipes
	Cursor Cursor
	Zone   *time.Location
	// Ask asks the user on the terminal. It is nil where nobody can answer; a question then ends the wait.
	Ask func(ctx context.Context, prompt string) (string, error)
}

// errSettled ends the event stream when there is nothing more to wait for.
var errSettled = errors.New("settled")

// Say posts the message, shows its answer and returns the outcome.
//
//   - It posts the message first, so that the events before it are the ones the user may have missed. On a terminal it shows them.
//   - It follows the events until the message is settled. A question is asked on the terminal, if there is one. A restart of the daemon is
//     waited for.
//   - When ctx ends, the message's turn is stopped. A message that no turn serves yet stays in the queue.
//   - At last it moves the user's place. If something was not shown, it notes only the messages that were. What other turns say meanwhile is
//     shown the next time.
func (o *Once) Say(ctx context.Context, m client.Message) (Answer, error) {
	place, err := o.Cursor.Place()
	if err != nil {
		return Answer{}, err
	}
	r, err := o.API.Post(ctx, m)
	if err != nil {
		return Answer{}, err
	}
	unseen, err := o.unseen(ctx, place, r.Event)
	if err != nil {
		return Answer{}, err
	}
	c := newConversation(o.Out)
	// The conversation begins at the event of this message, and hides the turns of other clients.
	c.seq, c.alone = r.Event-1, true
	c.expect(r.Inbox, m.Text)
	err = o.follow(ctx, c, r.Inbox)
	// The user's interrupt also stops the work that the message has caused.
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), o.stop(ctx, c))
	}
	if err == nil {
		err = o.leave(ctx, c, r.Inbox, unseen)
	}
	a := o.result(c, r.Inbox)
	a.Event = r.Event
	return a, errors.Join(err, o.Out.err)
}

// unseen shows, on a terminal, what happened between the user's place and the message. For a pipe it only reports whether messages were
// sent, and looks back only nearby events.
func (o *Once) unseen(ctx context.Context, place, upTo int64) (bool, error) {
	if !o.Out.Live && upTo-place > nearby {
		return true, nil
	}
	away, err := readMissed(ctx, o.API, o.Cursor, upTo)
	if err != nil {
		return true, err
	}
	if o.Out.Live {
		c := newConversation(o.Out)
		c.zone = o.Zone
		away.show(c)
		// Another conversation may have moved the place on meanwhile.
		if now, err := o.Cursor.Place(); err != nil || now >= upTo {
			return false, err
		}
		unplaced(o.Out, o.Cursor.Move(upTo-1))
		return false, nil
	}
	return len(away.messages) > 0, nil
}

// leave reads the remaining events of the last commit, and moves the user's place. If something was not shown, it only notes which messages were:
// on a terminal all that came, through a pipe the answer.
func (o *Once) leave(ctx context.Context, c *conversation, row int64, unseen bool) error {
	err := o.API.Follow(ctx, c.seq, false, func(f client.Frame) error {
		c.see(f)
		return nil
	})
	if err != nil {
		return err
	}
	if unseen || c.passed > 0 || !o.Out.Live && c.others > 0 {
		var seen []int64
		for _, e := range c.messages {
			if o.Out.Live || same(stringOf(e, "text"), c.rows[row].text) {
				seen = append(seen, e.Seq)
			}
		}
		unplaced(o.Out, o.Cursor.Add(seen))
		return nil
	}
	unplaced(o.Out, o.Cursor.Move(c.seq))
	return nil
}

// follow shows frames until the message is settled, or its turn waits for an answer that nobody here can give.
func (o *Once) follow(ctx context.Context, c *conversation, row int64) error {
	for {
		if err := o.stream(ctx, c, row); err != nil {
			return err
		}
		q, open := c.openQuestion(c.rows[row].turn)
		if c.rows[row].settled || !open || o.Ask == nil {
			return nil
		}
		// A closed standard input ends the wait; the question stays open.
		switch err := o.answer(ctx, c, q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// stream follows the events until there is nothing to wait for. When the daemon is away, it tries again with growing pauses.
func (o *Once) stream(ctx context.Context, c *conversation, row int64) error {
	for pause := firstPause; ; pause *= 2 {
		seq := c.seq
		err := o.API.Follow(ctx, c.seq, true, func(f client.Frame) error {
			c.see(f)
			return o.settled(c, row)
		})
		var p *client.Problem
		switch {
		case errors.Is(err, errSettled):
			return nil
		case ctx.Err() != nil || errors.As(err, &p):
			return err
		case c.seq > seq:
			pause = firstPause // events arrived: the daemon was there
		case pause > gone:
			return fmt.Errorf("hob stopped before the answer was there: %w", err)
		}
		if pause == firstPause {
			o.Out.Note("hob has stopped; waiting for it …")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// settled returns errSettled when the message is settled, or its turn is parked with an open question.
func (o *Once) settled(c *conversation, row int64) error {
	a := c.rows[row]
	if a.settled {
		return errSettled
	}
	if _, open := c.openQuestion(a.turn); open && c.parked(a.turn) {
		return errSettled
	}
	return nil
}

// answer asks the user until a line is an answer, and sends it.
func (o *Once) answer(ctx context.Context, c *conversation, q Question) error {
	for {
		line, err := o.Ask(ctx, q.Prompt())
		if err != nil && line == "" {
			return fmt.Errorf("read your answer: %w", err)
		}
		reply, ok := q.Reply(line)
		if !ok {
			continue
		}
		if err := q.answer(ctx, o.API, reply); err != nil {
			var p *client.Problem
			if !errors.As(err, &p) {
				return err
			}
			c.out.Note(p.Detail) // answered elsewhere, or expired: an event says which
		}
		delete(c.asked, q.Code)
		return nil
	}
}

// stop stops the message's turn. A message that waits in the queue was accepted and is kept.
func (o *Once) stop(ctx context.Context, c *conversation) error {
	c.out.Break()
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer done()
	for row, a := range c.rows {
		if a.turn == 0 && !a.settled {
			c.out.Note(fmt.Sprintf("your message stays queued and will be served; take it back with: hob inbox drop %d", row))
		}
	}
	for _, turn := range c.running() {
		if err := halt(ctx, o.API, turn); err != nil {
			return err
		}
	}
	return nil
}

// halt asks the daemon to stop a turn, as Ctrl-C does in a conversation.
func halt(ctx context.Context, c API, turn int64) error {
	_, err := client.Do(ctx, c, api.StopTurn, fmt.Sprint(turn), api.None{})
	return err
}

// result returns the outcome of the message as far as it is known.
func (o *Once) result(c *conversation, row int64) Answer {
	r := c.rows[row]
	a := Answer{Inbox: row, Turn: r.turn, State: r.state, Text: r.text, Why: r.why}
	if q, open := c.openQuestion(r.turn); open && !r.settled {
		a.State, a.Question = "waiting", &q
	}
	return a
}
