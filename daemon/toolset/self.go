// This file gives the session tools their view of hob: its model, its remaining budget, and the reports of background processes.
// Everything that it needs is passed in as functions.

package toolset

import (
	"context"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
	"hob/tools/runtime"
	"hob/tools/sessions"
)

// Gauge provides the session tools with information about hob.
type Gauge struct {
	Model   func() llm.Info // the first model of the fallback plan
	Running func() int64    // the turn that is running; 0: none
	Tools   func() []tools.Spec
	Room    func(ctx context.Context) (micros, tokens int64, err error) // what may still be spent today; below 0: no limit
}

// Self describes hob as an agent. There is only this one.
func (g Gauge) Self(context.Context) (sessions.Self, error) {
	info := g.Model()
	s := sessions.Self{Name: "hob", Model: info.Name(), Context: info.Context, State: "idle", Turn: g.Running(), Tools: []string{}}
	if s.Turn != 0 {
		s.State = "running"
	}
	for _, t := range g.Tools() {
		s.Tools = append(s.Tools, t.Name)
	}
	return s, nil
}

// Left returns what may still be spent today.
func (g Gauge) Left(ctx context.Context) (sessions.Left, error) {
	micros, tokens, err := g.Room(ctx)
	return sessions.Left{Micros: max(micros, -1), Tokens: max(tokens, -1)}, err
}

// Reports turns the end of a background process into an input for the conversation that started it.
type Reports struct {
	Accept func(ctx context.Context, in event.In) error
	Record func(ctx context.Context, changes ...tools.Change) error
}

// Report stores a report before it returns. A second report of the same call is not stored.
func (r Reports) Report(ctx context.Context, p runtime.Report) error {
	var marks []tools.Change
	for _, m := range p.Marks {
		marks = append(marks, m)
	}
	if len(marks) > 0 {
		if err := r.Record(ctx, marks...); err != nil {
			return fmt.Errorf("mark files: %w", err)
		}
	}
	if p.Session == 0 {
		return nil // it was started on the command line, which polls its output
	}
	rank := event.RankRest
	if p.Trust == event.Owner {
		rank = event.RankResumed // the owner's request continues
	}
	return r.Accept(ctx, event.In{
		Source: "process", ExtID: p.Call, Session: p.Key, Kind: event.Report, Rank: rank, Trust: p.Trust, Tainted: p.Foreign != "",
		Sender: p.Process, ReplyTo: p.ReplyTo, Parts: event.Say(p.Text),
	})
}
