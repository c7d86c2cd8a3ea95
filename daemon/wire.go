package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"hob/channels"
	"hob/channels/cli"
	"hob/daemon/agent"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
	"hob/daemon/policy"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolcall"
	"hob/daemon/toolset"
	"hob/daemon/transcribe"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/gate"
	"hob/tools"
	"hob/tools/runtime"
)

// Who is connected to whom. The store fits every need that a part declares.
var (
	_ scheduler.Store     = store.Triggers{} // the scheduler commits what fires
	_ filewatch.Store     = store.Watches{}  // the watcher what changes in files
	_ gate.Store          = store.Triggers{} // and the runner of gates what they let through
	_ scheduler.Zones     = store.Triggers{} // and moves them when the rules of a zone change
	_ scheduler.Leaps     = store.Triggers{} // or takes them back when the clock was wrong
	_ agent.Queue         = store.Turns{}    // the thread takes rows
	_ agent.Turns         = store.Turns{}    // and commits steps
	_ agent.Prompts       = store.Turns{}
	_ agent.Children      = store.Subagents{} // the lanes of sub-agents
	_ agent.Commands      = store.Commands{}  // serves commands
	_ agent.Conversations = store.Commands{}
	_ agent.Outgoing      = store.Commands{}
	_ channels.Store      = store.Outbox{} // the pump empties the outbox
	_ channels.Drafts     = store.Outbox{} // and shows what is still being written
)

