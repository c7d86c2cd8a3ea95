// Package policy holds the permission rules: it decides whether a call may run (allow, ask or deny). Decide is one pure function over what the call
// would touch, who asked, what the turn has read, and what was granted before. It runs nothing, reads nothing and trusts nothing that a
// model says.
//
// The flow: a tool describes a call as a tools.Intent. Decide checks what holds in every mode, then looks up the table (table.go) for
// each scope of the call and keeps the strictest answer. Grants, rights of triggers and calls that the owner typed turn "ask" into
// "allow". ApprovalText words the question.
package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// Verdict is a decision of the permission rules about a call.
type Verdict string

// The three verdicts, from mild to strict.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// NotJudged is the audit's verdict for a call that never reached the permission rules: the tool does not exist, its arguments are wrong, or what it
// names does not exist.
const NotJudged Verdict = "not judged"

// Mode is the config key [guard] mode.
type Mode string

// The modes: ask applies the table; open allows everything except the rules of always. For programs with tokens of their own the row of others stays in force.
const (
	ModeAsk  Mode = "ask"
	ModeOpen Mode = "open"
)

// Case holds everything that a decision depends on.
type Case struct {
	Tool    string
	Intent  tools.Intent
	Asker   event.Trust
	Tainted bool            // the turn has read foreign text
	Child   bool            // a sub-agent calls: nobody can answer for it
	Typed   bool            // the owner typed this very call
	Plan    bool            // the session is in plan mode: nothing may change
	ReplyTo event.Address   // the address that gets the turn's answer
	Known   []event.Address // the owner's addresses, and those that the config calls known
	Given   []string        // web addresses from the owner's own messages, in the form of netguard.Canonical
	Scratch string          // the session's own scratch folder, absolute
	Rights  []Right         // rights of the job, watch or webhook that started the turn
	Only    []string        // the only tools that its runs may call; empty: all
	Limited bool            // its runs have limits of tools or tokens
	Locked  []string        // files that the call writes although their front matter says agent-modification: false
	Mode    Mode
	Safe    bool // safe mode is on
	Grants  []Grant

	Narrowed *Narrowed // what the skills that the turn runs leave; nil: all
}

// Narrowed is the tools that the skills of a turn leave. It takes abilities away and never gives one.
type Narrowed struct {
	Skill string // the skill that narrowed last
	Tools []string
}

// leaves reports whether a tool may be called. No skill takes away those that only lead to other calls, which are judged themselves, or to text that the
// conversation has.
func (n *Narrowed) leaves(tool string) bool {
	return n == nil || slices.Contains(n.Tools, tool) || slices.Contains([]string{tools.CatalogTool, "skill", "result_read"}, tool)
}

// With narrows further by another skill.
func (n *Narrowed) With(skill string, only []string) *Narrowed {
	list := slices.Clone(only)
	if n != nil {
		list = slices.DeleteFunc(list, func(tool string) bool { return !slices.Contains(n.Tools, tool) })
	}
	return &Narrowed{Skill: skill, Tools: list}
}

// Decision is a verdict, with its reason for people and a hint that would allow the call.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Allow   string  `json:"allow,omitempty"` // the config line or command that would allow the call
	Grant   int64   `json:"grant,omitempty"` // the grant that allowed the call
}

// Entry is one row of the audit, one per call.
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
	Outcome  string        `json:"outcome,omitempty"` // "", "ok" or an error code
	Took     time.Duration `json:"-"`
	Effect   Effect        `json:"effect,omitzero"`
}

// Effect describes in numbers what a call did, as far as its tool reports it.
type Effect struct {
	Cwd        string `json:"cwd,omitempty"`         // the folder in which a command ran
	Exit       *int   `json:"exit,omitempty"`        // its exit code
	In         int    `json:"in,omitempty"`          // bytes of the arguments
	Out        int    `json:"out,omitempty"`         // bytes of the result's text
	ResultHash string `json:"result_hash,omitempty"` // of the result's text
}

// Decide applies the table to all scopes of the call: deny beats ask, ask beats allow. A grant, a right of the trigger, or a call that
// the owner typed turns ask into allow, never deny.
func Decide(c Case) Decision {
	if d, final := always(c); final {
		return d
	}
	worst := Decision{Verdict: Allow, Reason: "guard.mode is open"}
	// The owner opens hob to people. A program that is not trusted like the owner passes on what others have written.
	if c.Mode != ModeOpen || rowOf(c) == others && c.ReplyTo.Channel() == event.Endpoint {
		worst = ofTable(c)
	}
	// The owner has said this about the file itself, so it holds in every mode and for every trigger.
	if len(c.Locked) > 0 {
		worst = stricter(worst, Decision{Verdict: Ask, Reason: c.Locked[0] + " says agent-modification: false", Allow: "remove that line from its front matter"})
	}
	if c.Intent.Confirm != "" {
		worst = stricter(worst, Decision{Verdict: Ask, Reason: c.Intent.Confirm})
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
		return Decision{Verdict: Deny, Reason: worst.Reason + "; nobody can answer for a sub-agent", Allow: worst.Allow}
	}
	return worst
}

