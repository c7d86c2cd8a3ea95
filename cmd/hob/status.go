package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// sandboxText says what confines, and what is missing. The mode is what [tools.exec] sandbox says: auto,
// require or off.
func sandboxText(c api.Sandbox) string {
	text := c.Kind
	switch {
	// The result is not known yet, so the kind is not shown.
	case c.Probing:
		text = "hob is probing whether it works"
	case c.Works && c.Network:
		text += " · with the network"
	case c.Works:
		text += " · without the network"
	case c.Mode == "require":
		text = "no command runs"
	case c.Mode == "auto":
		text = "hob asks you before each command"
	default:
		text = "off"
	}
	if c.Why != "" && c.Mode != "off" {
		text += " · " + c.Why
	}
	return text
}

// statusView prints a status. Its methods draw parts of it; each returns a text, so that tests need no daemon.
type statusView struct{ api.Status }

// statusCommand makes hob status. The daemon collects the status; everything here only draws it.
func statusCommand(a *cli.App) *cobra.Command {
	watch := false
	cmd := &cobra.Command{
		Use: "status", Short: "Show how hob is", Args: cli.None, Example: "  hob status\n  hob status --watch",
		Long: "Show how hob is: models, thread, questions, channels, outbox, scheduler, budget, database, and what is wrong with the config.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return watchStatus(cmd.Context(), a)
			}
			return cli.ShowRow(cmd.Context(), a, api.ShowStatus, "", func(s api.Status, _ json.RawMessage, _ cli.Clock) error {
				if err := a.Text(statusView{s}.page(layout{cli.ZoneOrLocal(s.Zone), cli.Columns(a.Out), time.Now()})); err != nil || s.Outbox.Ready == 0 {
					return err
				}
				return sayUnsent(cmd.Context(), a)
			})
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every second until Ctrl-C; off a terminal, a line (with --json a document) for each change")
	return cmd
}

// page is the whole status. It has the parts in the order in which a problem would be looked for: hob itself,
// models, thread, channels, what runs, queues, database.
func (s statusView) page(p layout) string {
	var b strings.Builder
	last := ""
	// Lines of the same subject show its name only once.
	line := func(name, text string) {
		if name == last {
			name = ""
		} else {
			last = name
		}
		fmt.Fprintln(&b, p.line(fmt.Sprintf("%-10s %s", name, console.OneLine(text))))
	}
	fmt.Fprintln(&b, p.line(fmt.Sprintf("hob is %s · up %s since %s · %s", s.word(), uptimeText(s.UptimeMS), p.at(s.Started), webAddress(s.Address))))
	// What needs attention comes first.
	for _, t := range s.Trouble {
		line("trouble", t)
	}
	for _, t := range s.Off {
		line("off", t)
	}
	line("model", console.OrDash(s.Model))
	for _, m := range s.Models {
		// One model without a fault adds nothing to the line above.
		if len(s.Models) > 1 || m.Resting != nil || m.Fault != "" || m.LastError != "" {
			line("models", modelText(m, p))
		}
	}
	line("thread", s.thread())
	if s.Questions > 0 {
		line("questions", console.Plural(s.Questions, "question")+" for you: hob approvals list")
	}
	// Each channel has two lines, because receiving and sending fail independently.
	for _, c := range s.Channels {
		line("channels", c.Name+" receiving "+statusDirection(c.Receiving, p))
		line("channels", c.Name+" sending "+statusDirection(c.Sending, p))
	}
	for _, c := range s.Thread.Children {
		line("sub-agent", subagentText(c))
	}
	// One line for each session that has a to-do list.
	for _, t := range s.Thread.Todo {
		line("todo", todoText(t))
	}
	for _, c := range s.Background {
		line("background", c)
	}
	for _, t := range s.Terminals {
		line("tmux", t)
	}
	line("outbox", fmt.Sprintf("%d to be sent · %d held", s.Outbox.Ready, s.Outbox.Held))
	line("scheduler", s.schedule(p))
	line("budget", budgetLine(s.Budget)+" today")
	line("database", console.Size(s.Database.Bytes+s.Database.WAL)+" on disk")
	if s.Sandbox.Kind != "" || s.Sandbox.Probing {
		line("sandbox", sandboxText(s.Sandbox))
	}
	if r := s.Recording; r != nil {
		line("recording", r.Subject+" since "+p.at(r.Began)+"; end it with: hob record stop")
	}
	line("version", fmt.Sprintf("%s · start %d", s.Version, s.Epoch))
	line("home", s.Home)
	// Problems of the config, and of channels that could not be started.
	for _, c := range s.Config {
		line("config", c)
	}
	if s.SafeMode.On {
		line("safe mode", s.SafeMode.Why+"; leave it with: hob safe-mode off")
	}
	return b.String()
}

