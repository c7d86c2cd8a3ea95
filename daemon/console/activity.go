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

// leastWhat is the room, in columns, without which how to stop an activity is not said.
const leastWhat = 24

// activity is what a turn does at present.
type activity struct {
	what  string
	since time.Time
}

// progress is what each turn does, also those of others: a message may wait for one of them.
type progress struct {
	active map[int64]activity
	now    func() time.Time
}

// does records what a turn does since an instant; the zero instant is now.
func (p *progress) does(turn int64, what string, since time.Time) {
	if turn == 0 || p.active[turn].what == what {
		return
	}
	if since.IsZero() {
		since = p.now()
	}
	p.active[turn] = activity{what: what, since: since}
}

// status describes what the typed messages wait for: "thinking 4 s". turns are those that work on them, and queued counts the messages
// that no turn serves yet. "" means that they wait for nothing, or not for long.
func (p *progress) status(turns []int64, queued int64, v *view) string {
	slices.Sort(turns)
	for _, turn := range slices.Backward(turns) {
		if a, ok := p.active[turn]; ok {
			return p.line(a, "Ctrl-C stops it", queued, v)
		}
	}
	// Another turn is served first: the oldest one.
	if others := slices.Sorted(maps.Keys(p.active)); queued > 0 && len(others) > 0 {
		a := p.active[others[0]]
		return p.line(activity{"waiting for: " + a.what, a.since}, fmt.Sprintf("hob turns stop %d stops it", others[0]), queued, v)
	}
	return ""
}

// line describes an activity that goes on.
func (p *progress) line(a activity, stop string, queued int64, v *view) string {
	took := p.now().Sub(a.since)
	if took < quick {
		return ""
	}
	line := fmt.Sprintf(" %d s", int(took.Seconds()))
	if queued > 0 {
		line += ", " + Plural(queued, "message") + " of yours queued"
	}
	// A long command is cut, not the time.
	width, _ := v.size()
	if took >= slow && width-Cells(line+stop) >= leastWhat {
		line += " - " + stop
	}
	return v.look.frame(took) + " " + v.cut(OneLine(a.what), max(width-Cells(line)-6, 1)) + line
}

// source describes where a message came from that nobody here has asked for: "⏰ 11:40 stretch". "" means that it is an answer.
func source(e *event.Event, v *view, zone *time.Location) string {
	if v == nil {
		return ""
	}
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
	return v.head(sign[0], sign[1], e.At.In(zone), name)
}

// head is the head of what came by itself.
func (v *view) head(sign, ascii string, at time.Time, name string) string {
	return fmt.Sprintf("%s %s %s", v.look.glyph(sign, ascii), at.Format("15:04"), name)
}
