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
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/ident"
)

// What Post refuses.
var (
	ErrEmpty    = errors.New("the message is empty; write something")
	ErrTooLarge = errors.New("the message is over 256 KB; put it in a file in the workspace and name the file")
	ErrSession  = errors.New("a session's name is 1 to 64 of a-z, 0-9, dot, underscore and hyphen; sessions of jobs, hooks and channels cannot be written to from outside")
	ErrID       = errors.New("a message's id is 1 to 128 printable characters without spaces")
)

// MaxText is the longest message, in bytes.
const MaxText = 256 << 10

// MainSession is where a message goes that names no session.
const MainSession = "main"

// Channel is the cli.
type Channel struct {
	inbox channels.Inbox
	clock clock.Clock
	ids   ident.Source
	owner string
	names *regexp.Regexp
}

// New makes the cli. owner is the name to show for what comes in; ids makes the ids of messages that bring none.
func New(inbox channels.Inbox, clock clock.Clock, ids ident.Source, owner string) *Channel {
	return &Channel{inbox: inbox, clock: clock, ids: ids, owner: owner, names: regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)}
}

// Post commits one typed message and returns where it stands. The same id again is stored once: Receipt.New is false then.
// session "" is main; id "" mints one. Errors: ErrEmpty, ErrTooLarge, ErrSession, ErrID, and those of the store.
func (c *Channel) Post(ctx context.Context, text, session, id string) (event.Receipt, error) {
	in, err := c.input(text, session, id)
	if err != nil {
		return event.Receipt{}, err
	}
	fail.Point("inbound.received")
	receipts, err := c.inbox.Accept(ctx, []event.In{in}, nil)
	if err != nil {
		return event.Receipt{}, fmt.Errorf("store the message: %w", err)
	}
	fail.Point("inbound.committed")
	if len(receipts) != 1 {
		return event.Receipt{}, fmt.Errorf("store the message: %d receipts for one message", len(receipts))
	}
	return receipts[0], nil
}

// input checks what was typed.
func (c *Channel) input(text, session, id string) (event.In, error) {
	if len(text) > MaxText {
		return event.In{}, fmt.Errorf("%w (it has %d bytes)", ErrTooLarge, len(text))
	}
	text = strings.Trim(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	if strings.TrimSpace(text) == "" {
		return event.In{}, ErrEmpty
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
		Source: event.CLI.Channel(), ExtID: id, Session: session, Kind: channels.KindOf(text),
		Rank: event.RankOwner, Trust: event.Owner, Sender: c.owner, ReplyTo: event.CLI, Typed: true,
		Parts: event.Say(text), Received: c.clock.Wall(),
	}, nil
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

// MaxPart is large enough that nothing is split.
func (c *Channel) MaxPart() int { return 16 << 20 }
