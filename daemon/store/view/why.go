package view

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hob/daemon/store/db"

	"hob/daemon/event"
)

// Node is one link of the chain from a message back to what caused it.
type Node struct {
	Kind   string    `json:"kind"` // outbox, turn, call, question, inbox, fire, job, notice
	ID     int64     `json:"id"`
	Title  string    `json:"title"`
	At     time.Time `json:"at,omitzero"`
	Detail string    `json:"detail,omitempty"`
}

// Why is the chain behind one message.
type Why struct {
	Nodes []Node `json:"nodes"`
}

func (w *Why) add(n Node) { w.Nodes = append(w.Nodes, n) }

// Why traces a message back: outbox, turn, calls and approvals, inbox, the job or person. name is an outbox id or "last".
func (s *View) Why(ctx context.Context, name string) (Why, error) {
	where, arg := "id = ?", any(name)
	if name == "last" || name == "" {
		where, arg = "? = '' ORDER BY id DESC LIMIT 1", ""
	} else if _, err := strconv.ParseInt(name, 10, 64); err != nil {
		return Why{}, event.NewFault(event.Invalid, "hob outbox list shows the ids", "%q is neither a message's id nor last", name)
	}
	rows, err := s.outboxRows(ctx, where, arg)
	if err != nil {
		return Why{}, err
	}
	if len(rows) == 0 {
		return Why{}, event.NewFault(event.Missing, "hob outbox list shows what was sent", "there is no such message")
	}
	o := rows[0]
	var w Why
	w.add(Node{Kind: "outbox", ID: o.ID, Title: fmt.Sprintf("message to %s: %s", o.To, excerpt(o.Body)), At: o.Created, Detail: delivered(o)})
	return w, s.cause(ctx, &w, o.Cause)
}

func delivered(o OutboxRow) string {
	text := o.State
	for _, d := range o.Deliveries {
		if d.RemoteID != "" {
			text += ", the channel's id " + d.RemoteID
		}
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// excerpt is the head of a text on one line.
func excerpt(text string) string {
	const most = 100
	out := []rune{}
	for _, c := range text {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		if len(out) == most {
			return string(out) + "…"
		}
		out = append(out, c)
	}
	return string(out)
}

func (s *View) cause(ctx context.Context, w *Why, c event.Cause) error {
	switch c.Kind {
	case event.ByTurn:
		return s.turnNode(ctx, w, c.ID)
	case event.ByQuestion:
		return s.questionNode(ctx, w, c.ID)
	case event.ByCommand:
		return s.inboxNode(ctx, w, "seq = ?", c.ID)
	case event.ByFire:
		return s.fireNode(ctx, w, c.ID)
	default:
		w.add(Node{Kind: "notice", ID: c.ID, Title: "hob itself had to tell you"})
		return nil
	}
}

func (s *View) questionNode(ctx context.Context, w *Why, id int64) error {
	list, err := s.questionRows(ctx, "id = ?", id)
	if err != nil || len(list) == 0 {
		return err
	}
	q := list[0]
	detail := q.State
	if q.Answer != "" {
		detail += ": " + q.Answer
	}
	w.add(Node{Kind: "question", ID: q.ID, Title: q.Code + ": " + excerpt(q.Text), At: q.Asked, Detail: detail})
	if q.Turn == 0 {
		return nil
	}
	return s.turnNode(ctx, w, q.Turn)
}

func (s *View) turnNode(ctx context.Context, w *Why, id int64) error {
	v, err := s.TurnView(ctx, id)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("%d ms running, %d tokens", v.RunningMS, v.Tokens)
	if v.Cost > 0 {
		detail += fmt.Sprintf(", cost %.4f", float64(v.Cost)/1e6)
	}
	if v.Attempts > 1 {
		detail += fmt.Sprintf(", attempt %d", v.Attempts)
	}
	w.add(Node{Kind: "turn", ID: id, Title: fmt.Sprintf("turn %d in session %s: %s", id, v.Session, v.State), At: v.Started, Detail: detail})
	for _, a := range v.Audit {
		w.add(Node{Kind: "call", ID: a.Seq, Title: a.Tool + ": " + excerpt(a.Summary), At: a.At, Detail: a.Decision + " (" + a.Reason + "), " + a.Outcome})
	}
	for _, q := range v.Questions {
		w.add(Node{Kind: "question", ID: q.ID, Title: q.Code + ": " + excerpt(q.Text), At: q.Asked, Detail: q.State + " " + q.Answer})
	}
	if err := s.inboxNode(ctx, w, "turn = ? ORDER BY seq", id); err != nil || v.Fire == 0 {
		return err
	}
	return s.fireNode(ctx, w, v.Fire)
}

func (s *View) inboxNode(ctx context.Context, w *Why, where string, id int64) error {
	rows, err := s.inboxRows(ctx, where, id)
	for _, r := range rows {
		who := r.Source
		if r.Sender != "" {
			who += ", " + r.Sender
		}
		w.add(Node{Kind: "inbox", ID: r.Seq, Title: fmt.Sprintf("%s from %s: %s", r.Kind, who, excerpt(r.Text)), At: r.Received, Detail: "trust: " + string(r.Trust)})
	}
	return err
}

func (s *View) fireNode(ctx context.Context, w *Why, id int64) error {
	var n Node
	var job int64
	var outcome, reason string
	var late int64
	err := s.read.QueryRowContext(ctx, "SELECT id, trigger, key, due, outcome, reason, late_us FROM fires WHERE id = ?", id).Scan(&n.ID, &job, &n.Title, db.Stamp(&n.At), &outcome, &reason, &late)
	if err != nil {
		return err
	}
	n.Kind, n.Title = "fire", "slot "+n.Title
	n.Detail = fmt.Sprintf("%s, %s late", outcome, (time.Duration(late) * time.Microsecond).Round(time.Millisecond))
	if reason != "" {
		n.Detail += ", " + reason
	}
	w.add(n)
	return s.jobNode(ctx, w, job)
}

func (s *View) jobNode(ctx context.Context, w *Why, id int64) error {
	n := Node{Kind: "job", ID: id}
	var name, spec, zone, prompt string
	var removed bool
	err := s.read.QueryRowContext(ctx, `SELECT name, coalesce(json_extract(body, '$.spec'), ''), coalesce(json_extract(body, '$.zone'), ''), coalesce(json_extract(body, '$.prompt'), ''), removed > 0
		FROM triggers WHERE id = ?`, id).Scan(&name, &spec, &zone, &prompt, &removed)
	if err != nil {
		return fmt.Errorf("read job %d: %w", id, err)
	}
	n.Title, n.Detail = fmt.Sprintf("job %s: %s (%s)", name, spec, zone), excerpt(prompt)
	if removed {
		n.Title += ", removed since"
	}
	w.add(n)
	return nil
}
