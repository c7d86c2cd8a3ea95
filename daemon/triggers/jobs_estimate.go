package triggers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// recent limits the runs from which the cost of a new job is estimated: those of other jobs in the last 30 days.
const recent = 30 * 24 * time.Hour

// Costs holds the known costs of runs.
type Costs struct {
	Mean  func(ctx context.Context, job int64, since time.Time) (scheduler.Cost, error) // of a job's own runs, else of all since an instant; zero: there are none
	Price func() (input, output int64, free bool)                                       // of the model that is asked first, in millionths for a million tokens; zero: not known
}

// estimated returns a job as people and models see it, with its estimated cost per month. A job without further runs has no estimate.
func (s Jobs) estimated(ctx context.Context, j scheduler.Job) (scheduler.View, error) {
	view := s.view(j)
	if view.Broken != "" || view.Done {
		return view, nil
	}
	// A job that has run is estimated from its own runs, a new one from those of all jobs.
	mean, err := s.Costs.Mean(ctx, j.ID, s.Now().Add(-recent))
	if err != nil {
		return view, fmt.Errorf("read what runs cost: %w", err)
	}
	// A local model costs nothing, whatever earlier runs with another model have cost.
	input, output, free := s.Costs.Price()
	mean.Free = free
	e, err := scheduler.EstimateOf(j, scheduler.CostOf(mean, input, output), s.Now())
	if err != nil {
		return view, fmt.Errorf("estimate job %s: %w", j.Name, err)
	}
	if view.NeedsModel {
		e.Free, e.Text = false, strings.TrimSuffix(e.Text, ", free")+"; "+event.NeedsModel
	}
	view.Estimate = &e
	return view, nil
}

// view returns a job as people and models see it, without its estimated cost.
func (s Jobs) view(j scheduler.Job) scheduler.View {
	v := j.View(s.Now())
	v.NeedsModel = s.Lacks(j.Prompt, j.Plain)
	return v
}

// permissions combines a draft with the job that it changes into the rights and limits of the job. Taint stays.
func (s Jobs) permissions(d scheduler.Draft, old scheduler.Job) (m scheduler.Permissions, err error) {
	m = scheduler.Permissions{Tainted: d.Permissions.Tainted || old.Tainted, Tools: old.Tools, Tokens: old.Tokens}
	switch {
	// New rights replace the old ones; they are not added.
	case d.GivesRights():
		if m.Allow, err = policy.Rights(d.Allow, fsguard.Absolute); err != nil {
			return m, refuseJob(err)
		}
	case d.Allow == "" && !d.Permissions.Tainted: // a job that a tainted turn changes loses its rights
		m.Allow = old.Allow
	}
	// A limit that the draft does not name keeps its old value.
	l, err := automation.ParseLimits(d.Limits)
	if err != nil {
		return m, refuseJob(err)
	}
	if l.OfTools {
		m.Tools = l.Tools
	}
	if l.OfTokens {
		m.Tokens = l.Tokens
	}
	// A mistyped name would leave the run without any tool.
	for _, name := range l.Tools {
		if !s.Tool(name) {
			return m, tools.Refuse(tools.Validation, "hob tool list shows them", "limits: there is no tool named %q", name)
		}
	}
	return m, nil
}
