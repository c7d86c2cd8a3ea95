package api

import (
	"time"

	"hob/channels"
	"hob/daemon/sandbox"
	"hob/tools"
	"hob/tools/tasks"
)

// Status is what hob status shows. Fields are only ever added to it.
type Status struct {
	State     string          `json:"state"` // ok, busy, safe-mode, degraded
	Version   string          `json:"version"`
	Home      string          `json:"home"`
	Address   string          `json:"address"`
	Model     string          `json:"model"`            // the name of the first one
	Models    []Model         `json:"models,omitempty"` // those that are asked, in their order; then those that cannot be
	Epoch     int64           `json:"epoch"`            // number of this start
	Started   time.Time       `json:"started"`
	UptimeMS  int64           `json:"uptime_ms"`
	Zone      string          `json:"zone"` // the owner's, by IANA name
	Thread    ThreadStatus    `json:"thread"`
	Questions int             `json:"questions"`
	Channels  []ChannelHealth `json:"channels"`
	Outbox    OutboxStatus    `json:"outbox"`
	Scheduler SchedulerStatus `json:"scheduler"`
	Budget    Budget          `json:"budget"`
	Database  DatabaseStatus  `json:"database"`
	SafeMode  SafeStatus      `json:"safe_mode"`
	Recording *Recording      `json:"recording,omitempty"` // that runs
	Commands
	Problems
}

// Problems lists what is wrong, one sentence each.
type Problems struct {
	Config  []string `json:"config"`
	Trouble []string `json:"trouble,omitempty"` // why hob is not healthy
	Off     []string `json:"off,omitempty"`     // what is off, gone or refused, with the command that helps; the rest of hob works
}

// Commands describes the sandbox of shell commands, and the commands that still run.
type Commands struct {
	Sandbox    Sandbox  `json:"sandbox"`              // the sandbox in which they run
	Background []string `json:"background,omitempty"` // commands in the background, a line each; they end with hob
	Terminals  []string `json:"terminals,omitempty"`  // sessions of tmux, a line each; they outlive hob
}

// ThreadStatus is what the thread does.
type ThreadStatus struct {
	State    string     `json:"state"`              // idle, running, stuck
	Turn     int64      `json:"turn,omitempty"`     // the one that runs
	Session  string     `json:"session,omitempty"`  // key of its session
	Title    string     `json:"title,omitempty"`    // and its title
	Queued   int        `json:"queued"`             // inbox rows that are due
	Later    int        `json:"later,omitempty"`    // inbox rows for a time that has not come
	Waiting  int        `json:"waiting"`            // parked turns
	Children []Subagent `json:"children,omitempty"` // sub-agents that have not ended
	Todo     []Todo     `json:"todo,omitempty"`     // lists with something left to do, and conversations that plan
}

// OutboxStatus counts what has not gone out.
type OutboxStatus struct {
	Ready int `json:"ready"`
	Held  int `json:"held"`
}

// SchedulerStatus is what fires next.
type SchedulerStatus struct {
	State   string    `json:"state"` // ok, stuck
	Jobs    int       `json:"jobs"`
	Next    time.Time `json:"next,omitzero"`
	NextJob string    `json:"next_job,omitempty"`
}

// DatabaseStatus is the size of the database, and of what is written ahead of it, in bytes.
type DatabaseStatus struct {
	Bytes int64 `json:"bytes"`
	WAL   int64 `json:"wal_bytes"`

	Fault string    `json:"fault,omitempty"` // why nothing can be stored
	Since time.Time `json:"since,omitzero"`  // of the first failure
}

// SafeStatus says whether safe mode is on, and why.
type SafeStatus struct {
	On  bool   `json:"on"`
	Why string `json:"why,omitempty"`
}

// Sandbox is how shell commands are confined.
type Sandbox = sandbox.State

// Subagent is a turn that another turn has started.
type Subagent = tools.Agent

// Todo sums up the todo list of a conversation.
type Todo = tasks.Tally

// ChannelHealth is how receiving and sending do on one channel.
type ChannelHealth = channels.ChannelHealth

// Direction is one of the two.
type Direction = channels.Direction
