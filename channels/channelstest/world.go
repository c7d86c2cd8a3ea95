package channelstest

import (
	"context"

	"hob/channels"
	"hob/daemon/event"
)

// Failure is the way in which a platform fails a send.
type Failure int

// Failures that every platform has.
const (
	Later     Failure = iota // it asks to retry in some seconds
	Refused                  // it refuses for good
	Broken                   // it fails, and surely has not accepted the message
	CutBefore                // the connection ends after the request; the message was dropped
	CutAfter                 // the connection ends after the request; the message was stored
)

// World is a platform with one chat, as a test sees it. A nil or empty field means that the platform lacks
// the feature: tests that need it are skipped, with the reason.
type World struct {
	Name  string                           // the section's name
	To    event.Address                    // where hob writes, and others write from
	None  event.Address                    // address of an absent recipient; "": every address exists
	Rules channels.Rules                   // who is admitted; none if senders cannot be told apart
	Open  func() channels.Channel          // a new adapter for the same account, as after a restart
	Say   func(text string) (extID string) // somebody writes
	Again func(extID string)               // the platform delivers that message a second time; nil: a real server does not
	Noise func()                           // the platform sends malformed data
	Fail  func(Failure)                    // the next send fails in this way; nil: a real server cannot be told to
	Sent  func() []string                  // the texts that arrived, in order; nil: nothing is sent
	// ID is how a message that has come in is known by what Say returned; nil: as ExtID.
	ID        func(event.In) string
	SendOnly  bool // nobody can write to hob there: Say, Again, Noise and Listening are not needed
	Connected bool // it sends over the connection of Run
	Lines     bool // each line of a text is a separate message
	Forgets   bool // missed messages are lost, and the adapter reports that
	Doubts    bool // a look-up finds arrived messages, but cannot prove that one is missing
	// Listening blocks until the adapter listens, or ctx ends.
	Listening func(ctx context.Context)

	Server  string  // the real server, such as "ngircd"; "" for a fake
	People  People  // what people can do besides writing
	Readers Readers // what people see besides texts
	Account Account // what can happen to hob's account
}

// People lists what people can do besides writing to hob. The ids are those of the resulting messages, as for
// World.Say.
type People struct {
	Edit   func(extID, text string) (id string)               // somebody edits a message; nil: not possible, or not reported to programs
	Delete func(extID string)                                 // somebody deletes a message; nil: as Edit
	Attach func(name string, content []byte) (extID string)   // somebody sends a file without text; nil: not possible
	Lost   func(name string) (extID string)                   // somebody sends a file that cannot be fetched
	Press  func(label string) (extID string)                  // somebody presses the button with this label in hob's last message
	Group  func(text string) (extID string)                   // somebody mentions hob in a listed group; nil: there are no groups
	Thread func(name, text string) (extID string)             // as Group, in a new thread of that name; nil: there are no threads
	Mix    func(first, second string) (firstID, secID string) // two messages reach hob in the wrong order; nil: the protocol keeps the order
}

// Readers lists what people see of hob's messages besides World.Sent. The ids are those that Send returned.
type Readers struct {
	Text    func(remoteID string) string // the current text; nil: messages cannot be edited
	Remove  func(remoteID string)        // somebody deletes the message, so that it can never be edited again
	Signs   func() int                   // number of typing signs; nil: there are none
	Buttons func() []string              // labels below hob's last message; nil: there are no buttons
	Refuse  func()                       // the next file is refused for good; nil: as World.Fail
	Files   func() []Shown               // the files that arrived, in order; nil: none can be sent
}

// Shown is a file as people get it.
type Shown struct {
	Name, MIME, Caption string
	Content             []byte
}

// Account lists what can happen to hob's account.
type Account struct {
	Other  func() channels.Channel // an adapter for another account, reached at the same World.To
	Revoke func()                  // the token or password becomes invalid; open connections end
	Rival  func()                  // another program receives this account's messages; nil: several programs can listen
	Lose   func()                  // the messages that the platform stored for hob are lost
	Drop   func()                  // the platform closes all connections, as in a restart
}
