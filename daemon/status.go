package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/scheduler"
	"hob/tools/runtime"
)

// How long the thread and the parts of the scheduler may go without progress before health says so. All look around at least every half
// minute; a look at one gate may take a minute.
const stuckAfter = 90 * time.Second

// overview looks at the daemon from outside: status and health.
type overview struct{ *daemon }

// status is all that hob status shows.
func (d overview) status(ctx context.Context) (api.Status, error) {
	s, err := d.look(ctx)
	if err != nil {
		return s, err
	}
	s.Background, s.Terminals = d.registry.Running(), d.terminals(ctx)
	for _, list := range [][]string{s.Background, s.Terminals} {
		for i := range list {
			list[i] = d.secrets.Text(list[i])
		}
	}
	all, err := roster(d).show(ctx)
	if s.Database.Fault != "" {
		err = nil // it has been said
	}
	for _, m := range all.Models {
		if m.Order > 0 || m.Fault != "" {
			s.Models = append(s.Models, d.tidy(m))
		}
	}
	return s, err
}

// terminals are the sessions of tmux; a server of theirs that hangs must not hold the status up for long.
func (d overview) terminals(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list, err := runtime.TmuxSessions(ctx, runtime.TmuxDeps{Zone: d.zoneName(), Guard: d.live.Load().kit.Guard, Sandbox: d.live.Load().kit.Sandbox, Environ: os.Environ(), Instance: d.opt.instance()})
	if err != nil {
		return []string{"not known: " + err.Error()}
	}
	return list
}

// tidy takes secrets out of what the config and a server say of a model.
func (d overview) tidy(m api.Model) api.Model {
	m.Model, m.BaseURL, m.Fault = d.secrets.Text(m.Model), d.secrets.Text(m.BaseURL), d.secrets.Text(m.Fault)
	if m.Resting != nil {
		rest := *m.Resting
		rest.Text = d.secrets.Text(rest.Text)
		m.Resting = &rest
	}
	return m
}

// channelHealth is how channels are, without the secrets in what their servers have said.
func (d overview) channelHealth() []channels.ChannelHealth {
	list := d.host.Health()
	for i := range list {
		for _, to := range []*channels.Direction{&list[i].Receiving, &list[i].Sending} {
			to.LastError = d.secrets.Text(to.LastError)
		}
	}
	return list
}

// shown is the health of channels as people see it.
func shown(list []channels.ChannelHealth) []channels.ChannelHealth {
	for i := range list {
		list[i] = list[i].Shown()
	}
	return list
}

// remarks are the problems of the config without secrets.
func (d overview) remarks() []string {
	list := d.problems(true)
	for i := range list {
		list[i] = d.secrets.Text(list[i])
	}
	return list
}