// ofTable is the strictest verdict of the table about the scopes of a call.
func ofTable(c Case) Decision {
	if len(c.Intent.Scopes) == 0 && rowOf(c) == others && !slices.Contains(harmless(), c.Tool) {
		return Decision{Verdict: Deny, Reason: "someone other than the owner asked (" + string(c.Asker) + "): only the owner may use " + c.Tool, Allow: "the owner can ask for it"}
	}
	worst := Decision{Verdict: Allow, Reason: "the permission rules allow it"}
	for _, s := range c.Intent.Scopes {
		worst = stricter(worst, judge(c, s))
	}
	if c.Limited && c.Intent.Effect != tools.Read && slices.Contains(c.Intent.Scopes, tools.Schedule) {
		worst = stricter(worst, Decision{Verdict: Ask, Reason: "this run has limits, but what it schedules would run without them"})
	}
	return worst
}

// harmless lists tools without scopes that others may use, because they touch only their own conversation.
func harmless() []string {
	return []string{tools.CatalogTool, "todo", "result_read", "complete_task", "fail_task"}
}

// always applies the rules that hold in every mode. final is false if none of them decides.
func always(c Case) (Decision, bool) {
	if c.Intent.Denied != "" {
		return Decision{Verdict: Deny, Reason: c.Intent.Denied}, true
	}
	for _, p := range c.Intent.Paths {
		if p.Area == tools.State {
			return Decision{Verdict: Deny, Reason: "the state folder is hob's own: no tool may reach it"}, true
		}
	}
	if len(c.Only) > 0 && c.Tool != tools.CatalogTool && !slices.Contains(c.Only, c.Tool) {
		return Decision{Verdict: Deny, Reason: "this job may only call " + strings.Join(c.Only, ", "), Allow: "hob cron update JOB --tools"}, true
	}
	if !c.Narrowed.leaves(c.Tool) {
		return Decision{Verdict: Deny, Reason: "the skill " + c.Narrowed.Skill + " runs, which may only call " + cmp.Or(strings.Join(c.Narrowed.Tools, ", "), "no tools"), Allow: "the next message ends this; allowed-tools in its SKILL.md says what it may call"}, true
	}
	if c.Safe && (slices.Contains(c.Intent.Scopes, tools.Exec) || slices.Contains(c.Intent.Scopes, tools.MCP)) {
		return Decision{Verdict: Deny, Reason: "hob is in safe mode", Allow: "hob safe-mode off"}, true
	}
	if c.Plan && changes(c.Intent) {
		return Decision{Verdict: Deny, Reason: "this conversation is in plan mode: nothing may change", Allow: `the tool plan with action "exit" and a summary for the owner`}, true
	}
	return Decision{}, false
}

// Ordinary is false for what an approval of "this kind of call" does not cover: calls that the owner confirms one by one, sensitive paths, private
// networks, and hob itself.
func Ordinary(i tools.Intent) bool {
	return i.Confirm == "" && !i.Private && !slices.Contains(i.Scopes, tools.Config) && !slices.ContainsFunc(i.Paths, func(p tools.Path) bool { return p.Area == tools.Sensitive || p.Guarded })
}

// changes is false for a call that only reads, that touches only its conversation, or that only sends the owner a message.
func changes(i tools.Intent) bool {
	toOwner := len(i.Addresses) > 0 && !slices.ContainsFunc(i.Addresses, func(a event.Address) bool { return a != event.ToOwner })
	return i.Effect != tools.Read && slices.ContainsFunc(i.Scopes, func(s tools.Scope) bool { return s != tools.Messages || !toOwner })
}

// stricter returns the stricter of two decisions; a if they are equal.
func stricter(a, b Decision) Decision {
	order := []Verdict{Allow, Ask, Deny}
	if slices.Index(order, b.Verdict) > slices.Index(order, a.Verdict) {
		return b
	}
	return a
}

// ForeignSource says where a call gets foreign text from; "": it brings none into the conversation. A call that only writes brings none.
func ForeignSource(i tools.Intent) string {
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