// wire makes the parts.
func (d *daemon) wire(out, in stage) error {
	d.group = out.Group
	d.registry = runtime.NewRegistry(toolset.Reports{Record: d.store.Questions.Record, Accept: func(ctx context.Context, in event.In) error {
		_, err := d.store.Inbox.Accept(ctx, []event.In{in}, nil)
		return err
	}})
	d.registry.Note = d.store.Marks().Note
	d.tools = workshop{d}.bench()
	if err := (conf{d}).renew(in.ctx); err != nil {
		return err
	}
	d.store.Marks().Sum = func(path string) (string, error) { return fsguard.Sum(d.live.Load().kit.Guard, path) }
	d.dispatch = &agent.Dispatch{
		Set: liveSet{d}, Guests: guestSet{liveSet{d}}, Artifacts: d.shelf, Settings: conf{d}.settings, Grants: d.store.Turns.Grants, Clock: d.clock, Log: d.log,
		Unavailable: func(name string) string { return d.live.Load().kit.Lacks(name) },
		Hooks: &toolset.ToolHooks{
			List: func() []toolset.ToolHook { return d.live.Load().hooks }, Dir: d.opt.workspace(), Environ: runtime.HandedOn(os.Environ()), Log: d.log, Begins: workshop{d}.hookBegins,
		},
	}
	d.thread = &agent.Thread{
		Queue: d.store.Turns, Turns: d.store.Turns, Prompts: d.store.Turns, Dispatch: d.dispatch, Models: d.chain, Switched: conf{d}.switched,
		Fallback:   agent.Fallback{Model: conf{d}.interpreter(""), Understands: func(text string) bool { return builtin.Understands(text, phrases{d}) }},
		Transcribe: d.ears().Hear,
		Settings:   conf{d}.settings, Feed: &d.feed, Clock: d.clock, Jitter: rand.Float64, Log: d.log, // #nosec G404 -- spreads retries
	}
	d.lanes = &agent.Lanes{Thread: d.thread, Children: d.store.Subagents, Named: func(ctx context.Context, name string) *llm.Chain {
		return conf{d}.registry().Lineup(ctx, d.config(), name).Chain
	}}
	d.commands = &agent.CommandHandler{Commands: d.store.Commands, Conversations: d.store.Commands, Outgoing: d.store.Commands, Reports: board{d}, Stop: d.thread.Stop, Use: conf{d}.useModel, Clock: d.clock, Log: d.log}
	d.thread.Boundary = d.commands.Serve
	d.runner = scheduler.NewRunner(d.store.Triggers, d.clock, in.values("job bell", d.store.Triggers.JobsSignal), d.log)
	d.runner.FollowClock(d.store.Triggers)
	d.runner.FollowZones(d.store.Triggers, func() string { return scheduler.ZonePrint(d.opt.Version) })
	d.gateRunner = gate.NewRunner(d.store.Triggers, d.gates, d.clock, in.values("gate bell", d.store.Triggers.JobsSignal), d.log)
	state, err := fsguard.Absolute(d.opt.state())
	if err != nil {
		return err
	}
	d.watcher = filewatch.NewWatcher(d.store.Watches, d.clock, in.values("watch bell", d.store.Triggers.JobsSignal), &d.written, filewatch.Access{Guard: d.live.Load().kit.Guard, State: state}, d.log)
	d.gaps = visitors{d}.gapNotices()
	d.host = channels.NewHost(channels.HostConfig{
		Inbox: keeper{d}, Admission: visitors{d}.admission(), Clock: d.clock, Log: d.log, Go: in.Go,
		Changed: func(h channels.ChannelHealth) { notices{d}.channelChanged(context.WithoutCancel(in.ctx), h) },
		Back: func(name string) {
			in.Once("send over "+name+" again", func() error { return d.store.Outbox.Hasten(context.WithoutCancel(in.ctx), name) })
		},
	})
	in.Go(in.ctx, "gaps", d.gaps.Run)
	d.pump = channels.NewPump(channels.Config{
		Store: d.store.Outbox, Channel: d.host.Channel, Owner: d.owner, Right: visitors{d}.standing, Zone: d.zone, Report: d.host.Sent, Receives: d.host.Receives, Once: out.Once, Open: d.shelf.Content,
		Wake: out.values("outbox bell", d.store.Outbox.OutboxSignal), Clock: d.clock, Ident: d.ids, Log: d.log,
	})
	typist := &channels.TypingSigns{Answering: d.store.Outbox.Answering, Channel: d.host.Channel, Wake: out.values("turn bell", d.store.Events.EventsSignal), Clock: d.clock, Log: d.log}
	out.Go(out.ctx, "typing signs", typist.Run)
	closer := &channels.Closer{Rows: d.store.Outbox, Channel: d.host.Channel, Wake: out.values("question bell", d.store.Events.EventsSignal), Clock: d.clock, Log: d.log}
	out.Go(out.ctx, "closed questions", closer.Run)
	arrived := out.values("file bell", d.store.Outbox.FilesSignal)
	out.Go(out.ctx, "sent files", func(ctx context.Context) error { return d.shelf.RunCleanup(ctx, arrived) })
	drafts := channels.NewLive(channels.LiveConfig{
		Drafts: d.store.Outbox, Feed: &d.feed, Pump: d.pump, Enabled: func() bool { return d.config().Outbox.Live }, Wake: out.values("draft bell", d.store.Events.EventsSignal), Ident: d.ids,
		Plain: func(text string) string { return policy.Visible(d.secrets.Text(text)) },
	})
	out.Go(out.ctx, "what is being said", drafts.Listen)
	out.Go(out.ctx, "drafts", drafts.Run)
	d.webhooks = triggers.NewWebhooks(triggers.WebhookConfig{
		Rows: d.store.Webhooks, Inbox: d.store.Webhooks, Secret: conf{d}.resolve, Safe: d.store.Boots.SafeMode, Reach: addresses{d}.reach,
		Address: func() string { return d.address }, HTTP: d.http, Clock: d.clock, IDs: d.ids, Log: d.log,
	})
	if err := (conf{d}).follow(in.ctx); err != nil {
		return err
	}
	return notices{d}.tellProblems(in.ctx)
}

