// Package admin shows the channels of the config with their health, pairs the owner with an account on a platform, and writes the notices about
// channels that fail and messages that may be missing. It keeps no rows and runs no channel: the store and channels.Host do.
package admin

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

// PairingStore is where pairings are kept.
type PairingStore interface {
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

// Config is what a Service works with. Every field must be set.
type Config struct {
	PairingStore  PairingStore
	Health        func() []channels.ChannelHealth                                         // of all channels, without secrets
	Find          func(name string) (channels.Channel, error)                             // wraps channels.ErrNoChannel when there is none of that name
	Owners        func(channel string) []string                                           // the owner's ids on a channel
	Lapsed        func(channel string) []string                                           // the ids of pairings with another account than hob has there now
	Send          func(ctx context.Context, to event.Address, text string) (int64, error) // the id of the outbox row
	Hide          func(text string) string                                                // takes secrets out
	RandomLetters func(alphabet string, n int) string                                     // nobody can guess them
	Now           func() time.Time
}

// Service shows channels, and makes, shows and revokes pairings. It is safe for concurrent use.
type Service struct{ Config }

// RandomLetters draws n letters from an alphabet by the operating system's randomness.
func RandomLetters(alphabet string, n int) string {
	text := make([]byte, n)
	for i := range text {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic("admin: no randomness: " + err.Error())
		}
		text[i] = alphabet[at.Int64()]
	}
	return string(text)
}

// Pairings lists the newest pairings.
func (s Service) Pairings(ctx context.Context, f event.Filter) ([]channels.PairingRow, error) {
	return s.PairingStore.List(ctx, s.Now(), f.State, f.Limit)
}

// Pairing is one of them.
func (s Service) Pairing(ctx context.Context, id int64) (channels.PairingRow, error) {
	return s.PairingStore.Row(ctx, s.Now(), id)
}

// Act carries out a verb: start of a channel's pairing, end and revoke of one, test of a channel.
func (s Service) Act(ctx context.Context, act api.Act) (any, error) {
	switch act.Verb {
	case "start":
		return s.start(ctx, act.ID)
	case "test":
		return s.test(ctx, act.ID, act.Args["send"] == "true")
	}
	id, err := strconv.ParseInt(act.ID, 10, 64)
	if err != nil {
		return nil, event.NewFault(event.Invalid, "hob pairing list shows them", "%q is not the id of a pairing", act.ID)
	}
	if act.Verb == "end" {
		err = s.PairingStore.End(ctx, id)
	} else {
		err = s.PairingStore.Revoke(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return s.Pairing(ctx, id)
}

// start begins a pairing. A channel that does not work now may work before the code has expired.
func (s Service) start(ctx context.Context, name string) (api.PairingStart, error) {
	ch, unfit, err := s.find(name)
	if err != nil {
		return api.PairingStart{}, err
	}
	if _, persons := channels.AudienceOf(ch); ch != nil && !persons {
		return api.PairingStart{}, event.NewFault(event.Refused, ways(name, ch), "nobody can be paired on %s: who writes there cannot be told apart", name)
	}
	p, code := channels.NewPairing(name, s.RandomLetters, s.Now())
	id, err := s.PairingStore.Begin(ctx, p)
	if err != nil {
		return api.PairingStart{}, err
	}
	row, err := s.Pairing(ctx, id)
	b := api.PairingStart{Pairing: row, Code: code, Notes: s.obstacles(name, unfit)}
	if l, ok := ch.(channels.Linker); ok {
		var bad error
		if b.Link, b.URL, bad = s.link(ctx, l); bad != nil {
			b.Notes = append(b.Notes, "the link to its chat is not known: "+s.Hide(bad.Error()))
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
	if _, places := ch.(channels.OwnerPlaced); places {
		return "owner = true and a token in [channels." + name + "], or " + listed
	}
	return listed
}

// linkTime is how long a platform may take to say what hob is called there: a code must not wait long.
const linkTime = 5 * time.Second

func (s Service) link(ctx context.Context, l channels.Linker) (text, url string, err error) {
	ctx, stop := context.WithTimeout(ctx, linkTime)
	defer stop()
	return l.Link(ctx)
}

// find looks a channel up. One whose section cannot be used is there too, as nil, with the reason.
func (s Service) find(name string) (ch channels.Channel, unfit, err error) {
	if name == event.CLI.Channel() {
		return nil, nil, event.NewFault(event.Refused, "hob channels list shows the other channels", "the command line is always there, and yours: cli needs no pairing, no section and no test")
	}
	ch, err = s.Find(name)
	if errors.Is(err, channels.ErrNoChannel) {
		return nil, nil, event.NewFault(event.Missing, "hob channels list shows those that there are; hob channels add makes one", "there is no channel %s", name)
	}
	return ch, err, nil
}

// obstacles says why a code may not arrive.
func (s Service) obstacles(name string, unfit error) []string {
	notes := []string{}
	if unfit != nil {
		return append(notes, s.Hide(unfit.Error()))
	}
	for _, h := range s.Health() {
		if h.Name == name && h.Receiving.State != channels.OK {
			notes = append(notes, "channel "+name+" does not receive now: "+h.Receiving.LastError)
		}
	}
	return notes
}
