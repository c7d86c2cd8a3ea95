package daemon

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hob/channels"
	"hob/channels/admin"
	"hob/config"
	"hob/daemon/agent"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/llm"
	llmall "hob/daemon/llm/all"
	"hob/daemon/llm/catalog"
	"hob/daemon/llm/codex"
	"hob/daemon/mcp"
	"hob/daemon/netguard"
	"hob/daemon/record"
	"hob/daemon/skills"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
	"hob/daemon/transcribe"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/gate"
)

// The needs that parts declare, and the services of the store that meet them.
var (
	_ scheduler.Store      = store.Jobs{}    // the scheduler commits slots that fire
	_ filewatch.Store      = store.Watches{} // the watcher commits changes of files
	_ gate.Store           = store.Jobs{}    // the gate runner commits verdicts
	_ scheduler.Zones      = store.Jobs{}    // slots move when the rules of a time zone change
	_ scheduler.ClockJumps = store.Jobs{}    // and are taken back after a clock jump
	_ agent.Queue          = store.Turns{}   // the thread takes rows
	_ agent.Turns          = store.Turns{}   // and commits steps
	_ agent.Prompts        = store.Turns{}
	_ agent.Children       = store.Subagents{} // runs sub-agents
	_ agent.Commands       = store.Commands{}  // serves commands
	_ agent.Conversations  = store.Commands{}
	_ agent.Stops          = store.Commands{}
	_ agent.Outgoing       = store.Commands{}
	_ channels.Store       = store.Outbox{} // the pump empties the outbox
	_ channels.Drafts      = store.Outbox{} // and shows what is still being written
)

// wire makes the parts, each from those before it: what thinks (models, tools), what fires by itself, what answers, what receives, what sends. The last
// step, reloader.follow, opens the channels and the triggers of the config.
func (d *daemon) wire(out, in stage) error {
	if err := d.wireTools(in.ctx, out.Group); err != nil {
		return err
	}
	if err := d.wireScheduler(in); err != nil {
		return err
	}
	d.status = status{
		opt: d.opt, address: d.address, started: d.started, clock: d.clock, zone: d.zone, store: d.store, view: d.view, file: d.file, problems: d.problems, models: d.models,
		live: d.live, tools: d.tools, turn: d.turn, runner: d.runner, mcp: d.mcp, accounts: d.accounts, health: admin.RedactedHealth(d.recipients.Channels, d.secrets.Text), restarts: &d.restarts, recorder: d.recorder, hide: d.secrets.Text, log: d.log,
		idle: func(now time.Duration) time.Duration { return schedulerIdle(now, d.runner, d.gateRunner, d.watcher) },
	}
	d.wireAgent()
	d.wireChannels(in)
	d.wireOutgoing(out)
	d.backups = d.backupSchedule()
	// The reloader is last, because it opens what the parts above it serve.
	d.reloader = reloader{
		file: d.file, folders: d.folders, tools: d.tools, live: d.live, mcp: d.mcp, accounts: d.accounts, models: d.models, prompts: d.store.Turns, host: d.host, health: d.health, jobs: d.jobs, watches: d.watches, webhooks: d.webhooks,
		sections: channelSections{d.network, d.recipients, d.store.Pairings, d.clock, d.log}, problems: d.problems, notices: d.notices, log: d.log,
	}
	return d.reloader.follow(in.ctx)
}

