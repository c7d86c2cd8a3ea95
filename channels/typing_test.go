package channels_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// signCh records typing signs, and reacts as the test specifies.
type signCh struct {
	plainCh
	signs func(ctx context.Context, to event.Address) error
}

func (c signCh) Typing(ctx context.Context, to event.Address) error { return c.signs(ctx, to) }

func TestTypist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var turn atomic.Pointer[event.Address]
		answers := func(a event.Address) { turn.Store(&a) }
		answers("")
		wake := make(chan struct{}, 1)
		var signs []string
		ctx, stop := context.WithCancel(t.Context())
		typist := &channels.TypingSigns{
			Answering: func(context.Context) (event.Address, error) { return *turn.Load(), nil }, Wake: wake, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
			Channel: func(name string) (channels.Channel, error) {
				switch name {
				case "plain":
					return plainCh{}, nil
				case "gone":
					return nil, channels.ErrNoChannel
				}
				return signCh{signs: func(ctx context.Context, to event.Address) error {
					signs = append(signs, string(to)+" "+time.Since(start).String())
					switch to {
					case "sign:hangs":
						<-ctx.Done()
						return ctx.Err()
					case "sign:panics":
						panic("nil map")
					}
					return errors.New("away")
				}}, nil
			},
		}
		ended := make(chan error, 1)
		go func() { ended <- typist.Run(ctx) }()
		for _, s := range []struct {
			at time.Duration
			to event.Address
		}{
			{10 * time.Second, "sign:1"},
			{21 * time.Second, ""},
			{30 * time.Second, "sign:panics"},
			{34 * time.Second, ""},
			{40 * time.Second, "sign:hangs"},
			{44 * time.Second, "plain:1"},
			{60 * time.Second, "gone:1"},
			{70 * time.Second, "sign:2"},
			{71 * time.Second, ""},
		} {
			time.AfterFunc(s.at, func() {
				answers(s.to)
				select {
				case wake <- struct{}{}:
				default:
				}
			})
		}
		for i := range 100 { // much happens in a turn
			time.AfterFunc(10*time.Second+time.Duration(i+1)*111*time.Millisecond, func() {
				select {
				case wake <- struct{}{}:
				default:
				}
			})
		}
		<-time.After(2 * time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		want(t, "signs", signs, "sign:1 10s", "sign:1 15s", "sign:1 20s", "sign:panics 30s", "sign:hangs 40s", "sign:2 1m10s")
	})
}
