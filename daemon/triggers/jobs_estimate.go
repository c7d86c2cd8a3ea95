package triggers

import (
	"context"
	"fmt"
	"time"

	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// recent is how far back other jobs' runs tell what a new job may cost.
const recent = 30 * 24 * time.Hour

// Costs is what is known of what runs cost.
type Costs struct {
	Mean  func(ctx context.Context, job int64, since time.Time) (scheduler.Cost, error) // of a job's own runs, else of all since an instant; zero: there are none
	Price func() (input, output int64, free bool)                                       // of the model that is asked first, in millionths for a million tokens; zero: not known
}

// estimated is a job as people and models see it, with what it may cost in a month. One that does not run again has no estimate.
func (s Jobs) estimated(ctx context.Context, j scheduler.Job) (automation.Job, error) {
	view := s.shown(j)
	if view.Broken != "" || view.Done {
		return view, nil
	}
	mean, err := s.Costs.Mean(ctx, j.ID, s.Now().Add(-recent))
	if err != nil {
		return view, fmt.Errorf("read what runs cost: %w", err)
	}
	input, output, free := s.Costs.Price()
	mean.Free = free
	e, err := scheduler.EstimateOf(j, scheduler.CostOf(mean, input, output), s.Now())
	if err != nil {
		return view, fmt.Errorf("estimate job %s: %w", j.Name, err)
	}
	view.Estimate = &automation.Estimate{Text: e.String(), Runs: e.Runs, CostMicros: e.Micros, Tokens: e.Tokens, Free: e.Free, AtMost: e.Most}
	return view, nil
}

// limits are a job's limits after a wish; what the wish does not name stays as it is in old.
func (s Jobs) limits(wish string, old scheduler.Mandate) (only []string, tokens int64, err error) {
	l, err := automation.ParseLimits(wish)
	if err != nil {
		return nil, 0, refuseJob(err)
	}
	only, tokens = old.Tools, old.Tokens
	if l.OfTools {
		only = l.Tools
	}
	if l.OfTokens {
		tokens = l.Tokens
	}
	for _, name := range l.Tools {
		if !s.Tool(name) {
			return nil, 0, tools.Refuse(tools.Validation, "hob tool list shows them", "limits: there is no tool named %q", name)
		}
	}
	return only, tokens, nil
}
