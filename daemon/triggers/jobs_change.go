package triggers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/phrase"
	"hob/tools"
	"hob/tools/automation"
)

// Plan turns a draft into a new job, or into a change of one. It stores nothing: the caller commits the change, usually after an approval.
// Errors are results for the caller (tools.Refuse), except those of the store.
func (s Jobs) Plan(ctx context.Context, d scheduler.Draft) (scheduler.View, tools.Change, error) {
	// The draft may come from the tool, from hob cron or from a chat. From here on all of them are alike.
	old, err := s.changing(ctx, d.ID)
	if err != nil {
		return scheduler.View{}, nil, err
	}
	// Rights and limits first: whether the job has rights decides about its session.
	if d.Permissions, err = s.permissions(d, old); err != nil {
		return scheduler.View{}, nil, err
	}
	var j scheduler.Job
	var r phrase.Resolved
	if old.ID == 0 {
		d.Typed, d.Deliver = s.typed(d), cmp.Or(d.Deliver, string(jobDelivery(d)))
		j, r, err = scheduler.New(d, s.Zone(), d.Now)
	} else {
		// A prompt counts as typed by the owner until somebody else writes a new one.
		d.Typed = d.Prompt == "" && old.Typed || d.Prompt != "" && s.typed(d)
		j, r, err = old.Change(d, s.Zone(), d.Now)
	}
	if err != nil {
		return scheduler.View{}, nil, refuseJob(err)
	}
	if j.Plain, err = s.Plain(j.Prompt, d.Plain, old.Prompt, old.Plain); err != nil {
		return scheduler.View{}, nil, refuseJob(err)
	}
	wanted := j.Name
	if j.Name != old.Name { // a new job, or one that is renamed
		if j.Name, err = s.freeName(ctx, j.Name, d.Name != ""); err != nil {
			return scheduler.View{}, nil, err
		}
	}
	// A job that nobody would hear of is refused now, not at its first run.
	if why := s.Unheard(j.Deliver); why != "" && j.Deliver != old.Deliver {
		return scheduler.View{}, nil, tools.Refuse(tools.NotFound, noChannel, "%s", why)
	}
	view, err := s.estimated(ctx, j)
	view.Notes = taken(d, r, old.Session)
	if j.Name != wanted { // the owner cancels it by its name
		view.Notes = append(view.Notes, fmt.Sprintf("its name is %s, because there is a job %s already", j.Name, wanted))
	}
	if often := j.Often(); often != "" {
		view.Notes = append(view.Notes, often)
	}
	if missing := missingProgram(j); missing != "" {
		view.Notes = append(view.Notes, missing)
	}
	return view, scheduler.Put{Job: j}, err
}

// changing returns the job that a draft changes; the zero Job for a new one. A job with an unreadable row can still be changed.
func (s Jobs) changing(ctx context.Context, id int64) (scheduler.Job, error) {
	if id == 0 {
		return scheduler.Job{}, nil
	}
	old, err := s.Rows.Job(ctx, id)
	if err != nil && !errors.Is(err, scheduler.ErrUnreadable) {
		return old, err
	}
	if old.Origin == OriginConfig {
		return old, jobReadOnly(old.Name)
	}
	old.ID = id
	return old, nil
}

// taken lists the decisions about a job that the draft left open, so that the owner sees them. session is the job's previous session; "": it is new.
// The words are part of the view, so the caller shows them with the new job.
func taken(d scheduler.Draft, r phrase.Resolved, session string) (notes []string) {
	if r.Assumed != "" {
		notes = append(notes, r.Assumed)
	}
	if d.GivesRights() && d.Session == "" && session != "isolated" {
		notes = append(notes, "it has rights of its own, so it runs in a session of its own: what others say in yours cannot use them")
	}
	return notes
}

// typed reports whether a prompt is the owner's own words.
// A prompt that a model or another person has worded is not.
func (s Jobs) typed(d scheduler.Draft) bool {
	return d.Trust == event.Owner && (d.Typed || OwnWords(d.Words, d.Prompt, s.Zone(), d.Now))
}

// OwnWords reports whether a whole message is a schedule, a colon and exactly this prompt. A part of a longer message
// does not count, because it may be a quotation.
func OwnWords(words, prompt string, zone *time.Location, now time.Time) bool {
	_, rest, err := phrase.Prefix(words, zone, now)
	if err != nil {
		return false
	}
	// phrase.Prefix has taken the schedule off; what is left must be ": PROMPT".
	said, colon := strings.CutPrefix(strings.TrimSpace(rest), ":")
	return colon && prompt != "" && strings.TrimSpace(said) == strings.TrimSpace(prompt)
}

// jobDelivery is the default address for a job's answers: the chat in which it was made, also hob chat. A job from a command line answers to
// the owner.
func jobDelivery(d scheduler.Draft) event.Address {
	if d.ReplyTo == "" || d.Typed {
		return event.ToOwner
	}
	return d.ReplyTo
}

