package event

import "time"

// CauseKind says what kind of row caused an outgoing message.
type CauseKind string

// The five causes that an outbox row can have; each row has exactly one.
const (
	ByTurn     CauseKind = "step"     // what a turn said; ID is the turn, Step the step
	ByQuestion CauseKind = "question" // ID is the question
	ByFire     CauseKind = "fire"     // ID is the fire
	ByCommand  CauseKind = "command"  // ID is the inbox row of the command
	ByNotice   CauseKind = "notice"   // hob itself; ID is the row the notice is about
)

// Cause points at the committed row that an outgoing message comes from.
type Cause struct {
	Kind CauseKind `json:"kind"`
	ID   int64     `json:"id"`
	Step int       `json:"step,omitempty"`
}

// Urgency orders and times what goes out.
type Urgency string

// How much a message hurries.
const (
	Normal Urgency = "normal" // waits for quiet hours to end
	Urgent Urgency = "urgent" // goes at once: questions, failures, direct answers
)

// Out is one message on its way out. Key is unique: the same key twice is queued once.
type Out struct {
	Key       string    `json:"key"`
	Cause     Cause     `json:"cause"`
	To        Address   `json:"to"`
	Body      string    `json:"body"`
	ReplyRef  string    `json:"reply_ref,omitempty"` // the platform's id of the message it answers
	Urgency   Urgency   `json:"urgency"`
	NotBefore time.Time `json:"not_before,omitzero"`
	NotAfter  time.Time `json:"not_after,omitzero"`

	Buttons []string `json:"buttons,omitempty"` // what the reader can choose: buttons where there are some, else numbered words at the end of the text

	Files []Enclosed `json:"files,omitempty"` // go after the text, each as a message of its own
}

// Enclosed is a file that goes with a message. What becomes of the file that it was taken from does not matter any more.
type Enclosed struct {
	Artifact string `json:"artifact,omitempty"` // id of the durable bytes; "": there are too many of them to be sent anywhere
	SHA256   string `json:"sha256,omitempty"`
	Name     string `json:"name"` // plain: no path, nothing unseen
	MIME     string `json:"mime,omitempty"`
	Size     int64  `json:"size"`           // in bytes
	Path     string `json:"path,omitempty"` // where it was taken from
}

// MaxEnclosed is the largest file, in bytes, that goes with a message. Each channel has a limit of its own beside that.
const MaxEnclosed = 50 << 20

// Event is one row of the live view, written in the commit of what it tells of.
type Event struct {
	Seq     int64          `json:"seq"`
	Type    string         `json:"type"` // "event.accepted", "turn.started", "tool.started", "tool.finished", "question.asked", "turn.finished", "message.sent", …
	At      time.Time      `json:"at"`
	Session string         `json:"session,omitempty"` // session key
	Turn    int64          `json:"turn,omitempty"`
	Inbox   int64          `json:"inbox,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
}
