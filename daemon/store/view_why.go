package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/text"
)

// causeChain collects the nodes while it follows a message back to its cause.
type causeChain struct {
	nodes []api.Node
	view  *View
}

// add appends a node. The chain runs from the message back to its origin.
func (c *causeChain) add(n api.Node) { c.nodes = append(c.nodes, n) }

// Why traces a message back to its origin: outbox, turn, calls and approvals, inbox, and the job or person. name is an outbox id or "last".
func (s *View) Why(ctx context.Context, name string) (api.Why, error) {
	where, arg := "id = ?", any(name)
	if name == "last" || name == "" {
		where, arg = "? = '' ORDER BY id DESC LIMIT 1", ""
	} else if _, err := strconv.ParseInt(name, 10, 64); err != nil {
		return api.Why{}, event.NewFault(event.Invalid, "hob outbox list shows the ids", "%q is neither a message's id nor last", name)
	}
	rows, err := outboxRows(ctx, s.read, where, arg)
	if err != nil {
		return api.Why{}, err
	}
	// The id is unknown, or "last" was asked before hob has sent anything.
	if len(rows) == 0 {
		return api.Why{}, event.NewFault(event.Missing, "hob outbox list shows what was sent", "there is no such message")
	}
	o := rows[0]
	c := causeChain{view: s}
	c.add(api.Node{Kind: "outbox", ID: o.ID, Title: fmt.Sprintf("message to %s: %s", o.To, causeExcerpt(o.Body)), At: o.Created, Detail: deliveryText(o, c.view.now().Location())})
	err = c.cause(ctx, o.Cause)
	if err == nil {
		err = c.joinedNodes(ctx, o.ID)
	}
	return api.Why{Nodes: c.nodes}, err
}

// joinedNodes adds the messages that were sent as part of this one. Each has a chain of its own.
func (c *causeChain) joinedNodes(ctx context.Context, id int64) error {
	rows, err := outboxRows(ctx, c.view.read, "joined = ? AND joined > 0 ORDER BY id", id)
	for _, o := range rows {
		c.nodes[0].Detail += fmt.Sprintf("\nwith message %d: %s", o.ID, causeExcerpt(o.Body))
	}
	return err
}

// deliveryText tells the state of a message: the ids that the channel gave to its parts, the reason of that state, and a delay by quiet
// hours or by the time in which the owner could still stop it.
func deliveryText(o api.OutboxRow, zone *time.Location) string {
	detail := o.State
	for _, d := range o.Deliveries {
		if d.RemoteID != "" {
			detail += ", the channel's id " + d.RemoteID
		}
	}
	if o.Reason != "" {
		detail += ": " + o.Reason
	}
	if o.Waits != "" {
		detail += map[string]string{"quiet": "; it was quiet until ", "hold": "; it could be stopped until "}[o.Waits] + text.InZone(o.NotBefore, zone, true)
	}
	return detail
}

// causeExcerpt returns the beginning of a text on one line.
func causeExcerpt(text string) string {
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

// cause follows the cause that the outbox row names. Each kind of cause refers to a row of a different table.
func (c *causeChain) cause(ctx context.Context, by event.Cause) error {
	switch by.Kind {
	case event.ByTurn:
		return c.turnNode(ctx, by.ID)
	case event.ByQuestion:
		return c.questionNode(ctx, by.ID)
	case event.ByCommand:
		return c.inboxNode(ctx, "seq = ?", by.ID)
	case event.ByFire:
		return c.fireNode(ctx, by.ID)
	}
	// A notice has no cause in another table: the chain ends here.
	c.add(api.Node{Kind: "notice", ID: by.ID, Title: "hob itself had to tell you"})
	return nil
}

// questionNode adds the question that the message asks, and then the turn that asked it. A question without a turn comes from hob itself,
// for example about a delivery with an unknown outcome.
func (c *causeChain) questionNode(ctx context.Context, id int64) error {
	list, err := questionRows(ctx, c.view.read, "id = ?", id)
	if err != nil || len(list) == 0 {
		return err
	}
	q := list[0]
	detail := q.State
	if q.Answer != "" {
		detail += ": " + q.Answer
	}
	c.add(api.Node{Kind: "question", ID: q.ID, Title: q.Code + ": " + causeExcerpt(text.ForPeople(q.Text)), At: q.Asked, Detail: detail})
	if q.Turn == 0 {
		return nil
	}
	return c.turnNode(ctx, q.Turn)
}

// compactionNodes adds the compactions that a turn made before its requests.
func (c *causeChain) compactionNodes(ctx context.Context, id int64) error {
	rs, err := c.view.read.QueryContext(ctx, "SELECT id, how, covered, handles, at FROM compactions WHERE turn = ? ORDER BY id", id)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (api.Node, error) {
		n := api.Node{Kind: "compaction"}
		var how string
		var covered, handles int
		err := rs.Scan(&n.ID, &how, &covered, &handles, sqlite.Stamp(&n.At))
		switch how {
		case "trim":
			n.Title = fmt.Sprintf("old results became references: %d", handles)
		case "model":
			n.Title = fmt.Sprintf("a model summarised the first %d entries of the conversation", covered)
		default:
			n.Title = fmt.Sprintf("hob summarised the first %d entries of the conversation from its rows, because no model could", covered)
		}
		n.Detail = "nothing was deleted; hob sessions show prints all"
		return n, err
	})
	c.nodes = append(c.nodes, list...)
	return err
}

