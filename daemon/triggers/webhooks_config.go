package triggers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler/hook"
)

// Section is [hooks.NAME] of the config.
type WebhookSection struct {
	Kind      string        `toml:"kind"`
	Secret    string        `toml:"secret"`
	OldSecret string        `toml:"old_secret"`
	Prompt    string        `toml:"prompt"`
	Deliver   string        `toml:"deliver"`
	Allow     []string      `toml:"allow"`
	PerMinute int           `toml:"per_minute"`
	MaxBody   int64         `toml:"max_body"`
	Tolerance time.Duration `toml:"tolerance"`
	Once      time.Duration `toml:"once"`
	Header    string        `toml:"header"`
}

// unset stands for a number that is not written down: what holds then depends on the kind.
const unset = -1 << 31

// decoded reads a section: what it does not name has its default.
func decoded(decode func(any) error) (WebhookSection, error) {
	in := WebhookSection{Kind: string(hook.Standard), PerMinute: unset, MaxBody: hook.DefaultBody, Tolerance: hook.DefaultTolerance, Once: unset}
	err := decode(&in)
	if in.PerMinute == unset {
		in.PerMinute = hook.Rate(hook.Kind(in.Kind))
	}
	if in.Once == unset {
		in.Once = hook.BodyCounts(hook.Kind(in.Kind))
	}
	return in, err
}

// limits compares the values with what the keys allow.
func (in WebhookSection) limits() error {
	var list []error
	fields := schema.Fields(reflect.ValueOf(&in).Elem())
	for _, k := range schema.Describe(WebhookSection{}, WebhookNotes()) {
		if text := k.Within(fields[k.Name]); text != "" {
			list = append(list, fmt.Errorf("%s: %s", k.Name, text))
		}
	}
	return errors.Join(list...)
}

// hook makes the webhook of a section. Its error's lines begin with the key that they are about, one for each key that is wrong.
func (in WebhookSection) hook(name string, now time.Time) (hook.Hook, error) {
	limits := in.limits()
	rights, wrong := policy.RightsOfOthers(strings.Join(in.Allow, ","), fsguard.Absolute)
	if wrong != nil {
		wrong = fmt.Errorf("allow: %w", wrong)
	}
	h, err := hook.New(hook.Draft{
		Name: name, Prompt: in.Prompt, Kind: in.Kind, Deliver: in.Deliver, Header: in.Header, Tolerance: in.Tolerance, MaxBody: in.MaxBody,
		PerMinute: in.PerMinute, Once: cmp.Or(in.Once, hook.OnlyID), Allow: rights, Origin: OriginConfig,
	}, now)
	return h, firsts(limits, err, in.signed(), wrong)
}

// signed says what is wrong with the secrets for the kind.
func (in WebhookSection) signed() error {
	switch signed := in.Kind != string(hook.None); {
	case signed && in.Secret == "":
		return errors.New(`secret: it is missing; kind = "none" takes what is not signed`)
	case !signed && in.Secret+in.OldSecret != "":
		return errors.New("secret: kind none has none")
	}
	return nil
}

// firsts joins errors whose lines begin with the key that they are about: the first line of each key.
func firsts(errs ...error) error {
	var list []error
	seen := map[string]bool{}
	for _, err := range errs {
		if err == nil {
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			key := line[:max(strings.IndexAny(line, ": "), 0)]
			if !seen[key] {
				list = append(list, errors.New(line))
			}
			seen[key] = true
		}
	}
	return errors.Join(list...)
}

// Check says what is wrong with a section: its lines begin with the key that they are about. No secret is looked up.
func CheckWebhook(name string, decode func(any) error, now time.Time) error {
	in, err := decoded(decode)
	if err != nil {
		return err
	}
	_, err = in.hook(name, now)
	return err
}

// Secrets are the references of a section's secrets, by their keys. What is wrong with the section Check says.
func WebhookSecrets(decode func(any) error) map[string]string {
	in, err := decoded(decode)
	if err != nil {
		return nil
	}
	list := map[string]string{"secret": in.Secret, "old_secret": in.OldSecret}
	maps.DeleteFunc(list, func(_, ref string) bool { return ref == "" })
	return list
}

// Notes describe the keys of a section.
func WebhookNotes() []schema.Note {
	return []schema.Note{
		{Name: "kind", Unset: "`standard`", Words: hook.Kinds(), Example: `"sha256"`, Doc: "How its senders sign; `none` takes what anybody sends."},
		{Name: "secret", Unset: "a mistake, but for kind `none`", Example: `"env:HOOK_SECRET"`, Doc: "What the senders sign with."},
		{Name: "old_secret", Unset: "none", Example: `"env:OLD_HOOK_SECRET"`, Doc: "The secret before it, which is taken too while the senders change."},
		{Name: "prompt", Unset: "a mistake", Example: `"Say what failed in {{.repository.name}}."`, Doc: "What is to be done; it must be there, and may have fields of the payload in it: see webhooks.md."},
		{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "Where its answer goes: channel:address, `owner` or `none`."},
		{Name: "allow", Unset: "none", Example: `["net:example.org"]`, Pattern: `^(net(:.+)?|read:[/~].*|message:.+)$`, Doc: "Rights that its runs have without asking: `net`, `net:HOST`, `read:PATH`, `message:ADDRESS`."},
		{Name: "per_minute", Unset: "60, unsigned 10", Example: "60", Least: "1", Most: "6000", Doc: "How many requests it takes in a minute."},
		{Name: "max_body", Unset: "1 MiB", Example: "1048576", Least: "1", Most: "10485760", Doc: "How many bytes a request may have."},
		{Name: "tolerance", Unset: "`5m`", Example: `"5m"`, Least: "1s", Most: "24h", Doc: "How far a sender's clock may be off."},
		{Name: "once", Unset: "`720h` of kinds `github` and `sha256`", Example: `"720h"`, Least: "0s", Most: "8760h", Doc: "Of kinds `github` and `sha256`, which do not sign the id: for this long, two deliveries with the same body count as one, even if their ids differ; 0s: only the id counts."},
		{Name: "header", Unset: "`X-Signature-256`, `X-Hub-Signature-256`", Example: `"X-Signature"`, Doc: "Of kind `sha256`: the header with the signature."},
	}
}
