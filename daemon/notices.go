package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/channels"
	"hob/channels/admin"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/scheduler"
)

// The names under which it is kept what the owner was told is wrong.
const (
	toldConfig   = "config"
	toldChannels = "channels"
	toldGaps     = "gaps"
	toldCosts    = "costs"
)

// notices tell the owner what is wrong, and where he can read it.
type notices struct{ *daemon }

// tellProblems tells the owner what is wrong with the config, each thing once for as long as it is: also over restarts.
func (d notices) tellProblems(ctx context.Context) error {
	list := d.problems(false)
	for i, p := range list {
		list[i] = d.secrets.Text(p)
		d.log.Warn("config", "problem", list[i])
	}
	err := d.settle(ctx, toldConfig, func(known string) (string, store.Notice, error) {
		now, news := admin.NewLines(known, list)
		n := store.Notice{To: d.elsewhere("")}
		if len(news) > 0 {
			n.Text = "There is something wrong with the config:\n" + strings.Join(news, "\n") +
				"\nhob looks at it again when config.toml is written, or when it is started again; hob doctor says more."
		}
		return now, n, nil
	})
	return errors.Join(err, d.tellCosts(ctx))
}

// noCosts is what is kept while runs cost nothing.
const noCosts = "free"

// tellCosts tells the owner which jobs and watches cost money from now on, once when a model with a price takes the place of one without.
func (d notices) tellCosts(ctx context.Context) error {
	lineup := d.live.Load().Lineup
	model := lineup.Chain.First().Info()
	if len(lineup.Faults) > 0 {
		return nil // what answers now was not meant
	}
	jobs, err := d.store.Triggers.AllJobs(ctx)
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	watches, err := d.store.Watches.AllWatches(ctx)
	if err != nil {
		return fmt.Errorf("list watches: %w", err)
	}
	var list []string
	add := func(t scheduler.Trigger, over bool) {
		if !over && t.Name != scheduler.Heartbeat && !strings.HasPrefix(t.Prompt, "say:") {
			list = append(list, t.Name+": "+event.Shorten(t.Prompt, 80))
		}
	}
	for _, j := range jobs {
		add(j.Trigger, j.Due.IsZero() && !j.Paused)
	}
	for _, w := range watches {
		add(w.Trigger, false)
	}
	return d.settle(ctx, toldCosts, func(known string) (string, store.Notice, error) {
		if model.Local {
			return noCosts, store.Notice{}, nil
		}
		n := store.Notice{To: event.ToOwner}
		if known == noCosts && len(list) > 0 {
			n.Text = "These ran free until now. From now on " + model.Name() + " is asked, and each run may cost money:\n" + d.secrets.Text(strings.Join(list, "\n")) +
				"\nA prompt 'say: TEXT' stays free. hob cron show NAME tells what a job may cost; hob cron pause NAME stops it."
		}
		return "", n, nil
	})
}

// channelChanged logs how a channel does, and tells the owner, on another channel, when one goes down. What is wrong with its section is told
// with the rest of the config.
func (d notices) channelChanged(ctx context.Context, h channels.ChannelHealth) {
	if h.Receiving.State == channels.OK && h.Sending.State == channels.OK {
		d.log.Info("channel works", "name", h.Name)
	} else {
		d.log.Warn("channel", "name", h.Name, "receiving", h.Receiving.State, "sending", h.Sending.State, "err", cmp.Or(h.Receiving.LastError, h.Sending.LastError))
	}
	if !h.Unfit {
		d.group.Once("tell of "+h.Name, func() error { return d.tellTrouble(ctx, h.Name) })
	}
}

// tellTrouble tells the owner how a channel does now: what has changed since it was asked for is in it, in whatever order the changes are told.
func (d notices) tellTrouble(ctx context.Context, name string) error {
	return d.troubles(ctx, func(all admin.HealthNotices) (n store.Notice) {
		for _, h := range overview(d).channelHealth() {
			if h.Name == name && !h.Unfit {
				n.To = d.elsewhere(name)
				all[name], n.Text = all[name].After(h)
			}
		}
		return n
	})
}

// onlyTroubles forgets the trouble with channels that the config does not have any more.
func (d notices) onlyTroubles(ctx context.Context, names []string) error {
	return d.troubles(ctx, func(all admin.HealthNotices) store.Notice {
		all.Only(names)
		return store.Notice{}
	})
}

// troubles lets f change what is known of the trouble with channels, and say what the owner is told of it.
func (d notices) troubles(ctx context.Context, f func(admin.HealthNotices) store.Notice) error {
	return d.settle(ctx, toldChannels, func(known string) (string, store.Notice, error) {
		all, err := admin.ReadHealthNotices(known)
		if err != nil {
			d.log.Error("what the owner was told of channels is forgotten", "err", err)
			all = admin.HealthNotices{}
		}
		n := f(all)
		return all.String(), n, nil
	})
}

func (d notices) settle(ctx context.Context, name string, f func(known string) (string, store.Notice, error)) error {
	return d.store.Notices.Settle(ctx, name, f)
}

// elsewhere is the owner's first address on a channel that can be used and is not the given one, if there is one on a channel that is not
// down; the local one where there is none at all.
func (d notices) elsewhere(channel string) event.Address {
	down := map[string]bool{}
	for _, h := range d.host.Health() {
		down[h.Name] = h.Sending.State == channels.Down || h.Receiving.State == channels.Down && !h.Sending.Proven
	}
	list := slices.DeleteFunc(d.owner(), func(a event.Address) bool {
		_, err := d.host.Channel(a.Channel())
		return a.Channel() == channel || err != nil && a.Channel() != event.CLI.Channel()
	})
	if len(list) == 0 {
		return event.CLI
	}
	return list[max(slices.IndexFunc(list, func(a event.Address) bool { return !down[a.Channel()] }), 0)]
}
