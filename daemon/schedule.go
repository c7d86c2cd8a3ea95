package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/guard"
	"hob/daemon/store"
	"hob/daemon/store/view"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// schedule is the scheduler's jobs as the tool cron sees them.
type schedule struct {
	store *store.Store
	view  *view.View
	zone  func() *time.Location
	now   func() time.Time
	reach func(event.Address) bool
}

// Slots that are shown of a job.
const shownSlots = 3

func (s schedule) List(ctx context.Context) ([]automation.Job, error) {
	jobs, err := s.store.AllJobs(ctx)
	list := make([]automation.Job, len(jobs))
	for i, j := range jobs {
		list[i] = s.shown(j)
	}
	return list, err
}

func (s schedule) Find(ctx context.Context, name string) (automation.Job, bool, error) {
	j, err := s.store.JobNamed(ctx, name)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return automation.Job{}, false, nil
	}
	return s.shown(j), err == nil, err
}

// named finds a job by its name or id.
func (s schedule) named(ctx context.Context, name string) (automation.Job, error) {
	j, err := s.store.JobNamed(ctx, name)
	return s.shown(j), err
}

// shown is a job as people and models see it.
func (s schedule) shown(j scheduler.Job) automation.Job {
	view := automation.Job{
		ID: j.ID, Name: j.Name, Spec: j.Spec, Words: j.Words, Zone: j.Zone, Prompt: j.Prompt, Session: j.Session, Deliver: j.Deliver,
		Missed: string(j.Missed), Overlap: string(j.Overlap), Origin: j.Origin, Allow: j.Allow, Tainted: j.Tainted, Paused: j.Paused, Broken: j.Broken, Failures: j.Failures,
		Done: j.Due.IsZero() && !j.Paused, Created: j.Created,
	}
	if j.MaxLate > 0 {
		view.MaxLate = j.MaxLate.String()
	}
	if j.Broken == "" && !j.Due.IsZero() && !j.Paused {
		next, err := scheduler.Upcoming(j, j.Due.Add(-time.Nanosecond), shownSlots)
		if err != nil {
			view.Broken = err.Error()
		}
		view.Next = next
	}
	return view
}

func (s schedule) Plan(ctx context.Context, d automation.Draft) (automation.Job, tools.Change, error) {
	rights, err := guard.Rights(d.Allow, fsguard.Absolute)
	if err != nil {
		return automation.Job{}, nil, refuse(err)
	}
	if d.ID != 0 {
		return s.replan(ctx, d, rights)
	}
	j, _, err := scheduler.New(scheduler.Draft{
		Name: d.Name, When: d.Schedule, Zone: d.Zone, Prompt: d.Prompt, Session: d.Session, Deliver: string(cmp.Or(d.Deliver, deliverTo(d.ReplyTo))),
		Missed: d.Missed, MaxLate: period(d.MaxLate), Overlap: d.Overlap, Trust: d.Trust, Typed: s.typed(d), Mandate: scheduler.Mandate{Tainted: d.Tainted, Allow: rights},
	}, s.zone(), d.Now)
	if err != nil {
		return automation.Job{}, nil, refuse(err)
	}
	if j.Name, err = s.freeName(ctx, j.Name, d.Name != ""); err != nil {
		return automation.Job{}, nil, err
	}
	if err := s.reachable(j.Deliver); err != nil {
		return automation.Job{}, nil, err
	}
	return s.shown(j), scheduler.Put{Job: j}, nil
}

// typed reports whether a prompt is the owner's own words.
func (s schedule) typed(d automation.Draft) bool {
	return d.Trust == event.Owner && (d.Typed || ownWords(d.Words, d.Prompt, s.zone(), d.Now))
}

// ownWords reports whether a whole message is a schedule, a colon and exactly this prompt. What stands somewhere in a longer message
// may be a quotation.
func ownWords(words, prompt string, zone *time.Location, now time.Time) bool {
	_, rest, err := scheduler.Prefix(words, zone, now)
	if err != nil {
		return false
	}
	said, colon := strings.CutPrefix(strings.TrimSpace(rest), ":")
	return colon && prompt != "" && strings.TrimSpace(said) == strings.TrimSpace(prompt)
}

// reachable refuses an address that nothing could ever be sent to.
func (s schedule) reachable(to event.Address) error {
	if s.reach == nil || s.reach(to) {
		return nil
	}
	return tools.Refuse(tools.NotFound, "[channels."+to.Channel()+"] in config.toml makes one", "there is no channel %s", to.Channel())
}

// deliverTo is where a job answers that names no place: the chat it was made in. The local API is the owner himself.
func deliverTo(replyTo event.Address) event.Address {
	if replyTo == "" || replyTo == event.CLI {
		return event.ToOwner
	}
	return replyTo
}

func period(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// refuse is a mistake of the caller as a result that he can read.
func refuse(err error) error {
	return tools.Refuse(tools.Validation, "examples: every weekday at 9 · in 20 minutes · tomorrow 17:00 · every 30m · 0 9 * * 1-5", "%v", err)
}

// freeName finds a name that no job has; one that was asked for is not changed.
func (s schedule) freeName(ctx context.Context, name string, asked bool) (string, error) {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = name + "-" + strconv.Itoa(n)
		}
		_, taken, err := s.Find(ctx, try)
		if err != nil || !taken {
			return try, err
		}
		if asked {
			return "", tools.Refuse(tools.Conflict, "choose another name, or update it", "there is a job named %s already", name)
		}
	}
}

