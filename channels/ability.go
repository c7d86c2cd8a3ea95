package channels

import (
	"context"
	"time"

	"hob/channels/markup"
	"hob/daemon/event"
)

// Abilities that only some channels have. An adapter says so by having the method.
type (
	// Former says how its platform writes texts, and how long they may be: the outbox is cut so that each Delivery.Body fits, rendered,
	// with room for a mark such as "(may be a repeat)". Send renders. Without it: plain text of 4,000 bytes. The limit is 0 (none) or at least 320.
	Former interface{ Form() markup.Form }
	// Typer shows that hob is at work on an answer. The platform takes the sign away by itself, after five seconds or more.
	Typer interface {
		Typing(ctx context.Context, to event.Address) error
	}
	// Editor puts another text in the place of a part that has arrived, so that an answer can grow while it is made. d is the delivery as it
	// would be sent, with the new Body. Errors as of Send; ErrPermanent: this part can never be edited again, the others may.
	Editor interface {
		Edit(ctx context.Context, d Delivery, remoteID string) error
	}
	// Carrier sends files: it gets deliveries with a File, none of them larger than MaxFile bytes. What a channel cannot carry is named in the text.
	Carrier interface{ MaxFile() int64 }
	// Encloser sends a text and a file as one message: the last part of a text has the first of the files that go with it.
	Encloser interface{ Encloses() bool }
	// Buttoned shows Delivery.Choices as buttons. Elsewhere the codes and numbers of the text serve.
	Buttoned interface{ Buttons() bool }
	// Accounted names the account that hob is on the platform by its own immutable id. A pairing holds for that account only.
	Accounted interface {
		Account(ctx context.Context) (id string, err error)
	}
	// Nicked is called something on the platform that may differ from the config: Nick is what people there see now, "" while it is not known.
	Nicked interface{ Nick() string }
	// Keyed deduplicates by Delivery.Nonce: sending twice delivers once.
	Keyed interface{ DedupsByNonce() bool }
	// Finder looks up whether a delivery has arrived. Not found without an error means surely not there;
	// ErrUnknown means that it cannot be told; after any other error it is asked again later.
	Finder interface {
		Find(ctx context.Context, d Delivery) (remoteID string, found bool, err error)
	}
	// Belonging says which of its places are the owner's by the section's own word: the local parts of their addresses. What is written there counts as
	// his, and he is told and asked there.
	Belonging interface{ OwnerPlaces() []string }
	// Prober asks the platform for something that changes nothing, so that an answer shows that it takes messages again. Without it, asking for
	// the account does.
	Prober interface {
		Probe(ctx context.Context) error
	}
	// Linker knows how to get into a private chat with hob, where a code is written: a sentence, and the address in it that opens the chat in
	// the platform's own program, "" where there is none. The code is no part of either.
	Linker interface {
		Link(ctx context.Context) (text, url string, err error)
	}
	// Private says that there are no groups: who writes to hob writes to it alone. Without it, a channel that knows persons listens in groups too.
	Private interface{ Private() bool }
	// Patient says how long a message to somebody else than the owner may wait for its delivery, where that is longer than Life says.
	Patient interface{ Patience() time.Duration }
	// Tester tries out, without sending anything, what a channel needs: a line for each thing that works. An error says what does not, and
	// comes with the lines before it.
	Tester interface {
		Test(ctx context.Context) ([]string, error)
	}
)
