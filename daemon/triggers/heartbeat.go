package triggers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/spec"
)

// Heartbeat is [heartbeat] of the config.
type Heartbeat struct {
	Enabled bool
	Every   time.Duration
	Active  string // hours of the day; "": all of them
	Gate    string // as scheduler.ParseGate reads it
	Prompt  string
	Deliver string
}

// heartbeatFile holds the owner's standing wishes; it lies in the workspace.
const heartbeatFile = "HEARTBEAT.md"

// heartbeatPrompt is what the heartbeat is told unless the owner says otherwise. The file's content stands behind it.
const heartbeatPrompt = "Read HEARTBEAT.md and do what it says. If nothing needs attention, answer exactly HEARTBEAT_OK."

// draft is the heartbeat as a job.
func (h Heartbeat) draft() (scheduler.Draft, error) {
	_, err := scheduler.ParseGate(h.Gate)
	return scheduler.Draft{
		Name: scheduler.Heartbeat, Every: spec.Plain(h.Every), Prompt: cmp.Or(h.Prompt, heartbeatPrompt), Session: "isolated", Deliver: h.Deliver,
		Missed: string(scheduler.MissedSkip), Trust: event.Owner, GateText: h.Gate,
		Gate: scheduler.Gate{Content: heartbeatFile, Active: h.Active, Idle: true}, Origin: OriginConfig,
	}, err
}

// beat makes the heartbeat what the config says. One that did not change keeps its row, its past and its next slot.
func (s Jobs) beat(ctx context.Context, h Heartbeat, old scheduler.Job) error {
	if !h.Enabled && old.ID == 0 {
		return nil
	}
	if !h.Enabled {
		return s.Rows.Record(ctx, scheduler.Remove{ID: old.ID})
	}
	draft, err := h.draft()
	if err != nil {
		return err
	}
	j, _, err := scheduler.New(draft, s.Zone(), s.Now())
	if err != nil {
		return fmt.Errorf("make the heartbeat: %w", err)
	}
	return s.replace(ctx, old, j)
}

// hidden reports whether a job is not worth a line: the heartbeat, while nothing is asked of it and it never came due.
func (s Jobs) hidden(ctx context.Context, j scheduler.Job) bool {
	return j.Name == scheduler.Heartbeat && j.Last.IsZero() && !s.Asked(ctx)
}