// turnNode adds a turn with its audited calls and its questions, then the inputs that joined it. A turn of a trigger also has a fire.
func (c *causeChain) turnNode(ctx context.Context, id int64) error {
	v, err := c.view.TurnView(ctx, id)
	if err != nil {
		return err
	}
	// A cost of 0 or -1 is not shown: nothing was paid, or the price is unknown.
	detail := fmt.Sprintf("%d ms running, %d tokens", v.RunningMS, v.Tokens)
	if v.Cost > 0 {
		detail += fmt.Sprintf(", cost %.4f", float64(v.Cost)/1e6)
	}
	if v.Attempts > 1 {
		detail += fmt.Sprintf(", attempt %d", v.Attempts)
	}
	c.add(api.Node{Kind: "turn", ID: id, Title: fmt.Sprintf("turn %d in session %s: %s", id, v.Session, v.State), At: v.Started, Detail: detail})
	if err := c.compactionNodes(ctx, id); err != nil {
		return err
	}
	// Calls and questions explain what the turn did; the inputs after them explain why it ran.
	for _, a := range v.Audit {
		c.add(api.Node{Kind: "call", ID: a.Seq, Title: a.Tool + ": " + causeExcerpt(a.Summary), At: a.At, Detail: a.Decision + " (" + a.Reason + "), " + a.Outcome})
	}
	for _, q := range v.Questions {
		c.add(api.Node{Kind: "question", ID: q.ID, Title: q.Code + ": " + causeExcerpt(text.ForPeople(q.Text)), At: q.Asked, Detail: q.State + " " + q.Answer})
	}
	if err := c.inboxNode(ctx, "turn = ? ORDER BY seq", id); err != nil || v.Fire == 0 {
		return err
	}
	return c.fireNode(ctx, v.Fire)
}

// inboxNode adds the inputs that a condition selects. They name the person and the trust, and so are the origin of most messages.
func (c *causeChain) inboxNode(ctx context.Context, where string, id int64) error {
	rows, err := inboxRows(ctx, c.view.read, where, id)
	for _, r := range rows {
		who := r.Source
		if r.Sender != "" {
			who += ", " + r.Sender
		}
		c.add(api.Node{Kind: "inbox", ID: r.Seq, Title: fmt.Sprintf("%s from %s: %s", r.Kind, who, causeExcerpt(r.Text)), At: r.Received, Detail: "trust: " + string(r.Trust)})
	}
	return err
}

// fireNode adds the fire of a trigger. A job fires for a time slot; a watch or a webhook fires for an event.
func (c *causeChain) fireNode(ctx context.Context, id int64) error {
	var n api.Node
	var job int64
	var outcome, reason string
	var late int64
	err := c.view.read.QueryRowContext(ctx, `SELECT f.id, f.trigger, iif(t.kind IN ('watch', 'hook'), 'event ', 'slot ') || f.key, f.due, f.outcome, f.reason, f.late_us
		FROM fires f JOIN triggers t ON t.id = f.trigger WHERE f.id = ?`, id).Scan(&n.ID, &job, &n.Title, sqlite.Stamp(&n.At), &outcome, &reason, &late)
	if err != nil {
		return err
	}
	n.Kind = "fire"
	n.Detail = fmt.Sprintf("%s, %s late", outcome, (time.Duration(late) * time.Microsecond).Round(time.Millisecond))
	if reason != "" {
		n.Detail += ", " + reason
	}
	c.add(n)
	return c.triggerNode(ctx, job)
}

// triggerNode adds the trigger, which is the end of the chain. A removed trigger keeps its row, so old messages can still be explained.
func (c *causeChain) triggerNode(ctx context.Context, id int64) error {
	n := api.Node{ID: id}
	var name, spec, zone, prompt string
	var removed bool
	err := c.view.read.QueryRowContext(ctx, `SELECT kind, name, coalesce(json_extract(body, '$.spec'), ''), coalesce(json_extract(body, '$.zone'), ''), coalesce(json_extract(body, '$.prompt'), ''), removed > 0
		FROM triggers WHERE id = ?`, id).Scan(&n.Kind, &name, &spec, &zone, &prompt, &removed)
	if err != nil {
		return fmt.Errorf("read trigger %d: %w", id, err)
	}
	n.Title, n.Detail = n.Kind+" "+name, causeExcerpt(prompt)
	if spec != "" {
		n.Title += fmt.Sprintf(": %s (%s)", spec, zone)
	}
	if removed {
		n.Title += ", removed since"
	}
	c.add(n)
	return nil
}
