package api

import (
	"time"

	"hob/scheduler"
	"hob/scheduler/filewatch"
)

// Job is a job as it is shown.
type Job = scheduler.View

// Watch is a file watch as it is shown.
type Watch = filewatch.View

// Fire is one slot of a job, one event of a watch or one call of a webhook: when it was due, what it came to, and what it cost.
type Fire struct {
	ID         int64     `json:"id"`
	Job        string    `json:"job"`            // the name of the job, watch or webhook
	Kind       string    `json:"kind"`           // "job", "heartbeat", "watch", "hook"
	Zone       string    `json:"zone,omitempty"` // of a job
	Key        string    `json:"key"`
	Due        time.Time `json:"due"`
	State      string    `json:"state"`
	Outcome    string    `json:"outcome,omitempty"` // "late" is ran, but began later than the limit
	LateMS     int64     `json:"late_ms"`           // from its due time to its start, or to the decision if it never started
	LimitMS    int64     `json:"limit_ms"`          // a start later than this counts as late; 0: no limit
	Slots      int64     `json:"slots"`             // number of slots in this row
	Reason     string    `json:"reason,omitempty"`
	Turn       int64     `json:"turn,omitempty"`
	Created    time.Time `json:"created"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	Tainted    bool      `json:"tainted,omitempty"` // its turn had read foreign text
	CostMicros Cost      `json:"cost_micros"`       // of its turns and their sub-agents
	Tokens     int64     `json:"tokens"`
	RunDelivery
}

// RunDelivery is what became of what a run said, which is another matter than how it ended.
type RunDelivery struct {
	Outcome string `json:"delivery,omitempty"`     // "nothing to say", "to nobody", "sent", "sending", "held", "failed", "expired", "dropped"; "" before it has said anything
	Why     string `json:"delivery_why,omitempty"` // it was not sent
}
