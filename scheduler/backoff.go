package scheduler

import (
	"time"

	"hob/scheduler/spec"
)

// Backoff returns the wait after consecutive failures: 1, 5, 15, then 60 minutes. Without a failure there is no wait.
func Backoff(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	steps := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}
	return steps[min(failures, len(steps))-1]
}

// Upcoming returns the next n slots of a job after `after`, in the job's zone. Pause{Due} uses it to resume a job. Slots that already have
// a row are left out. The error says why the job's row cannot be used.
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
