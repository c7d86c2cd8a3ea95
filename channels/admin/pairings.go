// Package admin shows the channels of the config with their health, pairs the owner with accounts on
// platforms, and writes the notices about failing channels and missing messages. It keeps no rows and runs no
// channel: the store and channels.Host do that.
package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"time"

	"hob/channels"
	"hob/daemon/api"
	"hob/daemon/event"
)

// PairingStore stores pairings.
type PairingStore interface {
	// Begin stores a new pairing, and ends an open one of the same channel.
	Begin(ctx context.Context, p channels.Pairing) (id int64, err error)
	// End closes an open pairing. It never unbinds anybody.
	End(ctx context.Context, id int64) error
	// List returns the newest pairings with a state ("": any), newest first.
	List(ctx context.Context, now time.Time, state string, limit int) ([]channels.PairingRow, error)
	// Row returns one pairing. The error is an event.Fault of the kind Missing if there is none.
	Row(ctx context.Context, now time.Time, id int64) (channels.PairingRow, error)
	// Revoke revokes a pairing: the person is a stranger from then on.
	Revoke(ctx context.Context, id int64) error
}

// Config holds what a Service needs. All fields are needed.
type Config struct {
	PairingStore   PairingStore
	Health         func() []channels.ChannelHealth                                         // health of all channels, without secrets
	Find           func(name string) (channels.Channel, error)                             // returns channels.ErrNoChannel if there is none
	Owners         func(channel string) []string                                           // the owner's ids on a channel
	FormerPairings func(channel string) []string                                           // ids that were paired with another account than hob has now
	Send           func(ctx context.Context, to event.Address, text string) (int64, error) // returns the id of the outbox row
	Hide           func(text string) string                                                // removes secrets
	RandomLetters  func(alphabet string, n int) string                                     // unpredictable letters
	Now            func() time.Time
}

// Service shows channels, and makes, shows and revokes pairings. It is safe for concurrent use.
type Service struct{ Config }

// RandomLetters draws n letters from an alphabet with the operating system's random generator.
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

// Pairing returns one pairing.
func (s Service) Pairing(ctx context.Context, id int64) (channels.PairingRow, error) {
	return s.PairingStore.Row(ctx, s.Now(), id)
}

// EndPairing closes a pairing that is still open; a person who is bound stays so.
func (s Service) EndPairing(ctx context.Context, id int64) (channels.PairingRow, error) {
	if err := s.PairingStore.End(ctx, id); err != nil {
		return channels.PairingRow{}, err
	}
	return s.Pairing(ctx, id)
}

// RevokePairing takes a pairing back: its person is a stranger from then on.
func (s Service) RevokePairing(ctx context.Context, id int64) (channels.PairingRow, error) {
	if err := s.PairingStore.Revoke(ctx, id); err != nil {
		return channels.PairingRow{}, err
	}
	return s.Pairing(ctx, id)
}

// StartPairing begins a pairing on a channel. It also works on a channel that fails now, because that may recover before the code
// expires.
func (s Service) StartPairing(ctx context.Context, name string) (api.PairingStart, error) {
	ch, unfit, err := s.find(name)
	if err != nil {
		return api.PairingStart{}, err
	}
	if _, persons := channels.AudienceOf(ch); ch != nil && !persons {
		return api.PairingStart{}, event.NewFault(event.Refused, ways(name, ch), "nobody can be paired on %s: senders cannot be told apart there", name)
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
			b.Notes = append(b.Notes, "the link to its chat is unknown: "+s.Hide(bad.Error()))
		}
	}
	return b, err
}

// ways says how an address on a channel can become the owner's.
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

// linkTime limits how long a platform may take for the link: the code must be shown soon.
const linkTime = 5 * time.Second

func (s Service) link(ctx context.Context, l channels.Linker) (text, url string, err error) {
	ctx, stop := context.WithTimeout(ctx, linkTime)
	defer stop()
	return l.Link(ctx)
}

// find returns a channel. If its section is unusable, ch is nil and unfit says why.
func (s Service) find(name string) (ch channels.Channel, unfit, err error) {
	if name == event.CLI.Channel() {
		return nil, nil, event.NewFault(event.Refused, "hob channels list shows the other channels", "the channel cli is always on and is yours: it needs no pairing, no section and no test")
	}
	ch, err = s.Find(name)
	if errors.Is(err, channels.ErrNoChannel) {
		return nil, nil, event.NewFault(event.Missing, "hob channels list shows the channels; hob channels add creates one", "there is no channel %s", name)
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
