// Package cli is the channel of everything that speaks the local API: the prompt of hob up, hob chat, the page.
// What comes in here was typed by the owner, who was let in by the socket's file mode or the token. It delivers
// nothing itself: what is sent to event.CLI has arrived with its commit, and whoever looks finds it there.
package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"hob/channels"
	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// What Post refuses.
var (
	ErrEmpty    = errors.New("the message is empty; write something")
	ErrTooLarge = errors.New("the message is over 256 KB; put it in a file in the workspace and name the file")
	ErrSession  = errors.New("a session's name is 1 to 64 of a-z, 0-9, dot, underscore and hyphen; sessions of jobs, hooks and channels cannot be written to from outside")
	ErrCommand  = errors.New("a command takes no attachments; send them with a message")
	ErrID       = errors.New("a message's id is 1 to 128 printable characters without spaces")
)

// MaxText is the longest message, in bytes.
const MaxText = 256 << 10

// MainSession is where a message goes that names no session.
const MainSession = "main"

// Channel is the cli.
type Channel struct {
	inbox Inbox
	files Files
	clock sys.Clock
	ids   sys.IDs
	owner string
	names *regexp.Regexp
}

// New makes the cli. files takes the messages that bring files; owner is the name to show for what comes in; ids makes the ids of
// messages that bring none.
func New(inbox Inbox, files Files, clock sys.Clock, ids sys.IDs, owner string) *Channel {
	return &Channel{inbox: inbox, files: files, clock: clock, ids: ids, owner: owner, names: regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)}
}

// Post commits one typed message with its files and returns where it stands. The same id again is stored once: Receipt.New is false
// then. session "" is main; id "" mints one; with a file no text is needed. Errors: ErrEmpty, ErrTooLarge, ErrSession, ErrID, ErrCommand,
// those of the store, and an *event.Fault that says what is wrong with a file.
func (c *Channel) Post(ctx context.Context, text, session, id string, files ...File) (event.Receipt, error) {
	in, err := c.input(text, session, id, files)
	if err != nil {
		return event.Receipt{}, err
	}
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

// input checks what was typed and what came with it.
func (c *Channel) input(text, session, id string, files []File) (event.In, error) {
	parts, kind, err := said(text, files)
	if err != nil {
		return event.In{}, err
	}
	if session == "" {
		session = MainSession
	}
	if !c.names.MatchString(session) {
		return event.In{}, fmt.Errorf("%w (%q is not)", ErrSession, cut(session))
	}
	if id == "" {
		id = c.ids.Code(16)
	}
	if len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return event.In{}, fmt.Errorf("%w (%q is not)", ErrID, cut(id))
	}
	return event.In{
		Source: event.CLI.Channel(), ExtID: id, Session: session, Kind: kind,
		Rank: event.RankOwner, Trust: event.Owner, Sender: c.owner, ReplyTo: event.CLI, Typed: true,
		Parts: parts, Received: c.clock.Wall(),
	}, nil
}

// said is the parts of a message, its text first, and whether it is a command.
func said(text string, files []File) ([]event.Part, event.Kind, error) {
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

// cut keeps an error message short.
func cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}

// Run waits for the end of ctx: inputs come through Post.
func (c *Channel) Run(ctx context.Context, _ channels.Inbox) error {
	<-ctx.Done()
	return nil
}

// Send has nothing to do: the commit was the delivery.
func (c *Channel) Send(context.Context, channels.Delivery) (string, error) { return "", nil }

// DedupsByNonce is true: nothing is ever sent twice.
func (c *Channel) DedupsByNonce() bool { return true }

// Form has no limit: the Markdown stays as it is, in one part, and whoever shows it renders it.
func (c *Channel) Form() markup.Form { return markup.Plain() }
