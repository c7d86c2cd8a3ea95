// Package llm is the interface to language models. It defines the transcript (items), a request, the stream of deltas, the complete answer
// with its usage, and the kinds of errors. The thread of package agent renders the items of a session into a Request, asks a Plan for the
// model, calls Model.Answer, and stores the answer as new items.
//
// It knows no vendor's wire format (its sub-packages do) and never touches the database.
package llm

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// Role is the author of an item.
type Role string

// The roles of items.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Kind is the type of an item.
type Kind string

// The kinds of items.
const (
	Input      Kind = "input"     // an inbox row that has joined the turn
	Text       Kind = "text"      // the model's visible text
	Reasoning  Kind = "reasoning" // the model's reasoning, where the provider shows it
	CallItem   Kind = "call"      // a tool call: CallID, Tool, Args
	ResultItem Kind = "result"    // the result of the call with the same CallID
	Summary    Kind = "summary"   // the summary of a compaction
	Note       Kind = "note"      // a remark of hob to the model
)

// Item is one row of the transcript, the only record of a conversation. Items are appended and never deleted. A compaction of
// the session sets Handle; nothing else changes.
type Item struct {
	Seq      int64           `json:"seq"`
	Session  int64           `json:"session"`
	Turn     int64           `json:"turn"`
	Step     int             `json:"step"`
	Role     Role            `json:"role"`
	Kind     Kind            `json:"kind"`
	Parts    []event.Part    `json:"parts,omitempty"`
	Envelope *Envelope       `json:"envelope,omitempty"` // of an Input
	CallID   string          `json:"call_id,omitempty"`  // "t<turn>_<n>", assigned by hob
	Tool     string          `json:"tool,omitempty"`     // of a call: the tool's name
	Args     json.RawMessage `json:"args,omitempty"`     // of a call: the arguments, byte for byte as the model sent them
	IsError  bool            `json:"is_error,omitempty"` // of a result
	Provider string          `json:"provider,omitempty"`
	Model    string          `json:"model,omitempty"`
	Raw      json.RawMessage `json:"raw,omitempty"`    // provider data, sent back only to the same provider and model
	Handle   string          `json:"handle,omitempty"` // of a result: what requests show in place of Parts, "" for Parts
	Trust    event.Trust     `json:"trust"`
	Source   string          `json:"source"` // origin of the content: a channel, "model" or a tool's name
	Tokens   int             `json:"tokens,omitempty"`
}

// Envelope describes where an input came from. Adapters write it in front of the text; the built-in interpreter reads its fields instead.
type Envelope struct {
	Source       string      `json:"source"`           // channel, or "job morning"
	Sender       string      `json:"sender,omitempty"` //
	At           time.Time   `json:"at"`               // time of receipt
	Zone         string      `json:"zone"`             // the owner's time zone, as an IANA name
	Trust        event.Trust `json:"trust"`
	Kind         event.Kind  `json:"kind"`
	Typed        bool        `json:"typed,omitempty"`  // the owner wrote this text himself
	OwnerInGroup bool        `json:"lesser,omitempty"` // the owner wrote it in a group: only the rights of Trust apply there
	Note         string      `json:"note,omitempty"`   // e.g. "3 earlier slots were missed"
}

// longestSender limits a sender's name in the head, in characters.
const longestSender = 100

// dots are the characters that look like the separator between two fields of a head.
const dots = "·•‧∙⋅・･ꞏ᛫⸱"

// inHead makes a name safe for the head of an input. A sender chooses the name freely, so it must neither end the head nor look like
// another field of it.
func inHead(name string) string {
	// Most names need no change.
	if len(name) <= longestSender && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
		return name
	}
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
	head := append(make([]byte, 0, 128), '[')
	head = append(head, inHead(e.Source)...)
	if e.Sender != "" {
		head = append(append(head, " · "...), inHead(e.Sender)...)
	}
	switch {
	case e.OwnerInGroup:
		head = append(head, " · the owner, in a group"...)
	case e.Trust != event.Owner:
		head = append(append(append(head, " · not the owner ("...), e.Trust...), ')')
	}
	zone, err := sys.LoadZone(e.Zone)
	if err != nil {
		zone = time.UTC
	}
	head = e.At.In(zone).AppendFormat(append(head, " · "...), "2006-01-02 15:04")
	head = append(append(head, ' '), zone.String()...)
	if e.Note != "" {
		head = append(append(head, " · "...), inHead(e.Note)...)
	}
	return string(append(head, ']'))
}
