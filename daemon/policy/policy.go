// Package policy decides whether a call may run: allow, ask or deny. It is one pure
// function over what a call would touch, who asked, what the turn has read, and what was granted before.
// It runs nothing, reads nothing and trusts nothing that a model says.
package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// Verdict is what the gate says about a call.
type Verdict string

// The three verdicts, from mild to strict.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// NotJudged stands in the audit for a call that did not come before the gate: there is no such tool, its arguments are wrong, or what it names is
// not there.
const NotJudged Verdict = "not judged"

// Mode is [guard] mode.
type Mode string

// The modes: ask keeps the table; open allows all but the five denials and the state folder.
const (
	ModeAsk  Mode = "ask"
	ModeOpen Mode = "open"
)

// Case is all that a decision depends on.
type Case struct {
	Tool    string
	Intent  tools.Intent
	Asker   event.Trust
	Tainted bool            // the turn has read foreign text
	Child   bool            // a sub-agent calls: nobody answers for it
	Typed   bool            // the owner typed this very call
	Plan    bool            // the session plans: nothing may change
	ReplyTo event.Address   // where the turn answers
	Known   []event.Address // the owner's addresses, and those of people whom the config calls known
	Given   []string        // web addresses that stand in the owner's own words, as netguard.Canonical writes them
	Scratch string          // the session's own scratch folder, absolute
	Rights  []Right         // what the owner gave to the trigger when he made it
	Only    []string        // the only tools that its runs may call; none: all
	Limited bool            // its runs have limits, of tools or of tokens
	Mode    Mode
	Safe    bool // safe mode is on
	Grants  []Grant
}

// Decision is a verdict with the reason that people read and the line that would allow the call.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Allow   string  `json:"allow,omitempty"` // the config line or command that would allow it
	Grant   int64   `json:"grant,omitempty"` // the grant that allowed it
}

// Entry is one row of the audit: one per call.
type Entry struct {
	At       time.Time     `json:"at"`
	Turn     int64         `json:"turn,omitempty"`
	CallID   string        `json:"call"`
	Tool     string        `json:"tool"`
	Actor    string        `json:"actor"` // "thread", "child", "api"
	Trust    event.Trust   `json:"trust"`
	Tainted  bool          `json:"tainted,omitempty"`
	ArgsHash string        `json:"hash"`
	Summary  string        `json:"summary"`
	Warnings []string      `json:"warnings,omitempty"` // patterns that are often mistakes, as its question shows them
	Decision Decision      `json:"-"`
	Outcome  string        `json:"outcome,omitempty"` // "", "ok", an error code
	Took     time.Duration `json:"-"`
	Effect   Effect        `json:"effect,omitzero"`
}

// Effect is what a call did, in numbers, as far as its tool says.
type Effect struct {
	Cwd        string `json:"cwd,omitempty"`         // where a command ran
	Exit       *int   `json:"exit,omitempty"`        // its exit code
	In         int    `json:"in,omitempty"`          // bytes of the arguments
	Out        int    `json:"out,omitempty"`         // bytes of the result's text
	ResultHash string `json:"result_hash,omitempty"` // of the result's text
}

