package daemon

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"hob/channels"
	"hob/channels/admin"
	"hob/config"
	"hob/daemon/account"
	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/llm/catalog"
	"hob/daemon/mcp"
	"hob/daemon/record"
	"hob/daemon/secret"
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

// daemon is the running process. Its fields are in the order in which they are made: Run makes the environment, open makes the store and its data, and wire
// makes the parts.
type daemon struct {
	environment
	recipients channels.Recipients
	store      *store.Store
	view       *store.View
	artifacts  artifacts.Store

	// The loopback address of the API, host:port; empty until listen has opened it.
	address  string
	tellers  *sys.Group // owns what tells of failures; its own failures are only logged
	restarts restarts

	toolParts
	agentParts
	triggerParts
	channelParts
	status   status
	backups  store.BackupSchedule
	reloader reloader
}

// environment holds the dependencies that exist before the store is open.
type environment struct {
	opt         Options
	log         *slog.Logger
	clock       sys.Clock
	ids         sys.IDs
	started     time.Time
	http        *http.Client // of the channels
	secrets     secret.Redactor
	feed        event.Feed
	file        *config.Reloader
	folders     *sys.Folders // that hob reads itself
	zone        *ownerZone
	network     *network
	recorder    *record.Recorder
	interpreter catalog.Interpreter // the built-in model, which answers when no other can
	turn        *agent.RunningTurn  // the turn that the thread steps
	live        *toolset.Active     // the tools in force; empty until wire has built them
}

// toolParts are the models and the tools.
type toolParts struct {
	models   *catalog.Models
	account  *codexAccount // of the backend codex
	problems *configProblems
	notices  notices
	tools    *toolset.Deps
	skills   *skills.Service
	mcp      *mcp.Service
	accounts *account.Service
	written  filewatch.OwnWrites // what hob's own tools wrote
	settings agentSettings
	dispatch *agent.Dispatch
}

// agentParts answer messages.
type agentParts struct {
	transcription transcribe.Service
	commands      *agent.CommandHandler
	thread        *agent.Thread
	subagents     *agent.SubagentPool
}

// triggerParts make hob act by itself.
type triggerParts struct {
	gates      *toolset.Evaluator
	jobs       triggers.Jobs
	watches    triggers.Watches
	webhooks   *triggers.Webhooks
	runner     *scheduler.Runner
	gateRunner *gate.Runner
	watcher    *filewatch.Watcher
}

// channelParts receive and send messages.
type channelParts struct {
	gaps   *admin.GapNotices // of messages that may be missing
	health admin.HealthReporter
	host   *channels.Host
	pump   *channels.Pump
}

// config returns the config in force. It changes at a reload, so no part keeps it.
func (d *daemon) config() *config.Snapshot { return d.file.Current() }

// ownerAddresses lists the owner's addresses of the config.
// Addresses from pairings are not among them: channels.Recipients adds those.
func ownerAddresses(c *config.Snapshot) (list []event.Address) {
	for _, s := range c.Owner.Addresses {
		// The check of the config reports an address that cannot be parsed; here it is left out.
		if a, err := event.ParseAddress(s); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// limits returns the settings of the config that the store applies.
// The store calls it when it needs a setting, so a changed config applies without a restart. Money is in millionths.
func (d *daemon) limits() store.Config {
	c := d.config()
	hours, err := channels.ParseHours(c.Owner.Quiet)
	if err != nil {
		d.log.Error("quiet hours are not understood, and do not count", "err", err) // the config has been checked
	}
	return store.Config{
		MaxAttempts: c.Daemon.MaxAttempts, SafeAfter: c.Daemon.SafeModeAfter, SafeWindow: 10 * time.Minute,
		PerDayMicros: int64(math.Round(c.Budget.PerDay * 1e6)), PerDayTokens: c.Budget.TokensPerDay,
		Quiet: func(t time.Time) time.Time { return hours.End(t, d.zone.location()) }, CancelDelay: c.Outbox.Hold, Announce: c.Outbox.Announce,
		Buttons: d.recipients.Buttons, Named: d.recipients.Named, Edits: func(to event.Address) bool { return c.Outbox.Live && d.recipients.Channels.Edits(to) },
	}
}

// configProblems collects the mistakes in the config, and the reasons why a model, a channel or a trigger of it cannot be used. It is safe for concurrent use.
type configProblems struct {
	file   *config.Reloader
	models *catalog.Models
	hide   func(string) string
	off    atomic.Pointer[[]string] // the channels and triggers that cannot be used; set at each reload
}

// list returns one sentence per problem, without secrets. With advice it includes what works but could be better.
func (p *configProblems) list(advice bool) []string {
	problems, err := p.file.Problems()
	list := []string{}
	for _, one := range problems {
		// Advice is a setting that works but could be better. hob status shows it, a notice does not.
		if advice || !one.Advice {
			list = append(list, one.String())
		}
	}
	if err != nil {
		list = append(list, err.Error())
	}
	for _, f := range p.models.Lineup().Faults {
		list = append(list, f.Err.Error())
	}
	// These come last: they are the consequences of the mistakes above.
	if off := p.off.Load(); off != nil {
		list = append(list, *off...)
	}
	for i := range list {
		list[i] = p.hide(list[i])
	}
	return list
}

// agentSettings reads what the agent takes from the config, at each step.
// Package agent does not import the config; it gets its settings here.
type agentSettings struct {
	config     func() *config.Snapshot
	chosen     store.Settings
	zone       *ownerZone
	recipients channels.Recipients
	live       *toolset.Active
	workspace  string
	files      *fsguard.Texts // the workspace files, which each turn looks at
	skills     func() string  // the list of skills in the prompt
	log        *slog.Logger
	address    string // of hob's own API
}

// read returns the settings of one step. A change of the config therefore applies from the next step on. If safe mode cannot be read, it counts as on.
func (s agentSettings) read(ctx context.Context) agent.Settings {
	c := s.config()
	// If ctx has ended, the error is only a consequence, so it is not logged.
	safe, err := s.chosen.SafeMode(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Error("read safe mode", "err", err)
	}
	set := agent.Settings{
		Zone: s.zone.name(), Owner: c.Owner.Name, OwnerAddresses: append([]event.Address{event.ToOwner, event.CLI}, s.recipients.Owner()...), KnownAddresses: s.recipients.Known(),
		Mode: agent.Mode(c.Guard.Mode), Safe: safe != "" || err != nil, System: s.system, Heartbeat: func() string { return agent.HeartbeatText(s.config().Owner.Name) }, Workspace: s.live.Guard().Workspace(), Address: s.address, Locked: func(path string) bool { return fsguard.Locked(s.live.Guard(), path) },
	}
	set.Limits.Requests, set.Limits.Running = c.Turn.MaxSteps, c.Turn.MaxRunning
	return set
}

// system is the system text.
// A session stores this text at its first turn, so that later requests begin with the same bytes. guest: the asker is not the owner.
func (s agentSettings) system(guest bool) []turn.Section {
	list, err := s.prompt(guest).Sections()
	if err != nil {
		s.log.Warn("a part of a workspace file is left out of the prompt", "err", err)
	}
	return list
}

// prompt returns what the system text is made from.
func (s agentSettings) prompt(guest bool) agent.Prompt {
	p := promptOf(s.live.Guard(), s.files.Text, s.workspace, s.config().Owner.Name, guest)
	p.Skills = s.skills()
	return p
}
