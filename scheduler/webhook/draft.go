package webhook

import (
	"encoding/json"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/scheduler"
)

// Draft is a requested webhook. A config section [hooks.NAME], the arguments of the API, and the flags of hob hook add decode into it. An
// empty field takes its default. Fields describes the fields for people.
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
	Plain     *bool         `json:"plain" toml:"plain"` // see event.Prompts

	// The decoding code sets the remaining fields; they never come from the input.

	Origin      string                `json:"-" toml:"-"` // default: run-time
	Permissions scheduler.Permissions `json:"-" toml:"-"` // the checked rights
}

// Texts is a draft without its name, as the API accepts it: every field is a text, "" for not given. Fields describes how each is parsed.
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
	Plain     string `json:"plain,omitempty"`
}

// Field returns a pointer to the text of a field, nil for the name.
func (t *Texts) Field(name string) *string {
	if name == "name" {
		return nil
	}
	text, _ := scheduler.Target(t, name).(*string) // all fields are texts
	return text
}

// Fields describes the fields of a webhook, in the order of the documentation.
func Fields() []scheduler.Field {
	return []scheduler.Field{
		{Note: schema.Note{Name: "name"}, Flag: "its name, the last part of its address"},
		{
			Note: schema.Note{Name: "kind", Unset: "`standard`", Words: Kinds(), Example: `"sha256"`, Doc: "How its senders sign; `none` accepts unsigned requests from anybody."},
			Flag: "how its senders sign: " + strings.Join(Kinds(), ", ") + " (default standard)",
		},
		{
			Note: schema.Note{Name: "secret", Unset: "a mistake, but for kind `none`", Example: `"env:HOOK_SECRET"`, Doc: "The secret with which the senders sign."},
			Flag: "their secret: env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, or - to read it from standard input (default: hob creates one, except for slack and stripe)",
		},
		{
			Note: schema.Note{Name: "old_secret", Unset: "none", Example: `"env:OLD_HOOK_SECRET"`, Doc: "The previous secret, which is also accepted while the senders change."},
			Flag: "a reference to the previous secret, which is also accepted",
		},
		{Note: schema.Note{Name: "prompt", Unset: "a mistake", Example: `"Tell me what failed in {{.repository.name}}."`, Doc: "What to do. Required. It may contain fields of the payload: see webhooks.md."}},
		{
			Note: schema.Note{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "The recipient of its answer: channel:address, `owner` or `none`."},
			Flag: "where the answer goes: owner, none or an address (default owner)",
		},
		{
			Note: schema.Note{Name: "allow", Unset: "none", Example: `["net:example.org"]`, Pattern: `^(net(:.+)?|read:[/~].*|message:.+)$`, Doc: "Rights that its runs have without asking: `net`, `net:HOST`, `read:PATH`, `message:ADDRESS`."},
			Flag: "rights that its runs have without asking: net, net:HOST, read:PATH, message:ADDRESS, separated by commas",
		},
		{
			Note: schema.Note{Name: "per_minute", Unset: "60, unsigned 10", Example: "60", Least: "1", Most: "6000", Doc: "The limit of requests per minute."},
			Flag: "the limit of requests per minute (default 60, unsigned 10)",
		},
		{
			Note: schema.Note{Name: "max_body", Unset: "1 MiB", Example: "1048576", Least: "1", Most: "10485760", Doc: "The largest request, in bytes."},
			Flag: "the largest request in bytes, up to 10 MiB (default 1 MiB)",
		},
		{
			Note: schema.Note{Name: "tolerance", Unset: "`5m`", Example: `"5m"`, Least: "1s", Most: "24h", Doc: "The allowed difference of the sender's clock."},
			Flag: "the allowed difference of the sender's clock (default 5m)",
		},
		{
			Note: schema.Note{Name: "once", Unset: "`720h` of kinds `github` and `sha256`", Example: `"720h"`, Least: "0s", Most: "8760h", Doc: "For the kinds `github` and `sha256`, which do not sign the id: for this time, two deliveries with the same body count as one, even if their ids differ; 0s: only the id counts."},
			Flag: "for the kinds github and sha256: for this time, two deliveries with the same body count as one, even if their ids differ; 0s: only the id counts (default 720h)",
		},
		scheduler.PlainField("webhook"),
		{
			Note: schema.Note{Name: "header", Unset: "`X-Signature-256`, `X-Hub-Signature-256`", Example: `"X-Signature"`, Doc: "For the kind `sha256`: the header with the signature."},
			Flag: "for the kind sha256: the header with the signature (default X-Signature-256, X-Hub-Signature-256)",
		},
	}
}

// View is a webhook as lists and details show it, without its secret.
type View struct {
	ID         int64         `json:"id"`
	Name       string        `json:"name" toml:"-"`
	Kind       string        `json:"kind"` // how its senders sign: standard, github, slack, stripe, sha256, or none
	URL        string        `json:"url"`  // on this machine; from elsewhere a tunnel or reverse proxy leads to it
	Prompt     string        `json:"prompt"`
	Deliver    event.Address `json:"deliver"`
	Tolerance  string        `json:"tolerance"`             // allowed difference of a sender's clock
	MaxBody    int64         `json:"max_body"`              // bytes
	PerMinute  int           `json:"per_minute"`            // limit of correctly signed requests; for the kind none, of all requests
	Once       string        `json:"once,omitempty"`        // for this time the same body is the same delivery, even if its id differs; kinds github and sha256
	Header     string        `json:"header,omitempty"`      // header with the signature; kind sha256
	Allow      []string      `json:"allow,omitempty"`       // rights of its runs without asking
	Plain      bool          `json:"plain,omitempty"`       // it asks no model: the built-in interpreter carries out the prompt
	NeedsModel bool          `json:"needs_model,omitempty"` // no model is connected, and without one each run fails
	Origin     string        `json:"origin"`                // run-time or config
	Paused     bool          `json:"paused"`
	Broken     string        `json:"broken,omitempty"`   // why it cannot be used
	Off        string        `json:"off,omitempty"`      // why it accepts nothing now: its secret cannot be found
	Rotating   bool          `json:"rotating,omitempty"` // the secret before the present one is still taken
	Failures   int           `json:"failures"`           // in a row
	Created    time.Time     `json:"created"`
}

// Made is a webhook that was just created or got a new secret. The secret is shown only now, and only if hob created it.
type Made struct {
	View
	Secret string `json:"secret,omitempty"`
}

// Trial is the result of testing a webhook.
type Trial struct {
	URL    string          `json:"url"`
	Status int             `json:"status"` // of HTTP
	Answer json.RawMessage `json:"answer"` // the answer for the sender
	Inbox  int64           `json:"inbox,omitempty"`
}