// wireTools makes the models, the tools and what dispatches their calls.
func (d *daemon) wireTools(ctx context.Context, spawn *sys.Group) error {
	signIn := newCodexAccount(d.opt, d.network, d.clock, d.log)
	// The owner's choice of a model is a row of the store; the rest of the table of models comes from the config.
	d.models = catalog.NewModels(catalog.ModelsConfig{
		Registry: catalog.Registry{
			Backends: llmall.All(), Config: d.config, Resolve: d.network.resolve, Web: d.network.client, Interpreter: d.interpreter.Model, Files: d.artifacts,
			Auth: credentials(signIn), Rejected: signIn.Rejected, Path: d.opt.config(), Now: d.clock.Wall, Log: d.log, Learned: &sync.Map{}, Watch: func(section string) llm.Watch {
				return func(way http.RoundTripper) http.RoundTripper { return d.recorder.Web(section, way) }
			},
		},
		Choice: d.store.Settings, Reserve: transcribe.Booked(d.store.Spending, "model test"), Local: d.zone.text, Clock: d.clock,
	})
	d.account = &codexAccount{Account: signIn, signedIn: func() { d.models.Wake(func(i llm.Info) bool { return i.Provider == codex.Name }) }}
	d.problems = &configProblems{file: d.file, models: d.models, hide: d.secrets.Text}
	d.notices = notices{d.store.Notices, d.problems, d.models, d.store.Jobs, d.store.Watches, d.recipients.Elsewhere, d.secrets.Text, d.log}
	d.tools = d.newTools(spawn)
	d.network.learn(ctx)
	d.tools.OpenMemory(ctx, d.live, toolset.MemoryOptions{
		Folders: d.folders, History: d.store.Turns.History, Context: contextItems(d.store.Context()), Origin: d.store.Sessions.Origin, Redact: d.secrets.Text, Now: d.clock.Wall,
	}, toolset.Network{
		Config: d.config, Resolve: d.network.resolve, Client: d.network.client, Direct: d.network.direct, Reserve: transcribe.Booked(d.store.Spending, "embeddings"),
	})
	if err := d.skills.Load(ctx); err != nil {
		return err
	}
	d.settings = agentSettings{d.config, d.store.Settings, d.zone, d.recipients, d.live, d.opt.workspace(), &fsguard.Texts{Now: d.clock.Wall}, d.skills.Copies.PromptText, d.log, d.address}
	// The first set of tools. Later ones replace it in d.live when the config changes.
	if err := renew(ctx, d.config(), d.tools, d.live, d.models, d.mcp); err != nil {
		return err
	}
	// All callers of tools share this Dispatch: the thread, sub-agents, hob tool and the API.
	d.dispatch = &agent.Dispatch{
		Set: d.live, Guests: d.live.Guests(), Unavailable: d.live.Lacks, Artifacts: d.artifacts, Settings: d.settings.read, Grants: d.store.Grants.List,
		Hooks: d.tools.Hooks(d.live, d.store.Calls.Record), Clock: d.clock, Log: d.log,
	}
	return nil
}

// newTools makes the dependencies of the tools, among them the services for jobs and file watches. These look tools up in d.live, which is empty until
// the first set is built from them.
func (d *daemon) newTools(spawn *sys.Group) *toolset.Deps {
	marks := d.store.Marks()
	t := toolset.NewDeps(d.opt.toolHome(), d.log)
	t.Marks, t.Wrote, t.Spawn, t.Proxy = marks, d.written.Note, spawn, d.network.common
	copies := &skills.Copies{Guard: d.live.Guard, Dir: filepath.Join(d.opt.state(), "skills")}
	d.skills = &skills.Service{Copies: copies, Rows: d.store.Settings, Reserved: agent.CommandNames(), Known: config.ToolNames(), Clone: t.Clone(d.config, d.live), Folders: d.folders, Log: d.log}
	t.Skills, t.Specs, t.Folders = copies, d.live.Specs, copies
	t.Marked = func() []string { return slices.Concat(marks.Paths(), copies.Unaccepted()) }
	t.Facts.Redact, t.Facts.Forget = d.secrets.Text, forgetFact(d)
	t.Registry = toolset.NewRegistry(toolset.Reports{Record: d.store.Calls.Record, Accept: func(ctx context.Context, in event.In) error {
		_, err := d.store.Inbox.Accept(ctx, []event.In{in}, nil)
		return err
	}}, marks.Note)
	prompts := event.Prompts{NoModel: d.noModel, Understands: d.interpreter.Understands}
	d.gates = t.Gates(func() (toolset.Set, *config.Snapshot) { return d.live.Set(), d.config() }, toolset.Evaluator{
		AgentBusy: d.store.Turns.Busy, Record: d.store.Calls.Record, Now: d.clock.Wall, NoModel: d.noModel,
	})
	d.jobs = triggers.Jobs{
		Rows: d.store.Jobs, Fires: d.view.FireRows, Zone: d.zone.location, Now: d.clock.Wall, Unheard: d.recipients.Unheard,
		Costs: runCosts(d.store, d.models), Tool: d.live.Has, Prompts: prompts,
	}
	d.watches = triggers.Watches{Rows: d.store.Watches, Guard: d.live.Guard, Now: d.clock.Wall, Unheard: d.recipients.Unheard, Most: filewatch.MostFolders, Prompts: prompts}
	t.Services.Gates, t.Jobs, t.Services.Watches = d.gates, d.jobs, d.watches
	t.Artifacts, t.Backlog, t.Agents, t.Talks = d.artifacts, d.store.Tasks, d.store.Sessions, d.store.Sessions
	t.Prompts = prompts
	t.Items = d.store.Context()
	t.Addresses = toolset.Addresses{Recipients: d.recipients}
	t.Services.Models, t.Resolve, t.Events = d.models.Check, d.network.resolve, eventTypes()
	d.mcp = newServers(d, t) // it copies fields of t, so they are set above
	t.Plugged, t.Services.MCP = d.mcp, d.mcp
	d.accounts = newAccounts(d, t)
	t.Gauge = toolset.Gauge{Model: d.models.First, Running: d.turn.Running, Tools: d.live.Specs, Room: room(d.store.Spending)}
	return t
}

