package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hob/channels"
	"hob/config"
	"hob/daemon/account"
	"hob/daemon/agent"
	"hob/daemon/api"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/mcp"
	"hob/daemon/record"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/gate"
)

// stuckAfter is how long the thread and the parts of the scheduler may make no progress before they count as stuck. A part that
// sleeps makes progress until its timer ends; evaluating one gate may take a minute.
const stuckAfter = 90 * time.Second

// status looks at the daemon from outside: what hob status shows, health and metrics.
type status struct {
	opt      Options
	address  string
	started  time.Time
	clock    sys.Clock
	zone     *ownerZone
	store    *store.Store
	view     *store.View
	file     *config.Reloader
	problems *configProblems
	models   *catalog.Models
	live     *toolset.Active
	tools    *toolset.Deps
	turn     *agent.RunningTurn
	runner   *scheduler.Runner
	mcp      *mcp.Service
	accounts *account.Service
	idle     func(now time.Duration) time.Duration // how long the slowest part of the scheduler has made no progress
	health   func() []channels.ChannelHealth       // of the channels, without secrets
	restarts *restarts
	recorder *record.Recorder
	hide     func(string) string // takes secrets out
	log      *slog.Logger
}

// show returns everything that hob status shows.
// It also asks for processes and models, so it costs more than look; a chat and the metrics use look.
func (d status) show(ctx context.Context) (api.Status, error) {
	s, err := d.look(ctx)
	if err != nil {
		return s, err
	}
	s.Background, s.Terminals = d.tools.Registry.Running(), d.tools.Terminals(ctx, d.live.Set(), d.zone.name())
	for _, list := range [][]string{s.Background, s.Terminals} {
		for i := range list {
			list[i] = d.hide(list[i])
		}
	}
	if r := d.recorder.Show(); r.Subject != "" && r.Ended.IsZero() {
		s.Recording = &r
	}
	all, err := d.models.Roster(ctx)
	if s.Database.Fault != "" {
		err = nil // the status reports it already
	}
	for _, m := range all.Models {
		if m.Order > 0 || m.Fault != "" {
			s.Models = append(s.Models, d.tidy(m))
		}
	}
	return s, err
}

// model describes one model, with the repairs that its answers needed.
func (d status) model(ctx context.Context, name string) (m api.ModelDetail, err error) {
	row, learned, err := d.models.Described(ctx, name)
	if err != nil {
		return m, err
	}
	m = api.ModelDetail{Model: d.tidy(row), Learned: learned, Turns: 1000}
	info := llm.Info{Provider: row.Backend, Model: row.Model}
	m.Answers, m.Repaired, err = d.view.ModelAnswers(ctx, info.Name(), m.Turns)
	return m, err
}

// tidy removes secrets from what the config and a server say about a model.
func (d status) tidy(m api.Model) api.Model {
	m.Model, m.BaseURL, m.Fault, m.LastError = d.hide(m.Model), d.hide(m.BaseURL), d.hide(m.Fault), d.hide(m.LastError)
	if m.Resting != nil {
		rest := *m.Resting
		rest.Text = d.hide(rest.Text)
		m.Resting = &rest
	}
	return m
}

// shown returns the health of channels as people see it.
func shown(list []channels.ChannelHealth) []channels.ChannelHealth {
	for i := range list {
		list[i] = list[i].Shown()
	}
	return list
}

// look returns the part of the status that is cheap. A database that does not answer is part of the status, not an error.
func (d status) look(ctx context.Context) (api.Status, error) { return d.judged(ctx, d.read) }

// judged reads a status and adds the states of the parts and of the whole.
func (d status) judged(ctx context.Context, read func(context.Context) (api.Status, error)) (api.Status, error) {
	s, err := read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return s, err
		}
		d.log.Error("the database does not answer", "err", err)
		s.Database.Fault = plain(err).Error()
	}
	s.State = d.judge(ctx, &s)
	return s, nil
}

