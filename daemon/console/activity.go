package console

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"hob/daemon/event"
)

// thinking is what a turn does between its actions: it waits for the model.
const thinking = "thinking"

// Times after which a terminal says more about what runs.
const (
	quick = 300 * time.Millisecond // what is faster is not shown
	slow  = 5 * time.Second        // how to stop it is shown too
)

// activity is what a turn does at present.
type activity struct {
	what  string
	since time.Time
}

// does records what a turn does from now on.
func (c *conversation) does(turn int64, what string) {
	if turn != 0 && c.active[turn].what != what {
		c.active[turn] = activity{what: what, since: c.now()}
	}
}

// status describes what the typed messages wait for: "thinking 4 s". "" means that they wait for nothing, or not for long.
func (c *conversation) status() string {
	turns := c.running()
	slices.Sort(turns)
	for _, turn := range slices.Backward(turns) {
		if a, ok := c.active[turn]; ok {
			return c.lasts(a, "Ctrl-C stops it")
		}
	}
	if c.queued() == 0 {
		return ""
	}
	// Another turn is served first: the oldest one.
	for _, turn := range slices.Sorted(maps.Keys(c.active)) {
		a := c.active[turn]
		return c.lasts(activity{"waiting for: " + a.what, a.since}, fmt.Sprintf("hob turns stop %d stops it", turn))
	}
	return ""
}

// lasts describes an activity that goes on.
func (c *conversation) lasts(a activity, stop string) string {
	took := c.now().Sub(a.since)
	if took < quick {
		return ""
	}
	line := fmt.Sprintf("%s %s %d s", c.out.Look().frame(took), OneLine(a.what), int(took.Seconds()))
	if n := c.queued(); n > 0 {
		line += ", " + Plural(n, "message") + " of yours queued"
	}
	if took >= slow {
		line += " - " + stop
	}
	return line
}

// source describes where a message came from that nobody here has asked for: "⏰ 11:40 stretch". "" means that it is an answer.
func source(e *event.Event, look Look, zone *time.Location) string {
	signs := map[string][2]string{
		"job": {"⏰", "[job]"}, "heartbeat": {"⏰", "[heartbeat]"}, "watch": {"👁", "[watch]"}, "hook": {"🔔", "[webhook]"},
		"asked": {"»", "[asked]"}, "notice": {"●", "[hob]"},
	}
	kind, name := stringOf(e, "from"), stringOf(e, "name")
	if kind == "" && stringOf(e, "cause") == string(event.ByNotice) {
		kind, name = "notice", "hob"
	}
	sign, ok := signs[kind]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %s %s", look.glyph(sign[0], sign[1]), e.At.In(zone).Format("15:04"), name)
}
