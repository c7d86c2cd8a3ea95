// Package console is the user's conversation with hob, through pipes or on a terminal. It runs in the process of the command line (hob
// chat, and hob up on a terminal), and speaks to the daemon as any client of its API does.
//
// It stores only what the user has seen (Cursor), and decides nothing: the daemon does. A message takes this way:
//
//   - The client posts it. The daemon answers with the inbox row, which the conversation expects from then on.
//   - The event stream says which turn serves the row (turn.started, turn.joined). Live pieces of that turn's answer are shown as they
//     arrive.
//   - A question, a notice or a message from elsewhere is shown when its event arrives.
//   - turn.finished has the whole text. The rest of it is shown now, and the row is settled.
//
// Talk is the interactive form with a line editor, Once posts one message and waits for its end. Both survive a restart of the daemon: they
// follow the events again from the newest one seen.
package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/event"
)

// API is the part of the daemon's API that a conversation needs. *client.Client implements it.
type API interface {
	Post(ctx context.Context, m client.Message) (event.Receipt, error)
	Follow(ctx context.Context, after int64, stay bool, each func(client.Frame) error) error
	client.Caller
}

// screen is where a conversation is shown.
type screen interface {
	Stream(piece string) // a piece of the answer, while the model writes it
	Break()              // ends the answer that Stream began, if any
	Say(message string)  // a whole message
	Ask(question string) // a question, shown even when remarks are suppressed
	Note(line string)    // a remark about the conversation
}

// terminal is a screen that a person looks at: lines can be rewritten there. terminal returns nil if they cannot.
type terminal interface{ terminal() *view }

// conversation follows the turns that serve the messages typed here. One goroutine uses it.
type conversation struct {
	out   screen
	seq   int64               // newest event seen
	rows  map[int64]*answer   // by inbox row: the messages typed here that are not settled
	turns map[int64]*turnText // by turn: those that serve one of the rows, and some finished ones
	// asked are the open questions, by code. An entry is removed when its question is closed.
	asked  map[string]Question
	queue  []string // the codes of questions that a line may answer, the oldest first; those of closed ones stay
	said   saying
	others int // messages shown that do not belong to a row
	// messages are those that were shown, of one command; a Talk notes its place instead.
	messages []*event.Event
	// alone hides turns that serve another client, so that of two clients each shows its own. passed counts the hidden messages.
	alone  bool
	passed int
	// accepted is the newest event.accepted. When a message in plain words answers a question, the same commit accepts the message and
	// closes the question, so the two events follow each other.
	accepted  *event.Event
	view      *view    // of out, if it is a terminal; otherwise nil
	progress  progress // what the turns do
	zone      *time.Location
	session   string          // its key
	onChannel map[int64]int64 // the turns of messages that the owner wrote in this conversation on a channel, by inbox row; 0: none yet
}

// saying is the message shown last. The answer to a command is both an event and a message in one commit, and is shown once.
type saying struct {
	seq  int64
	by   string // the type of the event
	text string
}

// echo is the largest distance in events between the two.
const echo = 4

// answer is the state of one typed message.
type answer struct {
	turn    int64
	settled bool
	typed   string // what was typed
	blocks  int    // what the view had shown then
	state   string // "done", "failed", "stopped", "dead"
	text    string
	why     string
}

// newConversation makes a conversation that has seen nothing yet.
func newConversation(out screen) *conversation {
	c := &conversation{out: out, onChannel: map[int64]int64{}, rows: map[int64]*answer{}, turns: map[int64]*turnText{}, asked: map[string]Question{}, zone: time.Local}
	c.progress = progress{active: map[int64]activity{}, now: time.Now}
	if t, ok := out.(terminal); ok {
		c.view = t.terminal()
	}
	return c
}

// expect records that an inbox row was typed here.
func (c *conversation) expect(inbox int64, typed string) {
	c.rows[inbox] = &answer{typed: typed}
	if c.view != nil {
		c.rows[inbox].blocks = c.view.blocks
	}
}

// running returns the turns that work on messages typed here and are not parked.
func (c *conversation) running() []int64 {
	var list []int64
	for _, a := range c.rows {
		if a.turn != 0 && !a.settled && !c.parked(a.turn) && !slices.Contains(list, a.turn) {
			list = append(list, a.turn)
		}
	}
	return list
}

// queued counts the messages typed here that no turn serves yet.
func (c *conversation) queued() int64 {
	n := int64(0)
	for _, a := range c.rows {
		if a.turn == 0 && !a.settled {
			n++
		}
	}
	return n
}

// busy reports whether a turn works on something typed here and is not parked, or a message still waits in the queue.
func (c *conversation) busy() bool {
	for _, a := range c.rows {
		if !a.settled && !c.parked(a.turn) {
			return true
		}
	}
	return false
}

