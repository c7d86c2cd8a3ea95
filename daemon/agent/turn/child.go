package turn

import (
	"fmt"
	"time"
	"unicode/utf8"

	"hob/tools"
)

// maxChildAnswer is how many bytes of a sub-agent's answer its parent reads. The rest is dropped, not stored as an artifact.
const maxChildAnswer = 32 << 10

// Relations connects a turn with its sub-agents or, in a sub-agent's turn, with its parent.
type Relations struct {
	Spec     *ChildSpec       // set in a sub-agent's turn
	Children map[string]Child // ended sub-agents, by the id of the call that waited for them
	Requests int              // model requests of the other turns: the parent and all its sub-agents
}

// ChildSpec says how a sub-agent runs.
type ChildSpec struct {
	Agent   string // the sub-agent's id
	Preset  string // a way of working: explore, summarise or review; "" for none
	Model   string // "" means the first choice
	Timeout time.Duration
}

// Child is the ended turn of a sub-agent.
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

// Limits returns what a turn may still use. A parent and its sub-agents share the model requests of one turn: the parent gets
// what is left, a sub-agent half of that, and each at least one request. A sub-agent also has its own timeout.
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

// outcome makes the result of a call that waited for a sub-agent.
func (k Relations) outcome(w Wait) tools.Result {
	c, ended := k.Children[w.CallID]
	if !ended {
		return tools.Result{Content: fmt.Sprintf("the time is up; sub-agent %s goes on", w.Subject)}
	}
	return c.result()
}

// result makes the text that the parent reads about an ended sub-agent.
func (c Child) result() tools.Result {
	var r tools.Result
	switch {
	case c.State == Done && c.Text == "":
		r.Content = silentChild
	case c.State == Done:
		r.Content = TruncateChild(c.Text)
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

// TruncateChild shortens a sub-agent's answer to maxChildAnswer bytes, without splitting a character, and appends a note about it.
func TruncateChild(text string) string {
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