// ears listen to voice notes, as the config says at that moment.
func (d *daemon) ears() transcribe.Service {
	return transcribe.Service{Rows: d.store.Turns, Open: d.shelf.Content, Book: transcribe.Booked(d.store.Spending, "voice notes"), Log: d.log, Endpoint: func(ctx context.Context) (transcribe.Endpoint, error) {
		web, err := conf{d}.web(ctx, "voice", "")
		if err != nil {
			return transcribe.Endpoint{}, fmt.Errorf("network.proxy: %w", err)
		}
		if web == nil {
			web = d.http
		}
		return transcribe.Of(ctx, d.config(), conf{d}.resolve, web)
	}}
}

// values turns a bell, a channel that is closed at each ring, into a channel of values.
func (s stage) values(name string, bell func() <-chan struct{}) <-chan struct{} {
	c := make(chan struct{}, 1)
	s.Go(s.ctx, name, func(ctx context.Context) error {
		rung := bell()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-rung:
			}
			rung = bell() // before the value, so that no ring falls in between
			select {
			case c <- struct{}{}:
			default:
			}
		}
	})
	return c
}

// liveSet is the tools as the config in force allows them.
type liveSet struct{ *daemon }

func (s liveSet) set() tools.Set                      { return s.live.Load().kit.Set }
func (s liveSet) Find(name string) (tools.Tool, bool) { return s.set().Find(name) }
func (s liveSet) Nearest(name string) []string        { return s.set().Nearest(name) }
func (s liveSet) Specs() []tools.Spec                 { return s.set().Specs() }
func (s liveSet) Core() []tools.Spec                  { return s.live.Load().kit.Core() }

// guestSet is the same tools for others than the owner.
type guestSet struct{ liveSet }

func (s guestSet) Find(name string) (tools.Tool, bool) { return s.live.Load().kit.Guests().Find(name) }

func (s liveSet) Missing() (list []api.MissingTool) {
	for _, m := range s.live.Load().kit.Missing {
		list = append(list, api.MissingTool{Spec: m.Spec, Why: m.Why})
	}
	return list
}

// eventTypes are the types of the event stream that a turn can wait for.
func eventTypes() []string {
	return []string{
		"event.accepted", "event.dropped", "event.expired", "turn.started", "turn.finished", "turn.waiting", "turn.resumed", "turn.joined", "tool.started", "tool.finished",
		"question.asked", "question.answered", "question.expired", "message.sent", "command.done", "safe-mode.off", "task.finished",
		"child.spawned", "child.finished",
	}
}

// instance marks the processes that this home's daemon starts.
func (o Options) instance() string { return sys.Digest(o.Home) }

// localAPI is what the local API is made of.
func (d *daemon) localAPI(c *cli.Channel) server.Deps {
	return server.Deps{
		Messages: poster{c, d.group}, Rows: rows{view: d.view, budget: d.store.Spending.Spent, grants: d.store.Turns.Grants, marks: d.store.Questions.MarkRows, schedule: d.schedule(), watches: conf{d}.watches(), hooks: d.webhooks, status: overview{d}.status, models: roster{d}, work: d.store.Tasks, admin: visitors{d}.admin(), hide: d.secrets.Text},
		Acts:   acts{store: d.store, thread: d.thread, ids: d.ids, clock: d.clock, reach: addresses{d}.reach, models: roster{d}, hooks: d.webhooks, admin: visitors{d}.admin(), shelf: d.shelf},
		Tools:  toolcall.Calls{Dispatch: d.dispatch, Store: d.store.Questions, IDs: d.ids, Clock: d.clock, Absent: liveSet{d}.Missing},
		Events: events{d.store}, Feed: &d.feed, Health: overview{d}, Hooks: d.webhooks, Plain: plain, Log: d.log,
	}
}

// events is the live view as the API reads it.
type events struct{ store *store.Store }

func (e events) After(ctx context.Context, seq int64, limit int) ([]event.Event, error) {
	return e.store.Events.EventsAfter(ctx, seq, limit)
}
func (e events) Last(ctx context.Context) (int64, error) { return e.store.Events.LastEvent(ctx) }
func (e events) Wake() <-chan struct{}                   { return e.store.Events.EventsSignal() }
