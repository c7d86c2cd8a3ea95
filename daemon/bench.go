package daemon

import (
	"context"
	"os"

	"hob/config"
	"hob/daemon/llm"
	"hob/daemon/toolset"
	"hob/daemon/triggers/gates"
	"hob/tools"
	"hob/tools/all"
	"hob/tools/fs"
)

// workshop makes what the tools work with.
type workshop struct{ *daemon }

func (d workshop) bench() *toolset.Deps {
	kin := d.store.Sessions
	b := &toolset.Deps{Workspace: d.opt.workspace(), Self: d.opt.Self, Marks: d.store.Marks(), Wrote: d.written.Note, Log: d.log, Services: all.Services{
		Artifacts: d.shelf, Seen: fs.NewSeen(), Spawn: d.group, Registry: d.registry, Triggers: all.Triggers{Jobs: d.schedule(), Watches: conf(d).watches()}, Addresses: addresses(d), Backlog: d.store.Tasks,
		Agents: kin, Talks: kin, Models: d.knows, Resolve: conf(d).resolve, Marked: d.store.Marks().Paths,
		Events: eventTypes(), Environ: os.Environ(), Instance: d.opt.instance(), State: d.opt.state(), Journal: toolset.Journal(d.opt.state()),
		Gauge: toolset.Gauge{
			Model: func() llm.Info { return d.chain().First().Info() }, Running: func() int64 { return d.thread.Running() }, Tools: liveSet(d).Specs, Room: d.room,
		},
	}}
	d.gates = b.Gates(func() (toolset.Set, *config.Snapshot) { return d.live.Load().kit, d.config() }, gates.Evaluator{
		AgentBusy: d.store.Triggers.Busy, Record: d.store.Questions.Record, Now: d.clock.Wall, Helpless: func(string) bool { return d.chain().First().Info().Bare },
	})
	b.Services.Gates = d.gates
	if d.opt.Self != "" {
		b.Reader = []string{d.opt.Self, readFile}
	}
	return b
}

// knows checks the name of a model.
func (d workshop) knows(name string) error {
	_, _, err := conf(d).registry().Pick(d.config(), name)
	return err
}

// room is what may still be spent today; below 0: no limit.
func (d workshop) room(ctx context.Context) (micros, tokens int64, err error) {
	b, err := d.store.Spending.Spent(ctx)
	micros, tokens = -1, -1
	if b.PerDayMicros >= 0 {
		micros = max(b.PerDayMicros-b.Used.Micros()-b.ReservedMicros, 0)
	}
	if b.PerDayTokens >= 0 {
		tokens = max(b.PerDayTokens-b.UsedTokens-b.ReservedTokens, 0)
	}
	return micros, tokens, err
}

// hookBegins has what a hook writes count as foreign: it is not confined, and sees attachments and scratch folders.
func (d workshop) hookBegins(ctx context.Context) (ended func() error) {
	return d.registry.Outside(d.live.Load().kit.Guard, "written by a hook, which sees foreign files", func(marks []tools.Change) error {
		return d.store.Questions.Record(ctx, marks...)
	})
}