// refuseJob turns a mistake in a job into a result that the caller can read. Errors of schedules contain their own examples.
func refuseJob(err error) error { return tools.Refuse(tools.Validation, "", "%v", err) }

// freeName returns a name that no job has. A requested name (asked) is never changed.
func (s Jobs) freeName(ctx context.Context, name string, asked bool) (string, error) {
	return freeName(name, asked, "job", "update it", func(try string) (bool, error) {
		_, taken, err := s.Find(ctx, try)
		return taken, err
	})
}

// freeName returns the first free name of name, name-2, name-3 and so on. A requested name that is taken is refused, with instead as the
// hint.
func freeName(name string, asked bool, kind, instead string, isTaken func(try string) (bool, error)) (string, error) {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = name + "-" + strconv.Itoa(n)
		}
		taken, err := isTaken(try)
		if err != nil || !taken {
			return try, err
		}
		if asked {
			return "", tools.Refuse(tools.Conflict, "choose another name, or "+instead, "there is a %s named %s already", kind, name)
		}
	}
}

// jobReadOnly is the refusal to change a job of the config at run time: the next reload would undo it.
func jobReadOnly(name string) error {
	if name == scheduler.Heartbeat {
		return tools.Refuse(tools.Denied, "change [heartbeat] in config.toml", "the heartbeat is set in config.toml, which only you change")
	}
	return tools.Refuse(tools.Denied, "change [jobs."+name+"] in config.toml", "job %s is set in config.toml, which only you change", name)
}

// Alter turns a verb into a change of a job. It stores nothing: the caller commits the change.
// A verb that would change nothing returns no change, so it needs neither a commit nor an approval. key makes RunNow unique.
func (s Jobs) Alter(ctx context.Context, view scheduler.View, v automation.Verb, key string) (scheduler.View, tools.Change, error) {
	j, err := s.Rows.Job(ctx, view.ID)
	if err != nil && !(v == automation.Remove && errors.Is(err, scheduler.ErrUnreadable)) {
		return view, nil, err
	}
	// A job of the config may be paused: that is a state of its row and survives a reload. Removing it would be undone by the next one.
	if j.Origin == OriginConfig && v == automation.Remove {
		return view, nil, jobReadOnly(j.Name)
	}
	switch v {
	case automation.Remove:
		return view, scheduler.Remove{ID: j.ID}, nil
	case automation.Pause:
		if j.Paused {
			return j.View(s.Now()), nil, nil
		}
		j.Paused = true
		return j.View(s.Now()), scheduler.Pause{ID: j.ID, Paused: true, Due: j.Due}, nil
	case automation.Resume:
		return s.resume(j)
	case automation.RunNow:
		if j.Name == scheduler.Heartbeat && !strings.HasPrefix(j.Prompt, "say:") && s.NoModel() { // the built-in interpreter would not understand what stands in the file
			return view, nil, tools.Refuse(tools.ConfigError, "connect one with: hob setup", "the heartbeat cannot run: no model is connected")
		}
		return view, scheduler.RunNow{Job: j, In: scheduler.ByHand(j, key, s.Now())}, nil
	}
	return view, nil, fmt.Errorf("unknown verb %q", v)
}

// resume continues a job with its next slot from now. Slots during the pause are not caught up.
func (s Jobs) resume(j scheduler.Job) (scheduler.View, tools.Change, error) {
	if !j.Paused {
		return j.View(s.Now()), nil, nil
	}
	// The next slot is counted from now, so that the pause leaves no missed slots.
	next, err := scheduler.Upcoming(j, s.Now(), 1)
	if err != nil {
		return j.View(s.Now()), nil, refuseJob(err)
	}
	j.Paused, j.Due = false, time.Time{}
	if len(next) > 0 {
		j.Due = next[0]
	}
	return j.View(s.Now()), scheduler.Pause{ID: j.ID, Due: j.Due}, nil
}

// Runs returns the newest slots of a job; of a job without a number, those of all jobs that have or had its name; without a name, those
// of all jobs. The newest comes first.
func (s Jobs) Runs(ctx context.Context, j scheduler.View, limit int) ([]automation.Run, error) {
	// The store accepts the id or the name as a filter. An id is exact, because names can be used again.
	which := j.Name
	if j.ID != 0 {
		which = strconv.FormatInt(j.ID, 10)
	}
	rows, err := s.Fires(ctx, event.Filter{Name: which, Limit: limit})
	// The rows of fires keep the cost in micros, or a negative number for an unknown price.
	runs := make([]automation.Run, len(rows))
	for i, r := range rows {
		runs[i] = automation.Run{
			Job: r.Job, Zone: r.Zone, Due: r.Due, State: r.State, Outcome: r.Outcome, Reason: r.Reason, LateMS: r.LateMS, LimitMS: r.LimitMS, Started: r.Started, Ended: r.Ended,
			Sent: r.RunDelivery.Outcome, Micros: max(int64(r.CostMicros), 0), Tokens: r.Tokens, Turn: r.Turn, Tainted: r.Tainted,
		}
	}
	return runs, err
}
