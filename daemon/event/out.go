package event

import "time"

// CauseKind says what kind of row caused an outgoing message.
type CauseKind string

// The five causes of an outbox row. Each row has exactly one.
const (
	ByTurn     CauseKind = "step"     // the text of a turn; ID is the turn, Step the step
	ByQuestion CauseKind = "question" // ID is the question
	ByFire     CauseKind = "fire"     // ID is the fire
	ByCommand  CauseKind = "command"  // ID is the inbox row of the command
	ByNotice   CauseKind = "notice"   // a notice from hob itself; ID is the row that it is about
)

// Cause identifies the committed row that an outgoing message comes from.
type Cause struct {
	Kind CauseKind `json:"kind"`
	ID   int64     `json:"id"`
	Step int       `json:"step,omitempty"`
}

// Urgency decides about quiet hours and order.
type Urgency string

// The urgencies of a message.
const (
	Normal Urgency = "normal" // waits until quiet hours end
	Urgent Urgency = "urgent" // sent at once: questions, direct answers, notices of hob itself
)

// Out is one outgoing message. Key is unique: a second message with the same key is not queued.
type Out struct {
	Key       string    `json:"key"`
	Cause     Cause     `json:"cause"`
	To        Address   `json:"to"`
	Body      string    `json:"body"`
	ReplyRef  string    `json:"reply_ref,omitempty"` // the platform's id of the message that it answers
	Urgency   Urgency   `json:"urgency"`
	NotBefore time.Time `json:"not_before,omitzero"`
	NotAfter  time.Time `json:"not_after,omitzero"`

	Buttons []string `json:"buttons,omitempty"` // choices for the reader: buttons if the platform has them, otherwise numbered words at the end of the text

	Files []Enclosed `json:"files,omitempty"` // sent after the text, each as its own message
}

// Enclosed is a file that is sent with a message. Its bytes are stored, so later changes of the original file do not matter.
type Enclosed struct {
	Artifact string `json:"artifact,omitempty"` // id of the stored bytes; "": the file is too large to be sent
	SHA256   string `json:"sha256,omitempty"`
	Name     string `json:"name"` // a plain file name without path and invisible characters
	MIME     string `json:"mime,omitempty"`
	Size     int64  `json:"size"`           // in bytes
	Path     string `json:"path,omitempty"` // path of the original file
}

// MaxEnclosed is the largest file, in bytes, that is sent with a message. Each channel also has its own limit.
const MaxEnclosed = 50 << 20

// Event is one row of the live view. It is committed together with the change that it reports.
type Event struct {
	Seq     int64          `json:"seq"`
	Type    string         `json:"type"` // "event.accepted", "turn.started", "tool.started", "tool.finished", "question.asked", "turn.finished", "message.sent", …
	At      time.Time      `json:"at"`
	Session string         `json:"session,omitempty"` // session key
	Turn    int64          `json:"turn,omitempty"`
	Inbox   int64          `json:"inbox,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
}