// states collects what the states of the parts follow from. /healthz needs no more.
func (d status) states(ctx context.Context) (api.Status, error) {
	s := api.Status{
		Version: d.opt.Version, Home: d.opt.Home, Address: d.address, Model: d.hide(d.models.First().Name()), Epoch: d.store.Epoch(), Started: d.started,
		UptimeMS: max(d.clock.Wall().Sub(d.started), 0).Milliseconds(), Zone: d.zone.name(), Thread: api.ThreadStatus{State: "idle", Turn: d.turn.Running()},
		Channels: shown(d.health()), Scheduler: api.SchedulerStatus{State: "ok"}, Database: api.DatabaseStatus{WAL: d.walBytes()},
		Commands: api.Commands{Sandbox: d.live.Set().Sandbox.Now()}, Problems: api.Problems{Config: d.problems.list(true)},
	}
	// Nothing above needs the database. If it fails, look still shows what is known.
	var err error
	s.SafeMode.Why, err = d.store.Settings.SafeMode(ctx)
	s.SafeMode.On = s.SafeMode.Why != ""
	return s, err
}

// read collects the states, and the figures from the database.
func (d status) read(ctx context.Context) (api.Status, error) {
	s, err := d.states(ctx)
	if err != nil {
		return s, err
	}
	counts, err := d.view.Counts(ctx, d.clock.Wall())
	if err != nil {
		return s, err
	}
	s.Thread.Queued, s.Thread.Later, s.Thread.Waiting, s.Questions, s.Outbox = counts.Queued, counts.Later, counts.Waiting, counts.Questions, api.OutboxStatus{Ready: counts.Unsent, Held: counts.Held}
	s.Scheduler.Jobs, s.Database.Bytes = counts.Jobs, counts.Bytes
	if s.Budget, err = d.store.Spending.Spent(ctx); err != nil {
		return s, err
	}
	if s.Scheduler.Next, s.Scheduler.NextJob, err = d.store.Jobs.NextJob(ctx); err != nil {
		return s, err
	}
	if s.Thread.Session, s.Thread.Title, err = d.view.SessionOfTurn(ctx, s.Thread.Turn); err != nil {
		return s, err
	}
	if s.Thread.Todo, err = d.store.Tasks.Tallies(ctx); err != nil {
		return s, err
	}
	s.Thread.Children, err = d.store.Sessions.OpenAgents(ctx)
	return s, err
}

// walBytes is the size of the write-ahead log; there is none before the first commit.
func (d status) walBytes() int64 {
	info, err := os.Stat(filepath.Join(d.opt.state(), "hob.db-wal"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// judge sets the states of the parts and returns the state of the whole.
func (d status) judge(ctx context.Context, s *api.Status) string {
	if s.Thread.Turn != 0 {
		s.Thread.State = "running"
	}
	now := d.clock.Mono()
	// A turn may take any time, so only an idle thread can count as stuck.
	if s.Thread.Turn == 0 && now-d.turn.Beat(now) > stuckAfter {
		s.Thread.State = "stuck"
	}
	// In safe mode the scheduler does not run, so it makes no progress.
	if d.idle(now) > stuckAfter && !s.SafeMode.On {
		s.Scheduler.State = "stuck"
	}
	s.Trouble = d.trouble(ctx, s)
	var failing bool
	s.Off, failing = d.off(ctx)
	switch {
	// The order is the order of importance: a state hides those below it.
	case s.SafeMode.On && s.Database.Fault == "":
		return "safe-mode"
	case len(s.Trouble) > 0 || failing || ill(s.Channels) || len(d.models.Lineup().Faults) > 0 || d.unanswered() || d.mistaken():
		return "degraded"
	case s.Thread.Turn != 0:
		return "busy"
	}
	return "ok"
}

// unanswered reports whether the last request to each model failed. The built-in interpreter is no model.
func (d status) unanswered() bool {
	chain := d.models.Lineup().Chain
	list := slices.DeleteFunc(chain.Models(), func(m llm.Model) bool { return m.Info().Interpreter })
	return len(list) > 0 && !slices.ContainsFunc(list, func(m llm.Model) bool { fault, _ := chain.Last(m); return fault == "" })
}

// schedulerIdle returns how long the slowest part of the scheduler has made no progress.
func schedulerIdle(now time.Duration, r *scheduler.Runner, g *gate.Runner, w *filewatch.Watcher) time.Duration {
	return now - min(r.Progress(), g.Progress(), w.Progress())
}

// mistaken reports whether a mistake in the config switches something off, or makes all of it unreadable.
func (d status) mistaken() bool {
	problems, err := d.file.Problems()
	return err != nil || slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Fatal })
}

// ill reports whether a channel cannot receive or cannot send.
func ill(list []channels.ChannelHealth) bool {
	down := func(c channels.ChannelHealth) bool {
		return c.Receiving.State == channels.Down || c.Sending.State == channels.Down
	}
	return slices.ContainsFunc(list, down)
}