// noModel reports whether no model is connected.
func (d *daemon) noModel() bool { return d.models.First().Interpreter }

// runCosts returns what runs have cost, and the price of the model that is asked first.
// The price is in millionths of the currency for a million tokens.
func runCosts(s *store.Store, models *catalog.Models) triggers.Costs {
	return triggers.Costs{
		Mean: func(ctx context.Context, job int64, since time.Time) (scheduler.Cost, error) {
			return store.RunCost(ctx, s.Reader(), job, since)
		},
		Price: func() (input, output int64, free bool) {
			m := models.First()
			return m.Price.Input, m.Price.Output, m.Local
		},
	}
}

// room returns what may still be spent today; below 0: no limit.
// micros are millionths of the currency. Reserved amounts count as spent, so that two requests cannot use the same room.
func room(s store.Spending) func(ctx context.Context) (micros, tokens int64, err error) {
	return func(ctx context.Context) (micros, tokens int64, err error) {
		b, err := s.Spent(ctx)
		micros, tokens = -1, -1
		// A negative cap means that there is none.
		if b.PerDayMicros >= 0 {
			micros = max(b.PerDayMicros-b.Used.Micros()-b.ReservedMicros, 0)
		}
		if b.PerDayTokens >= 0 {
			tokens = max(b.PerDayTokens-b.UsedTokens-b.ReservedTokens, 0)
		}
		return micros, tokens, err
	}
}

// wireAgent makes what answers messages: commands, the thread, and the pool of its sub-agents.
func (d *daemon) wireAgent() {
	d.transcription = transcribe.Service{
		Rows: d.store.Turns, Open: d.artifacts.Content, Reserve: transcribe.Booked(d.store.Spending, "voice notes"), Log: d.log, Endpoint: d.network.transcription,
	}
	d.commands = &agent.CommandHandler{
		Commands: d.store.Commands, Conversations: d.store.Commands, Stops: d.store.Commands, Outgoing: d.store.Commands, Stop: d.turn.Stop, Use: d.notices.useModel, Clock: d.clock, Log: d.log,
		Reports: chatReports{d.status, d.jobs, d.store.Outbox, d.store.Spending, capabilities(d.live, d.skills.Copies)}, Skills: d.skills.Copies.Input,
	}
	// The thread takes rows from the store and commits steps to it. It sees the store only by the small interfaces that it declares.
	d.thread = &agent.Thread{
		Queue: d.store.Turns, Turns: d.store.Turns, Prompts: d.store.Turns, History: d.store.Turns, Dispatch: d.dispatch, Models: d.models.Chain, Boundary: d.commands.Serve, RunningTurn: d.turn, Switched: switchNotices{d.store.Epoch(), d.zone, d.clock}.text,
		Fallback: d.fallback(), Transcribe: d.transcription.Hear, Recall: recall(d), Ended: d.store.Turns.Ended, SlowAfter: d.opt.slowCall,
		Settings: d.settings.read, Feed: &d.feed, Hidden: d.secrets.Writer, Clock: d.clock, Jitter: rand.Float64, Log: d.log, // #nosec G404 -- spreads retries
	}
	d.subagents = &agent.SubagentPool{Thread: d.thread, Children: d.store.Subagents, Named: d.models.Named}
}

// fallback is the interpreter beside a model: it answers when no model does, and goes first with what it understands for sure.
func (d *daemon) fallback() agent.Fallback {
	beside := d.interpreter
	beside.Off = nil
	return agent.Fallback{Model: beside.Model("", false), Understands: d.interpreter.Understands, First: func(ctx context.Context, text string) bool {
		ok, name := d.interpreter.First(text)
		if !ok || name == "" || d.config().Model.Plain == "last" {
			return ok && d.config().Model.Plain != "last"
		}
		_, job, _ := d.jobs.Find(ctx, name)
		_, watch, _ := d.watches.Find(ctx, name)
		return job || watch
	}}
}

