package scheduler

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hob/scheduler/spec"
)

// Zones is where a Runner keeps by which rules of the time zones due instants were worked out.
type Zones interface {
	// ZoneRules is the print that was noted last, "" when none was.
	ZoneRules(ctx context.Context) (string, error)
	// Crons lists jobs with a cron spec that fire some day, by id: those above after, at most so many.
	Crons(ctx context.Context, after int64, most int) ([]Job, error)
	// Redate gives jobs, as they were read, a new Due and notes the print, in one commit. A job that was changed since keeps its own.
	Redate(ctx context.Context, print string, list []Redated) error
}

// Redated is a job as it was read, and when it is due by the rules of today.
type Redated struct {
	Job Job
	Due time.Time
}

const (
	redateReach = 3 * time.Hour // more than any country has moved its clocks by, but over the date line
	redatePage  = 1000          // jobs that are read at once
)

// FollowZones lets the runner move due instants when the rules of the time zones have changed, which print tells: it changes with them, and
// is looked at once an hour; "" says nothing. It belongs before Run.
func (r *Runner) FollowZones(rows Zones, print func() string) { r.rules, r.print = rows, print }

// ZonePrint changes with the version of hob, which has a copy of the rules, and when the rules of the machine are written anew.
func ZonePrint(version string) string {
	var b strings.Builder
	b.WriteString(version)
	for _, at := range []string{os.Getenv("ZONEINFO"), "/usr/share/zoneinfo", "/usr/share/zoneinfo/tzdata.zi", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"} {
		if info, err := os.Stat(at); err == nil { // #nosec G703 -- as the runtime reads it; what is not there has no rules
			fmt.Fprintf(&b, " %s %d", at, info.ModTime().Unix())
		}
	}
	return b.String()
}

// rezone moves what is due by rules that no longer hold.
func (r *Runner) rezone(ctx context.Context) error {
	if r.print == nil {
		return nil
	}
	print := r.print()
	if print == "" {
		return nil
	}
	if known, err := r.rules.ZoneRules(ctx); err != nil || known == print {
		return err
	}
	clear(r.zones)
	var moved []Redated
	for after := int64(0); ; {
		page, err := r.rules.Crons(ctx, after, redatePage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, j := range page {
			zone, err := r.zone(j.Zone)
			if err != nil {
				continue // it is put aside when it comes due
			}
			if due, ok := Redate(j, zone); ok {
				moved = append(moved, Redated{Job: j, Due: due})
			}
		}
		after = page[len(page)-1].ID
		r.progress.Store(int64(r.clock.Mono()))
	}
	if err := r.rules.Redate(ctx, print, moved); err != nil {
		return err
	}
	if len(moved) > 0 {
		r.log.Info("the rules of time zones have changed: jobs were moved to their new times", "jobs", len(moved))
	}
	return nil
}

// Redate is when a cron job is due by the rules of its zone as they are now: the nearest slot within three hours of Due, and after Last.
// False: Due stands where it should, or there is no such slot.
func Redate(j Job, zone *time.Location) (time.Time, bool) {
	s, err := spec.Parse(j.Spec)
	if err != nil || j.Due.IsZero() || !strings.HasPrefix(j.Spec, "cron ") {
		return time.Time{}, false
	}
	if at, ok := s.Next(j.Due.Add(-time.Second), zone, j.Start()); ok && at.Equal(j.Due) {
		return time.Time{}, false
	}
	from := j.Due.Add(-redateReach)
	if from.Before(j.Last) {
		from = j.Last
	}
	var best time.Time
	for at, ok := s.Next(from, zone, j.Start()); ok && !at.After(j.Due.Add(redateReach)); at, ok = s.Next(at, zone, j.Start()) {
		if best.IsZero() || at.Sub(j.Due).Abs() < best.Sub(j.Due).Abs() {
			best = at
		}
		if at.After(j.Due) {
			break // the others are farther
		}
	}
	return best, !best.IsZero()
}
