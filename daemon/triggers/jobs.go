package triggers

import (
	"context"
	"slices"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// JobRows stores jobs.
// store.Jobs implements it. Errors are an event.Fault of the kind Missing if there is no such job.
type JobRows interface {
	JobRows(ctx context.Context, f event.Filter) ([]scheduler.Job, error)
	ConfigJobs(ctx context.Context) ([]scheduler.Job, error)
	Job(ctx context.Context, id int64) (scheduler.Job, error)
	JobNamed(ctx context.Context, name string) (scheduler.Job, error)
	Record(ctx context.Context, changes ...tools.Change) error
}

// Jobs is the service for jobs: the tools, the API and the config create, list and change jobs through it. Every field must be set.
type Jobs struct {
	Rows    JobRows
	Fires   func(ctx context.Context, f event.Filter) ([]api.Fire, error) // newest first
	Zone    func() *time.Location                                         // the owner's
	Now     func() time.Time
	Unheard func(event.Address) string // why nothing that is sent there would arrive; "": it would
	Tool    func(name string) bool     // reports whether there is such a tool
	Costs   Costs

	event.Prompts
}

var _ automation.Jobs = Jobs{}

// mostListed is the largest number of jobs in a list.
const mostListed = 1000

// List returns the jobs by name; if there are more than 1000, those that run next.
func (s Jobs) List(ctx context.Context) ([]scheduler.View, error) {
	list, err := s.Next(ctx, event.Filter{Limit: mostListed})
	slices.SortFunc(list, func(a, b scheduler.View) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Next returns jobs, those that run next first. The state scheduler.InTrouble selects those that are broken or have failed.
func (s Jobs) Next(ctx context.Context, f event.Filter) ([]scheduler.View, error) {
	jobs, err := s.Rows.JobRows(ctx, f)
	list := make([]scheduler.View, 0, len(jobs))
	for _, j := range jobs {
		list = append(list, s.view(j))
	}
	return list, err
}

// Find returns the job with a name or id; false: there is none.
// The tools call it to learn whether a name is taken. Other errors of the store are returned.
func (s Jobs) Find(ctx context.Context, name string) (scheduler.View, bool, error) {
	j, err := s.Rows.JobNamed(ctx, name)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return scheduler.View{}, false, nil
	}
	return j.View(s.Now()), err == nil, err
}

// Named finds a job by its name or id.
// Its view has the estimated cost per month, which a list leaves out because it reads the past runs.
func (s Jobs) Named(ctx context.Context, name string) (scheduler.View, error) {
	j, err := s.Rows.JobNamed(ctx, name)
	if err != nil {
		return j.View(s.Now()), err
	}
	return s.estimated(ctx, j)
}
