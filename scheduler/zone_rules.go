package scheduler

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hob/scheduler/spec"
)

// Zones stores the version of the time zone rules that the due times are based on.
type Zones interface {
	// ZoneRules returns the stored fingerprint of the rules, or "".
	ZoneRules(ctx context.Context) (string, error)
	// Crons lists jobs with a cron schedule that still fire, by id: up to most jobs after the id after.
	Crons(ctx context.Context, after int64, most int) ([]Job, error)
	// Redate sets a new Due for jobs, as they were read, and stores the fingerprint, in one commit. A job that has changed since keeps its
	// own.
	Redate(ctx context.Context, fingerprint string, list []Redated) error
}

// Redated is a job as it was read, with its due time by the present rules.
type Redated struct {
	Job Job
	Due time.Time
}

const (
	redateReach = 3 * time.Hour // more than any country has moved its clocks, except across the date line
	redatePage  = 1000          // jobs per read
)

// FollowZones makes the runner move due times when the rules of the time zones change. fingerprint returns a text that changes with the
// rules. It is compared once an hour, and "" is ignored. Call FollowZones before Run.
func (r *Runner) FollowZones(rows Zones, fingerprint func() string) {
	r.rules, r.fingerprint = rows, fingerprint
}

// ZoneFingerprint returns the fingerprint: the version of hob, which contains a copy of the rules, and the dates of the machine's rule files.
func ZoneFingerprint(version string) string {
	var b strings.Builder
	b.WriteString(version)
	for _, at := range []string{os.Getenv("ZONEINFO"), "/usr/share/zoneinfo", "/usr/share/zoneinfo/tzdata.zi", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"} {
		if info, err := os.Stat(at); err == nil { // #nosec G703 -- the paths that the runtime reads; a missing one has no rules
			fmt.Fprintf(&b, " %s %d", at, info.ModTime().Unix())
		}
	}
	return b.String()
}

// followZones moves the due times that are based on outdated rules.
func (r *Runner) followZones(ctx context.Context) error {
	if r.fingerprint == nil {
		return nil
	}
	fingerprint := r.fingerprint()
	if fingerprint == "" {
		return nil
	}
	if known, err := r.rules.ZoneRules(ctx); err != nil || known == fingerprint {
		return err
	}
	// The cached zones were loaded by the old rules.
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
				continue // it is disabled when it comes due
			}
			if due, ok := Redate(j, zone); ok {
				moved = append(moved, Redated{Job: j, Due: due})
			}
		}
		after = page[len(page)-1].ID
		// Many pages take a while, and the watchdog must see progress.
		r.progress.Store(int64(r.clock.Mono()))
	}
	// The fingerprint is stored in the same commit, so an interrupted move is repeated as a whole.
	if err := r.rules.Redate(ctx, fingerprint, moved); err != nil {
		return err
	}
	if len(moved) > 0 {
		r.log.Info("the rules of time zones have changed: jobs were moved to their new times", "jobs", len(moved))
	}
	return nil
}

// Redate returns when a cron job is due by the present rules of its zone: the nearest slot within three hours of Due, and after Last. It
// returns false if Due is still correct or there is no such slot.
func Redate(j Job, zone *time.Location) (time.Time, bool) {
	s, err := spec.Parse(j.Spec)
	if err != nil || j.Due.IsZero() || !strings.HasPrefix(j.Spec, "cron ") {
		return time.Time{}, false
	}
	// If Due is still a slot, it is the next one after the second before it.
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
			break // later slots are farther away
		}
	}
	return best, !best.IsZero()
}
