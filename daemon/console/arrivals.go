package console

import "hob/daemon/event"

// fromChannel shows what the owner writes in this conversation on a channel.
func (c *conversation) fromChannel(e *event.Event) {
	text := stringOf(e, "text")
	if text == "" || c.view == nil || e.Session != c.session {
		return
	}
	c.onChannel[inboxOf(e)] = 0
	c.view.arrived(c.view.head("»", "[asked]", e.At.In(c.zone), stringOf(e, "source")), text)
}

// replied shows what hob answered on a channel to messages of this conversation.
func (c *conversation) replied(e *event.Event) {
	for row, turn := range c.onChannel {
		if turn == turnOf(e) {
			delete(c.onChannel, row)
			if text := stringOf(e, "text"); text != "" {
				c.say(e, c.view.head("«", "[answer]", e.At.In(c.zone), "hob"), text)
			}
		}
	}
}

// notice shows a remark of the daemon. One about a turn that is followed, such as the next attempt after a failure, replaces the one
// before it where the screen can do that.
func (c *conversation) notice(e *event.Event) {
	if c.turns[turnOf(e)] != nil && c.view != nil {
		c.progress.does(turnOf(e), stringOf(e, "text"), e.At)
		return
	}
	if turnOf(e) == 0 {
		c.say(e, source(e, c.view, c.zone), stringOf(e, "text"))
		return
	}
	c.out.Note(stringOf(e, "text"))
}

// say shows a message of an event with its head, unless an event of another type has just shown it. Equal messages are different messages.
func (c *conversation) say(e *event.Event, head, body string) bool {
	if c.seq-c.said.seq <= echo && e.Type != c.said.by && same(body, c.said.text) {
		return false
	}
	c.said = saying{seq: c.seq, by: e.Type, text: body}
	if head != "" && c.view != nil {
		c.view.arrived(head, body)
	} else {
		c.out.Break()
		c.out.Say(body)
	}
	return true
}

// Causes of messages that are handled differently.
const (
	byQuestion = string(event.ByQuestion)
	byTurn     = string(event.ByTurn)
)

// message shows a message sent to this conversation, unless another event shows the same text.
func (c *conversation) message(e *event.Event) {
	body := stringOf(e, "text")
	cause := stringOf(e, "cause")
	if body == "" || cause == byQuestion {
		return // question.asked shows it
	}
	if cause == byTurn && c.foreign(turnOf(e)) {
		c.passed++
		return
	}
	if c.alone {
		c.messages = append(c.messages, e)
	}
	// The text of a followed turn is shown piece by piece, and completed by turn.finished.
	if t := c.turns[turnOf(e)]; t != nil && cause == byTurn && t.covers(body) {
		return
	}
	head := source(e, c.view, c.zone)
	if c.turns[turnOf(e)] != nil {
		head = "" // it was asked for here
	}
	if c.say(e, head, body) {
		c.others++
	}
}
