// Package webhook defines webhooks: how a sender proves its identity (verify.go), which requests are repetitions, and how a payload becomes
// an inbox row (payload.go, template.go). The API server receives the request, calls Verify, Delivery and Input, and commits the row before
// it answers. The package is pure: it reads no clock and does no I/O.
package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// Kind is the signature scheme of a sender.
type Kind string

// The kinds of webhooks.
const (
	Standard Kind = "standard" // Standard Webhooks: webhook-id, webhook-timestamp, webhook-signature
	GitHub   Kind = "github"   // X-Hub-Signature-256
	Slack    Kind = "slack"    // X-Slack-Signature
	Stripe   Kind = "stripe"   // Stripe-Signature
	SHA256   Kind = "sha256"   // a plain HMAC of the body in a header
	None     Kind = "none"     // unsigned: anybody may send
)

// Kinds returns all kinds, the default first.
func Kinds() []string {
	return []string{string(Standard), string(GitHub), string(Slack), string(Stripe), string(SHA256), string(None)}
}

// Issuer returns the name of the service that makes the secrets of this kind itself; "" if its senders take a secret of the owner.
func (k Kind) Issuer() string {
	return map[Kind]string{Slack: "Slack", Stripe: "Stripe"}[k]
}

// The defaults and limits of a hook.
const (
	DefaultTolerance = 5 * time.Minute
	DefaultBody      = 1 << 20 // bytes
	MostBody         = 10 << 20
	DefaultRate      = 60 // requests per minute
	UnsignedRate     = 10
	mostRate         = 6000
	longestTolerance = 24 * time.Hour
	longestOnce      = 365 * 24 * time.Hour
	defaultOnce      = 30 * 24 * time.Hour
	longestName      = 64
)

// OnlyID is the Once of a hook that identifies deliveries by their ids alone.
const OnlyID time.Duration = -1

// Hook is an address for requests of others. Its Prompt is the owner's template.
type Hook struct {
	scheduler.Trigger
	Kind      Kind          `json:"kind"`
	Tolerance time.Duration `json:"tolerance"`        // allowed difference of a sender's timestamp, in both directions
	MaxBody   int64         `json:"max_body"`         // bytes
	PerMinute int           `json:"per_minute"`       // limit of accepted requests; for the kind None, of all requests
	Once      time.Duration `json:"once,omitempty"`   // only GitHub and SHA256: for this time the same body is the same delivery; 0: the default, OnlyID: never. SameBody returns the effective value
	Header    string        `json:"header,omitempty"` // only SHA256: the header with the signature; "": X-Signature-256 or X-Hub-Signature-256
}

// New creates a hook from a draft. The error has one line for each fault of the draft, starting with the field's name. The caller sets the
// ID and makes sure that the name is unique.
func New(d Draft, now time.Time) (Hook, error) {
	kind := Kind(cmp.Or(strings.ToLower(strings.TrimSpace(d.Kind)), string(Standard)))
	deliver, wrong := event.ParseAddress(cmp.Or(strings.TrimSpace(d.Deliver), string(event.ToOwner)))
	h := Hook{
		Trigger: scheduler.Trigger{
			Name: strings.TrimSpace(d.Name), Prompt: strings.TrimSpace(d.Prompt), Deliver: deliver, Trust: event.Owner,
			Origin: cmp.Or(d.Origin, "run-time"), Created: now.UTC().Truncate(time.Second), Permissions: d.Permissions,
		},
		Kind: kind, Tolerance: cmp.Or(d.Tolerance, DefaultTolerance), MaxBody: cmp.Or(d.MaxBody, DefaultBody), PerMinute: cmp.Or(d.PerMinute, Rate(kind)),
		Once: d.Once, Header: strings.TrimSpace(d.Header),
	}
	if wrong != nil {
		wrong = fmt.Errorf("deliver: %w", wrong)
	}
	return h, errors.Join(append(h.faults(), wrong)...)
}

// looseID reports whether senders of this kind sign neither an id nor a time. A copy of a delivery under another id then has a valid
// signature.
func (k Kind) looseID() bool { return k == GitHub || k == SHA256 }

