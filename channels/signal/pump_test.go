package signal_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/ident"
)

// TestThroughThePump is the promise for a platform without a key and without read-back: to the owner once more, with a mark; to anybody else held,
// and asked about.
func TestThroughThePump(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	box := channelstest.NewOutbox(clock.Real().Wall)
	for _, out := range []event.Out{{To: "signal:" + sam, Body: strings.Repeat("**word** ", 500)}, {To: "signal:" + sam, Body: "cut"}, {To: "signal:" + sam, Body: "last"}} {
		out.Key, out.Cause = out.Body, event.Cause{Kind: event.ByTurn}
		box.Queue(out)
	}
	f.Fail("send", channelstest.SignalFault{Code: -5, Result: "RATE_LIMIT_FAILURE", RetryAfter: 1}, channelstest.SignalFault{}, channelstest.SignalFault{}, channelstest.SignalFault{Cut: "after"})
	deliver(t, box, ch, "done")
	var got []string
	for _, m := range f.Sent() {
		got = append(got, m.Text)
	}
	if len(got) != 5 || !slices.Equal(got[2:], []string{"cut", "cut\n\n(may be a repeat)", "last"}) {
		t.Fatalf("arrived %q", got)
	}
	if words := strings.Fields(got[0] + " " + got[1]); len(words) != 500 || len(got[0]) > 2000 || len(got[0]) < 1500 {
		t.Errorf("a long text arrived in parts of %d and %d", len(got[0]), len(got[1]))
	}

	box.Queue(event.Out{Key: "others", To: event.Address("signal:" + home), Body: "for others", Cause: event.Cause{Kind: event.ByTurn}})
	f.Fail("send", channelstest.SignalFault{Cut: "before"})
	deliver(t, box, ch, "held")
	if asked := box.Asked(); len(asked) != 1 || len(f.Sent()) != 5 {
		t.Errorf("asked about %v, %d arrived: what may have reached others is never sent again by itself", asked, len(f.Sent()))
	}
}

// deliver runs a pump until the last row of the outbox is in a state.
func deliver(t *testing.T, box *channelstest.Outbox, ch channels.Channel, state string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	pump := channels.NewPump(channels.Config{
		Store: box.Process(), Channel: func(string) (channels.Channel, error) { return ch, nil },
		Owner: func() []event.Address { return []event.Address{"signal:" + sam} }, Zone: func() *time.Location { return time.UTC },
		Report: func(string, error) {}, Once: func(_ string, f func() error) { go func() { _ = f() }() },
		Wake: box.Wake, Clock: clock.Real(), Ident: ident.Random(), Log: slog.New(slog.DiscardHandler),
	})
	ended := make(chan error, 1)
	go func() { ended <- pump.Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for rows := box.Rows(); ctx.Err() == nil && rows[len(rows)-1].State != state; rows = box.Rows() {
		<-tick.C
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if rows := box.Rows(); rows[len(rows)-1].State != state {
		t.Fatalf("the last row is %+v, want it %s", rows[len(rows)-1], state)
	}
}
