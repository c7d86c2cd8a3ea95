// Package event holds the words that all parts of hob share: what comes in,
// what goes out, where from and where to, and how far it is trusted.
// It holds data only; it never touches the database, the network or a clock.
package event

import (
	"fmt"
	"strings"
	"time"
)

// Trust says who stands behind an input. It is fixed when the input is accepted.
type Trust string

// The four levels of trust, from the owner down to what a machine sent.
const (
	Owner   Trust = "owner"   // the one person hob works for
	Known   Trust = "known"   // a person the owner has named
	Public  Trust = "public"  // anybody
	Machine Trust = "machine" // a webhook, a file watch, a sensor
)

// Kind says what an inbox row is.
type Kind string

// The kinds of inbox rows.
const (
	Message Kind = "message" // somebody wrote
	Command Kind = "command" // a chat command such as /status
	Answer  Kind = "answer"  // an answer to a question
	Fire    Kind = "fire"    // a trigger fired
	Report  Kind = "report"  // a child or a background process has ended
)

// Rank orders the inbox: the thread takes the lowest number first.
type Rank int

// The ranks of the thread's rows.
const (
	RankOwner    Rank = 0 // a message of the owner
	RankResumed  Rank = 1 // a turn that goes on
	RankSchedule Rank = 2 // a trigger's fire
	RankRest     Rank = 3 // everything else
)

// In is one input on its way into the inbox. (Source, ExtID) is unique: the same pair twice is stored once.
type In struct {
	Source    string    `json:"source"`              // who delivered it: "cli", "ntfy.alerts", "cron"
	ExtID     string    `json:"ext_id"`              // the source's own id of it
	Session   string    `json:"session"`             // key of the session it belongs to, e.g. "main"
	Kind      Kind      `json:"kind"`                //
	Rank      Rank      `json:"rank"`                //
	Trust     Trust     `json:"trust"`               //
	Sender    string    `json:"sender,omitempty"`    // a name to show
	ReplyTo   Address   `json:"reply_to,omitempty"`  // where an answer goes; empty: nowhere
	ReplyRef  string    `json:"reply_ref,omitempty"` // the platform's id of the message this one replies to
	Tainted   bool      `json:"tainted,omitempty"`   // its words come, whole or in part, from foreign text
	Typed     bool      `json:"typed,omitempty"`     // the owner typed these very words (a message, or the prompt of a job that he typed)
	Parts     []Part    `json:"parts"`               //
	Fire      int64     `json:"fire,omitempty"`      // the fire that caused it
	Received  time.Time `json:"received"`            //
	NotBefore time.Time `json:"not_before,omitzero"` // not taken before
	NotAfter  time.Time `json:"not_after,omitzero"`  // expires when not taken by then
	Origin    Origin    `json:"origin,omitzero"`     // of what people write in a chat
}

// Origin is what a platform says about a message beside what is in it.
type Origin struct {
	Person string    `json:"person,omitempty"` // who wrote it, by the platform's immutable id; empty: there are no persons
	Sent   time.Time `json:"sent,omitzero"`    // by the platform's clock; zero: it does not say
	Edits  string    `json:"edits,omitempty"`  // the ExtID of the message that this one takes the place of
}

// Text joins the text parts of an input.
func (in In) Text() string { return TextOf(in.Parts) }

// Word is the name of a command: the first word of its text, in lower case.
func (in In) Word() string {
	words := strings.Fields(in.Text())
	if len(words) == 0 {
		return ""
	}
	return strings.ToLower(words[0])
}

// Receipt says what became of an accepted input.
type Receipt struct {
	Event int64 `json:"event"` // seq of its event.accepted event
	Inbox int64 `json:"inbox"` // seq of its inbox row
	New   bool  `json:"-"`     // false: the same (source, id) was there already
}

// PartKind says what a part holds.
type PartKind string

// The kinds of parts.
const (
	Text  PartKind = "text"
	Image PartKind = "image"
	File  PartKind = "file"
)

// Part is a piece of a message: text, or a file kept as an artifact.
type Part struct {
	Kind     PartKind `json:"kind"`
	Text     string   `json:"text,omitempty"`
	Artifact string   `json:"artifact,omitempty"` // artifact id of an image or file
	Name     string   `json:"name,omitempty"`     // of a file; a path in the workspace where a copy stands there
	Size     int64    `json:"size,omitempty"`     // in bytes; 0: not known
	MIME     string   `json:"mime,omitempty"`
	Voice    bool     `json:"voice,omitempty"`   // spoken words
	Seconds  int      `json:"seconds,omitempty"` // of a recording; 0: not known
	Heard    bool     `json:"heard,omitempty"`   // of Voice: what is said in it, or why nobody can tell, is the text part behind it
}

// Length is how long a recording is, as minutes and seconds; "" when that is not known.
func (p Part) Length() string {
	if p.Seconds <= 0 {
		return ""
	}
	return fmt.Sprintf("%d:%02d", p.Seconds/60, p.Seconds%60)
}

// Say makes the parts of a plain text.
func Say(text string) []Part { return []Part{{Kind: Text, Text: text}} }

// TextOf joins the text parts with line breaks.
func TextOf(parts []Part) string {
	text := ""
	for _, p := range parts {
		if p.Kind != Text {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += p.Text
	}
	return text
}
