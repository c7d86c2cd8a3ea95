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
	"hob/scheduler"
	"hob/scheduler/webhook"
)

// unset marks a number that the section does not set. Its default depends on the kind.
const unset = -1 << 31

// decodeWebhook reads a section [hooks.NAME]. Missing keys get their defaults.
func decodeWebhook(name string, decode func(any) error) (webhook.Draft, error) {
	in := webhook.Draft{Kind: string(webhook.Standard), PerMinute: unset, MaxBody: webhook.DefaultBody, Tolerance: webhook.DefaultTolerance, Once: unset}
	err := decode(&in)
	in.Name, in.Origin = name, OriginConfig
	if in.PerMinute == unset {
		in.PerMinute = webhook.Rate(webhook.Kind(in.Kind))
	}
	if in.Once == unset {
		in.Once = webhook.BodyCounts(webhook.Kind(in.Kind))
	}
	return in, err
}

// outside returns an error for each value that its key does not allow.
func outside(in webhook.Draft) error {
	var list []error
	fields := schema.Fields(reflect.ValueOf(&in).Elem())
	for _, k := range WebhookKeys() {
		if text := k.Within(fields[k.Name]); text != "" {
			list = append(list, fmt.Errorf("%s: %s", k.Name, text))
		}
	}
	return errors.Join(list...)
}

// webhookOf makes the webhook of a section. Its error has one line for each wrong key, which begins with that key.
func webhookOf(in webhook.Draft, now time.Time) (webhook.Hook, error) {
	// Each check reports by key. Several may report the same key; firsts keeps the first, which is the most precise.
	limits := outside(in)
	rights, wrong := policy.RightsOfOthers(strings.Join(in.Rights, ","), fsguard.Absolute)
	if wrong != nil {
		wrong = fmt.Errorf("allow: %w", wrong)
	}
	d := in
	d.Once, d.Permissions.Allow = cmp.Or(in.Once, webhook.OnlyID), rights
	h, err := webhook.New(d, now)
	return h, firsts(limits, err, unsigned(in), wrong)
}

// unsigned returns the mistakes in the secrets for the kind.
func unsigned(in webhook.Draft) error {
	switch signed := in.Kind != string(webhook.None); {
	case signed && in.Secret == "":
		return errors.New(`secret: it is missing; kind = "none" takes what is not signed`)
	case !signed && in.Secret+in.OldSecret != "":
		return errors.New("secret: kind none has none")
	}
	return nil
}

// firsts joins errors whose lines begin with a key, and keeps only the first line for each key.
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

// CheckWebhook returns the mistakes in a section. Each line of the error begins with the key that it is about. No secret is resolved.
func CheckWebhook(name string, decode func(any) error, now time.Time) (webhook.Hook, error) {
	in, err := decodeWebhook(name, decode)
	if err != nil {
		return webhook.Hook{}, err
	}
	return webhookOf(in, now)
}

// WebhookSecrets returns the secret references of a section, by their keys. Mistakes in the section are left to CheckWebhook.
// The check of the config asks whether their variables and files exist, without reading them.
func WebhookSecrets(decode func(any) error) map[string]string {
	in, err := decodeWebhook("", decode)
	if err != nil {
		return nil
	}
	list := map[string]string{"secret": in.Secret, "old_secret": in.OldSecret}
	maps.DeleteFunc(list, func(_, ref string) bool { return ref == "" })
	return list
}

// WebhookKeys describes the keys of a section [hooks.NAME].
func WebhookKeys() []schema.Key {
	return schema.Describe(webhook.Draft{}, scheduler.Notes(webhook.Fields()))
}
