package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/scheduler/phrase"
	"hob/scheduler/spec"
)

// Change applies a draft to a job. An empty field of the draft changes nothing. The job's id, history and pause also stay.
func (j Job) Change(d Draft, zone *time.Location, now time.Time) (Job, phrase.Resolved, error) {
	full := d
	if d.When == "" {
		// apply demands a schedule, also when the draft does not change it.
		full.When = j.placeholder(now)
	}
	changed, r, err := apply(j, full, zone, now)
	if err != nil {
		return Job{}, r, err
	}
	changed.ID, changed.Last, changed.Paused = j.ID, j.Last, j.Paused
	return changed, r, changed.keepTimes(j, d, now)
}

// placeholder returns a schedule that apply accepts while the job's own does not change, even if that is in the past. keepTimes restores
// the own one.
func (j Job) placeholder(now time.Time) string {
	if s, err := spec.Parse(j.Spec); err == nil && s.Recurring() {
		return j.Spec
	}
	return "at " + now.Add(24*time.Hour).Format(time.RFC3339)
}

// keepTimes restores the times of the old job that the change does not concern: the creation time always, and the schedule with its words
// unless there is a new one. After a change of the zone, the words mean what they meant at the time of the request.
func (j *Job) keepTimes(old Job, d Draft, now time.Time) error {
	j.Anchor, j.Created = j.Created, old.Created
	switch {
	case d.When != "" || old.Created.IsZero(): // or the old row was unreadable
		return nil
	case d.Zone == "" || j.Zone == old.Zone:
		j.Spec, j.Words, j.Anchor, j.Due = old.Spec, old.Words, old.Anchor, old.Due
		return nil
	}
	j.Spec, j.Words, j.Anchor = old.Spec, old.Words, old.Anchor
	if old.Due.IsZero() { // it has run; another zone does not start it again
		j.Due = old.Due
		return nil
	}
	if was, err := spec.Parse(old.Spec); err == nil && !was.Recurring() {
		zone, err := Zone(j.Zone)
		if err != nil {
			return err
		}
		r, err := phrase.Resolve(old.Words, zone, old.Start())
		if err != nil {
			return err
		}
		j.Spec = r.Spec
	}
	next, err := Upcoming(*j, now, 1)
	if err == nil && len(next) == 0 {
		err = fmt.Errorf("schedule %q: that time has passed in %s; give a new one", old.Words, j.Zone)
	}
	if err != nil {
		return err
	}
	j.Due = next[0].UTC()
	return nil
}

// Replace returns the job that replaces an old one of the same name. A job with unchanged times keeps its slots, so slots that came due
// while hob was not running are still served.
func (j Job) Replace(old Job) Job {
	j.ID, j.Last, j.Paused = old.ID, old.Last, old.Paused
	if old.Broken == "" && old.SameTimes(j) {
		j.Spec, j.Created, j.Anchor, j.Due = old.Spec, old.Created, old.Anchor, old.Due
	} else if !old.Created.IsZero() {
		j.Created, j.Anchor = old.Created, j.Created
	}
	return j
}

// SameTimes reports whether two jobs have the same schedule, in any notation: older rows contain "every 30m0s".
func (j Job) SameTimes(o Job) bool {
	return j.Zone == o.Zone && (j.Words == o.Words || strings.HasPrefix(j.Spec, "every ") && plainSpec(j.Spec) == plainSpec(o.Spec))
}

// Same reports whether two jobs do the same at the same times. Schedules in words are compared by their words, because they were resolved
// at different times.
func (j Job) Same(o Job) bool {
	return j.SameTimes(o) && SameSettings(j.settings(), o.settings())
}

// settings returns a job without its identity, schedule and history.
func (j Job) settings() Job {
	j.Trigger = j.Settings()
	j.Spec, j.Words, j.Last, j.Due, j.Anchor = "", "", time.Time{}, time.Time{}, time.Time{}
	return j
}

// Settings returns a trigger without its identity, its state and its history. Everything else in it was asked for: a new field of Trigger is a
// setting unless it is named here.
func (t Trigger) Settings() Trigger {
	t.ID, t.Name, t.Trust, t.Typed, t.Origin, t.Paused, t.Created = 0, "", "", false, "", false, time.Time{}
	t.Tainted, t.Trouble = false, Trouble{}
	return t
}

// SameSettings reports whether two triggers of one kind, reduced to their settings, are equal. It compares them as they would be stored, so that
// an empty list equals a missing one.
func SameSettings[T any](a, b T) bool { return encoded(a) == encoded(b) }

// encoded returns a trigger as its row stores it.
func encoded(trigger any) string {
	doc, err := json.Marshal(trigger)
	if err != nil {
		panic("scheduler: encode a trigger: " + err.Error()) // it holds only texts and numbers
	}
	return string(doc)
}

// plainSpec normalizes a schedule. An unreadable one stays as it is.
func plainSpec(text string) string {
	s, err := spec.Parse(text)
	if err != nil {
		return text
	}
	return s.String()
}
