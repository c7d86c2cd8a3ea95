package store

import (
	"fmt"
	"time"
)

// BackupPlan says when copies are made by themselves, and how many are kept.
type BackupPlan struct {
	Every  time.Duration // from one to the next; a day or more: at the quiet hour; 0: none are made
	Daily  int           // the newest of each of that many days is kept
	Weekly int           // and that of each of that many weeks
}

// DefaultBackupPlan is a copy each night, kept for a week, and one of each of four weeks.
func DefaultBackupPlan() BackupPlan { return BackupPlan{Every: 24 * time.Hour, Daily: 7, Weekly: 4} }

// The quiet time of the day, in the owner's zone: after the hours that a change of clocks skips or repeats.
const (
	backupHour   = 3
	backupMinute = 40
)

const backupDay = 24 * time.Hour

// Next is when the next copy is due, after those that there are; zero: never. born is when the database was made. One in the
// past is due now: the machine was off. Copies from after now are not believed: the clock was wrong when they were made.
func (p BackupPlan) Next(list []BackupFile, born, now time.Time, zone *time.Location) time.Time {
	if p.Every <= 0 {
		return time.Time{}
	}
	last := born
	for _, f := range list {
		if f.Auto && f.Made.After(last) && !f.Made.After(now) {
			last = f.Made
		}
	}
	if last.After(now) {
		last = now
	}
	if p.Every < backupDay {
		return last.Add(p.Every)
	}
	// The first quiet time after the last copy, and then as many days later as the plan wants.
	l := last.In(zone)
	quiet := func(days int) time.Time {
		return time.Date(l.Year(), l.Month(), l.Day()+days, backupHour, backupMinute, 0, 0, zone)
	}
	days := int(p.Every/backupDay) - 1
	if !quiet(0).After(last) {
		days++
	}
	return quiet(days)
}

// Surplus are the copies made by schedule that the plan does not keep. The newest one always stays.
func (p BackupPlan) Surplus(list []BackupFile, zone *time.Location) []BackupFile {
	days, weeks := map[string]bool{}, map[string]bool{}
	var gone []BackupFile
	newest := true
	for _, f := range list { // newest first: the first of a day or a week is the one to keep
		if !f.Auto {
			continue
		}
		made := f.Made.In(zone)
		year, week := made.ISOWeek()
		keep := firstOf(days, made.Format(time.DateOnly), p.Daily)
		keep = firstOf(weeks, fmt.Sprint(year, "-", week), p.Weekly) || keep
		if !keep && !newest {
			gone = append(gone, f)
		}
		newest = false
	}
	return gone
}

// firstOf reports whether a key is new, and among the first most.
func firstOf(seen map[string]bool, key string, most int) bool {
	if seen[key] || len(seen) >= most {
		return false
	}
	seen[key] = true
	return true
}
