package triggers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler"
)

// decodeJob reads a section [jobs.NAME]. wrong is an error in its rights: the job then gets no rights.
// The section was written by the owner, so its prompt counts as typed by the owner.
func decodeJob(name string, decode func(any) error) (d scheduler.Draft, wrong, err error) {
	if err := decode(&d); err != nil {
		return d, nil, err
	}
	d.Name, d.Origin, d.Trust, d.Typed = name, OriginConfig, event.Owner, true
	if d.Permissions.Allow, wrong = policy.Rights(strings.Join(d.Rights, ","), fsguard.Absolute); wrong != nil {
		d.Permissions.Allow, wrong = nil, fmt.Errorf("allow: %w", wrong)
	}
	return d, wrong, nil
}

// CheckJob returns the mistakes in a section. Each line of the error begins with the key that it is about.
// timezone is the owner's zone of the same config; an unknown one is reported elsewhere, and counts as UTC here. stops says what keeps the
// job from running here.
func CheckJob(decode func(any) error, timezone string, now time.Time) (j scheduler.Job, stops string, err error) {
	d, wrong, err := decodeJob("x", decode)
	if err != nil {
		return j, "", err
	}
	zone, err := scheduler.Zone(timezone)
	if err != nil {
		zone = time.UTC
	}
	j, _, err = scheduler.New(d, zone, now)
	return j, missingProgram(j), errors.Join(err, wrong)
}

// JobKeys describes the keys of a section [jobs.NAME].
func JobKeys() []schema.Key {
	return schema.Describe(scheduler.Draft{}, scheduler.Notes(scheduler.JobFields()))
}
