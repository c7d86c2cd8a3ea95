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

// heartbeatFile is a file in the workspace with the owner's requests that hold all the time.
const heartbeatFile = "HEARTBEAT.md"

// heartbeatPrompt is the default prompt of the heartbeat. The run gets the file's content after it.
const heartbeatPrompt = "Read HEARTBEAT.md and do what it says. If nothing needs attention, answer exactly HEARTBEAT_OK."

// draft returns the heartbeat as a job. Its gate lets it run only if the file asks for something and hob is idle.
// A gate of the owner is evaluated in addition to these conditions.
func (h Heartbeat) draft() (scheduler.Draft, error) {
	_, err := scheduler.ParseGate(h.Gate)
	return scheduler.Draft{
		Name: scheduler.Heartbeat, Every: spec.Plain(h.Every), Prompt: cmp.Or(h.Prompt, heartbeatPrompt), Session: "isolated", Deliver: h.Deliver,
		Missed: string(scheduler.MissedSkip), Trust: event.Owner, GateText: h.Gate,
		Gate: scheduler.Gate{Content: heartbeatFile, Active: h.Active, Idle: true}, Origin: OriginConfig,
	}, err
}

// beat stores the heartbeat of the config, or removes it. An unchanged heartbeat keeps its row, its history and its next slot.
// old is the stored heartbeat, the zero Job if there is none. Sync calls it at the start and at each reload.
func (s Jobs) beat(ctx context.Context, h Heartbeat, old scheduler.Job) error {
	// Switched off and never made: there is nothing to do.
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
