package triggers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/webhook"
)

// Add makes a webhook.
// A taken name is an error of Put. Made has the secret only if hob made it; it is not shown again.
func (d *Webhooks) Add(ctx context.Context, name string, in webhook.Texts) (webhook.Made, error) {
	draft, err := draftOf(name, in)
	if err != nil {
		return webhook.Made{}, err
	}
	h, err := webhook.New(draft, d.Clock.Wall())
	if err != nil {
		return webhook.Made{}, invalid(err)
	}
	if h.Plain, err = d.Plain(h.Prompt, draft.Plain, "", false); err != nil {
		return webhook.Made{}, err
	}
	if why := d.Unheard(h.Deliver); why != "" {
		return webhook.Made{}, event.NewFault(event.Missing, noChannel, "%s", why)
	}
	made := webhook.Made{}
	lines := joined(draft.Secret, draft.OldSecret)
	// Without a secret of the caller hob makes one and shows it once; the row keeps it.
	if lines == "" && h.Kind != webhook.None {
		if made.Secret, err = newSecret(d.IDs, h.Kind); err != nil {
			return webhook.Made{}, err
		}
		lines = made.Secret
	}
	defer d.forget(h.Name)
	// The secret is resolved before the row is written: a webhook that could verify nothing is refused.
	if err := d.usable(ctx, h, lines); err != nil {
		return webhook.Made{}, err
	}
	if h.ID, err = d.Rows.Put(ctx, h, lines); err != nil {
		return webhook.Made{}, err
	}
	made.View = d.shown(h)
	return made, nil
}

// Pause makes a webhook answer as if it did not exist.
func (d *Webhooks) Pause(ctx context.Context, name string) (webhook.View, error) {
	return setPaused(ctx, d, name, true)
}

// Resume lets a paused webhook receive again.
func (d *Webhooks) Resume(ctx context.Context, name string) (webhook.View, error) {
	return setPaused(ctx, d, name, false)
}

// setPaused pauses or resumes a webhook, also one of the config: Sync keeps the pause.
func setPaused(ctx context.Context, d *Webhooks, name string, paused bool) (webhook.View, error) {
	h, _, err := d.Rows.Named(ctx, name)
	if err != nil {
		return webhook.View{}, err
	}
	if h.Paused == paused {
		return webhook.View{}, event.NewFault(event.Clash, "", "webhook %s is %s already", h.Name, map[bool]string{true: "paused", false: "receiving"}[paused])
	}
	h.Paused = paused
	return d.shown(h), d.Rows.Pause(ctx, h.ID, paused)
}

// Remove deletes a webhook and its secret.
func (d *Webhooks) Remove(ctx context.Context, name string) (webhook.View, error) {
	h, _, err := d.Rows.Named(ctx, name)
	if err == nil {
		err = changeable(h)
	}
	if err != nil {
		return webhook.View{}, err
	}
	defer d.forget(h.Name)
	return d.shown(h), d.Rows.Remove(ctx, h.ID)
}

// changeable refuses a webhook of the config.
func changeable(h webhook.Hook) error {
	if h.Origin != OriginConfig {
		return nil
	}
	return event.NewFault(event.Refused, "change [hooks."+h.Name+"] in config.toml", "webhook %s is set in config.toml, which only you change", h.Name)
}

// senderHint is the hint for a webhook whose senders take no secret of hob.
const senderHint = "give hob that one: --secret env:NAME or --secret file:PATH, or --secret - to read it from standard input"

// newSecret returns a random secret of 200 bits. It refuses a kind whose senders would not take it.
func newSecret(ids sys.IDs, kind webhook.Kind) (string, error) {
	if issuer := kind.Issuer(); issuer != "" {
		return "", event.NewFault(event.Invalid, senderHint, "secret: %s makes the secret itself and takes no other", issuer)
	}
	return webhook.NewSecret([]byte(ids.Code(40))), nil
}

// joined returns references as a row stores them: one per line.
func joined(refs ...string) string { return strings.Join(secretLines(strings.Join(refs, "\n")), "\n") }

