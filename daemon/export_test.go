package daemon

import (
	"context"
	"log/slog"
	"time"

	"hob/channels"
	"hob/channels/admin"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/gate"
)

// AskInPlaceOfGoogle names the server that takes Google's place.
func (o *Options) AskInPlaceOfGoogle(address string) { o.google = address }

// ParkCallsAfter sets how long the thread waits for an MCP server.
func (o *Options) ParkCallsAfter(d time.Duration) { o.slowCall = d }

// StuckAfter is how long a part may make no progress.
const StuckAfter = stuckAfter

// Idle lets the tests ask parts of their own how long the slowest of them has made no progress.
func Idle(now time.Duration, r *scheduler.Runner, k *gate.Runner, w *filewatch.Watcher) time.Duration {
	return schedulerIdle(now, r, k, w)
}

// ReplayChannel and ReplayModel read a recording with kinds and backends of a test.
var (
	ReplayChannel = replayChannel
	ReplayModel   = replayModel
)

// Restarts lets the tests see which components fail again and again: note takes in a restart, trouble names them.
func Restarts() (note func(name string, now time.Duration), trouble func(now time.Duration) []string, forget func()) {
	var r restarts
	return r.note, r.trouble, r.forget
}

// Moves lets the tests see what feeds the watchdog.
var Moves = moves

// House is who may write and what is kept of it, with a host for channels, and without the rest of a daemon.
type House struct {
	Host  *channels.Host
	Store *store.Store
	Admin admin.Service
	Gaps  *admin.GapNotices
	Owner func() []event.Address
	// Standing is by what right an address hears from hob now.
	Right func(event.Address) (channels.Right, error)
	group *sys.Group
}

// OpenHouse opens the house of a home. keep may stand between the host and what keeps its inputs.
func OpenHouse(ctx context.Context, home string, c sys.Clock, keep func(channels.InboxStore) channels.InboxStore) (*House, error) {
	d := &daemon{environment: environment{opt: Options{Home: home, Version: "test"}, clock: c, ids: sys.RandomIDs(), log: slog.New(slog.DiscardHandler), live: toolset.NewActive()}}
	if err := d.opt.prepare(); err != nil {
		return nil, err
	}
	d.file = openConfig(d.opt, d.log)
	d.zone = newOwnerZone(d.config)
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	group := sys.NewGroup(d.log, nil)
	d.tools, d.mcp = &toolset.Deps{}, mcp.NewService(mcp.Deps{})
	d.tools.Spawn = group
	d.gaps = newGapNotices(d.store, d.recipients, d.clock, d.log)
	health := admin.HealthReporter{Settle: settle(d.store.Notices, toldChannels), Health: d.recipients.Channels.Health, Elsewhere: d.recipients.Elsewhere, Once: group.Once, Log: d.log}
	d.host = channels.NewHost(d.recipients.Channels, channels.HostConfig{
		Inbox: keep(inbox(d)), Admission: d.admission(), Clock: c, Log: d.log, Go: group.Go,
		Changed: func(h channels.ChannelHealth) { // told at once, so that no change is told together with the next one
			if err := health.Tell(context.WithoutCancel(ctx), h.Name); err != nil {
				panic(err)
			}
		},
		Recovered: func(string) {},
	})
	return &House{Host: d.host, Store: d.store, Admin: d.channelAdmin(), Gaps: d.gaps, Owner: d.recipients.Owner, Right: d.recipients.Right, group: group}, nil
}

// Close ends the house; the context that the host runs in has ended.
func (h *House) Close(ctx context.Context) error {
	h.group.Wait()
	return h.Store.Close(ctx)
}

// HoldGarbage switches garbage collection off until release is called.
func HoldGarbage() (release func()) { return holdGarbage() }

// Upgrading lets the tests see what the service manager is told while a database is upgraded.
func Upgrading(u sqlite.Upgrade) (end func()) {
	return upgrading(u, sys.RealClock(), slog.New(slog.DiscardHandler))
}

// OpenConfig reads the config of a home as a start does.
func OpenConfig(home string, log *slog.Logger) { openConfig(Options{Home: home}, log) }

// Portable lets the tests make the head of a recording.
var Portable = portable

// RefuseExposed judges a home, and makes it if it is missing.
var RefuseExposed = Options.refuseExposed
