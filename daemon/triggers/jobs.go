package triggers

import (
	"context"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/spec"
	"hob/tools"
	"hob/tools/automation"
)

// Rows is where jobs are kept.
type JobRows interface {
	AllJobs(ctx context.Context) ([]scheduler.Job, error)
	Job(ctx context.Context, id int64) (scheduler.Job, error)
	JobNamed(ctx context.Context, name string) (scheduler.Job, error)
	Record(ctx context.Context, changes ...tools.Change) error
}

// Jobs is where jobs are made and looked after. Every field must be set.
type Jobs struct {
	Rows  JobRows
	Fires func(ctx context.Context, j automation.Job, limit int) ([]automation.Run, error) // newest first
	Zone  func() *time.Location                                                            // the owner's
	Now   func() time.Time
	Reach func(event.Address) bool   // reports whether something can be sent there
	Asked func(context.Context) bool // reports whether HEARTBEAT.md asks for something
	Tool  func(name string) bool     // reports whether there is such a tool
	Costs Costs

	Helpless func(prompt string) bool // reports whether no model is there that could do what a prompt says
}

var _ automation.Jobs = Jobs{}

// Slots that are shown of a job.
const shownSlots = 3

// List returns all jobs, by name.
func (s Jobs) List(ctx context.Context) ([]automation.Job, error) {
	jobs, err := s.Rows.AllJobs(ctx)
	list := make([]automation.Job, 0, len(jobs))
	for _, j := range jobs {
		if !s.hidden(ctx, j) {
			list = append(list, s.shown(j))
		}
	}
	return list, err
}

// Find looks a job up by its name or id; false: there is none.
func (s Jobs) Find(ctx context.Context, name string) (automation.Job, bool, error) {
	j, err := s.Rows.JobNamed(ctx, name)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return automation.Job{}, false, nil
	}
	return s.shown(j), err == nil, err
}

// Named finds a job by its name or id.
func (s Jobs) Named(ctx context.Context, name string) (automation.Job, error) {
	j, err := s.Rows.JobNamed(ctx, name)
	if err != nil {
		return s.shown(j), err
	}
	return s.estimated(ctx, j)
}

// shown is a job as people and models see it.
func (s Jobs) shown(j scheduler.Job) automation.Job {
	view := automation.Job{
		ID: j.ID, Name: j.Name, Spec: plain(j.Spec), Words: j.Words, Zone: j.Zone, Prompt: j.Prompt, Session: j.Session, Deliver: j.Deliver,
		Missed: string(j.Missed), Overlap: string(j.Overlap), Origin: j.Origin, Paused: j.Paused, Health: automation.Health{Broken: j.Broken, Failures: j.Failures},
		Done: j.Due.IsZero() && !j.Paused, Times: automation.Times{Created: j.Created, Anchor: j.Anchor},
		Bounds: automation.Bounds{Allow: j.Allow, Gate: j.Gate.Words(), Tools: j.Tools, Tokens: j.Tokens, Tainted: j.Tainted},
	}
	if j.MaxLate > 0 {
		view.MaxLate = spec.Plain(j.MaxLate)
	}
	if j.Broken == "" && !j.Due.IsZero() && !j.Paused {
		from := j.Due
		if view.Held = held(j, s.Now()); view.Held.After(from) {
			from = view.Held // what comes due before runs then
		}
		next, err := scheduler.Upcoming(j, from.Add(-time.Nanosecond), shownSlots)
		if err != nil {
			view.Broken = err.Error()
		}
		view.Next = next
	}
	return view
}

// plain is a schedule as it is written now: older rows have "every 30m0s". One that cannot be read stays as it is.
func plain(text string) string {
	s, err := spec.Parse(text)
	if err != nil {
		return text
	}
	return s.String()
}

// held is the instant before which a slot that is due, or comes due until then, does not run, because the job has failed; zero when no slot waits for it.
func held(j scheduler.Job, now time.Time) time.Time {
	failed := j.Hold.Add(-scheduler.Backoff(j.Failures))
	if j.Hold.After(now) && (j.Last.After(failed) || j.Due.Before(j.Hold)) {
		return j.Hold
	}
	return time.Time{}
}
