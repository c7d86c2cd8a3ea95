package triggers

import (
	"context"
	"fmt"

	"hob/daemon/event"
	"hob/scheduler"
)

// Sync stores the jobs of the config and the heartbeat, and removes jobs whose section is gone. Jobs made at run time stay. An unchanged section keeps its
// row, its history and its next slot. off lists the sections that cannot be used, with the reasons.
func (s Jobs) Sync(ctx context.Context, list []Wanted, h Heartbeat) (off []string, err error) {
	// These are the rows of the last config. Those without a section now are removed at the end.
	made, err := s.Rows.ConfigJobs(ctx)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	wanted := map[string]bool{scheduler.Heartbeat: true}
	// A section that fails does not stop the others: its error goes to off, from where it reaches hob status and a notice to the owner.
	old, err := s.live(ctx, scheduler.Heartbeat)
	if err == nil {
		err = s.beat(ctx, h, old)
	}
	if err != nil {
		off = append(off, "heartbeat is off: "+err.Error())
	}
	for _, w := range list {
		wanted[w.Name] = true
		old, err := s.live(ctx, w.Name)
		if err == nil {
			err = s.sync(ctx, w, old)
		}
		if err != nil {
			off = append(off, "jobs."+w.Name+" is off: "+err.Error())
		}
	}
	// A section with a mistake is still wanted, so its old job stays as it was.
	for _, j := range made {
		if wanted[j.Name] || j.Origin != OriginConfig { // a row that cannot be read has no origin
			continue
		}
		if err := s.Rows.Record(ctx, scheduler.Remove{ID: j.ID}); err != nil {
			return off, fmt.Errorf("remove job %s: %w", j.Name, err)
		}
	}
	return off, nil
}

// live returns the job with a name, made by the config or at run time; the zero Job if there is none.
func (s Jobs) live(ctx context.Context, name string) (scheduler.Job, error) {
	j, err := s.Rows.JobNamed(ctx, name)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return scheduler.Job{}, nil
	}
	if j.Name != name { // it has the name as its id
		return scheduler.Job{}, err
	}
	return j, err
}

// sync stores the job of one section. A job that was made at run time under the same name is not replaced.
func (s Jobs) sync(ctx context.Context, w Wanted, old scheduler.Job) error {
	d, _, err := decodeJob(w.Name, w.Decode)
	if err != nil {
		return err
	}
	if old.ID != 0 && old.Origin != OriginConfig && old.Broken == "" { // a row that cannot be read is replaced
		return event.NewFault(event.Clash, "rename one of them", "there is a job named %s already, made at run time", w.Name)
	}
	j, _, err := scheduler.New(d, s.Zone(), s.Now())
	if err != nil && old.ID != 0 { // a time that was in the future when the job was made may have passed: such a job is still valid
		if then, _, still := scheduler.New(d, s.Zone(), old.Start()); still == nil && old.SameTimes(then) {
			j, err = then, nil
		}
	}
	if err != nil {
		return err
	}
	if j.Plain, err = s.Plain(j.Prompt, d.Plain, old.Prompt, old.Plain); err != nil {
		return err
	}
	return s.replace(ctx, old, j)
}

// replace stores j as the row of a section. An equal job keeps its row, and so its history.
func (s Jobs) replace(ctx context.Context, old, j scheduler.Job) error {
	if old.ID == 0 {
		return s.Rows.Record(ctx, scheduler.Put{Job: j})
	}
	// Writing an equal row would give it a new version and wake the runner for nothing.
	if old.Broken == "" && old.Same(j) {
		return nil
	}
	return s.Rows.Record(ctx, scheduler.Put{Job: j.Replace(old)})
}
