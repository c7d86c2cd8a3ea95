// Package channels is the seam to the places that people write in, and the pump that
// empties the outbox into them. It decides nothing about what is said, and keeps no
// state of its own between two rows.
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

// Channel is a place that people write in.
type Channel interface {
	// Run receives until ctx ends. It commits through in before it acknowledges anything upstream.
	// An error means that receiving has stopped: the caller restarts it with backoff.
	Run(ctx context.Context, in Inbox) error
	// Send delivers one part and returns the platform's id of it. The row is committed as "sending" before
	// and as "sent" right after. Errors: ErrPermanent, *RetryAfter, ErrUnknown; any other error means surely
	// not delivered, to be tried again. ErrAddress stands beside these.
	Send(ctx context.Context, d Delivery) (remoteID string, err error)
}

// Inbox takes what a channel has received.
type Inbox interface {
	// Receive decides who is listened to (Admit), and commits what is let in together with the cursor (nil: none); a message that is
	// there already is passed over. An error means that nothing of what came last may be acknowledged upstream.
	Receive(ctx context.Context, list []Message, c *Cursor) error
	// Accept is Receive for a place where senders cannot be told apart: the channel itself makes the inputs.
	Accept(ctx context.Context, ins []event.In, c *Cursor) ([]event.Receipt, error)
	// Gap notifies the owner that messages of a period may be missing. A first gap is reported at once, further ones together within the hour;
	// the same period is reported once. The gap is stored when Gap returns.
	Gap(ctx context.Context, from, to time.Time, why string) error
	// Cursor returns the stored cursor of a source, "" when there is none or it belonged to another identity.
	Cursor(ctx context.Context, source, identity string) (string, error)
}

// Cursor is how far a source has been read. It is tied to the account's identity.
type Cursor struct{ Source, Identity, Value string }

// Delivery is one part of one outbox row.
type Delivery struct {
	Outbox   int64         `json:"outbox"`
	Part     int           `json:"part"`  // from 0
	Parts    int           `json:"parts"` // how many there are
	To       event.Address `json:"to"`
	Body     string        `json:"body"` // Markdown, whole in itself: what was open at a cut is closed
	ReplyRef string        `json:"reply_ref,omitempty"`
	Nonce    string        `json:"nonce"`    // the same at each try of this part
	Attempts int           `json:"attempts"` // this one included
	Repeat   bool          `json:"repeat"`   // an earlier try may have arrived
	Urgent   bool          `json:"urgent"`
	Unsure   int           `json:"unsure,omitempty"`   // how many earlier tries may have arrived
	Tried    time.Time     `json:"tried,omitzero"`     // when the first try began; zero at the first try
	NotAfter time.Time     `json:"not_after,omitzero"` // not tried again from then on
	Choices  []Choice      `json:"choices,omitempty"`  // with the last part: what the reader can choose; the text says it too. Empty and not nil, in an edit: its buttons go
	File     *File         `json:"file,omitempty"`     // this part is a file; Body is its caption, or empty. Only a Carrier gets one
}

// File is a file on its way out.
type File struct {
	Name     string `json:"name"` // plain: no path, nothing unseen
	MIME     string `json:"mime"`
	Size     int64  `json:"size"`               // in bytes
	Artifact string `json:"artifact,omitempty"` // where hob keeps its bytes
	// Open opens the bytes; the caller closes them. ErrPermanent: they are there no more.
	Open func(ctx context.Context) (io.ReadSeekCloser, error) `json:"-"`
}

// Choice is a button, where a platform has them: pressing it is as good as writing its command.
type Choice struct {
	Label string `json:"label"`
	Data  string `json:"data"` // a chat command; it comes back as Message.Choice
}

// What an adapter can say about a failed send.
var (
	ErrPermanent = errors.New("will never be delivered")
	ErrUnknown   = errors.New("may or may not have been delivered")
	ErrAddress   = errors.New("this address takes nothing at the moment") // it alone: the channel may work
)

// RetryAfter is what the platform asked to repeat later. Its text is that of the cause.
type RetryAfter struct {
	After time.Duration
	Err   error
	Lasts bool // it will hardly be over by itself: something must be put right first
}

func (e *RetryAfter) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryAfter) Unwrap() error { return e.Err }

// Refused marks an error as a lasting refusal: of a log-in, an account, a setting. The channel is tried again every five minutes.
func Refused(err error) error { return &RetryAfter{After: longRest, Err: err, Lasts: true} }

// Dial connects to an address "host:port" of a network, as "tcp".
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Env is what an adapter gets from hob.
type Env struct {
	Name   string       // the section's name: its addresses are "Name:…", its source is Name
	HTTP   *http.Client // no proxy from the environment, bounded times
	Dial   Dial         // for what is not spoken over HTTP; nil: as net.Dialer does it
	Clock  sys.Clock
	Log    *slog.Logger
	Secret func(ref string) (string, error) // resolves env:, file:, keyring:, cmd:
	Owner  func() []event.Address           // the owner's addresses as they are now: of the config and by pairing; nil: none
	// Pairing reports whether a pairing of this channel is open now: its code is taken until it is used, ended or expired; nil: none ever is.
	Pairing func(ctx context.Context) (bool, error)
}

// OwnerIDs are the owner's ids on this channel as they are now.
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
