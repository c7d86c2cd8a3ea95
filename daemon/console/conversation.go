// Package console is the conversation of one person with hob, through pipes or on a terminal: it posts
// what is typed, follows the live view and shows what concerns the person, once. It keeps nothing but
// the place up to which the person has read, and decides nothing: the daemon does.
package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/api/client"
	"hob/daemon/event"
)

// API is what a conversation needs of the daemon; *client.Client is one.
type API interface {
	Post(ctx context.Context, m client.Message) (event.Receipt, error)
	Follow(ctx context.Context, after int64, stay bool, each func(client.Frame) error) error
	Act(ctx context.Context, resource, id, verb string, args map[string]string, out any) error
}

// screen is where a conversation is shown.
type screen interface {
	Stream(piece string) // a piece of the answer that is being made
	Break()              // ends the line that Stream has begun, if it has
	Say(message string)  // a whole message
	Ask(question string) // a question, which must be seen
	Note(line string)    // a remark beside the conversation
}

// conversation follows the turns that serve what was typed here. It is used by one goroutine.
type conversation struct {
	out   screen
	seq   int64               // newest event seen
	rows  map[int64]*answer   // by inbox row: what was typed here and is not settled yet
	turns map[int64]*turnText // by turn: those that serve one of the rows, and those lately finished
	asked map[string]Question
	// recent is the code of the question that the next line may answer, "" when there is none.
	recent string
	said   saying
	others int // messages that came from elsewhere
	// alone shows nothing of turns that serve somebody else: two who speak at once each see their own. passed counts what was not shown.
	alone  bool
	passed int
	// accepted is the newest event.accepted: an answer in plain words closes its question in the same commit.
	accepted *event.Event
}

// saying is the message shown last: a command's answer is both an event and a message, in one commit.
type saying struct {
	seq  int64
	text string
}

// echo is how many events lie at most between the two.
const echo = 4

// answer is what became of one typed message.
type answer struct {
	turn    int64
	settled bool
	state   string // "done", "failed", "stopped", "dead"
	text    string
	why     string
}

func newConversation(out screen) *conversation {
	return &conversation{out: out, rows: map[int64]*answer{}, turns: map[int64]*turnText{}, asked: map[string]Question{}}
}

// expect notes that an inbox row was typed here.
func (c *conversation) expect(inbox int64) { c.rows[inbox] = &answer{} }

// running are the turns that work on something typed here right now.
func (c *conversation) running() []int64 {
	var list []int64
	for _, a := range c.rows {
		if a.turn != 0 && !a.settled && !c.parked(a.turn) && !slices.Contains(list, a.turn) {
			list = append(list, a.turn)
		}
	}
	return list
}

// queued counts the messages typed here that no turn has taken yet.
func (c *conversation) queued() int64 {
	n := int64(0)
	for _, a := range c.rows {
		if a.turn == 0 && !a.settled {
			n++
		}
	}
	return n
}

// busy reports whether something typed here is still being worked on and not parked for an answer.
func (c *conversation) busy() bool {
	for _, a := range c.rows {
		if !a.settled && !c.parked(a.turn) {
			return true
		}
	}
	return false
}

func (c *conversation) parked(turn int64) bool {
	t := c.turns[turn]
	return t != nil && t.waiting
}

// see shows a frame, as far as it concerns the person.
func (c *conversation) see(f client.Frame) {
	if f.Live != nil {
		if t := c.turns[f.Live.Turn]; t != nil {
			t.piece(c.out, *f.Live)
		}
		return
	}
	if f.Event == nil {
		c.seq = f.Start
		return
	}
	if f.Event.Seq <= c.seq {
		return
	}
	c.seq = f.Event.Seq
	c.event(f.Event)
}

func (c *conversation) event(e *event.Event) {
	switch e.Type {
	case "event.accepted":
		c.accepted = e
	case "turn.started", "turn.joined":
		c.started(e)
	case "turn.resumed":
		c.resumed(turnOf(e))
	case "queue.ahead":
		c.ahead(e)
	case "tool.started", "tool.finished":
		c.tool(e)
	case "question.asked":
		c.question(e)
	case "question.answered", "question.expired":
		c.answered(e)
	case "turn.waiting":
		c.waiting(e)
	case "turn.finished":
		c.finished(e)
	case "command.done":
		c.command(e)
	case "message.sent":
		c.message(e)
	case "notice":
		c.out.Note(text(e, "text"))
	case "event.dropped", "event.expired", "event.dead":
		c.settle(inboxOf(e), answer{state: "failed", why: "the message was " + strings.TrimPrefix(e.Type, "event.")})
	}
}

func (c *conversation) started(e *event.Event) {
	rows := numbers(e, "inbox")
	if e.Inbox != 0 {
		rows = append(rows, e.Inbox)
	}
	for _, row := range rows {
		c.serves(turnOf(e), row)
	}
	c.resumed(turnOf(e))
}

// serves notes which turn a typed message has become.
func (c *conversation) serves(turn, row int64) {
	a := c.rows[row]
	if a == nil {
		return
	}
	a.turn = turn
	if c.turns[turn] == nil {
		c.turns[turn] = &turnText{}
	}
}

