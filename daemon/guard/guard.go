// Package guard decides whether a call may run: allow, ask or deny. It is one pure
// function over what a call would touch, who asked, and what was granted before.
// It runs nothing, reads nothing and trusts nothing that a model says.
package guard

import (
	"crypto/sha256"
	"encoding/hex"
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

// Mode is [guard] mode.
type Mode string

// The modes: ask keeps the table; open allows all but the five denials and the state folder.
const (
	ModeAsk  Mode = "ask"
	ModeOpen Mode = "open"
)

// Grant allows calls of one tool that match a pattern, until it is revoked.
type Grant struct {
	ID      int64     `json:"id"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"` // the exact pattern of Pattern(intent); "" never matches
	Created time.Time `json:"created"`
	Uses    int64     `json:"uses"`
}

// Case is all that a decision depends on.
type Case struct {
	Tool    string
	Intent  tools.Intent
	Asker   event.Trust
	Typed   bool            // the owner typed this very call
	ReplyTo event.Address   // where the turn answers
	Known   []event.Address // the owner's addresses, and those he named
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
	Actor    string        `json:"actor"` // "thread", "api"
	Trust    event.Trust   `json:"trust"`
	ArgsHash string        `json:"hash"`
	Summary  string        `json:"summary"`
	Decision Decision      `json:"-"`
	Outcome  string        `json:"outcome,omitempty"` // "", "ok", an error code
	Took     time.Duration `json:"-"`
}

// Decide applies the table. Deny beats ask beats allow over all scopes of the call; a grant or the owner's own
// typing turns ask into allow, never deny.
func Decide(c Case) Decision {
	if d, final := always(c); final {
		return d
	}
	if c.Mode == ModeOpen {
		return Decision{Verdict: Allow, Reason: "guard.mode is open"}
	}
	worst := Decision{Verdict: Allow, Reason: "the table allows it"}
	for _, s := range c.Intent.Scopes {
		worst = stricter(worst, judge(c, s))
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
	return worst
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
	if c.Safe && slices.Contains(c.Intent.Scopes, tools.Exec) {
		return Decision{Verdict: Deny, Reason: "hob is in safe mode", Allow: "hob safe-mode off"}, true
	}
	return Decision{}, false
}

func stricter(a, b Decision) Decision {
	order := []Verdict{Allow, Ask, Deny}
	if slices.Index(order, b.Verdict) > slices.Index(order, a.Verdict) {
		return b
	}
	return a
}

func granted(c Case) (Grant, bool) {
	want := Pattern(c.Intent)
	for _, g := range c.Grants {
		if want != "" && g.Tool == c.Tool && g.Pattern == want {
			return g, true
		}
	}
	return Grant{}, false
}

// Pattern is what "always" would grant for a call: for a shell exactly this command, by the hash of its canonical bytes
// (a summary may be cut), otherwise all addresses, hosts and paths that it touches. Empty when nothing may be granted for good.
func Pattern(i tools.Intent) string {
	if slices.Contains(i.Scopes, tools.Exec) {
		sum := sha256.Sum256(i.Canonical)
		return "exactly " + i.Summary + " #" + hex.EncodeToString(sum[:8])
	}
	var parts []string
	if len(i.Addresses) > 0 {
		parts = append(parts, fmt.Sprint("to ", i.Addresses))
	}
	if len(i.Hosts) > 0 {
		parts = append(parts, fmt.Sprint("host ", i.Hosts))
	}
	for _, p := range i.Paths {
		parts = append(parts, "path "+p.Path)
	}
	return strings.Join(parts, ", ")
}