// BodyCounts returns the default of SameBody for a kind; 0 if the sender signs an id or a time, or nothing at all.
func BodyCounts(kind Kind) time.Duration {
	if kind.looseID() {
		return defaultOnce
	}
	return 0
}

// SameBody returns how long two deliveries with the same body are one delivery, even if their ids differ. 0 means that only the id counts.
func (h Hook) SameBody() time.Duration {
	if h.Once == 0 {
		return BodyCounts(h.Kind)
	}
	return max(h.Once, 0)
}

// Rate returns the default limit of requests per minute for a kind.
func Rate(kind Kind) int {
	if kind == None {
		return UnsignedRate
	}
	return DefaultRate
}

// faults returns the faults of a hook.
func (h Hook) faults() (list []error) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			list = append(list, fmt.Errorf(format, args...))
		}
	}
	_, broken := Parse(h.Prompt)
	add(!goodName(h.Name), "name %q: want at most %d of A-Z a-z 0-9 - and _, a letter among them and no - in front: it becomes part of an address", h.Name, longestName)
	add(!slices.Contains(Kinds(), string(h.Kind)), "kind %q: want %s", h.Kind, strings.Join(Kinds(), ", "))
	unusable := scheduler.CheckPrompt(h.Prompt, "say what to do with a request")
	add(unusable != nil, "%w", unusable)
	add(broken != nil, "prompt: %w", broken)
	add(h.Tolerance < time.Second || h.Tolerance > longestTolerance, "tolerance %v: want from 1s to %v", h.Tolerance, longestTolerance)
	add(h.MaxBody < 1 || h.MaxBody > MostBody, "max_body %d: want from 1 to %d bytes", h.MaxBody, MostBody)
	add(h.PerMinute < 1 || h.PerMinute > mostRate, "per_minute %d: want from 1 to %d", h.PerMinute, mostRate)
	add(h.Once > longestOnce, "once %v: want at most %v", h.Once, longestOnce)
	add(h.Once > 0 && !h.Kind.looseID(), "once: only the kinds github and sha256 have no time in what is signed")
	add(h.Header != "" && h.Kind != SHA256, "header: only kind sha256 has a header of your choice")
	add(h.Header != "" && strings.ContainsFunc(h.Header, notToken), "header %q: this is not the name of a header", h.Header)
	return list
}

// goodName reports whether a name can be part of an address unchanged.
func goodName(name string) bool {
	return name != "" && name[0] != '-' && len(name) <= longestName && !strings.ContainsFunc(name, notToken) && strings.ContainsFunc(name, letter)
}

// letter and notToken know ASCII only, so that a name needs no escaping in a URL or a header.
func letter(r rune) bool   { return r|0x20 >= 'a' && r|0x20 <= 'z' }
func notToken(r rune) bool { return !letter(r) && (r < '0' || r > '9') && r != '-' && r != '_' }

// Session returns the session of the hook's turns.
func (h Hook) Session() string { return "hook:" + h.Name }

// trust returns the trust of an accepted request.
func (h Hook) trust() event.Trust {
	if h.Kind == None {
		return event.Public
	}
	return event.Machine
}

// Input returns the inbox row of an accepted request. id is the sender's id of the delivery, or a new one. Somebody else wrote the payload,
// so the row is tainted and not typed.
func (h Hook) Input(r Request, id string) (event.In, error) {
	t, err := Parse(h.Prompt)
	if err != nil {
		return event.In{}, fmt.Errorf("the prompt of webhook %s: %w", h.Name, err)
	}
	p := Read(r)
	said, missing := t.Render(p)
	parts := event.Say(said)
	// A prompt for a model is followed by the payload; a text that is delivered directly is not.
	if !t.Says() {
		parts = append(parts, event.Say(p.Data(h.Name, missing))...)
	}
	return event.In{
		Source: h.Session(), ExtID: id, Session: h.Session(), Kind: event.Fire, Rank: event.RankRest, Trust: h.trust(), Tainted: true,
		Sender: h.Name, ReplyTo: h.Deliver, Parts: parts, Received: r.At,
	}, nil
}
