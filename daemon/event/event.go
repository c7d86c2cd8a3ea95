// Package event defines the data that all parts of hob share: inputs (In), outgoing messages (Out), addresses, levels of trust, and
// faults for people. It holds data only. It never touches the database, the network or a clock.
package event

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trust says who an input comes from. It is fixed when the input is accepted.
type Trust string

// The four levels of trust, from the owner down to a machine.
const (
	Owner   Trust = "owner"   // the one person that hob works for
	Known   Trust = "known"   // a person whom the owner named in the config
	Public  Trust = "public"  // anyone else
	Machine Trust = "machine" // a webhook, a file watch, a sensor
)

// Of returns the trust in a text of somebody with this trust. It is Public if the text may hold foreign text, even if the owner forwards it.
func (t Trust) Of(foreign bool) Trust {
	if foreign && (t == Owner || t == Known) {
		return Public
	}
	return t
}

// Kind says what an inbox row is.
type Kind string

// The kinds of inbox rows.
const (
	Message Kind = "message" // a person wrote a message
	Command Kind = "command" // a chat command such as /status
	Answer  Kind = "answer"  // an answer to a question
	Fire    Kind = "fire"    // a trigger fired
	Report  Kind = "report"  // a command in the background has ended
)

// Rank is the priority in the inbox: the agent takes the lowest number first.
type Rank int

// The ranks of inbox rows.
const (
	RankOwner    Rank = 0 // a message of the owner
	RankResumed  Rank = 1 // a turn that continues
	RankSchedule Rank = 2 // the fire of a trigger
	RankRest     Rank = 3 // everything else
)

// In is one input before it becomes an inbox row. (Source, ExtID) is unique: a second delivery of the same pair stores nothing.
type In struct {
	Source    string    `json:"source"`              // the channel or part that delivered it: "cli", "ntfy.alerts", "cron"
	ExtID     string    `json:"ext_id"`              // the source's own id of the input
	Session   string    `json:"session"`             // key of its session, e.g. "main"
	Kind      Kind      `json:"kind"`                //
	Rank      Rank      `json:"rank"`                //
	Trust     Trust     `json:"trust"`               //
	Sender    string    `json:"sender,omitempty"`    // a name to display
	ReplyTo   Address   `json:"reply_to,omitempty"`  // the address for an answer; "": nowhere
	ReplyRef  string    `json:"reply_ref,omitempty"` // the platform's id of the message that this one replies to
	Tainted   bool      `json:"tainted,omitempty"`   // all or part of its text is foreign
	Typed     bool      `json:"typed,omitempty"`     // the owner typed exactly this text (a message, or the prompt of a job that he typed)
	Parts     []Part    `json:"parts"`               //
	Fire      int64     `json:"fire,omitempty"`      // the fire that caused it
	Received  time.Time `json:"received"`            //
	NotBefore time.Time `json:"not_before,omitzero"` // earliest time at which it is taken
	NotAfter  time.Time `json:"not_after,omitzero"`  // it expires if it is not taken by then
	Origin    Origin    `json:"origin,omitzero"`     // for messages that people write in a chat
	Begun     time.Time `json:"-"`                   // when its writer began to write it; it answers no question asked later; zero: unknown
}

// Origin is what a platform says about a message besides its content.
type Origin struct {
	Person string    `json:"person,omitempty"` // the sender's immutable id on the platform; "": the platform has no persons
	Sent   time.Time `json:"sent,omitzero"`    // by the platform's clock; zero: unknown
	Edits  string    `json:"edits,omitempty"`  // the ExtID of the message that this one replaces
}

// Text joins the text parts of an input.
func (in In) Text() string { return TextOf(in.Parts) }

// CommandName returns the name of a command: the first word of its text, in lower case.
func (in In) CommandName() string {
	words := strings.Fields(in.Text())
	if len(words) == 0 {
		return ""
	}
	return strings.ToLower(words[0])
}

// Receipt identifies the row of an accepted input.
type Receipt struct {
	Event int64 `json:"event"` // seq of its event.accepted event
	Inbox int64 `json:"inbox"` // seq of its inbox row
	New   bool  `json:"-"`     // false: the same (Source, ExtID) was accepted before
}

// PartKind says what a part contains.
type PartKind string

// The kinds of parts.
const (
	Text  PartKind = "text"
	Image PartKind = "image"
	File  PartKind = "file"
)

// Part is a piece of a message: text, or a file stored as an artifact.
type Part struct {
	Kind        PartKind `json:"kind"`
	Text        string   `json:"text,omitempty"`
	Artifact    string   `json:"artifact,omitempty"` // artifact id of an image or file; of a text: the artifact that has it whole
	Name        string   `json:"name,omitempty"`     // of a file; a path in the workspace if a copy is there
	Size        int64    `json:"size,omitempty"`     // in bytes; 0: unknown; of a text: with Artifact, the size of the whole
	MIME        string   `json:"mime,omitempty"`
	Voice       bool     `json:"voice,omitempty"`   // a voice recording
	Seconds     int      `json:"seconds,omitempty"` // length of a recording; 0: unknown
	Transcribed bool     `json:"heard,omitempty"`   // of Voice: the next text part is the transcription, or says why there is none
	Skill       *Skill   `json:"skill,omitempty"`   // a text that holds the instructions of a skill, which begins to run
}

// Skill is a skill that a turn runs. From there to the end of the turn only some tools may be called.
type Skill struct {
	Name string   `json:"name"`
	Only []string `json:"only,omitzero"` // nil: all tools
}

// Length formats the length of a recording as minutes and seconds; "": unknown.
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

// Words is TextOf without the instructions of skills: what somebody wrote.
func Words(parts []Part) string {
	return TextOf(slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Skill != nil }))
}

// Shorten cuts a text to about most characters: 70 % of them from its head, 20 % from its tail, and a note between.
func Shorten(text string, most int) string {
	all := []rune(text)
	if len(all) <= most {
		return text
	}
	head, tail := most*7/10, most*2/10
	return string(all[:head]) + fmt.Sprintf("\n[… %d characters left out …]\n", len(all)-head-tail) + string(all[len(all)-tail:])
}