// look is the part of the status that costs next to nothing.
func (d overview) look(ctx context.Context) (api.Status, error) {
	s, err := d.read(ctx)
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

// read is what stands in the database and in memory, without a judgement.
func (d overview) read(ctx context.Context) (api.Status, error) {
	s := api.Status{
		Version: d.opt.Version, Home: d.opt.Home, Address: d.address, Model: d.secrets.Text(d.modelName()), Epoch: d.store.Epoch(), Started: d.started,
		UptimeMS: max(d.clock.Wall().Sub(d.started), 0).Milliseconds(), Zone: d.zoneName(), Thread: api.ThreadStatus{State: "idle", Turn: d.thread.Running()},
		Channels: shown(d.channelHealth()), Scheduler: api.SchedulerStatus{State: "ok"}, Database: api.DatabaseStatus{WAL: d.walBytes()},
		Commands: api.Commands{Sandbox: d.live.Load().kit.Sandbox.State()}, Problems: api.Problems{Config: d.remarks()},
	}
	counts, err := d.view.Counts(ctx)
	if err != nil {
		return s, err
	}
	s.Thread.Queued, s.Thread.Waiting, s.Questions, s.Outbox = counts.Queued, counts.Waiting, counts.Questions, api.OutboxStatus{Ready: counts.Unsent, Held: counts.Held}
	s.Scheduler.Jobs, s.Database.Bytes = counts.Jobs, counts.Bytes
	if s.Budget, err = d.store.Spending.Spent(ctx); err != nil {
		return s, err
	}
	if s.SafeMode.Why, err = d.store.Boots.SafeMode(ctx); err != nil {
		return s, err
	}
	s.SafeMode.On = s.SafeMode.Why != ""
	if s.Scheduler.Next, s.Scheduler.NextJob, err = d.store.Triggers.NextJob(ctx); err != nil {
		return s, err
	}
	if s.Thread.Todo, err = d.store.Tasks.Tallies(ctx); err != nil {
		return s, err
	}
	s.Thread.Children, err = d.store.Sessions.OpenAgents(ctx)
	return s, err
}

// walBytes is the size of the write-ahead log; there is none before the first commit.
func (d overview) walBytes() int64 {
	info, err := os.Stat(filepath.Join(d.opt.state(), "hob.db-wal"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// judge fills in the states of the parts and sums them up in one word.
func (d overview) judge(ctx context.Context, s *api.Status) string {
	if s.Thread.Turn != 0 {
		s.Thread.State = "running"
	}
	now := d.clock.Mono()
	if s.Thread.Turn == 0 && now-d.thread.Beat() > stuckAfter {
		s.Thread.State = "stuck"
	}
	if d.idle(now) > stuckAfter && !s.SafeMode.On {
		s.Scheduler.State = "stuck"
	}
	s.Trouble = d.trouble(ctx, s)
	switch {
	case s.SafeMode.On && s.Database.Fault == "":
		return "safe-mode"
	case len(s.Trouble) > 0 || ill(s.Channels) || len(d.live.Load().Faults) > 0 || d.mistaken():
		return "degraded"
	case s.Thread.Turn != 0:
		return "busy"
	default:
		return "ok"
	}
}

// idle is how long the slowest of what fires by itself has made no progress.
func (p *parts) idle(now time.Duration) time.Duration {
	return now - min(p.runner.Progress(), p.gateRunner.Progress(), p.watcher.Progress())
}

// mistaken reports whether a mistake in the config switches something off, or makes all of it unreadable.
func (d overview) mistaken() bool {
	problems, err := d.file.Problems()
	return err != nil || slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Fatal })
}

func ill(list []channels.ChannelHealth) bool {
	for _, c := range list {
		if c.Receiving.State == channels.Down || c.Sending.State == channels.Down {
			return true
		}
	}
	return false
}

// board writes the short texts of the chat commands.
type board struct{ *daemon }

// Text answers /status, /queue, /jobs, /usage and /why.
func (b board) Text(ctx context.Context, topic, arg string) (string, error) {
	switch topic {
	case "queue":
		return b.queue(ctx)
	case "jobs":
		return b.jobs(ctx)
	case "usage":
		return b.usage(ctx)
	case "why":
		return b.why(ctx, arg)
	case "quiet":
		return b.quiet(ctx)
	default:
		return b.short(ctx)
	}
}

func (b board) short(ctx context.Context) (string, error) {
	s, err := overview(b).look(ctx)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("hob %s is %s, model %s: %s, %s, %s.", s.Version, s.State, s.Model,
		plural(s.Thread.Queued, "message waits", "messages wait"), plural(s.Thread.Waiting, "turn is parked", "turns are parked"), plural(s.Questions, "question is open", "questions are open"))
	if s.Thread.Turn != 0 {
		text += fmt.Sprintf(" Turn %d is running.", s.Thread.Turn)
	}
	if n := len(s.Thread.Children); n > 0 {
		text += " " + plural(n, "sub-agent works", "sub-agents work") + "."
	}
	if !s.Scheduler.Next.IsZero() {
		text += " Next job: " + s.Scheduler.NextJob + " at " + b.local(s.Scheduler.Next) + "."
	}
	if s.SafeMode.On {
		text += " Safe mode: " + s.SafeMode.Why + " (hob safe-mode off)."
	}
	return text, nil
}

func plural(n int, one, many string) string {
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one
	default:
		return fmt.Sprintf("%d %s", n, many)
	}
}

func (d *daemon) local(t time.Time) string { return t.In(d.zone()).Format("2006-01-02 15:04 MST") }

func (b board) queue(ctx context.Context) (string, error) {
	waiting, err := b.view.InboxRows(ctx, event.Filter{State: "queued", Limit: 20})
	if err != nil {
		return "", err
	}
	parked, err := b.view.TurnRows(ctx, event.Filter{State: "waiting", Limit: 20})
	if err != nil {
		return "", err
	}
	var lines []string
	if id := b.thread.Running(); id != 0 {
		lines = append(lines, fmt.Sprintf("running: turn %d", id))
	}
	for i := len(waiting) - 1; i >= 0; i-- {
		if waiting[i].Kind == string(event.Command) {
			continue
		}
		lines = append(lines, fmt.Sprintf("waits: #%d %s", waiting[i].Seq, channels.Excerpt(waiting[i].Text)))
	}
	for _, t := range parked {
		lines = append(lines, fmt.Sprintf("parked: turn %d, %s", t.ID, t.Why))
	}
	if len(lines) == 0 {
		return "Nothing waits.", nil
	}
	return strings.Join(lines, "\n"), nil
}

func (b board) jobs(ctx context.Context) (string, error) {
	list, err := b.schedule().List(ctx)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, j := range list {
		line := j.Name + ": " + j.Spec
		switch {
		case j.Broken != "":
			line += " (broken: " + j.Broken + ")"
		case j.Paused:
			line += " (paused)"
		case len(j.Next) > 0:
			line += ", next " + b.local(j.Next[0])
		default:
			line += " (done)"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "There are no jobs.", nil
	}
	return strings.Join(lines, "\n"), nil
}

// quiet says until when it is quiet for the owner.
func (b board) quiet(ctx context.Context) (string, error) {
	until, waiting, err := b.store.Outbox.Quiet(ctx)
	if err != nil {
		return "", err
	}
	if until.IsZero() {
		return "It is not quiet: everything is sent at once. /quiet 2h holds back what does not hurry.", nil
	}
	return "Quiet until " + b.local(until) + ": " + plural(waiting, "message waits", "messages wait") + ". /quiet off ends it.", nil
}

func (b board) usage(ctx context.Context) (string, error) {
	u, err := b.store.Spending.Spent(ctx)
	if err != nil {
		return "", err
	}
	spent := fmt.Sprintf("%.2f", money(u.Used.Micros()))
	if u.Used < 0 {
		spent = "unknown"
	}
	return fmt.Sprintf("Today (%s): %s of %s spent, %d of %s tokens at an unknown price; reserved: %.2f and %d tokens.",
		u.Day, spent, capped(u.PerDayMicros, 1e6, "%.2f"), u.UsedTokens, capped(u.PerDayTokens, 1, "%.0f"), money(u.ReservedMicros), u.ReservedTokens), nil
}

func money(micros int64) float64 { return float64(micros) / 1e6 }

func capped(n int64, unit float64, format string) string {
	if n < 0 {
		return "unlimited"
	}
	return fmt.Sprintf(format, float64(n)/unit)
}

func (b board) why(ctx context.Context, arg string) (string, error) {
	w, err := b.view.Why(ctx, arg)
	if err != nil {
		return "", err
	}
	var lines []string
	for i, n := range w.Nodes {
		line := strings.Repeat("  ", min(i, 4)) + n.Title
		if n.Detail != "" {
			line += " (" + n.Detail + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// zone is the owner's zone; jobs and days of the budget hang in it.
func (d *daemon) zone() *time.Location {
	zone, err := scheduler.Zone(d.zoneName())
	if err != nil {
		return time.UTC
	}
	return zone
}
