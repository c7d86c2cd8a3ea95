package triggers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/scheduler"
)

// Sync makes the jobs of the config rows, and the heartbeat, beside those made at run time. A section that did not change keeps its row, its past and its next
// slot. off says which sections cannot be used, and why.
func (s Jobs) Sync(ctx context.Context, list []Wanted, h Heartbeat) (off []string, err error) {
	have, err := s.Rows.AllJobs(ctx)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	byName := map[string]scheduler.Job{}
	for _, j := range have {
		byName[j.Name] = j
	}
	if err := s.beat(ctx, h, byName[scheduler.Heartbeat]); err != nil {
		off = append(off, "heartbeat is off: "+err.Error())
	}
	delete(byName, scheduler.Heartbeat)
	for _, w := range list {
		if err := s.sync(ctx, w, byName[w.Name]); err != nil {
			off = append(off, "jobs."+w.Name+" is off: "+err.Error())
		}
		delete(byName, w.Name)
	}
	for _, j := range byName {
		if j.Origin != OriginConfig {
			continue
		}
		if err := s.Rows.Record(ctx, scheduler.Remove{ID: j.ID}); err != nil {
			return off, fmt.Errorf("remove job %s: %w", j.Name, err)
		}
	}
	return off, nil
}

func (s Jobs) sync(ctx context.Context, w Wanted, old scheduler.Job) error {
	var in JobSection
	if err := w.Decode(&in); err != nil {
		return err
	}
	if old.ID != 0 && old.Origin != OriginConfig && old.Broken == "" { // one that is spoilt is made anew
		return event.NewFault(event.Clash, "rename one of them", "there is a job named %s already, made at run time", w.Name)
	}
	j, err := in.job(w.Name, s.Zone(), s.Now())
	if err != nil && old.ID != 0 { // a single time may have passed since it was read first
		if then, still := in.job(w.Name, s.Zone(), old.Start()); still == nil && sameTimes(old, then) {
			j, err = then, nil
		}
	}
	if err != nil {
		return err
	}
	return s.replace(ctx, old, j)
}

// replace makes j the row of a section. One that says the same again keeps its row; one that leaves the times as they are keeps its slots:
// those that came due while hob was not running are served yet.
func (s Jobs) replace(ctx context.Context, old, j scheduler.Job) error {
	if old.ID == 0 {
		return s.Rows.Record(ctx, scheduler.Put{Job: j})
	}
	if old.Broken == "" && sameJob(old, j) {
		return nil
	}
	j.ID, j.Last, j.Paused = old.ID, old.Last, old.Paused
	if old.Broken == "" && sameTimes(old, j) {
		j.Spec, j.Created, j.Anchor, j.Due = old.Spec, old.Created, old.Anchor, old.Due
	} else if !old.Created.IsZero() {
		j.Created, j.Anchor = old.Created, j.Created
	}
	return s.Rows.Record(ctx, scheduler.Put{Job: j})
}

// sameTimes reports whether two jobs have the same schedule, in whatever form it is written: older rows have "every 30m0s".
func sameTimes(a, b scheduler.Job) bool {
	return a.Zone == b.Zone && (a.Words == b.Words || strings.HasPrefix(a.Spec, "every ") && plain(a.Spec) == plain(b.Spec))
}

// sameJob reports whether two jobs mean the same: a schedule in words is compared by its words, since it was resolved when it was first read.
func sameJob(a, b scheduler.Job) bool {
	return sameTimes(a, b) && a.Prompt == b.Prompt && a.Session == b.Session && a.Deliver == b.Deliver &&
		a.Missed == b.Missed && a.MaxLate == b.MaxLate && a.Overlap == b.Overlap && slices.Equal(a.Allow, b.Allow) && a.Gate.Equal(b.Gate) && slices.Equal(a.Tools, b.Tools) && a.Tokens == b.Tokens
}
