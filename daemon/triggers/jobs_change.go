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
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler"
	"hob/scheduler/phrase"
	"hob/scheduler/spec"
	"hob/tools"
	"hob/tools/automation"
)

// Plan works out a new job, or a change of one.
func (s Jobs) Plan(ctx context.Context, d automation.Draft) (automation.Job, tools.Change, error) {
	var rights []string
	var err error
	if d.Allow != automation.NoRights {
		rights, err = policy.Rights(d.Allow, fsguard.Absolute)
	}
	if err != nil {
		return automation.Job{}, nil, refuseJob(err)
	}
	if d.ID != 0 {
		return s.replan(ctx, d, rights)
	}
	gate, err := scheduler.ParseGate(d.Gate)
	if err != nil {
		return automation.Job{}, nil, refuseJob(err)
	}
	only, tokens, err := s.limits(d.Limits, scheduler.Mandate{})
	if err != nil {
		return automation.Job{}, nil, err
	}
	j, r, err := scheduler.New(scheduler.Draft{
		Name: d.Name, When: d.Schedule, Zone: d.Zone, Prompt: d.Prompt, Session: d.Session, Deliver: string(cmp.Or(d.Deliver, jobDelivery(d))),
		Missed: d.Missed, MaxLate: period(d.MaxLate), Overlap: d.Overlap, Trust: d.Trust, Typed: s.typed(d), Gate: gate, Mandate: scheduler.Mandate{Tainted: d.Tainted, Allow: rights, Tools: only, Tokens: tokens},
	}, s.Zone(), d.Now)
	if err != nil {
		return automation.Job{}, nil, refuseJob(err)
	}
	if j.Name, err = s.freeName(ctx, j.Name, d.Name != ""); err != nil {
		return automation.Job{}, nil, err
	}
	if err := s.reachable(j.Deliver); err != nil {
		return automation.Job{}, nil, err
	}
	view, err := s.estimated(ctx, j)
	view.Notes = taken(d, r, "")
	return view, scheduler.Put{Job: j}, err
}

// taken says what of a job nobody has asked for in so many words. session is where its runs were before; "": it is new.
func taken(d automation.Draft, r phrase.Resolved, session string) (notes []string) {
	if r.Assumed != "" {
		notes = append(notes, r.Assumed)
	}
	if givesRights(d) && d.Session == "" && session != "isolated" {
		notes = append(notes, "it has rights of its own, so it runs in a session of its own: what others say in yours cannot use them")
	}
	return notes
}

// givesRights reports whether a wish is one for rights.
func givesRights(d automation.Draft) bool { return d.Allow != "" && d.Allow != automation.NoRights }

// typed reports whether a prompt is the owner's own words.
func (s Jobs) typed(d automation.Draft) bool {
	return d.Trust == event.Owner && (d.Typed || OwnWords(d.Words, d.Prompt, s.Zone(), d.Now))
}

// OwnWords reports whether a whole message is a schedule, a colon and exactly this prompt. What stands somewhere in a longer message
// may be a quotation.
func OwnWords(words, prompt string, zone *time.Location, now time.Time) bool {
	_, rest, err := phrase.Prefix(words, zone, now)
	if err != nil {
		return false
	}
	said, colon := strings.CutPrefix(strings.TrimSpace(rest), ":")
	return colon && prompt != "" && strings.TrimSpace(said) == strings.TrimSpace(prompt)
}

// reachable refuses an address that nothing could ever be sent to.
func (s Jobs) reachable(to event.Address) error {
	if s.Reach(to) {
		return nil
	}
	return tools.Refuse(tools.NotFound, "[channels."+to.Channel()+"] in config.toml makes one", "there is no channel %s", to.Channel())
}

// jobDelivery is where a job answers that names no place: the chat it was made in, which hob chat is too. A command line is no chat.
func jobDelivery(d automation.Draft) event.Address {
	if d.ReplyTo == "" || d.Typed {
		return event.ToOwner
	}
	return d.ReplyTo
}

func period(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}

// refuseJob is a mistake of the caller as a result that he can read. What is wrong with a schedule comes with its own examples.
func refuseJob(err error) error { return tools.Refuse(tools.Validation, "", "%v", err) }

