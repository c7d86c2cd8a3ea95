package channels

import (
	"context"
	"time"

	"hob/channels/markup"
	"hob/daemon/event"
)

// Optional abilities. An adapter has an ability when it implements the interface.
type (
	// TextFormatter describes the platform's text format and its size limit. The pump cuts an outbox text so that
	// each Delivery.Body fits after rendering, with room for a mark such as "(may be a repeat)". The adapter
	// renders in Send. Without TextFormatter a channel gets plain text of up to 4,000 bytes. The limit is 0 (none)
	// or at least 320.
	TextFormatter interface{ Form() markup.Form }
	// Typer shows that hob is working on an answer. The platform removes the sign by itself after five
	// seconds or more.
	Typer interface {
		Typing(ctx context.Context, to event.Address) error
	}
	// Editor replaces the text of a part that was sent, so that an answer can grow while it is written. d is
	// the delivery as Send would get it, with the new Body. Errors are those of Send; ErrPermanent means that
	// this part can never be edited again, while others still can.
	Editor interface {
		Edit(ctx context.Context, d Delivery, remoteID string) error
	}
	// Carrier sends files. It gets deliveries with a File of at most MaxFile bytes. A file that the channel
	// cannot send is named in the text instead.
	Carrier interface{ MaxFile() int64 }
	// Encloser can send a text and a file as one message. The last part of a text then carries the first of
	// its files.
	Encloser interface{ Encloses() bool }
	// Buttoned shows Delivery.Choices as buttons. Other channels rely on the codes and numbers in the text.
	Buttoned interface{ Buttons() bool }
	// Replier can refer to the answered message (Delivery.ReplyRef) in every chat. On other channels the beginning of that message is quoted
	// above an answer that was overtaken.
	Replier interface{ Replies() bool }
	// Accounted reports the platform's immutable id of hob's own account. A pairing is valid for that account
	// only.
	Accounted interface {
		Account(ctx context.Context) (id string, err error)
	}
	// Nicknamed reports the name that people on the platform see now, which may differ from the config. "" means
	// unknown.
	Nicknamed interface{ Nick() string }
	// Keyed deduplicates by Delivery.Nonce: sending a delivery twice delivers it once.
	Keyed interface{ DedupsByNonce() bool }
	// Finder looks up whether a delivery has arrived. "Not found" without an error means that it surely did
	// not. ErrUnknown means that the platform cannot tell; after any other error the pump asks again later.
	Finder interface {
		Find(ctx context.Context, d Delivery) (remoteID string, found bool, err error)
	}
	// OwnerPlaced lists places that belong to the owner because the section says so, as local parts of addresses. Messages from there count
	// as the owner's, and notices and questions to the owner may go there.
	OwnerPlaced interface{ OwnerPlaces() []string }
	// Prober makes a call that changes nothing, to see whether the platform answers again. Without it the
	// pump calls Account.
	Prober interface {
		Probe(ctx context.Context) error
	}
	// Linker describes how to open a private chat with hob, in which a pairing code can be written. text is a
	// sentence; url is the address in it that opens the chat in the platform's own program, "" if there is
	// none. Neither contains the code.
	Linker interface {
		Link(ctx context.Context) (text, url string, err error)
	}
	// Private reports that the platform has no groups: every message to hob is private. Without it, a channel
	// that can tell senders apart also listens in groups.
	Private interface{ Private() bool }
	// SlowSender says how long a message to anybody but the owner may wait for delivery, if that is longer than
	// Life.
	SlowSender interface{ Patience() time.Duration }
	// Tester checks what a channel needs, without sending a message. It returns one line for each check that
	// passed. An error describes the check that failed, and comes with the lines before it.
	Tester interface {
		Test(ctx context.Context) ([]string, error)
	}
)
