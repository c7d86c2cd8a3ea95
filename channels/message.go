package channels

import (
	"context"
	"io"
	"time"

	"hob/daemon/event"
)

// Message is a message on a platform, as an adapter reports it, before admission.
type Message struct {
	ID        string       `json:"id"`                  // unique within the channel; the same for each delivery of the message
	From      Person       `json:"from"`                //
	Chat      Chat         `json:"chat"`                //
	Text      string       `json:"text,omitempty"`      // without a mention of hob at its beginning
	Choice    string       `json:"choice,omitempty"`    // instead of Text: the data of the button that was pressed
	ReplyTo   string       `json:"reply_to,omitempty"`  // the platform's id of the message that this one replies to
	Mentioned bool         `json:"mentioned,omitempty"` // in a group: it is meant for hob, by a mention, a reply or a command
	Forwarded bool         `json:"forwarded,omitempty"` // it contains somebody else's text
	Auto      bool         `json:"auto,omitempty"`      // sent by a program: an automatic reply, a mailing list, a bounce, a service notice
	Edits     string       `json:"edits,omitempty"`     // ID of the message that this one replaces
	Deletes   string       `json:"deletes,omitempty"`   // ID of a deleted message; there is no text
	Files     []Attachment `json:"files,omitempty"`     //
	At        time.Time    `json:"at,omitzero"`         // by the platform's clock; zero: unknown
}

// Person is the author of a message.
type Person struct {
	ID   string `json:"id"`             // never reassigned by the platform; also addresses a private chat with the person
	Name string `json:"name,omitempty"` // for display only: people choose it themselves
	Bot  bool   `json:"bot,omitempty"`  // the platform marks it as a program
	Self bool   `json:"self,omitempty"` // hob itself
}

// Chat is the place of a message.
type Chat struct {
	ID     string `json:"id"`               // local part of the address for answers; of a private chat the person's ID
	Group  string `json:"group,omitempty"`  // the group's id as the owner lists it; "" for a private chat
	Title  string `json:"title,omitempty"`  // of a group, for display
	Thread string `json:"thread,omitempty"` // a separate conversation within the chat, such as a mail thread; "" for none
}

// Attachment is a received file. Open downloads it; it is called at most once, before the message is
// committed.
type Attachment struct {
	Name   string                                           `json:"name,omitempty"`
	MIME   string                                           `json:"mime,omitempty"`
	Size   int64                                            `json:"size,omitempty"`   // bytes according to the platform; 0: unknown
	Voice  bool                                             `json:"voice,omitempty"`  // a voice note
	Length time.Duration                                    `json:"length,omitempty"` // of a recording; 0: unknown
	Open   func(ctx context.Context) (io.ReadCloser, error) `json:"-"`
}

// Rules say whom a channel listens to. The zero Rules admit nobody.
type Rules struct {
	Owner  []string               // the owner's ids
	Known  map[string]event.Trust // other people by id; Known or Public
	Groups []string               // group ids in which hob answers when mentioned
}

// Audience lists whom a channel listens to besides the owner, as its config section says. Adapters that can
// tell senders apart embed it in their config and in themselves. The zero Audience is empty.
type Audience struct {
	Groups []string `toml:"groups"` // ids of groups in which hob answers when mentioned
	Known  []string `toml:"known"`  // ids of people whom the owner knows
	Public []string `toml:"public"` // ids of people who may write, without being known
}

// audience is implemented by adapters that embed an Audience.
type audience interface{ listensTo() Audience }

func (a Audience) listensTo() Audience { return a }

// rules combines an audience with the owner's ids.
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
