package channels

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/event"
)

// Table holds the channels by name: those that the config wants, and those that run. It is made before the store and the Host, so that both can look
// channels up; only the Host changes it. It is safe for concurrent use.
type Table struct {
	mu   sync.Mutex
	want map[string]Section // nil until the first Host.Replace
	have map[string]*runningChannel
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{have: map[string]*runningChannel{}} }

// Channel returns the channel to send through. ErrNoChannel: no channel has that name; any other error: its
// section is unusable.
func (t *Table) Channel(name string) (Channel, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.want == nil {
		return nil, fmt.Errorf("channel %q: the configuration has not been read yet", name)
	}
	s, ok := t.want[name]
	if !ok {
		return nil, fmt.Errorf("channel %q: %w", name, ErrNoChannel)
	}
	// A replaced channel is used until the new one runs, because the outbox cannot wait for it.
	if r := t.have[name]; r != nil && r.Channel != nil && r.serves(s) {
		return r.Channel, nil
	}
	if s.Channel == nil {
		return nil, fmt.Errorf("channel %q cannot be used: %w", name, s.Err)
	}
	return s.Channel, nil
}

// Names reports whether the channel's section lists the person or the group at an address. Its errors are
// those of Channel.
func (t *Table) Names(to event.Address) (bool, error) {
	ch, err := t.Channel(to.Channel())
	a, _ := AudienceOf(ch) // empty without a channel
	return a.names(to.Local()), err
}

// AccountKnown reports whether the channel, with its current section, has reported hob's account.
func (t *Table) AccountKnown(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, s := t.have[name], t.want[name]
	return r != nil && r.Fingerprint == s.Fingerprint && r.Kind == s.Kind && r.reported.Load()
}

// OwnerPlaces lists the addresses that belong to the owner by their sections (OwnerPlaced), in the order of the
// channels' names.
func (t *Table) OwnerPlaces() (list []event.Address) {
	t.mu.Lock()
	names := slices.Sorted(maps.Keys(t.want))
	t.mu.Unlock()
	for _, name := range names {
		ch, err := t.Channel(name)
		mine, ok := ch.(OwnerPlaced)
		if err != nil || !ok {
			continue
		}
		for _, place := range mine.OwnerPlaces() {
			list = append(list, event.Address(name+":"+place))
		}
	}
	return list
}

// Receives returns since when receiving works on a channel, or zero if it does not work.
func (t *Table) Receives(name string) time.Time {
	t.mu.Lock()
	r := t.have[name]
	t.mu.Unlock()
	if r == nil {
		return time.Time{}
	}
	if d := r.gauge.read().Receiving; d.State == OK {
		return d.Since
	}
	return time.Time{}
}

// Away reports whether the channel's server could not be reached the last time. The Host then goes on trying, and calls Recovered as soon as it
// can.
func (t *Table) Away(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.have[name]
	return r != nil && r.away.Load() != nil
}

// Health returns the health of all channels, by name.
func (t *Table) Health() []ChannelHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]ChannelHealth, 0, len(t.have))
	for _, r := range t.have {
		all = append(all, r.gauge.read())
	}
	slices.SortFunc(all, func(a, b ChannelHealth) int { return strings.Compare(a.Name, b.Name) })
	return all
}
