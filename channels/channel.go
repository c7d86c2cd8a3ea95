// Package channels connects hob to messaging platforms. It declares the Channel interface that each adapter
// implements, runs the adapters (Host), admits received messages to the inbox, and delivers the outbox
// (Pump).
//
// A received message flows from Channel.Run through Inbox.Receive and Admit to the store; the adapter
// acknowledges it to the platform only after that commit. An answer flows from an outbox row through Pump,
// which splits it into parts and commits each part as "sending" before Channel.Send and as "sent" after it.
//
// The package never decides what hob says, and keeps no state in memory that a restart would miss.
package channels

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// Channel is one configured account on a messaging platform.
type Channel interface {
	// Run receives until ctx ends. It commits through in before it acknowledges anything to the platform. An
	// error means that receiving has stopped; the host starts Run again, with backoff.
	Run(ctx context.Context, in Inbox) error
	// Send delivers one part and returns the platform's id of the message. The pump commits the part as
	// "sending" before the call and as "sent" after it. Errors: ErrPermanent, *RetryAfter, ErrUnknown. Any
	// other error means that the part was surely not delivered, and is tried again. ErrAddress may be wrapped
	// together with these.
	Send(ctx context.Context, d Delivery) (remoteID string, err error)
}

// Inbox stores what a channel receives.
type Inbox interface {
	// Receive admits or refuses each message (Admit) and commits the admitted ones together with the cursor
	// (nil: none). A message that is already stored is skipped. After an error, nothing of this list may be
	// acknowledged upstream.
	Receive(ctx context.Context, list []Message, c *Cursor) error
	// Accept is Receive for places where senders cannot be told apart: the channel itself makes the inputs.
	Accept(ctx context.Context, ins []event.In, c *Cursor) ([]event.Receipt, error)
	// Gap notifies the owner that messages of a period may be missing. A first gap is reported at once, further ones together within the hour;
	// the same period is reported once. The gap is stored when Gap returns.
	Gap(ctx context.Context, from, to time.Time, why string) error
	// Cursor returns the stored cursor of a source, "" when there is none or it belonged to another identity.
	Cursor(ctx context.Context, source, identity string) (string, error)
}

// Cursor is the position up to which a source was read. It is valid for one account, its Identity.
type Cursor struct{ Source, Identity, Value string }

// Delivery is one part of one outbox row, as an adapter gets it.
type Delivery struct {
	Outbox   int64         `json:"outbox"`
	Part     int           `json:"part"`  // from 0
	Parts    int           `json:"parts"` // number of parts of the row
	To       event.Address `json:"to"`
	Body     string        `json:"body"` // Markdown that is complete in itself: what a cut left open is closed
	ReplyRef string        `json:"reply_ref,omitempty"`
	// Overtaken: other messages have come between the answered message and this answer. A Replier then refers to it in private chats too.
	Overtaken bool      `json:"overtaken,omitempty"`
	Nonce     string    `json:"nonce"`    // the same for each try of this part
	Attempts  int       `json:"attempts"` // including this one
	Repeat    bool      `json:"repeat"`   // an earlier try may have arrived
	Urgent    bool      `json:"urgent"`
	Unsure    int       `json:"unsure,omitempty"`   // how many earlier tries may have arrived
	Tried     time.Time `json:"tried,omitzero"`     // when the first try began; zero at the first try
	NotAfter  time.Time `json:"not_after,omitzero"` // no more tries from then on
	Choices   []Choice  `json:"choices,omitempty"`  // of the last part: what the reader can choose; the text lists it too. Empty but not nil in an edit: remove the buttons
	File      *File     `json:"file,omitempty"`     // the part is a file and Body its caption, or empty; only a Carrier gets one
}

// File is a file to send.
type File struct {
	Name     string `json:"name"` // without a path or invisible characters
	MIME     string `json:"mime"`
	Size     int64  `json:"size"`               // in bytes
	Artifact string `json:"artifact,omitempty"` // id of the artifact that holds the bytes
	// Open opens the content; the caller closes it. ErrPermanent: the content no longer exists.
	Open func(ctx context.Context) (io.ReadSeekCloser, error) `json:"-"`
}

// Choice is a button, on platforms that have them. Pressing it has the effect of writing its command.
type Choice struct {
	Label string `json:"label"`
	Data  string `json:"data"` // a chat command; the platform sends it back as Message.Choice
}

// Errors with which an adapter classifies a failed send. The pump branches on them (see After).
var (
	ErrPermanent = errors.New("will never be delivered")
	ErrUnknown   = errors.New("may or may not have been delivered")
	ErrAddress   = errors.New("this address takes nothing at the moment") // only this address is affected; the channel itself may work
)

// RetryAfter says when the platform wants the request to be repeated. Its text is that of the cause.
type RetryAfter struct {
	After time.Duration
	Err   error
	Lasts bool // it will not pass by itself: somebody must fix something first
}

// Error returns the text of the cause.
func (e *RetryAfter) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryAfter) Unwrap() error { return e.Err }

// Refused marks an error as a lasting refusal of a log-in, an account or a setting. The host tries the
// channel again every five minutes.
func Refused(err error) error { return &RetryAfter{After: longRest, Err: err, Lasts: true} }

// Dial connects to an address "host:port" on a network such as "tcp".
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Env is what hob gives to an adapter.
type Env struct {
	Name   string       // the section's name: its addresses are "Name:…", and its source is Name
	HTTP   *http.Client // ignores proxies from the environment; its time is limited
	Dial   Dial         // for protocols other than HTTP; nil: net.Dialer
	Clock  sys.Clock
	Log    *slog.Logger
	Secret func(ref string) (string, error) // resolves references: env:, file:, keyring:, cmd:
	Owner  func() []event.Address           // the owner's current addresses, from the config and from pairings; nil: none
	// Frame is given each message over a WebSocket but heartbeats, for a recording; nil: nobody wants it.
	Frame func(sent bool, text []byte)
	// Pairing reports whether a pairing of this channel is open: its code is valid until it is used, ended or
	// expired. nil: never.
	PairingOpen func(ctx context.Context) (bool, error)
}

// Framed is Frame if that is set.
func (e Env) Framed(sent bool, text []byte) {
	if e.Frame != nil {
		e.Frame(sent, text)
	}
}

// OwnerIDs returns the owner's current ids on this channel.
func (e Env) OwnerIDs() []string {
	var ids []string
	if e.Owner == nil {
		return nil
	}
	for _, a := range e.Owner() {
		if a.Channel() == e.Name {
			ids = append(ids, a.Local())
		}
	}
	return ids
}
