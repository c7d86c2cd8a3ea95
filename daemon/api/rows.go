// Package api is what hob's local API speaks of: the rows that it shows, and the requests and answers of its verbs. The store and the other
// owners fill the rows; the server writes them, the client reads them, and the command line prints them. It holds types only: it does no I/O.
package api

import (
	"time"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools/tasks"
)

// InboxRow is one row of the inbox as people and programs see it.
type InboxRow struct {
	Seq       int64         `json:"seq"`
	Source    string        `json:"source"`
	ExtID     string        `json:"ext_id"`
	Session   string        `json:"session"`
	Kind      string        `json:"kind"`
	Rank      int           `json:"rank"`
	Trust     event.Trust   `json:"trust"`
	Sender    string        `json:"sender"`
	ReplyTo   event.Address `json:"reply_to"`
	Text      string        `json:"text"` // of a message without one, the names of its files
	Received  time.Time     `json:"received"`
	NotBefore time.Time     `json:"not_before,omitzero"`
	NotAfter  time.Time     `json:"not_after,omitzero"`
	State     string        `json:"state"`
	Turn      int64         `json:"turn,omitempty"`
	Fire      int64         `json:"fire,omitempty"`
	Reason    string        `json:"reason,omitempty"`
}

// OutboxRow is one row of the outbox with its deliveries.
type OutboxRow struct {
	ID         int64         `json:"id"`
	Key        string        `json:"key"`
	Cause      event.Cause   `json:"cause"`
	To         event.Address `json:"to"`
	Body       string        `json:"body"`
	Files      []File        `json:"files,omitempty"` // go behind the body
	Urgency    string        `json:"urgency"`
	State      string        `json:"state"`
	Reason     string        `json:"reason,omitempty"`
	Created    time.Time     `json:"created"`
	NotBefore  time.Time     `json:"not_before,omitzero"`
	Waits      string        `json:"waits,omitempty"`  // for not_before: quiet, or hold, in which the owner may still stop it
	Joined     int64         `json:"joined,omitempty"` // the row in whose message it went out
	NotAfter   time.Time     `json:"not_after,omitzero"`
	Ended      time.Time     `json:"ended,omitzero"`
	Deliveries []Delivery    `json:"deliveries"`
}

// File is a file that goes with a message.
type File struct {
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size"` // in bytes
	Path string `json:"path,omitempty"`
}

// Delivery is one delivery of an outbox row.
type Delivery struct {
	Part     int       `json:"part"`
	Attempts int       `json:"attempts"`
	State    string    `json:"state"`
	RemoteID string    `json:"remote_id,omitempty"`
	NextAt   time.Time `json:"next_at,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// Session is one session.
type Session struct {
	ID       int64       `json:"id"`
	Key      string      `json:"key"`
	Title    string      `json:"title"`
	Kind     string      `json:"kind"`
	Trust    event.Trust `json:"watermark"` // the lowest trust of all that the conversation has read
	Created  time.Time   `json:"created"`
	Archived time.Time   `json:"archived,omitzero"`
	Items    int         `json:"items"`
	Turns    int         `json:"turns"`
}

// SessionDetail is one session with its transcript.
type SessionDetail struct {
	Session
	Transcript []Item `json:"transcript"`
}

// Question is one question.
type Question struct {
	ID      int64         `json:"id"`
	Code    string        `json:"code"`
	Subject string        `json:"subject"`
	Turn    int64         `json:"turn,omitempty"`
	Text    string        `json:"text"`
	Options []string      `json:"options"`
	Pattern string        `json:"pattern,omitempty"`
	To      event.Address `json:"to"`
	Asked   time.Time     `json:"asked"`
	Until   time.Time     `json:"until"`
	State   string        `json:"state"` // "open", "answered", "consumed": a call has used the approval; "expired": the time was up; "withdrawn": its reason was gone before
	Answer  string        `json:"answer,omitempty"`
	By      string        `json:"answered_by,omitempty"` // the person, else the channel
	When    time.Time     `json:"answered,omitzero"`
}

// AuditRow is one call that passed the permission rules, or did not.
type AuditRow struct {
	Seq      int64       `json:"seq"`
	At       time.Time   `json:"at"`
	Turn     int64       `json:"turn,omitempty"`
	Call     string      `json:"call"`
	Tool     string      `json:"tool"`
	Actor    string      `json:"actor"`
	Trust    event.Trust `json:"trust"`
	Decision string      `json:"decision"`
	Reason   string      `json:"reason"`
	Summary  string      `json:"summary"`
	Hash     string      `json:"hash"`
	Outcome  string      `json:"outcome"`
	MS       int64       `json:"ms"`
	Tainted  bool        `json:"tainted,omitempty"`     // its turn had read foreign text
	Cwd      string      `json:"cwd,omitempty"`         // of a command: where it ran
	Exit     *int        `json:"exit,omitempty"`        // and its exit code
	In       int64       `json:"in"`                    // bytes of the arguments
	Out      int64       `json:"out"`                   // bytes of the result
	Result   string      `json:"result_hash,omitempty"` // of the result's text
	Warnings string      `json:"warnings,omitempty"`    // patterns in the call that are often mistakes
}

// Node is one link of the chain from a message back to what caused it.
type Node struct {
	Kind   string    `json:"kind"` // outbox, turn, call, question, inbox, fire, job, heartbeat, watch, hook, notice
	ID     int64     `json:"id"`
	Title  string    `json:"title"`
	At     time.Time `json:"at,omitzero"`
	Detail string    `json:"detail,omitempty"`
}

// Why is the chain behind one message.
type Why struct {
	Nodes []Node `json:"nodes"`
}

// Mark is a file that counts as foreign text.
type Mark struct {
	Path string    `json:"path"`
	Hash string    `json:"hash"` // of its present content; "" when nothing can be read there
	Why  string    `json:"why"`
	Turn int64     `json:"turn,omitempty"`
	At   time.Time `json:"at"`
}

// Grant is a permission that the owner has given for good.
type Grant = policy.Grant

// Task is a task of the backlog.
type Task = tasks.Task
