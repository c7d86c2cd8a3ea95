package api

import (
	"time"

	"hob/daemon/event"
	"hob/daemon/record"
)

// The requests and answers of verbs. On the wire all arguments are texts. The tag need marks an argument that must have a text; a pointer is nil
// where an argument is not given.

// None is the body of a verb that takes no arguments.
type None struct{}

// Done is the answer of a verb that has nothing to show.
type Done struct {
	OK bool `json:"ok"`
}

// Forgotten is what was removed for good.
type Forgotten struct {
	OK      bool     `json:"ok"`
	Items   int64    `json:"items"`   // entries of the transcripts
	Files   int      `json:"files"`   // stored results and attachments
	Backups []string `json:"backups"` // copies of the database that may still hold it
}

// HistoryQuery searches what was said.
type HistoryQuery struct {
	Query   string `json:"query" need:"true"`
	Session string `json:"session,omitempty"` // key or id; "": all
	Limit   string `json:"limit,omitempty"`   // results; "" and "0": 20
}

// HistoryFound is what a search in the conversations found.
type HistoryFound struct {
	Results []HistoryHit `json:"results"`
	Notes   []string     `json:"notes,omitempty"` // what is missing, and why
}

// HistoryHit is a message or an answer that was found.
type HistoryHit struct {
	Session int64     `json:"session"`
	Key     string    `json:"key"`
	Item    int       `json:"item"` // its number, as in hob sessions show --json
	At      time.Time `json:"at"`
	Sender  string    `json:"sender"`
	Foreign string    `json:"foreign,omitempty"` // why it is somebody else's text
	Score   float64   `json:"score"`             // 0 to 1
	Text    string    `json:"text"`              // of a long one, the part around the words
}

// Text is the answer of a verb that says in words what it has done.
type Text struct {
	Text string `json:"text"`
}

// Message is what somebody writes to hob.
type Message struct {
	Text        string       `json:"text"`              // may be empty where there is an attachment
	Session     string       `json:"session,omitempty"` // "" is main
	ID          string       `json:"id,omitempty"`      // the same id again is the same message
	Begun       time.Time    `json:"begun,omitzero"`    // when its writer began to write it; it answers no question asked later
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Attachment is a file that comes with a message.
type Attachment struct {
	Name string `json:"name"`           // as its sender calls it
	MIME string `json:"mime,omitempty"` // as its sender says; believed only where the bytes say nothing
	Data []byte `json:"data"`           // in base64 on the wire
}

// Compact asks for a summary of a conversation.
type Compact struct {
	Matters string `json:"matters,omitempty"` // what the summary must keep
}

// Outgoing is a message for an address, which no model reads.
type Outgoing struct {
	To          string       `json:"to"`
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Sent is a message that was queued for an address.
type Sent struct {
	Outbox int64         `json:"outbox"` // its row
	To     event.Address `json:"to"`
}

// Approve allows what a question asks for.
type Approve struct {
	Scope Scope `json:"scope,omitempty"`
}

// Scope is how far an approval goes: "once" (also ""), "turn" or "always".
type Scope string

// UnmarshalText refuses every other text.
func (s *Scope) UnmarshalText(text []byte) error {
	switch *s = Scope(text); *s {
	case "once", "turn", "always":
		return nil
	}
	return event.NewFault(event.Invalid, "", "scope %q is not once, turn or always", text)
}

// Answer answers a question in words.
type Answer struct {
	Text string `json:"text" need:"true"`
}

// Answered is a question that was answered.
type Answered struct {
	Answer string `json:"answer"`
	Code   string `json:"code"`
	Turn   int64  `json:"turn"`
}

// MarkedFile is a file that the owner trusts again.
type MarkedFile struct {
	Path string `json:"path" need:"true"`
	Hash string `json:"hash,omitempty"` // of what the owner has read; "": what the list has shown last
}

// ForeignFile is a file that counts as foreign text until the owner accepts it.
type ForeignFile struct {
	Path string `json:"path" need:"true"` // absolute
	Why  string `json:"why" need:"true"`  // completes "it was …"
}

// WebhookRotation gives a webhook a new secret.
type WebhookRotation struct {
	Secret string `json:"secret,omitempty"` // a reference or the secret itself; "": hob makes one
	Done   string `json:"done,omitempty"`   // not "": no new one; the secret before the current one counts no more
}

// WebhookSample is what a test posts to a webhook; what is not given is as the senders of its kind have it.
type WebhookSample struct {
	Body    *string `json:"body,omitempty"`
	Headers string  `json:"headers,omitempty"` // NAME: VALUE, a line for each
}

// TestMessage says whether a test of a channel sends a message.
type TestMessage struct {
	Send string `json:"send,omitempty"` // "true": one goes to the owner
}

// SignInAddress is the address at which the browser ended after a sign-in.
type SignInAddress struct {
	Address string `json:"address" need:"true"`
}

// BudgetChange sets daily caps: 0 spends nothing, -1 is no cap.
type BudgetChange struct {
	PerDay       *string `json:"per_day,omitempty"` // money: 2.50
	TokensPerDay *string `json:"tokens_per_day,omitempty"`
	Config       string  `json:"config,omitempty"` // "true": the caps of the config count again
}

// Recording is the recording of an exchange with a server that runs, or the last one.
type Recording = record.State

// BackupPath is where a copy of the database is written; "" is the folder of backups.
type BackupPath struct {
	Path string `json:"path,omitempty"`
}

// Backup is a copy of the database that was made.
type Backup struct {
	BackupReport
	MS int64 `json:"ms"` // how long it took
}

// BackupReport is what a database file holds.
type BackupReport struct {
	Path     string    `json:"path,omitempty"`
	Bytes    int64     `json:"bytes"`
	Schema   int       `json:"schema"`   // its version
	Version  string    `json:"version"`  // of the hob that last ran on it
	Instance string    `json:"instance"` // whose it is
	Newest   time.Time `json:"newest"`   // when the last thing happened that it knows
	Messages int64     `json:"messages"` // inputs, of all kinds
	Turns    int64     `json:"turns"`
	Sent     int64     `json:"sent"` // messages that went out
	Jobs     int64     `json:"jobs"`
	Sessions int64     `json:"sessions"`
	// HookSecrets counts the webhooks whose secret is in the database itself; others have a reference to one.
	HookSecrets int64  `json:"hook_secrets,omitempty"`
	Digest      string `json:"digest,omitempty"` // its SHA-256, as it was written when it was made; "": nothing says what it was
}