func (c *conversation) resumed(turn int64) {
	if t := c.turns[turn]; t != nil {
		t.waiting = false
	}
}

func (c *conversation) ahead(e *event.Event) {
	n := number(e, "ahead")
	if c.rows[inboxOf(e)] == nil || n < 1 {
		return
	}
	if n == 1 {
		c.out.Note("1 message is ahead of yours")
		return
	}
	c.out.Note(fmt.Sprintf("%d messages are ahead of yours", n))
}

func (c *conversation) tool(e *event.Event) {
	t := c.turns[turnOf(e)]
	if t == nil {
		return
	}
	t.waiting = false
	if e.Type == "tool.started" {
		line := text(e, "summary")
		if line == "" {
			line = text(e, "tool")
		}
		c.out.Note(line)
		return
	}
	if code := failure(e.Data["error"]); code != "" {
		c.out.Note(text(e, "tool") + ": " + code)
	}
}

func (c *conversation) question(e *event.Event) {
	q := questionOf(e)
	c.asked[q.Code], c.recent = q, q.Code
	if c.foreign(q.Turn) {
		c.passed++
		return
	}
	c.out.Ask(q.Show())
	c.out.Note(q.How())
}

// waiting parks a followed turn; one that waits for a person is known from its question.
func (c *conversation) waiting(e *event.Event) {
	t := c.turns[turnOf(e)]
	if t == nil {
		return
	}
	t.waiting = true
	if _, open := c.openQuestion(turnOf(e)); !open {
		c.out.Note(text(e, "why"))
	}
}

// answered closes a question; its turn goes on. When the message typed here was the answer, that turn serves it.
func (c *conversation) answered(e *event.Event) {
	delete(c.asked, text(e, "code"))
	turn := turnOf(e)
	if a := c.accepted; a != nil && a.Seq == e.Seq-1 && c.rows[inboxOf(a)] != nil {
		if turn == 0 {
			c.settle(inboxOf(a), answer{state: "done"})
		}
		c.serves(turn, inboxOf(a))
	}
	c.resumed(turn)
}

// current is the open question that the next line may answer.
func (c *conversation) current() (Question, bool) {
	q, ok := c.asked[c.recent]
	return q, ok
}

// openQuestion finds the question that a turn waits for.
func (c *conversation) openQuestion(turn int64) (Question, bool) {
	for _, q := range c.asked {
		if q.Turn == turn && turn != 0 {
			return q, true
		}
	}
	return Question{}, false
}

func (c *conversation) finished(e *event.Event) {
	turn := turnOf(e)
	t := c.turns[turn]
	if t == nil {
		return
	}
	a := answer{turn: turn, state: text(e, "state"), text: text(e, "text"), why: text(e, "why")}
	t.end(c.out, a.text)
	if a.state != "done" {
		c.out.Note(ending(a.state, a.why))
	}
	for row, r := range c.rows {
		if r.turn == turn {
			c.settle(row, a)
		}
	}
	for code, q := range c.asked {
		if q.Turn == turn {
			delete(c.asked, code)
		}
	}
}

// ending says how a turn ended that is not done.
func ending(state, why string) string {
	why = ToYou(why)
	if strings.HasPrefix(why, state) {
		return why
	}
	return strings.TrimSuffix(state+": "+why, ": ")
}

func (c *conversation) settle(row int64, a answer) {
	if r := c.rows[row]; r != nil && !r.settled {
		if a.turn == 0 {
			a.turn = r.turn
		}
		a.settled = true
		*r = a
	}
}

func (c *conversation) command(e *event.Event) {
	row := inboxOf(e)
	r := c.rows[row]
	if r == nil || r.settled {
		return
	}
	c.settle(row, answer{state: "done", text: text(e, "text")})
	c.say(text(e, "text"))
}

// say shows a message, unless it is the echo of the one before.
func (c *conversation) say(body string) bool {
	if c.seq-c.said.seq <= echo && same(body, c.said.text) {
		return false
	}
	c.said = saying{seq: c.seq, text: body}
	c.out.Break()
	c.out.Say(body)
	return true
}

// The causes of messages that need a closer look.
const (
	byQuestion = string(event.ByQuestion)
	byTurn     = string(event.ByTurn)
)

// message shows what was sent here, unless it is the text of a followed turn.
func (c *conversation) message(e *event.Event) {
	body := text(e, "text")
	cause := text(e, "cause")
	if body == "" || cause == byQuestion {
		return // a question has an event of its own
	}
	if t := c.turns[turnOf(e)]; t != nil && cause == byTurn && t.covers(body) {
		return
	}
	if cause == byTurn && c.foreign(turnOf(e)) {
		c.passed++
		return
	}
	if c.say(body) {
		c.others++
	}
}

// foreign reports whether a turn serves somebody else, whose business is not shown here.
func (c *conversation) foreign(turn int64) bool { return c.alone && turn != 0 && c.turns[turn] == nil }

// keptRows is how many settled rows are remembered: late echoes of them are known for a while.
const keptRows = 8

// forget drops the rows that are settled and the turns that served them.
func (c *conversation) forget() {
	for row, a := range c.rows {
		if a.settled && len(c.rows) > keptRows {
			delete(c.rows, row)
			delete(c.turns, a.turn)
		}
	}
}