// replan changes a job in place: its past and its id stay.
func (s schedule) replan(ctx context.Context, d automation.Draft, rights []string) (automation.Job, tools.Change, error) {
	old, err := s.store.Job(ctx, d.ID)
	if err != nil && !errors.Is(err, scheduler.ErrUnreadable) {
		return automation.Job{}, nil, err
	}
	if old.Origin == originConfig {
		return automation.Job{}, nil, readOnly(old.Name)
	}
	typed := s.typed(d)
	if d.Prompt == "" {
		typed = old.Typed
	}
	if d.Allow == "" && !d.Tainted { // what a tainted turn changes keeps none
		rights = old.Allow
	}
	late := period(d.MaxLate)
	if late == "" {
		late = period(old.MaxLate)
	}
	j, _, err := scheduler.New(scheduler.Draft{
		Name: cmp.Or(d.Name, old.Name), When: cmp.Or(d.Schedule, s.words(old, d.Now)), Zone: cmp.Or(d.Zone, old.Zone), Prompt: cmp.Or(d.Prompt, old.Prompt),
		Session: cmp.Or(d.Session, old.Session), Deliver: string(cmp.Or(d.Deliver, old.Deliver)), Missed: cmp.Or(d.Missed, string(old.Missed)), MaxLate: late,
		Overlap: cmp.Or(d.Overlap, string(old.Overlap)), Trust: old.Trust, Typed: typed, Mandate: scheduler.Mandate{Tainted: old.Tainted || d.Tainted, Allow: rights},
	}, s.zone(), d.Now)
	if err != nil {
		return automation.Job{}, nil, refuse(err)
	}
	if j.Name != old.Name {
		if j.Name, err = s.freeName(ctx, j.Name, true); err != nil {
			return automation.Job{}, nil, err
		}
	}
	if err := s.reachable(j.Deliver); err != nil {
		return automation.Job{}, nil, err
	}
	j.ID, j.Last, j.Paused = old.ID, old.Last, old.Paused
	if d.Schedule == "" && d.Zone == "" {
		j.Spec, j.Words, j.Created, j.Due = old.Spec, old.Words, old.Created, old.Due
	}
	return s.shown(j), scheduler.Put{Job: j}, nil
}

// words is a schedule that New accepts for a job whose schedule does not change, also when its time has passed.
func (s schedule) words(old scheduler.Job, now time.Time) string {
	if spec, err := scheduler.ParseSpec(old.Spec); err == nil && spec.Recurring() {
		return old.Spec
	}
	return "at " + now.Add(24*time.Hour).Format(time.RFC3339) // replaced by the old schedule afterwards
}

func readOnly(name string) error {
	return tools.Refuse(tools.Denied, "change [jobs."+name+"] in config.toml", "job %s stands in the config: only its file changes it", name)
}

func (s schedule) Alter(ctx context.Context, view automation.Job, v automation.Verb, key string) (automation.Job, tools.Change, error) {
	j, err := s.store.Job(ctx, view.ID)
	if err != nil && !(v == automation.Remove && errors.Is(err, scheduler.ErrUnreadable)) {
		return view, nil, err
	}
	if j.Origin == originConfig && v == automation.Remove {
		return view, nil, readOnly(j.Name)
	}
	switch v {
	case automation.Remove:
		return view, scheduler.Remove{ID: j.ID}, nil
	case automation.Pause:
		j.Paused = true
		return s.shown(j), scheduler.Pause{ID: j.ID, Paused: true, Due: j.Due}, nil
	case automation.Resume:
		return s.resume(j)
	case automation.RunNow:
		return view, scheduler.RunNow{Job: j, In: scheduler.ByHand(j, key, s.now())}, nil
	default:
		return view, nil, fmt.Errorf("unknown verb %q", v)
	}
}

// resume lets a job go on with its next slot from now; what passed while it was paused is not caught up.
func (s schedule) resume(j scheduler.Job) (automation.Job, tools.Change, error) {
	if !j.Paused {
		return s.shown(j), nil, tools.Refuse(tools.Conflict, "", "job %s is not paused", j.Name)
	}
	next, err := scheduler.Upcoming(j, s.now(), 1)
	if err != nil {
		return s.shown(j), nil, refuse(err)
	}
	j.Paused, j.Due = false, time.Time{}
	if len(next) > 0 {
		j.Due = next[0]
	}
	return s.shown(j), scheduler.Pause{ID: j.ID, Due: j.Due}, nil
}

func (s schedule) Runs(ctx context.Context, j automation.Job, limit int) ([]automation.Run, error) {
	rows, err := s.view.FireRows(ctx, event.Filter{Name: strconv.FormatInt(j.ID, 10), Limit: limit})
	runs := make([]automation.Run, len(rows))
	for i, r := range rows {
		runs[i] = automation.Run{Due: r.Due, State: r.State, Outcome: outcome(r, j), Reason: r.Reason, LateMS: r.LateMS, Turn: r.Turn, Tainted: r.Tainted}
	}
	return runs, err
}

// outcome tells a late run from a run in time.
func outcome(r view.FireRow, j automation.Job) string {
	late, err := time.ParseDuration(j.MaxLate)
	if r.Outcome == string(scheduler.Ran) && err == nil && late > 0 && r.LateMS > late.Milliseconds() {
		return "late"
	}
	return r.Outcome
}
