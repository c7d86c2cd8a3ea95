package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/skills"
	"hob/daemon/store"
	"hob/daemon/text"
	"hob/daemon/triggers"
	"hob/scheduler"
)

// chatReports writes the short texts of the chat commands.
type chatReports struct {
	status status
	jobs   triggers.Jobs
	outbox store.Outbox
	budget store.Spending

	capabilities func() skills.Facts
}

// Text answers /status, /queue, /jobs, /usage, /capabilities and /why.
// agent.CommandHandler calls it for each of these commands. An unknown topic gets the answer to /status.
func (b chatReports) Text(ctx context.Context, topic, arg string) (string, error) {
	switch topic {
	case "queue":
		return b.queue(ctx)
	case "jobs":
		return b.schedule(ctx)
	case "usage":
		return b.usage(ctx)
	case "why":
		return b.why(ctx, arg)
	case "capabilities":
		text, err := b.capabilities().Text()
		if err == nil && text == "" {
			text = b.capabilities().Summary()
		}
		return text, err
	case "quiet":
		return b.quiet(ctx)
	}
	return b.short(ctx)
}

// short is the answer to /status: one paragraph, with the parts that need attention only when there are some.
func (b chatReports) short(ctx context.Context) (string, error) {
	s, err := b.status.look(ctx)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("hob %s is %s, model %s: %s, %s, %s.", s.Version, s.State, s.Model,
		plural(s.Thread.Queued, "message waits", "messages wait"), plural(s.Thread.Waiting, "turn is parked", "turns are parked"), plural(s.Questions, "question is open", "questions are open"))
	if s.Thread.Later > 0 {
		text += " " + plural(s.Thread.Later, "message or task is", "messages or tasks are") + " for a later time."
	}
	if s.Thread.Turn != 0 {
		text += fmt.Sprintf(" Turn %d is running.", s.Thread.Turn)
	}
	if n := len(s.Thread.Children); n > 0 {
		text += " " + plural(n, "sub-agent works", "sub-agents work") + "."
	}
	// A zero time means that no job has a next slot.
	if !s.Scheduler.Next.IsZero() {
		text += " Next job: " + s.Scheduler.NextJob + " at " + b.status.zone.text(s.Scheduler.Next) + "."
	}
	if s.SafeMode.On {
		text += " Safe mode: " + s.SafeMode.Why + " (hob safe-mode off)."
	}
	return text, nil
}

// plural writes a count with its noun; 0 is "no".
func plural(n int, one, many string) string {
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// queue lists what runs, what waits and what is parked, without the command that asks.
func (b chatReports) queue(ctx context.Context) (string, error) {
	// Twenty rows of each kind are enough for a message in a chat; hob inbox list shows all.
	waiting, err := b.status.view.InboxRows(ctx, event.Filter{State: "queued", Limit: 20})
	if err != nil {
		return "", err
	}
	parked, err := b.status.view.TurnRows(ctx, event.Filter{State: "waiting", Limit: 20})
	if err != nil {
		return "", err
	}
	var lines []string
	if id := b.status.turn.Running(); id != 0 {
		lines = append(lines, fmt.Sprintf("running: turn %d", id))
	}
	// The view lists the newest rows first; the queue is shown oldest first.
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

// schedule lists the jobs with their next slots, in the owner's zone.
func (b chatReports) schedule(ctx context.Context) (string, error) {
	list, err := b.jobs.List(ctx)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "There are no jobs.", nil
	}
	return strings.Join(scheduler.Lines(list, b.status.zone.location().String(), time.Now()), "\n"), nil
}

// quiet returns the end of the owner's quiet time.
func (b chatReports) quiet(ctx context.Context) (string, error) {
	until, waiting, err := b.outbox.Quiet(ctx)
	if err != nil {
		return "", err
	}
	if until.IsZero() {
		return "It is not quiet: everything is sent at once. /quiet 2h delays messages that are not urgent.", nil
	}
	return "Quiet until " + b.status.zone.text(until) + ": " + plural(waiting, "message waits", "messages wait") + ". /quiet off ends it.", nil
}

// usage sums up the owner's day. Money at an unknown price cannot be summed, so tokens are listed besides.
func (b chatReports) usage(ctx context.Context) (string, error) {
	u, err := b.budget.Spent(ctx)
	if err != nil {
		return "", err
	}
	spent := fmt.Sprintf("%.2f", money(u.Used.Micros()))
	if u.Used < 0 {
		spent = "unknown"
	}
	return fmt.Sprintf("Today (%s): %s of %s spent, %s of %s tokens at an unknown price; reserved: %.2f and %s tokens.",
		u.Day, spent, capped(u.PerDayMicros, text.Money), text.Thousands(u.UsedTokens), capped(u.PerDayTokens, text.Thousands), money(u.ReservedMicros), text.Thousands(u.ReservedTokens)), nil
}

// money converts the store's unit, millionths of the budget's currency, for display.
func money(micros int64) float64 { return float64(micros) / 1e6 }

// capped shows a limit; a negative one means that there is none.
func capped(n int64, show func(int64) string) string {
	if n < 0 {
		return "unlimited"
	}
	return show(n)
}

// why shows how something came about, from the message to its cause, indented by at most four levels.
func (b chatReports) why(ctx context.Context, arg string) (string, error) {
	// arg is the number of a row of the outbox, or "last".
	w, err := b.status.view.Why(ctx, arg)
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
