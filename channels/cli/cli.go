// Package cli is the channel of everything that uses the local API: the prompt of hob up, hob chat and the
// web page.
//
// Messages come in through Post. The owner typed them: access is limited by the file mode of the socket or by
// the token. Nothing is sent: a message to event.CLI is delivered by its commit, and clients read it from the
// store.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
	"hob/daemon/text"
)

// Errors of Post.
var (
	ErrEmpty    = errors.New("the message is empty; write something")
	ErrTooLarge = errors.New("the message is over 256 KB; put it in a file in the workspace and name the file")
	ErrSession  = errors.New("a session's name is 1 to 64 of a-z, 0-9, dot, underscore and hyphen; sessions of jobs, hooks and channels cannot be written to from outside")
	ErrCommand  = errors.New("a command takes no attachments; send them with a message")
	ErrID       = errors.New("a message's id is 1 to 128 printable characters without spaces")
)

// MaxText is the longest message, in bytes.
const MaxText = 256 << 10

// MainSession is the session of messages that name none.
const MainSession = "main"

// Channel is the cli channel.
type Channel struct {
	inbox Inbox
	files Files
	clock sys.Clock
	ids   sys.IDs
	owner string
	names *regexp.Regexp
}

// New makes the channel. files stores messages with files; owner is the displayed name of the sender; ids
// makes ids for messages without one.
func New(inbox Inbox, files Files, clock sys.Clock, ids sys.IDs, owner string) *Channel {
	return &Channel{inbox: inbox, files: files, clock: clock, ids: ids, owner: owner, names: regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)}
}

// Post commits one typed message with its files, and returns where it is stored. A repeated id is stored
// once: Receipt.New is then false. session "" means main; id "" makes a new one; with files, the text may be
// empty. Errors: ErrEmpty, ErrTooLarge, ErrSession, ErrID, ErrCommand, store errors, and an *event.Fault for
// an invalid file.
func (c *Channel) Post(ctx context.Context, text, session, id string, files ...File) (event.Receipt, error) {
	return c.PostBegun(ctx, time.Time{}, text, session, id, files...)
}

// PostBegun is Post for a message that its writer began to write at an instant: it answers no question that was asked later.
func (c *Channel) PostBegun(ctx context.Context, begun time.Time, text, session, id string, files ...File) (event.Receipt, error) {
	in, err := c.input(text, session, id, files)
	if err != nil {
		return event.Receipt{}, err
	}
	in.Begun = begun
	fail.Point("inbound.received")
	receipt, err := c.accept(ctx, in, files)
	if err != nil {
		return event.Receipt{}, fmt.Errorf("store the message: %w", err)
	}
	fail.Point("inbound.committed")
	return receipt, nil
}

func (c *Channel) accept(ctx context.Context, in event.In, files []File) (event.Receipt, error) {
	if len(files) > 0 {
		contents := make([][]byte, len(files))
		for i, f := range files {
			contents[i] = f.Data
		}
		return c.files.AcceptFiles(ctx, in, contents)
	}
	receipts, err := c.inbox.Accept(ctx, []event.In{in}, nil)
	if err != nil {
		return event.Receipt{}, err
	}
	if len(receipts) != 1 {
		return event.Receipt{}, fmt.Errorf("%d receipts for one message", len(receipts))
	}
	return receipts[0], nil
}

// input validates a message and its files.
func (c *Channel) input(text, session, id string, files []File) (event.In, error) {
	parts, kind, err := messageParts(text, files)
	if err != nil {
		return event.In{}, err
	}
	session = cmp.Or(session, MainSession)
	if !c.names.MatchString(session) {
		return event.In{}, fmt.Errorf("%w (%q is not)", ErrSession, brief(session))
	}
	if id == "" {
		id = c.ids.Code(16)
	}
	if len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return event.In{}, fmt.Errorf("%w (%q is not)", ErrID, brief(id))
	}
	return event.In{
		Source: event.CLI.Channel(), ExtID: id, Session: session, Kind: kind,
		Rank: event.RankOwner, Trust: event.Owner, Sender: c.owner, ReplyTo: event.CLI, Typed: true,
		Parts: parts, Received: c.clock.Wall(),
	}, nil
}

// messageParts returns the parts of a message, its text first, and whether it is a command.
func messageParts(text string, files []File) ([]event.Part, event.Kind, error) {
	if len(text) > MaxText {
		return nil, "", fmt.Errorf("%w (it has %d bytes)", ErrTooLarge, len(text))
	}
	if err := checkFiles(files); err != nil {
		return nil, "", err
	}
	text = strings.Trim(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	kind := channels.KindOf(text)
	var parts []event.Part
	switch blank := strings.TrimSpace(text) == ""; {
	case blank && len(files) == 0:
		return nil, "", ErrEmpty
	case kind == event.Command && len(files) > 0:
		return nil, "", ErrCommand
	case !blank:
		parts = event.Say(text)
	}
	return append(parts, partsOf(files)...), kind, nil
}

// brief shortens a value for an error message.
func brief(value string) string { return text.Shorten(value, 79) }

// Run waits for the end of ctx, because messages come in through Post.
func (c *Channel) Run(ctx context.Context, _ channels.Inbox) error {
	<-ctx.Done()
	return nil
}

// Send does nothing: the commit was the delivery.
func (c *Channel) Send(context.Context, channels.Delivery) (string, error) { return "", nil }

// DedupsByNonce is true, because nothing is ever sent twice.
func (c *Channel) DedupsByNonce() bool { return true }

// Form returns Markdown without a limit: the client renders it.
func (c *Channel) Form() markup.Form { return markup.Plain() }
