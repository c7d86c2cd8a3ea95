// Package llm is the seam to language models: what is said (items), a request,
// a stream of deltas, one answer with its usage, and the kinds of errors.
// It knows no vendor's wire format (its sub-packages do) and never touches the database.
package llm

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"hob/daemon/event"
)

// Role says who speaks in an item.
type Role string

// The roles of items.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Kind says what an item is.
type Kind string

// The kinds of items.
const (
	Input     Kind = "input"     // an inbox row that has joined
	Text      Kind = "text"      // what the model said
	Reasoning Kind = "reasoning" // what it thought, where the provider shows it
	CallItem  Kind = "call"      // a tool call: CallID, Tool, Args
	ResultOf  Kind = "result"    // the result of the call with the same CallID
	Summary   Kind = "summary"   // a compaction
	Note      Kind = "note"      // hob's own word to the model
)

// Item is one row of the transcript: the one truth about what was said. Items are only ever appended.
type Item struct {
	Seq      int64           `json:"seq"`
	Session  int64           `json:"session"`
	Turn     int64           `json:"turn"`
	Step     int             `json:"step"`
	Role     Role            `json:"role"`
	Kind     Kind            `json:"kind"`
	Parts    []event.Part    `json:"parts,omitempty"`
	Envelope *Envelope       `json:"envelope,omitempty"` // of an input
	CallID   string          `json:"call_id,omitempty"`  // "t<turn>_<n>", minted by hob
	Tool     string          `json:"tool,omitempty"`     // name of the tool of a call
	Args     json.RawMessage `json:"args,omitempty"`     // arguments of a call, the very bytes that the model sent
	IsError  bool            `json:"is_error,omitempty"` // of a result
	Provider string          `json:"provider,omitempty"`
	Model    string          `json:"model,omitempty"`
	Raw      json.RawMessage `json:"raw,omitempty"` // replayed only to the same provider and model
	Trust    event.Trust     `json:"trust"`
	Source   string          `json:"source"` // where the content came from: a channel, "model", a tool's name
	Tokens   int             `json:"tokens,omitempty"`
}

// Envelope is what stands around an input: it is drawn by the adapter, so that the built-in interpreter sees structure.
type Envelope struct {
	Source string      `json:"source"`           // channel, or "job morning"
	Sender string      `json:"sender,omitempty"` //
	At     time.Time   `json:"at"`               // when it was received
	Zone   string      `json:"zone"`             // the owner's zone, by IANA name
	Trust  event.Trust `json:"trust"`
	Kind   event.Kind  `json:"kind"`
	Typed  bool        `json:"typed,omitempty"`  // the owner's own words
	Lesser bool        `json:"lesser,omitempty"` // the owner has written it where others read along: he has the rights of Trust there, and no more
	Note   string      `json:"note,omitempty"`   // e.g. "3 earlier slots were missed"
}

// longestSender is how much of a sender's name stands in the head, in characters.
const longestSender = 100

// dots are what looks like the one between two fields of a head.
const dots = "·•‧∙⋅・･ꞏ᛫⸱"

// inHead is a name as it may stand in the head of an input. Anybody may call himself anything: none of it ends the head, or is another field of it.
func inHead(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(brackets, r):
			return '('
		case strings.ContainsRune(closers, r):
			return ')'
		case strings.ContainsRune(dots, r):
			return '-'
		case unicode.IsSpace(r) || !unicode.IsGraphic(r) || strings.ContainsRune(blanks, r):
			return ' '
		}
		return r
	}, name)
	short := []rune(strings.Join(strings.Fields(name), " "))
	if len(short) > longestSender {
		short = append(short[:longestSender-1], '…')
	}
	return string(short)
}

// Draw writes the envelope as one bracketed line head: "[telegram · Sam · 2026-11-21 09:00 Europe/Berlin]".
func (e Envelope) Draw() string {
	head := "[" + inHead(e.Source)
	if e.Sender != "" {
		head += " · " + inHead(e.Sender)
	}
	switch {
	case e.Lesser:
		head += " · the owner, in a group"
	case e.Trust != event.Owner:
		head += " · not the owner (" + string(e.Trust) + ")"
	}
	zone, err := time.LoadLocation(e.Zone)
	if err != nil {
		zone = time.UTC
	}
	head += " · " + e.At.In(zone).Format("2006-01-02 15:04") + " " + zone.String()
	if e.Note != "" {
		head += " · " + inHead(e.Note)
	}
	return head + "]"
}
