package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hob/daemon/api/client"
)

// stopTime is how long the daemon may take to stop a turn after an interrupt.
const stopTime = 5 * time.Second

// nearby is how many events a pipe looks back for messages that nobody saw.
const nearby = 200

// gone is the pause after which a daemon that does not answer is given up: about half a minute in all.
const gone = 10 * time.Second

// Answer is what became of one message.
type Answer struct {
	Event    int64     `json:"event"`
	Inbox    int64     `json:"inbox"`
	Turn     int64     `json:"turn,omitempty"`
	State    string    `json:"state"` // done failed stopped dead; waiting: for the answer to Question
	Text     string    `json:"text"`
	Why      string    `json:"why,omitempty"`
	Question *Question `json:"question,omitempty"`
}

// Once says one message and follows it to its end.
type Once struct {
	API    API
	Out    *Pipes
	Cursor Cursor
	Zone   *time.Location
	// Ask asks the person a question on the terminal; nil: nobody is there, and a question ends the wait.
	Ask func(ctx context.Context, prompt string) (string, error)
}

// errSettled ends the stream when there is nothing more to wait for.
var errSettled = errors.New("settled")

// Say posts the message, shows what comes of it and returns it. When ctx ends, its turn is stopped; a message that no turn has
// taken stays where it is.
// On a terminal it first tells what came while nobody looked; what other turns say meanwhile is told the next time. A daemon that
// restarts meanwhile is waited for.
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
	c.seq, c.alone = r.Event-1, true
	c.expect(r.Inbox)
	err = o.follow(ctx, c, r.Inbox)
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), o.stop(ctx, c))
	}
	if err == nil {
		err = o.leave(ctx, c, unseen)
	}
	a := o.result(c, r.Inbox)
	a.Event = r.Event
	return a, errors.Join(err, o.Out.err)
}

// unseen shows, on a terminal, what came between the person's place and the message. Through a pipe it
// only reports whether anything did, and looks no further back than a little.
func (o *Once) unseen(ctx context.Context, place, upTo int64) (bool, error) {
	if !o.Out.Live && upTo-place > nearby {
		return true, nil
	}
	away, err := readMissed(ctx, o.API, place, upTo)
	if err != nil {
		return true, err
	}
	if o.Out.Live {
		away.show(o.Out, o.Zone)
		return false, nil
	}
	return len(away.messages) > 0, nil
}

// leave takes what the last commit still said, and moves the person's place, unless something went by unseen.
func (o *Once) leave(ctx context.Context, c *conversation, unseen bool) error {
	err := o.API.Follow(ctx, c.seq, false, func(f client.Frame) error {
		c.see(f)
		return nil
	})
	if err != nil {
		return err
	}
	if unseen || c.passed > 0 || !o.Out.Live && c.others > 0 {
		return nil
	}
	return o.Cursor.Move(c.seq)
}

// follow shows frames until the message is settled, or its turn waits for somebody who is not here.
func (o *Once) follow(ctx context.Context, c *conversation, row int64) error {
	for {
		if err := o.stream(ctx, c, row); err != nil {
			return err
		}
		q, open := c.openQuestion(c.rows[row].turn)
		if c.rows[row].settled || !open || o.Ask == nil {
			return nil
		}
		switch err := o.answer(ctx, c, q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// stream follows until there is nothing to wait for, also over a restart of the daemon.
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
			pause = firstPause
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

// answer asks the person here and now, until a line is an answer.
func (o *Once) answer(ctx context.Context, c *conversation, q Question) error {
	for {
		line, err := o.Ask(ctx, q.Prompt())
		if err != nil && line == "" {
			return fmt.Errorf("read your answer: %w", err)
		}
		verb, args, ok := q.Reply(line)
		if !ok {
			continue
		}
		if err := o.API.Act(ctx, "questions", q.Code, verb, args, nil); err != nil {
			var p *client.Problem
			if !errors.As(err, &p) {
				return err
			}
			c.out.Note(p.Detail) // answered elsewhere, or expired: the stream says which
		}
		delete(c.asked, q.Code)
		return nil
	}
}

// stop ends the turn. A message that waits behind others has been accepted and is kept.
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

func halt(ctx context.Context, api API, turn int64) error {
	return api.Act(ctx, "turns", fmt.Sprint(turn), "stop", nil, nil)
}

func (o *Once) result(c *conversation, row int64) Answer {
	r := c.rows[row]
	a := Answer{Inbox: row, Turn: r.turn, State: r.state, Text: r.text, Why: r.why}
	if q, open := c.openQuestion(r.turn); open && !r.settled {
		a.State, a.Question = "waiting", &q
	}
	return a
}
