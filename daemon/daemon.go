package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hob/channels"
	"hob/channels/admin"
	"hob/config"
	"hob/daemon/agent"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/policy"
	"hob/daemon/secret"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
	"hob/daemon/triggers"
	"hob/daemon/triggers/gates"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/gate"
	"hob/scheduler/phrase"
	"hob/tools/automation"
	"hob/tools/runtime"
)

// daemon is the running process: what its parts are, and the one snapshot of the config that all read.
type daemon struct {
	opt     Options
	log     *slog.Logger
	clock   sys.Clock
	ids     sys.IDs
	started time.Time
	address string
	machine localZone
	http    *http.Client // of the channels

	file    *config.Live
	swap    sync.Mutex // held by whoever makes a new live
	live    atomic.Pointer[live]
	secrets secret.Redactor
	feed    event.Feed

	store   *store.Store
	view    *store.View
	shelf   artifacts.Store
	account *account   // of the backend codex
	group   *sys.Group // owns what tools start
	tellers *sys.Group // owns what tells of failures; its own failures are only logged
	parts
}

// parts is what runs, in the order in which data flows.
type parts struct {
	tools      *toolset.Deps
	host       *channels.Host
	gaps       *admin.GapNotices // of messages that may be missing on channels
	runner     *scheduler.Runner
	watcher    *filewatch.Watcher
	written    filewatch.OwnWrites // what hob's own tools wrote
	commands   *agent.CommandHandler
	thread     *agent.Thread
	lanes      *agent.Lanes
	registry   *runtime.Registry
	dispatch   *agent.Dispatch
	pump       *channels.Pump
	gates      *gates.Evaluator
	gateRunner *gate.Runner
	webhooks   *triggers.Webhooks
	restarts   restarts
}

// live is what is made out of the config and swapped in whole when that changes.
type live struct {
	catalog.Lineup
	kit   toolset.Set        // the tools that the config allows, confined to its roots
	hooks []toolset.ToolHook // the owner's own commands around their calls
	off   []string           // channels and jobs of the config that cannot be used, and why
}

// hooked are the commands of a config. A mistake among them denies every tool; those of before stay, for the calls that were judged before.
func (l *live) hooked(c *config.Snapshot) (list []toolset.ToolHook) {
	if l != nil && c.Off("tool_hooks") {
		return l.hooks
	}
	for _, h := range c.ToolHooks {
		list = append(list, toolset.ToolHook(h))
	}
	return list
}

func (d *daemon) config() *config.Snapshot { return d.file.Current() }

// chain is the models that hob asks now.
func (d *daemon) chain() *llm.Chain { return d.live.Load().Chain }

// modelName is the name of the one that it asks first.
func (d *daemon) modelName() string { return d.chain().First().Info().Name() }

// problems lists what is wrong with the config, and why the model, a channel or a job of it cannot be used. advised adds advice.
func (d *daemon) problems(advised bool) []string {
	problems, err := d.file.Problems()
	list := []string{}
	for _, p := range problems {
		if advised || !p.Advice {
			list = append(list, p.String())
		}
	}
	if err != nil {
		list = append(list, err.Error())
	}
	for _, f := range d.live.Load().Faults {
		list = append(list, f.Err.Error())
	}
	return append(list, d.live.Load().off...)
}

// zoneName is the owner's zone by IANA name: the configured one, else the machine's.
func (d *daemon) zoneName() string {
	if zone := d.config().Owner.Timezone; zone != "" {
		return zone
	}
	return d.machine.name()
}

