package ntfy_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/ntfy"
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/ident"
)

func TestThroughThePump(t *testing.T) {
	n := server(t)
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "talk"})
	n.FailPublish(channelstest.NtfyFault{Status: 500}, channelstest.NtfyFault{}, channelstest.NtfyFault{Cut: "after"})
	box := channelstest.NewOutbox(clock.Real().Wall)
	for _, body := range []string{"one", "two", "three"} {
		box.Queue(event.Out{Key: body, To: "ntfy.test:talk", Body: body, Cause: event.Cause{Kind: event.ByTurn}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	pump := channels.NewPump(channels.Config{
		Store: box.Process(), Channel: func(string) (channels.Channel, error) { return ch, nil },
		Owner: func() []event.Address { return []event.Address{"ntfy.test:talk"} }, Zone: func() *time.Location { return time.UTC },
		Report: func(string, error) {}, Once: func(_ string, f func() error) { go func() { _ = f() }() },
		Wake: box.Wake, Clock: clock.Real(), Ident: ident.Random(), Log: slog.New(slog.DiscardHandler),
	})
	ended := make(chan error, 1)
	go func() { ended <- pump.Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil && box.Rows()[2].State != "done" {
		<-tick.C
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var got []string
	for _, m := range n.Received() {
		got = append(got, m.Message)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("arrived %q, want %q: what was looked up is not sent again", got, want)
	}
	if id := box.Rows()[2].Parts[0].RemoteID; id != n.Received()[2].ID {
		t.Errorf("remote id %q", id)
	}
}
