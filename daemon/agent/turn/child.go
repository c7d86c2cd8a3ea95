package turn

import (
	"fmt"
	"time"
	"unicode/utf8"

	"hob/tools"
)

// mostOfChild is how many bytes of a sub-agent's answer its parent reads. The rest is cut, never shelved.
const maxChildAnswer = 32 << 10

// Relations is what a turn has to do with others: with the sub-agents that it waits for or, when it is one, with its parent.
type Relations struct {
	Spec     *ChildSpec       // of a sub-agent's turn: what it was made for
	Children map[string]Child // by the call that has waited for one and need not any more
	Requests int              // model requests of the rest of the family: the parent and all its sub-agents
}

// Order is what a sub-agent's turn was made for.
type ChildSpec struct {
	Agent   string // the sub-agent's id
	Model   string // "" is the one that is asked first
	Timeout time.Duration
}

// Child is a turn of a sub-agent that has ended.
type Child struct {
	Agent   string
	Turn    int64
	State   Status
	Text    string // what it said
	Why     string // why it ended as it did
	Tainted bool
	Running time.Duration
	Timeout time.Duration
}

// Limits is what a turn may still use. A family shares the requests of one turn: a parent has what its sub-agents leave, and each
// of those at most as much as it leaves to the others, so that all together need no more, but for the one
// that each may make.
func (k Relations) Limits(all Limits) Limits {
	if all.Requests > 0 {
		left := all.Requests - k.Requests
		if k.Spec != nil {
			left /= 2
		}
		all.Requests = max(left, 1)
	}
	if k.Spec != nil && (all.Running <= 0 || k.Spec.Timeout < all.Running) {
		all.Running = k.Spec.Timeout
	}
	return all
}

// outcome is the result of a call that has waited for a sub-agent.
func (k Relations) outcome(w Wait) tools.Result {
	c, ended := k.Children[w.CallID]
	if !ended {
		return tools.Result{Content: fmt.Sprintf("the time is up; sub-agent %s goes on", w.Subject)}
	}
	return c.result()
}

// result is what the parent reads of a sub-agent that has ended.
func (c Child) result() tools.Result {
	var r tools.Result
	switch {
	case c.State == Done && c.Text == "":
		r.Content = "the sub-agent ended and said nothing"
	case c.State == Done:
		r.Content = CutChild(c.Text)
	case c.State == Stopped:
		r = tools.Fail(tools.Cancelled, "", "sub-agent %s was stopped: %s", c.Agent, c.Why)
	case c.Timeout > 0 && c.Running >= c.Timeout:
		r = tools.Fail(tools.Timeout, "give it a smaller task, or a longer timeout", "sub-agent %s ran for %s, its limit", c.Agent, c.Timeout)
	default:
		r = tools.Fail(tools.Unknown, fmt.Sprintf(`subagents {"action": "history", "id": %q} shows what it found`, c.Agent), "sub-agent %s did not finish: %s", c.Agent, c.Why)
	}
	if c.Tainted {
		r.Foreign = "what sub-agent " + c.Agent + " has read"
	}
	return r
}

// CutChild shortens a sub-agent's answer to what its parent reads, at a character's border, and says so.
func CutChild(text string) string {
	if len(text) <= maxChildAnswer {
		return text
	}
	note := fmt.Sprintf("\n(cut: the answer has %d bytes)", len(text))
	n := maxChildAnswer - len(note)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + note
}
