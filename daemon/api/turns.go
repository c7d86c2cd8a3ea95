package api

import (
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Turn is one turn in a list.
type Turn struct {
	ID        int64         `json:"id"`
	Session   string        `json:"session_key"`
	Parent    int64         `json:"parent,omitempty"`
	State     turn.Status   `json:"state"`
	Attempts  int           `json:"attempts"`
	Asker     event.Trust   `json:"asker"`
	ReplyTo   event.Address `json:"reply_to"`
	Fire      int64         `json:"fire,omitempty"`
	Started   time.Time     `json:"started"`
	Ended     time.Time     `json:"ended,omitzero"`
	RunningMS int64         `json:"running_ms"`
	Steps     int           `json:"steps"`
	Tokens    int64         `json:"tokens"`
	Cost      Cost          `json:"cost_micros"`
	Why       string        `json:"why,omitempty"`
	Text      string        `json:"text"`
}

// TurnDetail is one turn with everything that belongs to it.
type TurnDetail struct {
	Turn
	Items     []Item      `json:"items"`
	Control   []Step      `json:"steps"`
	Waits     []Wait      `json:"waits"`
	Questions []Question  `json:"questions"`
	Inbox     []InboxRow  `json:"inbox"`
	Outbox    []OutboxRow `json:"outbox"`
	Audit     []AuditRow  `json:"audit"`
}

// Item is one item of a transcript as people see it.
type Item struct {
	Seq     int64     `json:"seq"`
	Turn    int64     `json:"turn"`
	Step    int       `json:"step"`
	Role    string    `json:"role"`
	Kind    string    `json:"kind"`
	Text    string    `json:"text,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	CallID  string    `json:"call_id,omitempty"`
	Args    string    `json:"args,omitempty"`
	IsError bool      `json:"is_error,omitempty"`
	Source  string    `json:"source"`
	At      time.Time `json:"at"`                // of a message: when it came; of an answer or a result: when its step ended
	Sender  string    `json:"sender,omitempty"`  // of a message, if it has one
	Foreign bool      `json:"foreign,omitempty"` // it is somebody else's text, or hob wrote it after reading such text
}

// Step is the control row of one model request or one tool call.
type Step struct {
	N       int       `json:"n"`
	Kind    string    `json:"kind"`
	State   string    `json:"state"`
	Epoch   int64     `json:"epoch"`
	CallID  string    `json:"call_id,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Effect  string    `json:"effect,omitempty"`
	Asked   int64     `json:"question,omitempty"` // id of the question that the call waited for
	Model   string    `json:"model,omitempty"`
	Why     string    `json:"why,omitempty"` // nothing usable came
	Usage   llm.Usage `json:"usage,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Wait is what a parked turn waits for.
type Wait struct {
	CallID  string    `json:"call_id"`
	Kind    string    `json:"kind"`
	Until   time.Time `json:"until,omitzero"`
	Subject string    `json:"subject,omitempty"`
	Met     time.Time `json:"met,omitzero"`
	How     string    `json:"how,omitempty"`
}