// modelOff returns the mistake in the config that has switched the model off, "" for none.
func (d *daemon) modelOff() string {
	problems, err := d.file.Problems()
	if err != nil && d.file.OnDefaults() { // else the model of the last good file is in use
		return "The model is off: " + d.secrets.Text(err.Error())
	}
	for _, p := range problems {
		switch {
		case p.Section != "" && p.Section != "model" || p.Advice:
		case err != nil: // it was off before, and what was written since cannot be read
			return "The model is off: " + d.secrets.Text(err.Error())
		default:
			return "The model is off: " + d.secrets.Text(p.String())
		}
	}
	return ""
}

// wireScheduler makes what fires by itself, and the webhooks.
func (d *daemon) wireScheduler(in stage) error {
	d.runner = scheduler.NewRunner(d.store.Jobs, d.clock, in.values("job signal", d.store.Jobs.JobsSignal), d.log)
	// A runner works without these two; they guard the jobs against a wrong clock and follow new time zone rules.
	d.runner.FollowClock(d.store.Jobs)
	d.runner.FollowZones(d.store.Jobs, func() string { return scheduler.ZoneFingerprint(d.opt.Version) })
	d.gateRunner = gate.NewRunner(d.store.Jobs, d.gates, d.clock, in.values("gate signal", d.store.Jobs.JobsSignal), d.log)
	state, err := fsguard.Absolute(d.opt.state())
	if err != nil {
		return err
	}
	// The watcher gets the state folder by its real path, so that it never enters it by a link.
	d.watcher = filewatch.NewWatcher(d.store.Watches, d.clock, in.values("watch signal", d.store.Jobs.JobsSignal), &d.written, filewatch.Access{Guard: d.live.Guard(), State: state}, d.log)
	// Webhooks have no runner: the API server hands each request to the service, which commits it to the inbox.
	d.webhooks = triggers.NewWebhooks(triggers.WebhookConfig{
		Rows: d.store.Webhooks, Inbox: d.store.Webhooks, Secret: d.network.resolve, Safe: d.store.Settings.SafeMode, Unheard: d.recipients.Unheard,
		Address: func() string { return d.address }, HTTP: d.http, Clock: d.clock, IDs: d.ids, Log: d.log,
		Prompts: event.Prompts{NoModel: d.noModel, Understands: d.interpreter.Understands},
	})
	return nil
}

// wireChannels makes what receives messages.
func (d *daemon) wireChannels(in stage) {
	ctx := context.WithoutCancel(in.ctx)
	d.health = admin.HealthReporter{Settle: settle(d.store.Notices, toldChannels), Health: d.status.health, Elsewhere: d.recipients.Elsewhere, Once: d.tools.Spawn.Once, Log: d.log}
	d.gaps = newGapNotices(d.store, d.recipients, d.clock, d.log)
	// What a channel receives goes: host, inbox of the channel (admission), inboxStore, store. The channel acknowledges after the commit.
	d.host = channels.NewHost(d.recipients.Channels, channels.HostConfig{
		Inbox: inbox(d), Admission: d.admission(), Clock: d.clock, Log: d.log, Go: in.Go,
		Changed: func(h channels.ChannelHealth) { d.health.Changed(ctx, h) },
		Recovered: func(name string) {
			in.Once("send over "+name+" again", func() error { return d.store.Outbox.Hasten(ctx, name) })
		},
	})
	in.Go(in.ctx, "gaps", d.gaps.Run)
}

// wireOutgoing makes what sends messages, and shows them while they are being written.
func (d *daemon) wireOutgoing(out stage) {
	// What hob sends goes: row of the outbox, signal, pump, worker of the address, channel. The worker commits around each try.
	d.pump = channels.NewPump(channels.Config{
		Store: d.store.Outbox, Channel: d.recipients.Channels.Channel, Owner: d.recipients.Owner, Elsewhere: d.recipients.Elsewhere, Right: d.recipients.Right, Zone: d.zone.location,
		Report: d.host.Sent, Receives: d.recipients.Channels.Receives, Away: d.recipients.Channels.Away, Once: out.Once, Open: d.artifacts.Content,
		Hide: d.secrets.Text, Wake: out.values("outbox signal", d.store.Outbox.OutboxSignal), Clock: d.clock, Ident: d.ids, Log: d.log,
	})
	// Typing signs, closed questions and drafts follow rows that change elsewhere. They lose nothing when they miss a signal: each reads its rows anew.
	typist := &channels.TypingSigns{Answering: d.store.Turns.Answering, Channel: d.recipients.Channels.Channel, Wake: out.values("turn signal", d.store.Events.EventsSignal), Clock: d.clock, Log: d.log}
	out.Go(out.ctx, "typing signs", typist.Run)
	closer := &channels.Closer{Rows: d.store.Outbox, Channel: d.recipients.Channels.Channel, Wake: out.values("question signal", d.store.Outbox.QuestionsSignal), Clock: d.clock, Log: d.log}
	out.Go(out.ctx, "closed questions", closer.Run)
	arrived := out.values("file signal", d.store.Outbox.FilesSignal)
	out.Go(out.ctx, "sent files", func(ctx context.Context) error { return d.artifacts.RunCleanup(ctx, arrived) })
	drafts := channels.NewLive(channels.LiveConfig{
		Drafts: d.store.Outbox, Feed: &d.feed, Pump: d.pump, Enabled: func() bool { return d.config().Outbox.Live }, Wake: out.values("draft signal", d.store.Events.EventsSignal), Ident: d.ids,
		Plain: func(text string) string { return netguard.Visible(d.secrets.Text(text)) },
	})
	out.Go(out.ctx, "what is being said", drafts.Listen)
	out.Go(out.ctx, "drafts", drafts.Run)
}

