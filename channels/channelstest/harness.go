package channelstest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Harness is hob's side of one adapter: the real host and the real pump with an inbox and an outbox in
// memory. The owner has a second address, Elsewhere, for notices about trouble.
type Harness struct {
	In   *Inbox
	Out  *Outbox
	Host *channels.Host

	mu    sync.Mutex
	heard []string // texts at Elsewhere
}

// Elsewhere is the owner's address on another channel than the tested one.
const Elsewhere event.Address = "elsewhere:owner"

// HarnessConfig configures a Harness.
type HarnessConfig struct {
	Name    string           // of the channel
	Channel channels.Channel //
	Rules   channels.Rules   // of its inbox
	Owner   event.Address    // the owner's first address; "" for none on this channel
	Clock   sys.Clock        //
}

// Open runs a station until the test ends.
func (c HarnessConfig) Open(t testing.TB) *Harness {
	t.Helper()
	s := &Harness{In: &Inbox{Name: c.Name, Rules: c.Rules}, Out: NewOutbox(c.Clock.Wall)}
	ctx, cancel := context.WithCancel(t.Context())
	group := sys.NewGroup(slog.New(slog.DiscardHandler), func(name string, err error) { t.Errorf("%s: %v", name, err) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	s.Host = channels.NewHost(channels.NewTable(), channels.HostConfig{
		Inbox: s.In, Admission: s.In, Clock: c.Clock, Log: slog.New(slog.DiscardHandler), Go: group.Go, Changed: func(channels.ChannelHealth) {}, Recovered: s.Out.RetryNow,
	})
	s.Host.Replace(map[string]channels.Section{c.Name: {Kind: c.Name, Fingerprint: "1", Channel: c.Channel}})
	owner := func() []event.Address {
		return slices.DeleteFunc([]event.Address{c.Owner, Elsewhere}, func(a event.Address) bool { return a == "" })
	}
	pump := channels.NewPump(channels.Config{
		Hide:  func(text string) string { return text },
		Store: s.Out.Process(), Channel: s.channel, Report: s.Host.Sent, Receives: s.Host.Receives, Away: s.Host.Away, Once: group.Once, Wake: s.Out.Wake, Clock: c.Clock, Ident: sys.RandomIDs(),
		Zone: func() *time.Location { return time.UTC }, Log: slog.New(slog.DiscardHandler),
		Owner: owner, Elsewhere: OwnerAddress(owner),
	})
	group.Go(ctx, "host", s.Host.Run)
	group.Go(ctx, "pump", pump.Run)
	return s
}

// OwnerAddress returns where the owner is told of trouble with a channel while all other channels work.
func OwnerAddress(owner func() []event.Address) func(avoid string) event.Address {
	return func(avoid string) event.Address {
		return channels.OwnerAddress(owner(), avoid, func(string) channels.Fitness { return channels.Working })
	}
}

// channel returns the channel to send through.
func (s *Harness) channel(name string) (channels.Channel, error) {
	if name == Elsewhere.Channel() {
		return (*otherChannel)(s), nil
	}
	return s.Host.Channel(name)
}

// Elsewhere returns the texts that the owner got on the other channel.
func (s *Harness) Elsewhere() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

// Queue adds a text to the outbox.
func (s *Harness) Queue(to event.Address, text string) {
	s.Out.Queue(event.Out{Key: string(to) + " " + text, To: to, Body: text, Cause: event.Cause{Kind: event.ByTurn}})
}

// Health returns the health of the tested channel.
func (s *Harness) Health() channels.ChannelHealth {
	all := s.Host.Health()
	if len(all) == 0 {
		return channels.ChannelHealth{}
	}
	return all[0]
}

// Wait waits until ok is true, at most for limit.
func Wait(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if awaits(ctx, ok); ctx.Err() != nil && !ok() {
		t.Fatalf("within %s it did not happen: %s", limit, what)
	}
}

// otherChannel is the channel of Elsewhere.
type otherChannel Harness

func (*otherChannel) Run(ctx context.Context, _ channels.Inbox) error {
	<-ctx.Done()
	return nil
}

func (s *otherChannel) Send(_ context.Context, d channels.Delivery) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, d.Body)
	return "", nil
}
