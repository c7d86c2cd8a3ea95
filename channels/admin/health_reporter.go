package admin

import (
	"cmp"
	"context"
	"log/slog"

	"hob/channels"
	"hob/daemon/event"
)

// Settle calls f with the stored notices ("": none), and stores f's result together with the notice, unless
// its text is "", in one transaction. f is pure and may be called more than once.
type Settle func(ctx context.Context, f func(known string) (now string, to event.Address, text string)) error

// HealthReporter logs the health of channels, and notifies the owner, on another channel, when one fails. All
// fields are needed. It is safe for concurrent use.
type HealthReporter struct {
	Settle    Settle
	Health    func() []channels.ChannelHealth    // health of all channels, without secrets
	Elsewhere func(channel string) event.Address // where the owner is told of trouble with a channel
	Once      func(name string, f func() error)  // runs f in a separate goroutine
	Log       *slog.Logger
}

// Changed handles a change of a channel's health. Faults of a channel's section are reported with the rest of
// the config.
func (r HealthReporter) Changed(ctx context.Context, h channels.ChannelHealth) {
	if h.Receiving.State == channels.OK && h.Sending.State == channels.OK {
		r.Log.Info("channel works", "name", h.Name)
	} else {
		r.Log.Warn("channel", "name", h.Name, "receiving", h.Receiving.State, "sending", h.Sending.State, "err", cmp.Or(h.Receiving.LastError, h.Sending.LastError))
	}
	if !h.Unfit {
		r.Once("tell of "+h.Name, func() error { return r.Tell(ctx, h.Name) })
	}
}

// Tell notifies the owner about a channel's current health. The health is read here and not passed in, so
// that several changes are reported in the right order.
func (r HealthReporter) Tell(ctx context.Context, name string) error {
	return r.change(ctx, func(all HealthNotices) (to event.Address, text string) {
		for _, h := range r.Health() {
			if h.Name == name && !h.Unfit {
				to = r.Elsewhere(name)
				all[name], text = all[name].After(h)
			}
		}
		return to, text
	})
}

// Only drops the notices about channels that are not among names.
func (r HealthReporter) Only(ctx context.Context, names []string) error {
	return r.change(ctx, func(all HealthNotices) (event.Address, string) {
		all.Only(names)
		return "", ""
	})
}

// change applies f to the stored notices and queues the notice that f returns.
func (r HealthReporter) change(ctx context.Context, f func(HealthNotices) (event.Address, string)) error {
	return r.Settle(ctx, func(known string) (string, event.Address, string) {
		all, err := ReadHealthNotices(known)
		if err != nil {
			r.Log.Error("the stored notices about channels cannot be read and are dropped", "err", err)
			all = HealthNotices{}
		}
		to, text := f(all)
		return all.String(), to, text
	})
}

// RedactedHealth returns the health of channels without the secrets in what their servers have said.
func RedactedHealth(t *channels.Table, hide func(string) string) func() []channels.ChannelHealth {
	return func() []channels.ChannelHealth {
		list := t.Health()
		for i := range list {
			for _, d := range []*channels.Direction{&list[i].Receiving, &list[i].Sending} {
				d.LastError = hide(d.LastError)
			}
		}
		return list
	}
}
