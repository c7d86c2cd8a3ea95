package scheduler

import (
	"time"

	"hob/scheduler/spec"
)

// Backoff is how long a job waits after so many consecutive failures: 1, 5, 15, then 60 minutes. Zero failures: no wait.
func Backoff(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	steps := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}
	return steps[min(failures, len(steps))-1]
}

// Upcoming lists the next n slots of a job after `after` in its own zone; also what Pause{Due} needs to let it go on.
// Slots that have a row already are not listed. The error says why the job's row cannot be used.
func Upcoming(j Job, after time.Time, n int) ([]time.Time, error) {
	zone, err := Zone(j.Zone)
	if err != nil {
		return nil, err
	}
	s, err := spec.Parse(j.Spec)
	if err != nil {
		return nil, err
	}
	if after.Before(j.Last) {
		after = j.Last
	}
	return spec.Preview(s, zone, after, j.Start(), n), nil
}
