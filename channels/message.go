package channels

import (
	"context"
	"io"
	"time"

	"hob/daemon/event"
)

// Message is what somebody wrote on a platform, before hob has decided whether it listens to them.
type Message struct {
	ID        string       // the platform's own, unique within the channel; the same at each delivery of the message
	From      Person       //
	Chat      Chat         //
	Text      string       // without a mention of hob at its beginning
	Choice    string       // instead of Text: what stands behind a button that was pressed
	ReplyTo   string       // the platform's id of the message that this one replies to
	Mentioned bool         // in a group: it is meant for hob, by a mention, a reply or a command
	Forwarded bool         // somebody else's words, passed on
	Auto      bool         // a machine wrote it: an auto-reply, a list, a bounce, a service's notice
	Edits     string       // the ID of the message that this one takes the place of
	Deletes   string       // the ID of the message that was taken back; there is no text
	Files     []Attachment //
	At        time.Time    // by the platform's clock; zero: it does not say
}

// Person is who wrote a message.
type Person struct {
	ID   string // what the platform never gives to anybody else; it also addresses a private chat with them
	Name string // to show; anybody may call himself anything
	Bot  bool   // the platform says that it is a program
	Self bool   // hob itself
}

// Chat is where a message was written.
type Chat struct {
	ID     string // the local part of the address that answers go to; of a private chat the person's ID
	Group  string // the group's id, as the owner lists it; "" for a private chat
	Title  string // of a group, to show
	Thread string // a conversation of its own within the chat, as a mail thread; "" for none
}

// Attachment is a file that came with a message. Open fetches it; it is called at most once, before the message is committed.
type Attachment struct {
	Name   string
	MIME   string
	Size   int64         // in bytes, as the platform says; 0: it does not
	Voice  bool          // spoken words, recorded to be heard as a message
	Length time.Duration // of a recording; 0: the platform does not say
	Open   func(ctx context.Context) (io.ReadCloser, error)
}

// Rules say to whom a channel listens. The zero Rules listen to nobody.
type Rules struct {
	Owner  []string               // the owner's ids
	Known  map[string]event.Trust // other people by id; Known or Public
	Groups []string               // group ids in which it answers when mentioned
}

// Audience is to whom a channel listens beside the owner, as its section of the config says. Adapters whose places have persons embed it in
// their config, and in themselves. The zero Audience is nobody.
type Audience struct {
	Groups []string `toml:"groups"` // ids of groups in which hob answers when it is mentioned
	Known  []string `toml:"known"`  // ids of people whom the owner knows
	Public []string `toml:"public"` // ids of people who may write, and are nobody in particular
}

// audience is the ability of an adapter that has an Audience.
type audience interface{ listensTo() Audience }

func (a Audience) listensTo() Audience { return a }

// rules are those of an audience and of the owner's ids.
func (a Audience) rules(owner []string) Rules {
	r := Rules{Owner: owner, Known: map[string]event.Trust{}, Groups: a.Groups}
	for _, id := range a.Public {
		r.Known[id] = event.Public
	}
	for _, id := range a.Known {
		r.Known[id] = event.Known
	}
	return r
}
