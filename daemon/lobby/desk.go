// Package lobby is the channels of the config as people see them, and the pairings by which somebody who writes on one becomes the owner. It
// keeps no rows and runs no channel: the store and the host do.
package lobby

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"strconv"
	"time"

	"hob/channels"
	"hob/daemon/api"
	"hob/daemon/event"
)

// Book is where pairings are kept.
type Book interface {
	// Begin stores a new pairing; one that was open on the same channel is over.
	Begin(ctx context.Context, p channels.Pairing) (id int64, err error)
	// End closes a pairing that is still open; it never unbinds anybody.
	End(ctx context.Context, id int64) error
	// List returns the newest pairings in a state ("": in any), newest first.
	List(ctx context.Context, now time.Time, state string, limit int) ([]channels.PairingRow, error)
	// Row is one pairing. The error is an event.Fault of the kind Missing when there is none.
	Row(ctx context.Context, now time.Time, id int64) (channels.PairingRow, error)
	// Revoke takes a pairing back: who was bound by it is a stranger from then on.
	Revoke(ctx context.Context, id int64) error
}

// Config is what a Desk works with. Every field must be set.
type Config struct {
	Book    Book
	Health  func() []channels.ChannelHealth                                         // of all channels, without secrets
	Find    func(name string) (channels.Channel, error)                             // wraps channels.ErrNoChannel when there is none of that name
	Owners  func(channel string) []string                                           // the owner's ids on a channel
	Lapsed  func(channel string) []string                                           // the ids of pairings with another account than hob has there now
	Send    func(ctx context.Context, to event.Address, text string) (int64, error) // the id of the outbox row
	Hide    func(text string) string                                                // takes secrets out
	Letters func(alphabet string, n int) string                                     // nobody can guess them
	Now     func() time.Time
}

// Desk shows channels, and makes, shows and revokes pairings. It is safe for concurrent use.
type Desk struct{ Config }

// Letters draws n letters from an alphabet by the operating system's randomness.
func Letters(alphabet string, n int) string {
	text := make([]byte, n)
	for i := range text {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic("lobby: no randomness: " + err.Error())
		}
		text[i] = alphabet[at.Int64()]
	}
	return string(text)
}

// Begun is a pairing that was just begun. Its code is told this once.
type Begun struct {
	channels.PairingRow
	Code  string   `json:"code"`
	Link  string   `json:"link,omitempty"` // how to get to hob's chat
	URL   string   `json:"url,omitempty"`  // what opens it, where the platform has that
	Notes []string `json:"notes"`          // what may be in the way
}

// Pairings lists the newest pairings.
func (d Desk) Pairings(ctx context.Context, f event.Filter) ([]channels.PairingRow, error) {
	return d.Book.List(ctx, d.Now(), f.State, f.Limit)
}

// Pairing is one of them.
func (d Desk) Pairing(ctx context.Context, id int64) (channels.PairingRow, error) {
	return d.Book.Row(ctx, d.Now(), id)
}

// Act carries out a verb: start of a channel's pairing, end and revoke of one, test of a channel.
func (d Desk) Act(ctx context.Context, act api.Act) (any, error) {
	switch act.Verb {
	case "start":
		return d.start(ctx, act.ID)
	case "test":
		return d.test(ctx, act.ID, act.Args["send"] == "true")
	}
	id, err := strconv.ParseInt(act.ID, 10, 64)
	if err != nil {
		return nil, event.NewFault(event.Invalid, "hob pairing list shows them", "%q is not the id of a pairing", act.ID)
	}
	if act.Verb == "end" {
		err = d.Book.End(ctx, id)
	} else {
		err = d.Book.Revoke(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return d.Pairing(ctx, id)
}

// start begins a pairing. A channel that does not work now may work before the code has expired.
func (d Desk) start(ctx context.Context, name string) (Begun, error) {
	ch, unfit, err := d.find(name)
	if err != nil {
		return Begun{}, err
	}
	if _, persons := channels.AudienceOf(ch); ch != nil && !persons {
		return Begun{}, event.NewFault(event.Refused, ways(name, ch), "nobody can be paired on %s: who writes there cannot be told apart", name)
	}
	p, code := channels.NewPairing(name, d.Letters, d.Now())
	id, err := d.Book.Begin(ctx, p)
	if err != nil {
		return Begun{}, err
	}
	row, err := d.Pairing(ctx, id)
	b := Begun{PairingRow: row, Code: code, Notes: d.obstacles(name, unfit)}
	if l, ok := ch.(channels.Linker); ok {
		var bad error
		if b.Link, b.URL, bad = d.link(ctx, l); bad != nil {
			b.Notes = append(b.Notes, "the link to its chat is not known: "+d.Hide(bad.Error()))
		}
	}
	return b, err
}

// ways is what makes something on a channel the owner's.
func ways(name string, ch channels.Channel) string {
	const listed = "an address of it in [owner] addresses of config.toml"
	if _, persons := channels.AudienceOf(ch); persons {
		return "hob pairing start " + name + ", or " + listed
	}
	if _, places := ch.(channels.Belonging); places {
		return "owner = true and a token in [channels." + name + "], or " + listed
	}
	return listed
}

// linkTime is how long a platform may take to say what hob is called there: a code must not wait long.
const linkTime = 5 * time.Second

func (d Desk) link(ctx context.Context, l channels.Linker) (text, url string, err error) {
	ctx, stop := context.WithTimeout(ctx, linkTime)
	defer stop()
	return l.Link(ctx)
}

// find looks a channel up. One whose section cannot be used is there too, as nil, with the reason.
func (d Desk) find(name string) (ch channels.Channel, unfit, err error) {
	if name == event.CLI.Channel() {
		return nil, nil, event.NewFault(event.Refused, "hob channels list shows the other channels", "the command line is always there, and yours: cli needs no pairing, no section and no test")
	}
	ch, err = d.Find(name)
	if errors.Is(err, channels.ErrNoChannel) {
		return nil, nil, event.NewFault(event.Missing, "hob channels list shows those that there are; hob channels add makes one", "there is no channel %s", name)
	}
	return ch, err, nil
}

// obstacles says why a code may not arrive.
func (d Desk) obstacles(name string, unfit error) []string {
	notes := []string{}
	if unfit != nil {
		return append(notes, d.Hide(unfit.Error()))
	}
	for _, h := range d.Health() {
		if h.Name == name && h.Receiving.State != channels.OK {
			notes = append(notes, "channel "+name+" does not receive now: "+h.Receiving.LastError)
		}
	}
	return notes
}
