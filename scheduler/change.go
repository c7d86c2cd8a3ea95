package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/scheduler/phrase"
	"hob/scheduler/spec"
)

// Change applies a draft to a job: what the draft leaves empty stays as it is. The id, the past and the pause of the job stay too.
func (j Job) Change(d Draft, zone *time.Location, now time.Time) (Job, phrase.Resolved, error) {
	full := d
	if d.When == "" {
		full.When = j.placeholder(now)
	}
	changed, r, err := apply(j, full, zone, now)
	if err != nil {
		return Job{}, r, err
	}
	changed.ID, changed.Last, changed.Paused = j.ID, j.Last, j.Paused
	return changed, r, changed.keepTimes(j, d, now)
}

// placeholder is a schedule that apply accepts while the schedule of a job does not change, even when its time has passed. keepTimes restores
// the old one.
func (j Job) placeholder(now time.Time) string {
	if s, err := spec.Parse(j.Spec); err == nil && s.Recurring() {
		return j.Spec
	}
	return "at " + now.Add(24*time.Hour).Format(time.RFC3339)
}

// keepTimes gives a changed job the times of the old one that the change does not concern: always when it was made, and its schedule with the
// words for it unless there is a new schedule. In a new zone, the words mean what they meant when they were said.
func (j *Job) keepTimes(old Job, d Draft, now time.Time) error {
	j.Anchor, j.Created = j.Created, old.Created
	switch {
	case d.When != "" || old.Created.IsZero(): // or the old row could not be read
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

// Replace returns the job that takes the place of an old one with the same name. A job with the same times keeps its slots: those that came
// due while hob was not running are served later.
func (j Job) Replace(old Job) Job {
	j.ID, j.Last, j.Paused = old.ID, old.Last, old.Paused
	if old.Broken == "" && old.SameTimes(j) {
		j.Spec, j.Created, j.Anchor, j.Due = old.Spec, old.Created, old.Anchor, old.Due
	} else if !old.Created.IsZero() {
		j.Created, j.Anchor = old.Created, j.Created
	}
	return j
}

// SameTimes reports whether two jobs have the same schedule, however it is written: older rows have "every 30m0s".
func (j Job) SameTimes(o Job) bool {
	return j.Zone == o.Zone && (j.Words == o.Words || strings.HasPrefix(j.Spec, "every ") && plainSpec(j.Spec) == plainSpec(o.Spec))
}

// Same reports whether two jobs do the same at the same times. A schedule in words is compared by its words, since it was resolved when it was
// first read.
func (j Job) Same(o Job) bool {
	return j.SameTimes(o) && j.definition() == o.definition()
}

// definition is what was asked for, without the schedule and without what has become of the job since.
func (j Job) definition() string {
	j.Trigger = Trigger{Prompt: j.Prompt, Deliver: j.Deliver, Mandate: Mandate{Allow: j.Allow, Tools: j.Tools, Tokens: j.Tokens}}
	j.Spec, j.Words, j.Last, j.Due, j.Anchor = "", "", time.Time{}, time.Time{}, time.Time{}
	doc, err := json.Marshal(j)
	if err != nil {
		panic("scheduler: encode a job: " + err.Error()) // it holds texts and numbers only
	}
	return string(doc)
}

// plainSpec is a schedule as it is written now. One that cannot be read stays as it is.
func plainSpec(text string) string {
	s, err := spec.Parse(text)
	if err != nil {
		return text
	}
	return s.String()
}