// parked reports whether a turn waits for an answer or an instant.
func (c *conversation) parked(turn int64) bool {
	t := c.turns[turn]
	return t != nil && t.waiting
}

// see shows a frame if it concerns the user. Live pieces belong to turns that are followed; events that were seen before are skipped, as
// they come again when the stream is opened anew.
func (c *conversation) see(f client.Frame) {
	if f.Piece != nil {
		t := c.turns[f.Piece.Turn]
		switch {
		case t == nil, t.plain: // the end of the turn shows a plain text whole
		case f.Piece.Output == "":
			c.progress.does(f.Piece.Turn, "writing", time.Time{})
			t.piece(c.out, *f.Piece)
		case c.view != nil:
			c.view.prints(f.Piece.Output)
		}
		return
	}
	// A frame with neither is the beginning of a stream: the daemon has fewer events than this client had seen.
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

// event applies one event: it updates the rows, turns and questions, and shows what the user must see.
func (c *conversation) event(e *event.Event) {
	switch e.Type {
	case "event.accepted":
		c.accepted = e
		c.fromChannel(e)
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
		c.notice(e)
	case "event.dropped", "event.expired", "event.dead":
		c.settle(inboxOf(e), answer{state: "failed", why: "the message was " + strings.TrimPrefix(e.Type, "event.")})
	}
}

// started records which of the typed messages a turn serves. turn.started names its rows; turn.joined has one.
func (c *conversation) started(e *event.Event) {
	rows := numbers(e, "inbox")
	if e.Inbox != 0 {
		rows = append(rows, e.Inbox)
	}
	for _, row := range rows {
		c.serves(turnOf(e), row)
		if _, ok := c.onChannel[row]; ok {
			c.onChannel[row] = turnOf(e)
		}
		// Something else was shown since the message was typed, so it is shown again above its answer.
		if a := c.rows[row]; a != nil && c.view != nil && e.Type == "turn.started" && a.blocks != c.view.blocks {
			c.view.arrived(c.view.head("»", "[asked]", e.At.In(c.zone), a.typed), "")
		}
	}
	c.resumed(turnOf(e))
	c.progress.does(turnOf(e), thinking, e.At)
}

// serves records that a turn serves an inbox row.
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

// resumed records that a turn is no longer parked.
func (c *conversation) resumed(turn int64) {
	if t := c.turns[turn]; t != nil {
		t.waiting = false
	}
}

// ahead shows how many messages the queue holds before the user's.
func (c *conversation) ahead(e *event.Event) {
	n := number(e, "ahead")
	if c.rows[inboxOf(e)] == nil || n < 1 || c.view != nil { // the status says it
		return
	}
	if n == 1 {
		c.out.Note("1 message is ahead of yours")
		return
	}
	c.out.Note(fmt.Sprintf("%d messages are ahead of yours", n))
}

// tool shows the call of a tool. Tools that only read have no beginning; on a terminal they leave one line. The end of the turn names the calls
// that did not work; a terminal shows them at once too.
func (c *conversation) tool(e *event.Event) {
	t, line := c.turns[turnOf(e)], stringOf(e, "summary")
	if line == "" {
		line = stringOf(e, "tool")
	}
	if e.Type == "tool.started" {
		c.progress.does(turnOf(e), line, e.At)
	} else {
		c.progress.does(turnOf(e), thinking, e.At)
	}
	if t == nil {
		return
	}
	t.waiting = false
	tool := stringOf(e, "tool")
	t.plain = t.plain || c.view != nil && e.Data["verbatim"] == true && (tool == "exec" || tool == "read")
	code, failed := failure(e.Data["error"]), stringOf(e, "failed")
	switch {
	// Where the status shows what runs, the call leaves its line when it has ended.
	case c.view != nil && e.Type == "tool.started":
		c.out.Break()
		return
	case c.view != nil:
		c.view.prints("")
		c.out.Break()
		if failed != "" { // the end of the turn names it too, and need not here
			t.failed = append(t.failed, unbracketed(failed))
			c.out.Note(strings.TrimSuffix(strings.TrimPrefix(failed, "(hob: "), ")"))
		} else if line != tool || code != "" { // a bare name says nothing to a person
			c.out.Note(strings.TrimSuffix(line+": "+reason(code), ": "))
		}
	case e.Type == "tool.started":
		c.out.Note(line)
	}
	if from := stringOf(e, "tainted"); from != "" && c.view != nil {
		c.out.Note("this conversation has now read text of others (" + from + "): actions need your permission until /clean or /new")
	}
}

// reason is the code of a tool's error in words.
func reason(code string) string { return strings.ReplaceAll(strings.ToLower(code), "_", " ") }

// question shows a question of a followed turn, or one without a turn. A line may answer it.
func (c *conversation) question(e *event.Event) {
	q := questionOf(e)
	// A hidden question is kept too: an event may close it later.
	c.asked[q.Code], c.queue = q, append(c.queue, q.Code)
	if c.foreign(q.Turn) {
		// Another client shows it.
		c.passed++
		return
	}
	q.show(c.out, c.view)
}

// waiting parks a followed turn and shows why. A turn that waits for the user has a question, which was shown already.
func (c *conversation) waiting(e *event.Event) {
	t := c.turns[turnOf(e)]
	if t == nil {
		return
	}
	t.waiting = true
	delete(c.progress.active, turnOf(e))
	why := stringOf(e, "why")
	if what, ok := map[string]string{"child": "a sub-agent works on it", "process": "a command in the background works on it"}[strings.TrimPrefix(why, "waiting for ")]; ok {
		why = what
	}
	if _, open := c.openQuestion(turnOf(e)); !open {
		c.out.Note(why)
	}
}

// answered closes a question; its turn continues. If the answer was a message typed here, the turn serves that message as well.
func (c *conversation) answered(e *event.Event) {
	delete(c.asked, stringOf(e, "code"))
	turn := turnOf(e)
	if a := c.accepted; a != nil && a.Seq == e.Seq-1 && c.rows[inboxOf(a)] != nil {
		// No turn waited: the answer itself is all that the message was for. A command has a reply, which comes next.
		if turn == 0 && stringOf(a, "kind") != string(event.Command) {
			c.settle(inboxOf(a), answer{state: "done"})
		}
		c.serves(turn, inboxOf(a))
	}
	c.resumed(turn)
}

// current returns the oldest open question that a line may answer. A newer one waits for its turn.
func (c *conversation) current() (q Question, ok bool) {
	c.queue = slices.DeleteFunc(c.queue, func(code string) bool { _, open := c.asked[code]; return !open })
	if len(c.queue) == 0 {
		return Question{}, false
	}
	return c.asked[c.queue[0]], true
}

// leave leaves an open question to its commands.
func (c *conversation) leave(code string) {
	c.queue = slices.DeleteFunc(c.queue, func(other string) bool { return other == code })
}

// openQuestion returns the question that a turn waits for.
func (c *conversation) openQuestion(turn int64) (Question, bool) {
	for _, q := range c.asked {
		if q.Turn == turn && turn != 0 {
			return q, true
		}
	}
	return Question{}, false
}

// finished shows the rest of a followed turn's text and settles every message that it served. Its open questions end with it.
func (c *conversation) finished(e *event.Event) {
	turn := turnOf(e)
	delete(c.progress.active, turn)
	t := c.turns[turn]
	if t == nil {
		c.replied(e)
		return
	}
	a := answer{turn: turn, state: stringOf(e, "state"), text: stringOf(e, "text"), why: stringOf(e, "why")}
	if c.view != nil {
		c.view.prints("") // the end of its call may have been missed
		c.view.plain = t.plain
	}
	t.end(c.out, a.text)
	if c.view != nil {
		c.view.plain = false
	}
	// On a terminal the reason is not said twice.
	if told := a.why != "" && strings.Contains(a.text, a.why); a.state != "done" && !(told && c.view != nil) {
		c.out.Note(ending(a.state, a.why))
	}
	for row, r := range c.rows {
		if r.turn == turn {
			c.settle(row, a)
		}
	}
	// A turn that has ended waits for no answer.
	for code, q := range c.asked {
		if q.Turn == turn {
			delete(c.asked, code)
		}
	}
}

// ending describes the end of a turn that did not succeed.
func ending(state, why string) string {
	why = ToYou(why)
	if strings.HasPrefix(why, state) {
		return why
	}
	return strings.TrimSuffix(state+": "+why, ": ")
}

// settle records the outcome of a typed message, once.
func (c *conversation) settle(row int64, a answer) {
	if r := c.rows[row]; r != nil && !r.settled {
		a.turn = cmp.Or(a.turn, r.turn)
		a.settled = true
		*r = a
	}
}

// command shows the answer to a slash command typed here.
func (c *conversation) command(e *event.Event) {
	row := inboxOf(e)
	r := c.rows[row]
	if r == nil || r.settled {
		return
	}
	c.settle(row, answer{state: "done", text: stringOf(e, "text")})
	c.say(e, "", stringOf(e, "text"))
}

// foreign reports whether a turn serves another client and is hidden.
func (c *conversation) foreign(turn int64) bool { return c.alone && turn != 0 && c.turns[turn] == nil }

// keptRows is the number of settled rows that are kept, because events of theirs may still arrive.
const keptRows = 8

// forget drops settled rows and the turns that served them.
func (c *conversation) forget() {
	for row, a := range c.rows {
		if a.settled && len(c.rows) > keptRows {
			delete(c.rows, row)
			delete(c.turns, a.turn)
		}
	}
}