// Decide applies the table. Deny beats ask beats allow over all scopes of the call; a grant, a right of the trigger or the
// owner's own typing turns ask into allow, never deny.
func Decide(c Case) Decision {
	if d, final := always(c); final {
		return d
	}
	if c.Mode == ModeOpen {
		return Decision{Verdict: Allow, Reason: "guard.mode is open"}
	}
	worst := Decision{Verdict: Allow, Reason: "the table allows it"}
	if len(c.Intent.Scopes) == 0 && rowOf(c) == others && !slices.Contains(harmless(), c.Tool) {
		return Decision{Verdict: Deny, Reason: "somebody else than the owner asked (" + string(c.Asker) + "): " + c.Tool + " is the owner's", Allow: "the owner can ask for it himself"}
	}
	for _, s := range c.Intent.Scopes {
		worst = stricter(worst, judge(c, s))
	}
	if c.Limited && c.Intent.Effect != tools.Read && slices.Contains(c.Intent.Scopes, tools.Schedule) {
		worst = stricter(worst, Decision{Verdict: Ask, Reason: "this run has limits, and what it puts on the schedule runs without them"})
	}
	if worst.Verdict != Ask {
		return worst
	}
	if c.Typed && c.Asker == event.Owner {
		return Decision{Verdict: Allow, Reason: "the owner typed it"}
	}
	if g, ok := granted(c); ok {
		return Decision{Verdict: Allow, Reason: fmt.Sprintf("grant %d: %s", g.ID, g.Pattern), Grant: g.ID}
	}
	if c.Child {
		return Decision{Verdict: Deny, Reason: worst.Reason + "; nobody answers for a sub-agent", Allow: worst.Allow}
	}
	return worst
}

// harmless are the tools of others that touch nothing but their own conversation.
func harmless() []string {
	return []string{tools.Catalog, "todo", "result_read", "complete_task", "fail_task"}
}

// always holds in every mode.
func always(c Case) (Decision, bool) {
	if c.Intent.Denied != "" {
		return Decision{Verdict: Deny, Reason: c.Intent.Denied}, true
	}
	for _, p := range c.Intent.Paths {
		if p.Area == tools.State {
			return Decision{Verdict: Deny, Reason: "the state folder is hob's own: no tool may reach it"}, true
		}
	}
	if len(c.Only) > 0 && c.Tool != tools.Catalog && !slices.Contains(c.Only, c.Tool) {
		return Decision{Verdict: Deny, Reason: "this job may only call " + strings.Join(c.Only, ", "), Allow: "hob cron update JOB --tools"}, true
	}
	if c.Safe && slices.Contains(c.Intent.Scopes, tools.Exec) {
		return Decision{Verdict: Deny, Reason: "hob is in safe mode", Allow: "hob safe-mode off"}, true
	}
	if c.Plan && changes(c.Intent) {
		return Decision{Verdict: Deny, Reason: "this conversation is in plan mode: nothing may change", Allow: `the tool plan with action "exit" and a summary for the owner`}, true
	}
	return Decision{}, false
}

// Ordinary is false for what a yes to "this kind of call" does not open: sensitive paths, private networks, and hob itself.
func Ordinary(i tools.Intent) bool {
	return !i.Private && !slices.Contains(i.Scopes, tools.Config) && !slices.ContainsFunc(i.Paths, func(p tools.Path) bool { return p.Area == tools.Sensitive })
}

// changes is false for what reads, for what touches nothing but the conversation, and for a word to the owner.
func changes(i tools.Intent) bool {
	toOwner := len(i.Addresses) > 0 && !slices.ContainsFunc(i.Addresses, func(a event.Address) bool { return a != event.ToOwner })
	return i.Effect != tools.Read && slices.ContainsFunc(i.Scopes, func(s tools.Scope) bool { return s != tools.Messages || !toOwner })
}

func stricter(a, b Decision) Decision {
	order := []Verdict{Allow, Ask, Deny}
	if slices.Index(order, b.Verdict) > slices.Index(order, a.Verdict) {
		return b
	}
	return a
}

// Foreign says from where a call brings somebody else's text into the conversation, "" when it brings none. A call that only
// writes brings none.
func Foreign(i tools.Intent) string {
	if i.Foreign != "" {
		return i.Foreign
	}
	writes := len(i.Scopes) > 0 && !slices.ContainsFunc(i.Scopes, func(s tools.Scope) bool { return s != tools.FSWrite })
	if writes {
		return ""
	}
	for _, p := range i.Paths {
		if p.Foreign != "" && !slices.Contains(i.Scopes, tools.Exec) {
			return p.Foreign + ": " + p.Path
		}
	}
	return ""
}
