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
	"hob/scheduler"
	"hob/scheduler/webhook"
)

// Act carries out a verb on a webhook: add, remove, pause, resume, rotate, test.
func (d *Webhooks) Act(ctx context.Context, act api.Act) (any, error) {
	if strings.ContainsAny(act.Args["secret"]+act.Args["old_secret"], "\r\n") {
		return nil, invalid(errors.New("secret: it has more than one line"))
	}
	if act.Verb == "add" {
		return d.add(ctx, act.ID, act.Args)
	}
	h, lines, err := d.Rows.Named(ctx, act.ID)
	if err != nil {
		return nil, err
	}
	switch act.Verb {
	case "test":
		return d.test(ctx, h, lines, act.Args)
	case "pause", "resume":
		return d.pause(ctx, h, act.Verb == "pause")
	}
	if h.Origin == OriginConfig {
		return nil, event.NewFault(event.Refused, "change [hooks."+h.Name+"] in config.toml", "webhook %s stands in the config: only its file changes it", h.Name)
	}
	if act.Verb == "rotate" {
		return d.rotate(ctx, h, lines, act.Args)
	}
	defer d.forget(h.Name)
	return d.shown(h), d.Rows.Remove(ctx, h.ID)
}

func (d *Webhooks) pause(ctx context.Context, h webhook.Hook, paused bool) (any, error) {
	if h.Paused == paused {
		return nil, event.NewFault(event.Clash, "", "webhook %s is %s already", h.Name, map[bool]string{true: "paused", false: "receiving"}[paused])
	}
	h.Paused = paused
	return d.shown(h), d.Rows.Pause(ctx, h.ID, paused)
}

// add makes a webhook.
func (d *Webhooks) add(ctx context.Context, name string, args map[string]string) (any, error) {
	draft, err := draftOf(name, args)
	if err != nil {
		return nil, err
	}
	h, err := webhook.New(draft, d.Clock.Wall())
	if err != nil {
		return nil, invalid(err)
	}
	if !d.Reach(h.Deliver) {
		return nil, event.NewFault(event.Missing, "[channels."+h.Deliver.Channel()+"] in config.toml makes one", "there is no channel %s", h.Deliver.Channel())
	}
	made := webhook.Made{}
	lines := joined(draft.Secret, draft.OldSecret)
	if lines == "" && h.Kind != webhook.None {
		made.Secret = d.newSecret()
		lines = made.Secret
	}
	defer d.forget(h.Name)
	if err := d.usable(ctx, h, lines); err != nil {
		return nil, err
	}
	if h.ID, err = d.Rows.Put(ctx, h, lines); err != nil {
		return nil, err
	}
	made.View = d.shown(h)
	return made, nil
}

// newSecret makes one of 200 bits.
func (d *Webhooks) newSecret() string { return webhook.NewSecret([]byte(d.IDs.Code(40))) }

// joined are the lines of a row's secret.
func joined(refs ...string) string { return strings.Join(secretLines(strings.Join(refs, "\n")), "\n") }

// usable finds the secrets once before a webhook is made, so that a mistake is told to the one who made it.
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
			return event.NewFault(event.Invalid, "leave the secret out, and hob makes one", "secret: %v", err)
		}
	}
	return nil
}

// rotate gives a webhook a new secret. The one before it is taken too until the change is done.
func (d *Webhooks) rotate(ctx context.Context, h webhook.Hook, lines string, args map[string]string) (any, error) {
	have := secretLines(lines)
	if h.Kind == webhook.None || len(have) == 0 {
		return nil, event.NewFault(event.Clash, "", "webhook %s has no secret", h.Name)
	}
	if args["done"] == "" && len(have) > 1 { // a third would take the first one from the senders that still use it
		return nil, event.NewFault(event.Clash, "when its senders have the new one: hob hook rotate --done "+h.Name, "webhook %s has a new secret already, and takes the one before it too", h.Name)
	}
	made := webhook.Made{View: d.shown(h)}
	next := have[0]
	if args["done"] == "" {
		if args["secret"] == "" {
			made.Secret = d.newSecret()
		}
		next = joined(cmp.Or(args["secret"], made.Secret), have[0])
	}
	defer d.forget(h.Name)
	if err := d.usable(ctx, h, next); err != nil {
		return nil, err
	}
	_, err := d.Rows.Put(ctx, h, next)
	return made, err
}

// draftOf reads the arguments of add.
func draftOf(name string, args map[string]string) (webhook.Draft, error) {
	d := webhook.Draft{Name: name}
	var err error
	if d.Mandate.Allow, err = policy.RightsOfOthers(args["allow"], fsguard.Absolute); err != nil {
		return d, invalid(fmt.Errorf("allow: %w", err))
	}
	for _, f := range webhook.Fields() {
		if text := args[f.Name]; text != "" && f.Name != "name" {
			if err := scheduler.Set(&d, f, text); err != nil {
				return d, invalid(err)
			}
		}
	}
	if args["once"] != "" {
		d.Once = cmp.Or(d.Once, webhook.OnlyID)
	}
	return d, nil
}

func invalid(err error) error {
	return event.NewFault(event.Invalid, "see: hob hook add --help", "%v", err)
}
