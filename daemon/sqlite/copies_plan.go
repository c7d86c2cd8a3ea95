package sqlite

import (
	"fmt"
	"time"
)

// BackupPlan defines when the schedule makes copies, and how many it keeps.
type BackupPlan struct {
	Every  time.Duration // interval; a day or more: at the quiet hour; 0: no copies
	Daily  int           // days for which the newest copy is kept
	Weekly int           // the same in weeks
}

// DefaultBackupPlan returns the default: a copy each night, kept for a week, and one for each of four weeks.
func DefaultBackupPlan() BackupPlan { return BackupPlan{Every: 24 * time.Hour, Daily: 7, Weekly: 4} }

// The quiet hour in the owner's zone. It is after the hours that a clock change skips or repeats.
const (
	backupHour   = 3
	backupMinute = 40
)

// backupDay is the interval from which copies are made at the quiet hour; shorter ones count from the last copy.
const backupDay = 24 * time.Hour

// Next returns when the next copy is due; zero: never. born is the creation time of the database. A result in the past means that the copy
// is overdue, because the machine was off. Copies dated after now are ignored: the clock was wrong when they were made.
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
	// A database that was made by a clock ahead must not delay the copies until then.
	if last.After(now) {
		last = now
	}
	if p.Every < backupDay {
		return last.Add(p.Every)
	}
	// The first quiet hour after the last copy, plus the days between copies.
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

// Surplus returns the scheduled copies that the plan does not keep. The newest one always stays.
func (p BackupPlan) Surplus(list []BackupFile, zone *time.Location) []BackupFile {
	days, weeks := map[string]bool{}, map[string]bool{}
	var gone []BackupFile
	newest := true
	for _, f := range list { // newest first, so the first of a day or week is kept
		if !f.Auto {
			continue
		}
		made := f.Made.In(zone)
		year, week := made.ISOWeek()
		keep := firstOf(days, made.Format(time.DateOnly), p.Daily)
		// Both are always called: a copy that is kept for its day uses up the place of its week as well.
		keep = firstOf(weeks, fmt.Sprint(year, "-", week), p.Weekly) || keep
		if !keep && !newest {
			gone = append(gone, f)
		}
		newest = false
	}
	return gone
}

// firstOf reports whether a key is new and one of the first most keys.
func firstOf(seen map[string]bool, key string, most int) bool {
	if seen[key] || len(seen) >= most {
		return false
	}
	seen[key] = true
	return true
}
