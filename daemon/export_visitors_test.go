package daemon

import (
	"context"
	"log/slog"

	"hob/channels"
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/ident"
	"hob/daemon/lobby"
	"hob/daemon/spawn"
	"hob/daemon/store"
)

// House is who may write and what is kept of it, with a host for channels, and without the rest of a daemon.
type House struct {
	Host  *channels.Host
	Store *store.Store
	Lobby lobby.Desk
	Owner func() []event.Address
	group *spawn.Group
}

// OpenHouse opens the house of a home. keep may stand between the host and what keeps its inputs.
func OpenHouse(ctx context.Context, home string, c clock.Clock, keep func(channels.Keeper) channels.Keeper) (*House, error) {
	d := &daemon{opt: Options{Home: home, Version: "test"}, clock: c, ids: ident.Random(), log: slog.New(slog.DiscardHandler)}
	if err := d.opt.prepare(); err != nil {
		return nil, err
	}
	conf{d}.load()
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	group := spawn.New(d.log, nil)
	d.host = channels.NewHost(channels.HostConfig{
		Inbox: keep(keeper{d}), Desk: visitors{d}, Clock: c, Log: d.log, Go: group.Go, Changed: func(channels.ChannelHealth) {},
	})
	return &House{Host: d.host, Store: d.store, Lobby: visitors{d}.lobby(), Owner: d.owner, group: group}, nil
}

// Close ends the house; the context that the host runs in has ended.
func (h *House) Close(ctx context.Context) error {
	h.group.Wait()
	return h.Store.Close(ctx)
}