// usable resolves the secrets once before a webhook is stored, so that the caller learns of a mistake.
func (d *Webhooks) usable(ctx context.Context, h webhook.Hook, lines string) error {
	list, err := d.secrets(ctx, h.Name, lines)
	if err != nil {
		return event.NewFault(event.Invalid, "a secret is named by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, as hob itself sees it", "secret: %v", err)
	}
	if h.Kind == webhook.None && len(list) > 0 {
		return event.NewFault(event.Invalid, "leave out the secret, or choose another kind", "secret: kind none has none")
	}
	for _, s := range list {
		if err := webhook.CheckSecret(h.Kind, s); err != nil {
			hint := "leave the secret out, and hob makes one"
			if h.Kind.Issuer() != "" {
				hint = senderHint
			}
			return event.NewFault(event.Invalid, hint, "secret: %v", err)
		}
	}
	return nil
}

// Rotate gives a webhook a new secret. Until in.Done, senders may sign with the previous secret too.
func (d *Webhooks) Rotate(ctx context.Context, name string, in api.WebhookRotation) (webhook.Made, error) {
	if err := oneLine(in.Secret); err != nil {
		return webhook.Made{}, err
	}
	h, lines, err := d.Rows.Named(ctx, name)
	if err == nil {
		err = changeable(h)
	}
	if err != nil {
		return webhook.Made{}, err
	}
	// The first line is the present secret; a second one is the secret before it, until all senders have changed.
	have := secretLines(lines)
	if h.Kind == webhook.None || len(have) == 0 {
		return webhook.Made{}, event.NewFault(event.Clash, "", "webhook %s has no secret", h.Name)
	}
	if in.Done == "" && len(have) > 1 { // a third would take the first one from the senders that still use it
		return webhook.Made{}, event.NewFault(event.Clash, "when its senders have the new one: hob hook rotate --done "+h.Name, "webhook %s has a new secret already, and takes the one before it too", h.Name)
	}
	made := webhook.Made{View: d.shown(h)}
	made.Rotating = in.Done == ""
	// With in.Done only the present secret is left. Otherwise the new one comes first, and the present one becomes the previous one.
	next := have[0]
	if in.Done == "" {
		if in.Secret == "" {
			if made.Secret, err = newSecret(d.IDs, h.Kind); err != nil {
				return webhook.Made{}, err
			}
		}
		next = joined(cmp.Or(in.Secret, made.Secret), have[0])
	}
	defer d.forget(h.Name)
	if err := d.usable(ctx, h, next); err != nil {
		return webhook.Made{}, err
	}
	_, err = d.Rows.Put(ctx, h, next)
	return made, err
}

// oneLine refuses a secret of several lines: a row has a line for each of its secrets.
func oneLine(secret string) error {
	if strings.ContainsAny(secret, "\r\n") {
		return invalid(errors.New("secret: it has more than one line"))
	}
	return nil
}

// draftOf reads the arguments of Add.
func draftOf(name string, in webhook.Texts) (webhook.Draft, error) {
	d := webhook.Draft{Name: name}
	err := oneLine(in.Secret + in.OldSecret)
	if err != nil {
		return d, err
	}
	if d.Permissions.Allow, err = policy.RightsOfOthers(in.Allow, fsguard.Absolute); err != nil {
		return d, invalid(fmt.Errorf("allow: %w", err))
	}
	// The table of fields decides how each text is parsed. A field that it does not have cannot be set.
	for _, f := range webhook.Fields() {
		if text := in.Field(f.Name); text != nil && *text != "" {
			if err := scheduler.Set(&d, f, *text); err != nil {
				return d, invalid(err)
			}
		}
	}
	if in.Once != "" {
		d.Once = cmp.Or(d.Once, webhook.OnlyID)
	}
	return d, nil
}

// invalid turns a mistake in the arguments into a fault for the API.
func invalid(err error) error {
	return event.NewFault(event.Invalid, "see: hob hook add --help", "%v", err)
}
