package channelstest

import (
	"context"

	"hob/channels"
	"hob/daemon/event"
)

// Failure is how a platform fails a send.
type Failure int

// The failures that every platform has.
const (
	Later     Failure = iota // it asks to come back in some seconds
	Refused                  // it will never take it
	Broken                   // it is broken, and surely has not taken it
	CutBefore                // the connection ends after the request; it was not kept
	CutAfter                 // the connection ends after the request; it was kept
)

// World is a platform with one place in it, as a test sees it. What is nil or empty the platform does not have: the tests that need it are
// skipped, and say why.
type World struct {
	Name  string                           // the section's name
	To    event.Address                    // where hob writes to, and others write from
	None  event.Address                    // of somebody who is not there, or never was; "": every address is somebody's
	Rules channels.Rules                   // who is let in; none where the platform knows no persons
	Open  func() channels.Channel          // a new adapter for the same account, as after a restart
	Say   func(text string) (extID string) // somebody writes
	Again func(extID string)               // the platform delivers that message a second time; nil: a real server, which does not
	Noise func()                           // the platform sends what it should not
	Fail  func(Failure)                    // the next send fails this way; nil: a real server, which cannot be told to
	Sent  func() []string                  // the bodies that have arrived, in order; nil: the commit is the delivery, and nothing is sent
	// ID is how a message that has come in is known by what Say returned; nil: as ExtID.
	ID        func(event.In) string
	Connected bool // it sends over the connection that Run keeps
	Lines     bool // each line of a text is a message of its own
	Forgets   bool // what is said while nobody listens is lost; the adapter says so
	Doubts    bool // a look finds what has arrived, and cannot tell that something has not
	// Listening blocks until the adapter listens, or ctx ends.
	Listening func(ctx context.Context)

	Server  string  // the real server behind it, as "ngircd"; "" for a fake
	People  People  // what people can do beside writing to hob
	Readers Readers // what people see beside texts
	Account Account // what can happen to the account that hob is
}

// People is what people can do beside writing to hob. The ids are those under which it comes in, as of World.Say.
type People struct {
	Edit   func(extID, text string) (id string)               // somebody changes what he wrote; nil: nobody can, or programs are not told
	Delete func(extID string)                                 // somebody takes back what he wrote; nil: as Edit
	Attach func(name string, content []byte) (extID string)   // somebody sends a file without words; nil: there are none
	Lost   func(name string) (extID string)                   // somebody sends a file that cannot be fetched
	Press  func(label string) (extID string)                  // somebody presses the button of hob's last message that says label
	Group  func(text string) (extID string)                   // somebody means hob in a group that the rules list; nil: there are no groups
	Thread func(name, text string) (extID string)             // as Group, in a thread of that name, which begins with it; nil: there are none
	Mix    func(first, second string) (firstID, secID string) // two messages reach hob in the wrong order; nil: the wire keeps it
}

// Readers are what people see of what hob has sent, beside the texts that World.Sent has. The ids are those that Send returned.
type Readers struct {
	Text    func(remoteID string) string // what stands there now; nil: messages stay as they are
	Remove  func(remoteID string)        // somebody deletes it: it can never be edited again
	Signs   func() int                   // how many signs of typing there were; nil: there are none
	Buttons func() []string              // the labels below hob's last message; nil: there are none
	Refuse  func()                       // the next file is refused for good; nil: as World.Fail
	Files   func() []Shown               // the files that have arrived, in order; nil: none can be sent
}

// Shown is a file as people get it.
type Shown struct {
	Name, MIME, Caption string
	Content             []byte
}

// Account is what can happen to the account that hob is.
type Account struct {
	Other  func() channels.Channel // an adapter for another account of the platform, which is reached at the same World.To
	Revoke func()                  // the token or password is not taken any more; open connections end
	Rival  func()                  // another program takes this account's messages; nil: as many as like can listen
	Lose   func()                  // what the platform kept for hob while nobody listened is gone
	Drop   func()                  // the platform ends all connections, as when it is restarted
}