// freeName finds a name that no job has; one that was asked for is not changed.
func (s Jobs) freeName(ctx context.Context, name string, asked bool) (string, error) {
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
func (s Jobs) replan(ctx context.Context, d automation.Draft, rights []string) (automation.Job, tools.Change, error) {
	old, err := s.Rows.Job(ctx, d.ID)
	if err != nil && !errors.Is(err, scheduler.ErrUnreadable) {
		return automation.Job{}, nil, err
	}
	if old.Origin == OriginConfig {
		return automation.Job{}, nil, jobReadOnly(old.Name)
	}
	typed := s.typed(d)
	if d.Prompt == "" {
		typed = old.Typed
	}
	if d.Allow == "" && !d.Tainted { // what a tainted turn changes keeps none
		rights = old.Allow
	}
	only, tokens, err := s.limits(d.Limits, old.Mandate)
	if err != nil {
		return automation.Job{}, nil, err
	}
	session := cmp.Or(d.Session, old.Session)
	if givesRights(d) {
		session = d.Session // it runs by itself then, as a new job does
	}
	late := period(d.MaxLate)
	if d.MaxLate == 0 {
		late = period(old.MaxLate)
	}
	j, r, err := scheduler.New(scheduler.Draft{
		Name: cmp.Or(d.Name, old.Name), When: cmp.Or(d.Schedule, s.words(old, d.Now)), Zone: cmp.Or(d.Zone, old.Zone), Prompt: cmp.Or(d.Prompt, old.Prompt),
		Session: session, Deliver: string(cmp.Or(d.Deliver, old.Deliver)), Missed: cmp.Or(d.Missed, string(old.Missed)), MaxLate: late,
		Overlap: cmp.Or(d.Overlap, string(old.Overlap)), Trust: old.Trust, Typed: typed, Mandate: scheduler.Mandate{Tainted: old.Tainted || d.Tainted, Allow: rights, Tools: only, Tokens: tokens},
	}, s.Zone(), d.Now)
	if err != nil {
		return automation.Job{}, nil, refuseJob(err)
	}
	if j.Gate = old.Gate; d.Gate != "" {
		if j.Gate, err = scheduler.ParseGate(d.Gate); err != nil {
			return automation.Job{}, nil, refuseJob(err)
		}
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
	if err := s.keepTimes(&j, old, d); err != nil {
		return automation.Job{}, nil, refuseJob(err)
	}
	view, err := s.estimated(ctx, j)
	view.Notes = taken(d, r, old.Session)
	return view, scheduler.Put{Job: j}, err
}

// keepTimes gives a changed job what of its old times a change leaves as it is: when it was made always, its schedule and the words for it
// unless there is a new one. In a new zone the words mean what they meant when they were said.
func (s Jobs) keepTimes(j *scheduler.Job, old scheduler.Job, d automation.Draft) error {
	j.Anchor, j.Created = j.Created, old.Created
	switch {
	case d.Schedule != "" || old.Created.IsZero(): // or the old row could not be read
		return nil
	case d.Zone == "" || j.Zone == old.Zone:
		j.Spec, j.Words, j.Anchor, j.Due = old.Spec, old.Words, old.Anchor, old.Due
		return nil
	}
	j.Spec, j.Words, j.Anchor = old.Spec, old.Words, old.Anchor
	if old.Due.IsZero() { // it is done, and does not begin again because the zone of its time is another
		j.Due = old.Due
		return nil
	}
	if was, err := spec.Parse(old.Spec); err == nil && !was.Recurring() {
		zone, err := scheduler.Zone(j.Zone)
		if err != nil {
			return err
		}
		r, err := phrase.Resolve(old.Words, zone, old.Start())
		if err != nil {
			return err
		}
		j.Spec = r.Spec
	}
	next, err := scheduler.Upcoming(*j, d.Now, 1)
	if err == nil && len(next) == 0 {
		err = fmt.Errorf("schedule %q: that time has passed in %s; give a new one", old.Words, j.Zone)
	}
	if err != nil {
		return err
	}
	j.Due = next[0].UTC()
	return nil
}

// words is a schedule that New accepts for a job whose schedule does not change, also when its time has passed. keepTimes
// puts the old one back.
func (s Jobs) words(old scheduler.Job, now time.Time) string {
	if s, err := spec.Parse(old.Spec); err == nil && s.Recurring() {
		return old.Spec
	}
	return "at " + now.Add(24*time.Hour).Format(time.RFC3339) // replaced by the old schedule afterwards
}

func jobReadOnly(name string) error {
	if name == scheduler.Heartbeat {
		return tools.Refuse(tools.Denied, "change [heartbeat] in config.toml", "the heartbeat stands in the config: only its file changes it")
	}
	return tools.Refuse(tools.Denied, "change [jobs."+name+"] in config.toml", "job %s stands in the config: only its file changes it", name)
}

// Alter works out what a verb does to a job.
func (s Jobs) Alter(ctx context.Context, view automation.Job, v automation.Verb, key string) (automation.Job, tools.Change, error) {
	j, err := s.Rows.Job(ctx, view.ID)
	if err != nil && !(v == automation.Remove && errors.Is(err, scheduler.ErrUnreadable)) {
		return view, nil, err
	}
	if j.Origin == OriginConfig && v == automation.Remove {
		return view, nil, jobReadOnly(j.Name)
	}
	switch v {
	case automation.Remove:
		return view, scheduler.Remove{ID: j.ID}, nil
	case automation.Pause:
		if j.Paused {
			return s.shown(j), nil, nil
		}
		j.Paused = true
		return s.shown(j), scheduler.Pause{ID: j.ID, Paused: true, Due: j.Due}, nil
	case automation.Resume:
		return s.resume(j)
	case automation.RunNow:
		if j.Name == scheduler.Heartbeat && !strings.HasPrefix(j.Prompt, "say:") && s.Helpless(j.Prompt) { // the built-in interpreter would not understand what stands in the file
			return view, nil, tools.Refuse(tools.ConfigError, "connect one: [model] in config.toml, in the lines that hob chat help shows", "the heartbeat cannot run: no model is connected")
		}
		return view, scheduler.RunNow{Job: j, In: scheduler.ByHand(j, key, s.Now())}, nil
	default:
		return view, nil, fmt.Errorf("unknown verb %q", v)
	}
}

// resume lets a job go on with its next slot from now; what passed while it was paused is not caught up.
func (s Jobs) resume(j scheduler.Job) (automation.Job, tools.Change, error) {
	if !j.Paused {
		return s.shown(j), nil, nil
	}
	next, err := scheduler.Upcoming(j, s.Now(), 1)
	if err != nil {
		return s.shown(j), nil, refuseJob(err)
	}
	j.Paused, j.Due = false, time.Time{}
	if len(next) > 0 {
		j.Due = next[0]
	}
	return s.shown(j), scheduler.Pause{ID: j.ID, Due: j.Due}, nil
}

// Runs returns the newest slots of a job, of those that had a name, or of all; newest first.
func (s Jobs) Runs(ctx context.Context, j automation.Job, limit int) ([]automation.Run, error) {
	return s.Fires(ctx, j, limit)
}