// inboxStore stores what channels receive: rows in the store, files among the artifacts. It takes out the addresses of sign-ins.
type inboxStore struct {
	store.Inbox
	files   artifacts.Store
	record  func(subject, what string, text []byte)
	signIns mcp.SignIns
	tell    func(ctx context.Context, key, text string) error
	once    func(name string, f func() error)
}

var _ channels.InboxStore = inboxStore{}

func inbox(d *daemon) inboxStore {
	return inboxStore{d.store.Inbox, d.artifacts, d.recorder.Line, d.mcp.SignIns(), d.store.Events.Notice, d.tools.Spawn.Once}
}

// Accept commits inputs with the cursor after them.
func (s inboxStore) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	rest, finish := s.taken(ctx, ins)
	receipts, err := s.Inbox.Accept(ctx, rest, c)
	for _, f := range finish {
		s.once("finish a sign-in", f)
	}
	return receipts, err
}

// Cursor returns the position of a source. A recording needs it: where a channel continues decides what it reads.
func (s inboxStore) Cursor(ctx context.Context, source, identity string) (string, error) {
	value, err := s.Inbox.Cursor(ctx, source, identity)
	s.record("channels."+source, record.Cursor, []byte(value))
	return value, err
}

// AcceptFiles commits an input with its files.
func (s inboxStore) AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error) {
	if rest, finish := s.taken(ctx, []event.In{in}); len(rest) == 0 {
		s.once("finish a sign-in", finish[0])
		return event.Receipt{}, nil
	}
	return s.files.AcceptFiles(ctx, in, contents)
}

// admission decides who may write on the channels.
func (d *daemon) admission() admin.Admission {
	return admin.Admission{PairingIndex: d.store.Pairings, Owner: d.recipients.Owner, Say: d.store.Events.Tell, Elsewhere: d.recipients.Elsewhere, Gaps: d.gaps}
}

// newGapNotices makes the notices about messages that may be missing on channels.
func newGapNotices(s *store.Store, r channels.Recipients, clock sys.Clock, log *slog.Logger) *admin.GapNotices {
	return admin.NewGapNotices(admin.GapNoticesConfig{Settle: settle(s.Notices, toldGaps), Elsewhere: r.Elsewhere, Clock: clock, Log: log})
}

// channelAdmin shows the channels and the pairings to the API.
func (d *daemon) channelAdmin() admin.Service {
	p := d.admission()
	return admin.Service{Config: admin.Config{
		PairingStore: d.store.Pairings, Health: admin.RedactedHealth(d.recipients.Channels, d.secrets.Text), Find: d.recipients.Channels.Channel, Owners: p.Owners, FormerPairings: p.FormerPairings, Hide: d.secrets.Text,
		RandomLetters: admin.RandomLetters, Now: d.clock.Wall,
		Send: func(ctx context.Context, to event.Address, text string) (int64, error) {
			return d.store.Outbox.Send(ctx, event.In{
				Source: "api", ExtID: d.ids.Code(16), Session: "main", Kind: event.Command, Rank: event.RankOwner, Trust: event.Owner,
				ReplyTo: event.CLI, Parts: event.Say("test " + string(to)), Received: d.clock.Wall(),
			}, to, text)
		},
	}}
}

// values turns a wake signal, a channel that is closed at each event, into a channel of values.
func (s stage) values(name string, signal func() <-chan struct{}) <-chan struct{} {
	c := make(chan struct{}, 1)
	s.Go(s.ctx, name, func(ctx context.Context) error {
		woken := signal()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-woken:
			}
			woken = signal() // before the value is sent, so that no signal is missed in between
			select {
			case c <- struct{}{}:
			default:
			}
		}
	})
	return c
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
