package webhook

import (
	"encoding/json"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/scheduler"
)

// Draft is a webhook as it is asked for. A section [hooks.NAME] of the config, the arguments of the API and the flags of hob hook add decode into
// it. Empty fields take their defaults. Fields describes the fields that people give.
type Draft struct {
	Name      string        `json:"name" toml:"-"`
	Kind      string        `json:"kind" toml:"kind"` // default: standard
	Secret    string        `json:"secret" toml:"secret"`
	OldSecret string        `json:"old_secret" toml:"old_secret"`
	Prompt    string        `json:"prompt" toml:"prompt"`
	Deliver   string        `json:"deliver" toml:"deliver"` // channel:address, owner (default) or none
	Allow     string        `json:"allow" toml:"-"`
	Rights    []string      `json:"-" toml:"allow"`
	PerMinute int           `json:"per_minute" toml:"per_minute"`
	MaxBody   int64         `json:"max_body" toml:"max_body"`
	Tolerance time.Duration `json:"tolerance" toml:"tolerance"`
	Once      time.Duration `json:"once" toml:"once"` // as Hook.Once
	Header    string        `json:"header" toml:"header"`

	// The rest is set by the one who decodes the draft, never by what is decoded.

	Origin  string            `json:"-" toml:"-"` // default: run-time
	Mandate scheduler.Mandate `json:"-" toml:"-"` // what the caller has worked out of the rights
}

// Texts is a draft without its name as the API takes it: every field is a text, and "" is not given. Fields says how each is read.
type Texts struct {
	Prompt    string `json:"prompt" need:"true"`
	Kind      string `json:"kind,omitempty"`
	Secret    string `json:"secret,omitempty"`
	OldSecret string `json:"old_secret,omitempty"`
	Deliver   string `json:"deliver,omitempty"`
	Allow     string `json:"allow,omitempty"`
	PerMinute string `json:"per_minute,omitempty"`
	MaxBody   string `json:"max_body,omitempty"`
	Tolerance string `json:"tolerance,omitempty"`
	Once      string `json:"once,omitempty"`
	Header    string `json:"header,omitempty"`
}

// Field points at the text of a field; nil for the name.
func (t *Texts) Field(name string) *string {
	if name == "name" {
		return nil
	}
	return scheduler.Target(t, name).(*string)
}

// Fields describes the fields of a webhook, in the order in which people read about them.
func Fields() []scheduler.Field {
	return []scheduler.Field{
		{Note: schema.Note{Name: "name"}, Flag: "what to call it: the end of its address"},
		{
			Note: schema.Note{Name: "kind", Unset: "`standard`", Words: Kinds(), Example: `"sha256"`, Doc: "How its senders sign; `none` takes what anybody sends."},
			Flag: "how its senders sign: " + strings.Join(Kinds(), ", ") + " (default standard)",
		},
		{
			Note: schema.Note{Name: "secret", Unset: "a mistake, but for kind `none`", Example: `"env:HOOK_SECRET"`, Doc: "What the senders sign with."},
			Flag: "what they sign with: env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, or - to read it from standard input (default: hob makes one)",
		},
		{
			Note: schema.Note{Name: "old_secret", Unset: "none", Example: `"env:OLD_HOOK_SECRET"`, Doc: "The secret before it, which is taken too while the senders change."},
			Flag: "the secret before it, by reference, which is taken too",
		},
		{Note: schema.Note{Name: "prompt", Unset: "a mistake", Example: `"Say what failed in {{.repository.name}}."`, Doc: "What is to be done; it must be there, and may have fields of the payload in it: see webhooks.md."}},
		{
			Note: schema.Note{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "Where its answer goes: channel:address, `owner` or `none`."},
			Flag: "where the answer goes: owner, none or an address (default owner)",
		},
		{
			Note: schema.Note{Name: "allow", Unset: "none", Example: `["net:example.org"]`, Pattern: `^(net(:.+)?|read:[/~].*|message:.+)$`, Doc: "Rights that its runs have without asking: `net`, `net:HOST`, `read:PATH`, `message:ADDRESS`."},
			Flag: "rights that its runs have without asking: net, net:HOST, read:PATH, message:ADDRESS, with commas between them",
		},
		{
			Note: schema.Note{Name: "per_minute", Unset: "60, unsigned 10", Example: "60", Least: "1", Most: "6000", Doc: "How many requests it takes in a minute."},
			Flag: "how many requests it takes in a minute (default 60, unsigned 10)",
		},
		{
			Note: schema.Note{Name: "max_body", Unset: "1 MiB", Example: "1048576", Least: "1", Most: "10485760", Doc: "How many bytes a request may have."},
			Flag: "how many bytes a request may have, up to 10 MiB (default 1 MiB)",
		},
		{
			Note: schema.Note{Name: "tolerance", Unset: "`5m`", Example: `"5m"`, Least: "1s", Most: "24h", Doc: "How far a sender's clock may be off."},
			Flag: "how far a sender's clock may be off (default 5m)",
		},
		{
			Note: schema.Note{Name: "once", Unset: "`720h` of kinds `github` and `sha256`", Example: `"720h"`, Least: "0s", Most: "8760h", Doc: "Of kinds `github` and `sha256`, which do not sign the id: for this long, two deliveries with the same body count as one, even if their ids differ; 0s: only the id counts."},
			Flag: "of kinds github and sha256: for this long, two deliveries with the same body count as one, even if their ids differ; 0s: only the id counts (default 720h)",
		},
		{
			Note: schema.Note{Name: "header", Unset: "`X-Signature-256`, `X-Hub-Signature-256`", Example: `"X-Signature"`, Doc: "Of kind `sha256`: the header with the signature."},
			Flag: "of kind sha256: the header with the signature (default X-Signature-256, X-Hub-Signature-256)",
		},
	}
}

// View is a webhook as it is shown. It has no secret.
type View struct {
	ID        int64         `json:"id"`
	Name      string        `json:"name" toml:"-"`
	Kind      string        `json:"kind"` // how its senders sign: standard, github, slack, stripe, sha256; none: not at all
	URL       string        `json:"url"`  // on this machine; from elsewhere a tunnel or a reverse proxy leads to it
	Prompt    string        `json:"prompt"`
	Deliver   event.Address `json:"deliver"`
	Tolerance string        `json:"tolerance"`        // how far a sender's clock may be off
	MaxBody   int64         `json:"max_body"`         // bytes
	PerMinute int           `json:"per_minute"`       // requests with the right signature; of kind none: all requests
	Once      string        `json:"once,omitempty"`   // for this long, the same body is the same delivery, even if its id differs; of kinds github and sha256
	Header    string        `json:"header,omitempty"` // with the signature, of kind sha256
	Allow     []string      `json:"allow,omitempty"`  // rights that its runs have without asking
	Origin    string        `json:"origin"`           // run-time or config
	Paused    bool          `json:"paused"`
	Broken    string        `json:"broken,omitempty"` // why it cannot be used
	Off       string        `json:"off,omitempty"`    // why it lets nobody in now: its secret cannot be found
	Failures  int           `json:"failures"`         // in a row
	Created   time.Time     `json:"created"`
}

// Made is a webhook that was just made or given a new secret. The secret is shown this once, and only when hob made it.
type Made struct {
	View
	Secret string `json:"secret,omitempty"`
}

// Trial is what a test of a webhook came to.
type Trial struct {
	URL    string          `json:"url"`
	Status int             `json:"status"` // of HTTP
	Answer json.RawMessage `json:"answer"` // what the sender would have been told
	Inbox  int64           `json:"inbox,omitempty"`
}
