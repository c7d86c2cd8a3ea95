package console

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/event"
)

// maxMissed is how many missed messages are shown. The outbox has the older ones.
const maxMissed = 20

// missed are the messages and questions that arrived while no terminal was open.
type missed struct {
	seq      int64 // the newest event
	messages []*event.Event
	open     []Question
}

// readMissed reads the events after the place of a cursor, up to but excluding the event upTo; 0 means all.
func readMissed(ctx context.Context, api API, cursor Cursor, upTo int64) (missed, error) {
	seen, err := cursor.read()
	if err != nil {
		return missed{}, err
	}
	return readAfter(ctx, api, seen, cursor.noted(), upTo)
}

// readAfter is readMissed after seen[0], which was noted at an instant, without the messages with the other numbers.
func readAfter(ctx context.Context, api API, seen []int64, shown time.Time, upTo int64) (missed, error) {
	place := seen[0]
	m := missed{seq: place}
	anew := false
	// Without waiting: the stream ends after the newest event.
	err := api.Follow(ctx, place, false, func(f client.Frame) error {
		e := f.Event
		anew = anew || e == nil && f.Piece == nil
		if e == nil || upTo > 0 && e.Seq >= upTo {
			return nil
		}
		m.add(e, slices.Contains(seen[1:], e.Seq))
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("read what came meanwhile: %w", err)
	}
	// The place is of another database, or of events that were lost. What came before the place was noted has been shown.
	if anew && place > 0 {
		m, err = readAfter(ctx, api, []int64{0}, shown, upTo)
		m.messages = slices.DeleteFunc(m.messages, func(e *event.Event) bool { return !e.At.After(shown) })
	}
	return m, err
}

// add applies one event: it collects messages that were not seen, and questions that are still open.
func (m *missed) add(e *event.Event, seen bool) {
	m.seq = e.Seq
	switch e.Type {
	case "message.sent":
		if !seen && stringOf(e, "text") != "" && stringOf(e, "cause") != byQuestion {
			m.messages = append(m.messages, e)
		}
	case "question.asked":
		m.open = append(m.open, questionOf(e))
	case "question.answered", "question.expired":
		m.close(func(q Question) bool { return q.Code == stringOf(e, "code") })
	case "turn.finished":
		m.close(func(q Question) bool { return q.Turn != 0 && q.Turn == turnOf(e) })
	}
}

// close removes the questions that have ended since.
func (m *missed) close(gone func(Question) bool) {
	kept := m.open[:0]
	for _, q := range m.open {
		if !gone(q) {
			kept = append(kept, q)
		}
	}
	m.open = kept
}

// show prints the missed messages, then the open questions and how to answer them.
func (m *missed) show(c *conversation) {
	out, zone := c.out, c.zone
	list := m.messages
	if len(list) > 0 {
		out.Note("while you were away:")
	}
	if n := len(list) - maxMissed; n > 0 {
		out.Note(fmt.Sprintf("%d older ones are in: hob outbox list", n))
		list = list[n:]
	}
	for _, e := range list {
		head := source(e, c.view, zone)
		// Away for long, or a message without a source: the whole time is worth a line.
		if head == "" {
			out.Note(InZone(e.At, zone, false))
			out.Say(stringOf(e, "text"))
			continue
		}
		c.view.arrived(head, stringOf(e, "text"))
	}
	// The commands that asked have ended, so their questions are one line.
	ended := 0
	for _, q := range m.open {
		if q.Subject == aboutCall && c.view != nil {
			ended++
			continue
		}
		q.show(out, c.view)
	}
	if ended > 0 {
		out.Note(Plural(ended, "question") + " of commands that have ended: hob approvals list")
	}
}
