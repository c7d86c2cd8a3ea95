package daemon

import (
	"errors"
	"fmt"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// switchNotices tell the owner that another model has answered.
type switchNotices struct {
	epoch int64
	zone  *ownerZone
	clock sys.Clock
}

// text returns the notice that another model has answered: once a day for the same reason, and once for a conversation that has become too
// long.
func (n switchNotices) text(s agent.Switch) event.Out {
	day := n.clock.Wall().In(n.zone.location()).Format(time.DateOnly)
	from, to := s.From.Name(), s.To.Name()
	key, text := "", ""
	// The key decides how often the notice is sent: the outbox drops a row with a key that it has.
	switch fault := llm.FaultOf(s.Cause); {
	case errors.Is(s.Cause, turn.ErrBudget):
		key = fmt.Sprintf("model:%s:budget:%s", from, day)
		text = fmt.Sprintf("Today's budget does not allow %s any more; %s goes on. To raise it: hob budget set --per-day AMOUNT or --tokens-per-day N", from, to)
	case fault == llm.TooLarge:
		key = fmt.Sprintf("model:%s:%s:%s", from, fault, s.Session)
		text = fmt.Sprintf("The conversation is too long for %s: %s answers from now on (/new begins a new one).", from, to)
	default:
		key = fmt.Sprintf("model:%s:%s:%s", from, fault, day)
		text = fmt.Sprintf("%s stepped in for %s, which is asked again later: %s.", to, from, event.Shorten(s.Cause.Error(), 500))
	}
	return event.Out{Key: "notice:" + key, Cause: event.Cause{Kind: event.ByNotice, ID: n.epoch}, To: event.ToOwner, Body: text, Urgency: event.Urgent}
}