// owner lists the owner's addresses, the first one first: those of the config, then those that came of pairings, then the places that a channel's
// section says are his.
func (d *daemon) owner() []event.Address {
	var list []event.Address
	for _, s := range d.config().Owner.Addresses {
		if a, err := event.ParseAddress(s); err == nil {
			list = append(list, a)
		}
	}
	if d.store == nil { // not open yet
		return list
	}
	more := d.store.Pairings.Paired()
	if d.host != nil { // it is made after the store
		more = append(slices.Clone(more), d.host.OwnerPlaces()...)
	}
	for _, a := range more {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// policy is the limits that the store applies.
func (d conf) policy() store.Policy {
	c := d.config()
	hours, err := channels.ParseHours(c.Owner.Quiet)
	if err != nil {
		d.log.Error("quiet hours are not understood, and do not count", "err", err) // config has looked at them
	}
	return store.Policy{
		MaxAttempts: c.Daemon.MaxAttempts, SafeAfter: c.Daemon.SafeModeAfter, SafeWindow: 10 * time.Minute,
		PerDayMicros: int64(c.Budget.PerDay * 1e6), PerDayTokens: c.Budget.TokensPerDay,
		Quiet: func(t time.Time) time.Time { return hours.End(t, d.zone()) }, Hold: c.Outbox.Hold, Announce: c.Outbox.Announce, Buttons: visitors(d).buttons, Named: visitors(d).named,
		Edits: func(to event.Address) bool { return c.Outbox.Live && d.host != nil && d.host.Edits(to) }, // it is made after the store
	}
}

// settings is what the agent takes from the config.
func (d conf) settings(ctx context.Context) agent.Settings {
	c := d.config()
	safe, err := d.store.Boots.SafeMode(ctx)
	if err != nil && ctx.Err() == nil {
		d.log.Error("read safe mode", "err", err)
	}
	s := agent.Settings{
		Zone: d.zoneName(), Owner: c.Owner.Name, Known: append([]event.Address{event.ToOwner, event.CLI}, d.owner()...), Friends: visitors(d).friends(),
		Mode: policy.Mode(c.Guard.Mode), Safe: safe != "" || err != nil, System: d.system, Heartbeat: func() string { return agent.HeartbeatText(d.config().Owner.Name) }, Workspace: d.live.Load().kit.Guard.Workspace(),
	}
	s.Limits.Requests, s.Limits.Running = c.Turn.MaxSteps, c.Turn.MaxRunning
	return s
}

// system is the stable part of the prompt.
func (d conf) system(guest bool) string {
	text, err := agent.SystemText(d.opt.workspace(), d.config().Owner.Name, guest, func(path string) (agent.WorkspaceFile, error) {
		text, at, err := fsguard.Text(d.live.Load().kit.Guard, path, agent.MaxWorkspaceFile)
		return agent.WorkspaceFile{Path: at.Path, Text: text, Foreign: at.Foreign}, err
	})
	if err != nil {
		d.log.Warn("a workspace file is left out of the prompt", "err", err)
	}
	return text
}

// schedule is the jobs as tools and the API see them.
func (d *daemon) schedule() triggers.Jobs {
	return triggers.Jobs{
		Rows: d.store.Triggers, Fires: runsOf(d.view), Zone: d.zone, Now: d.clock.Wall, Reach: addresses{d}.reach, Asked: func(ctx context.Context) bool { return d.gates.Asked(ctx) }, Costs: costs(d),
		Tool:     func(name string) bool { _, ok := liveSet{d}.Find(name); return ok },
		Helpless: func(string) bool { return d.chain().First().Info().Bare },
	}
}

// watches is the file watches as tools and the API see them.
func (d conf) watches() triggers.Watches {
	return triggers.Watches{Rows: d.store.Watches, Guard: func() *fsguard.Guard { return d.live.Load().kit.Guard }, Now: d.clock.Wall, Reach: addresses(d).reach, Most: filewatch.MostFolders}
}

// costs tells what runs have cost, and the price of the model that is asked first.
func costs(d *daemon) triggers.Costs {
	return triggers.Costs{
		Mean: func(ctx context.Context, job int64, since time.Time) (scheduler.Cost, error) {
			return store.RunCost(ctx, d.store.Reader(), job, since)
		},
		Price: func() (input, output int64, free bool) {
			m := d.chain().First().Info()
			return m.Price.Input, m.Price.Output, m.Local
		},
	}
}

// runsOf finds the newest slots of a job; of one without a number, of those that have or had its name; of all where it has none.
func runsOf(v *store.View) func(context.Context, scheduler.View, int) ([]automation.Run, error) {
	return func(ctx context.Context, j scheduler.View, limit int) ([]automation.Run, error) {
		which := j.Name
		if j.ID != 0 {
			which = strconv.FormatInt(j.ID, 10)
		}
		rows, err := v.FireRows(ctx, event.Filter{Name: which, Limit: limit})
		runs := make([]automation.Run, len(rows))
		for i, r := range rows {
			runs[i] = automation.Run{
				Job: r.Job, Zone: r.Zone, Due: r.Due, State: r.State, Outcome: r.Outcome, Reason: r.Reason, LateMS: r.LateMS, LimitMS: r.LimitMS, Started: r.Started, Ended: r.Ended,
				Sent: r.RunDelivery.Outcome, Micros: max(int64(r.CostMicros), 0), Tokens: r.Tokens, Turn: r.Turn, Tainted: r.Tainted,
			}
		}
		return runs, err
	}
}

// localZone finds the machine's zone by its IANA name, once.
type localZone struct {
	once  sync.Once
	found string
}

func (z *localZone) name() string {
	z.once.Do(func() { z.found = machineZone() })
	return z.found
}

// machineZone asks TZ, then what /etc/localtime points to, then /etc/timezone; UTC when nobody knows a name.
func machineZone() string {
	names := []string{strings.TrimPrefix(os.Getenv("TZ"), ":")}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		_, name, _ := strings.Cut(target, "zoneinfo/")
		names = append(names, strings.TrimPrefix(name, "posix/"))
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(text)))
	}
	names = append(names, time.Now().Location().String())
	for _, name := range names {
		if _, err := scheduler.Zone(name); err == nil {
			return name
		}
	}
	return "UTC"
}

func isNoSchedule(err error) bool { return errors.Is(err, phrase.ErrNone) }