// subagentText is one sub-agent: what it does, for how long, and how much of its time is left.
func subagentText(c api.Subagent) string {
	text := c.ID + " · " + c.Title
	// Four sub-agents run at a time; the others wait.
	if c.State != "running" {
		return text + " · waits: four sub-agents run already"
	}
	return text + fmt.Sprintf(" · turn %d · %s of %s · %d requests", c.Turn, c.Running.Round(time.Second), c.Timeout, c.Requests)
}

// todoText is the to-do list of a session that the model keeps for a longer task. Plan mode means that the
// model may look but not change anything yet.
func todoText(t api.Todo) string {
	text := t.Session
	if t.Plan {
		text += " · in plan mode"
	}
	if t.Total > 0 {
		text += fmt.Sprintf(" · %d of %d done", t.Done, t.Total)
	}
	if t.Doing != "" {
		text += " · now: " + t.Doing
	}
	return text
}

// modelText is the model, and whether it is asked. Order 0 means that it is never asked, and Fault says why.
func modelText(m api.Model, p layout) string {
	name := m.Backend
	if m.Model != "" && m.Model != m.Backend {
		name += "/" + m.Model
	}
	if m.Name != "default" && m.Name != name {
		name = m.Name + " " + name
	}
	switch {
	// Order is the place among the models that are asked, from 1 on.
	case m.Order == 0:
		return "- " + name + " · cannot be asked: " + m.Fault
	case m.Resting != nil:
		return fmt.Sprintf("%d %s · rests until %s: %s", m.Order, name, p.at(m.Resting.Until), m.Resting.Text)
	}
	return fmt.Sprintf("%d %s · %s", m.Order, name, stateText(m))
}

// statusDirection is the state of receiving or sending, since when, and its last error.
func statusDirection(d api.Direction, p layout) string {
	text := console.OrDash(string(d.State))
	if !d.Since.IsZero() {
		text += " since " + console.InZone(d.Since, p.zone, false)
	}
	// The last error stays in the status after a recovery. It is shown only while the direction has trouble.
	if d.LastError != "" && d.State != "ok" {
		text += " (" + d.LastError + ")"
	}
	return text
}

// uptimeText is a time span in its two largest units. Smaller units would change with every second of --watch.
func uptimeText(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd %dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// word is the state in a sentence.
func (s statusView) word() string {
	if s.State == "safe-mode" {
		return "in safe mode"
	}
	return s.State
}

// thread is the state of the agent's thread, with its turn and its queue.
func (s statusView) thread() string {
	text := console.OrDash(s.Thread.State)
	if s.Thread.Turn != 0 {
		text += fmt.Sprintf(" with turn %d", s.Thread.Turn)
	}
	if s.Thread.Session != "" {
		text += " in " + s.Thread.Session
	}
	if s.Thread.Title != "" && s.Thread.Session != "main" { // main is titled by its first message ever
		text += " (" + s.Thread.Title + ")"
	}
	text += fmt.Sprintf(" · %d queued", s.Thread.Queued)
	if s.Thread.Later > 0 {
		text += fmt.Sprintf(" · %d for later", s.Thread.Later)
	}
	return text + fmt.Sprintf(" · %d waiting", s.Thread.Waiting)
}

// schedule is the number of jobs and the next slot.
func (s statusView) schedule(p layout) string {
	jobs := console.Plural(s.Scheduler.Jobs, "job")
	if s.Scheduler.State == "stuck" {
		jobs = "stuck · " + jobs
	}
	if !s.Scheduler.Next.IsZero() {
		jobs += fmt.Sprintf(", next %s %s", s.Scheduler.NextJob, text.Soon(s.Scheduler.Next.In(p.zone), p.now, false))
	}
	return jobs
}

// showSummary is hob without a command: a short status and the next step. It must work for somebody who has
// just installed hob, so a daemon that does not run is no error.
func showSummary(ctx context.Context, a *cli.App) error {
	c, err := a.Client(ctx)
	if errors.Is(err, client.ErrNoDaemon) {
		if a.JSON {
			return a.Document(map[string]string{"state": "stopped", "next": "hob up"})
		}
		a.Say("hob is not running\nstart it with: hob up\nall commands: hob help")
		return nil
	}
	if err != nil {
		return err
	}
	shown, err := client.Show(ctx, c, api.ShowStatus, "")
	if err != nil {
		return err
	}
	s := statusView{shown}
	if a.JSON {
		return a.Document(map[string]string{"state": s.State, "next": s.next()})
	}
	a.Say("hob is %s · %s · %s\nnext: %s\nall commands: hob help", s.word(), s.thread(), s.schedule(layout{zone: cli.ZoneOrLocal(s.Zone), now: time.Now()}), s.next())
	return nil
}

// next suggests the next command. It leads to what needs a person: safe mode first, then open questions, then
// trouble.
func (s statusView) next() string {
	switch {
	case s.SafeMode.On:
		return "hob safe-mode"
	case s.Questions > 0:
		return "hob approvals list"
	case s.State == "degraded":
		return "hob status"
	}
	return "hob chat"
}
