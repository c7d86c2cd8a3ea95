package channels_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/sys"
)

// ear receives as a test specifies.
type ear struct {
	run func(ctx context.Context, n int, in channels.Inbox) error
	mu  sync.Mutex
	n   int
}

func (e *ear) Run(ctx context.Context, in channels.Inbox) error {
	e.mu.Lock()
	e.n++
	n := e.n
	e.mu.Unlock()
	return e.run(ctx, n, in)
}

func (e *ear) Send(context.Context, channels.Delivery) (string, error) { return "", nil }

func (e *ear) runs() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

func listen(ctx context.Context, _ int, _ channels.Inbox) error { <-ctx.Done(); return nil }

// hosting runs a host for the duration of a test in a bubble of fake time.
func hosting(t *testing.T, f func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, in *channelstest.Inbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var changes []channels.ChannelHealth
		in := &channelstest.Inbox{}
		h := channels.NewHost(channels.NewTable(), channels.HostConfig{
			Inbox: in, Admission: in, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
			Go: func(ctx context.Context, _ string, f func(context.Context) error) {
				wg.Go(func() {
					if err := f(ctx); err != nil {
						t.Errorf("a channel ended with %v", err)
					}
				})
			},
			Changed:   func(c channels.ChannelHealth) { mu.Lock(); changes = append(changes, c); mu.Unlock() },
			Recovered: func(string) {},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		f(t, h, &changes, in)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		wg.Wait()
	})
}

func TestHostRestartsForEver(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		e := &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			switch {
			case n == 2:
				panic("nil map")
			case n < 6:
				return errPlain
			}
			return listen(ctx, n, in)
		}}
		h.Replace(map[string]channels.Section{"a": {Kind: "ear", Channel: e}})
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if e.runs() != 6 {
			t.Errorf("ran %d times, want 6", e.runs())
		}
		var states []channels.Health
		for _, c := range *changes {
			states = append(states, c.Receiving.State)
		}
		want(t, "changes", states, channels.Degraded, channels.Down, channels.OK)
		if got := h.Health()[0]; got.Sending.State != channels.OK || got.Receiving.LastError != errPlain.Error() || got.Kind != "ear" || got.Name != "a" {
			t.Errorf("health %+v", got)
		}
	})
}

func TestHostWaitsAsLongAsAsked(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		var at []time.Duration
		start := time.Now()
		e := &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			at = append(at, time.Since(start))
			if n == 1 {
				return errLater
			}
			return listen(ctx, n, in)
		}}
		h.Replace(map[string]channels.Section{"a": {Channel: e}})
		<-time.After(time.Hour)
		synctest.Wait()
		want(t, "runs at", at, 0, 42*time.Second)
	})
}

// Channels that cannot be reached are tried in the same moments, so that they wake the process seldom.
func TestHostTriesChannelsTogether(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		var mu sync.Mutex
		at, tries := map[time.Duration]bool{}, 0
		start := time.Now()
		sections := map[string]channels.Section{}
		for i := range 7 {
			sections[fmt.Sprint("c", i)] = channels.Section{Channel: &ear{run: func(context.Context, int, channels.Inbox) error {
				mu.Lock()
				defer mu.Unlock()
				if since := time.Since(start); since > time.Minute {
					at[since], tries = true, tries+1
				}
				return errPlain
			}}}
		}
		h.Replace(sections)
		<-time.After(4 * time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if tries < 7*6 || len(at) > 13 {
			t.Errorf("%d tries in %d moments of three minutes", tries, len(at))
		}
	})
}

// A server that cannot be reached is only asked for a connection, and the log says it once. When it is back, the channel runs, and messages that
// wait are tried.
func TestHostWaitsForAServer(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		var lines bytes.Buffer
		h.Log = slog.New(slog.NewTextHandler(&lines, nil))
		recovered := make(chan string, 1)
		h.Recovered = func(name string) { recovered <- name }
		e := &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			if n == 1 {
				_, err := netguard.Proxy{}.DialContext(ctx, "tcp", address)
				return fmt.Errorf("connect: %w", err)
			}
			return listen(ctx, n, in)
		}}
		h.Replace(map[string]channels.Section{"a": {Channel: e}})
		<-time.After(4 * time.Minute)
		synctest.Wait()
		if e.runs() != 1 || !h.Away("a") || strings.Count(lines.String(), "stopped receiving") != 1 || (*changes)[1].Receiving.State != channels.Down {
			t.Errorf("%d runs, away %t, changes %+v, log:\n%s", e.runs(), h.Away("a"), *changes, &lines)
		}
		back, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = back.Close() }()
		since := time.Now()
		if name := <-recovered; name != "a" || h.Away("a") || time.Since(since) > 31*time.Second {
			t.Errorf("%s after %s", name, time.Since(since))
		}
		synctest.Wait()
		if e.runs() != 2 {
			t.Errorf("%d runs", e.runs())
		}
	})
}

func TestHostSendingHealthIsApart(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: listen}}})
		synctest.Wait()
		for _, err := range []error{errNever, errPlain, errPlain, errPlain, nil} {
			h.Sent("a", err)
		}
		h.Sent("nobody", errPlain)
		var states []channels.Health
		for _, c := range *changes {
			states = append(states, c.Sending.State)
			if c.Receiving.State != channels.OK {
				t.Errorf("receiving is %s", c.Receiving.State)
			}
		}
		want(t, "changes", states, channels.Degraded, channels.Down, channels.OK)
	})
}

func TestHostReplace(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		if _, err := h.Channel("a"); err == nil || errors.Is(err, channels.ErrNoChannel) {
			t.Errorf("before the configuration is read nothing is known to be missing: %v", err)
		}
		stays, goes, anew := &ear{run: listen}, &ear{run: listen}, &ear{run: listen}
		h.Replace(map[string]channels.Section{"stays": {Fingerprint: "1", Channel: stays}, "changes": {Fingerprint: "1", Channel: goes}, "goes": {Channel: goes}})
		synctest.Wait()
		h.Replace(map[string]channels.Section{
			"stays": {Fingerprint: "1", Channel: &ear{run: listen}}, "changes": {Fingerprint: "2", Channel: anew}, "broken": {Err: errors.New("topic: missing")},
		})
		synctest.Wait()
		if stays.runs() != 1 || goes.runs() != 2 || anew.runs() != 1 {
			t.Errorf("runs: %d %d %d", stays.runs(), goes.runs(), anew.runs())
		}
		if ch, err := h.Channel("stays"); err != nil || ch != stays {
			t.Errorf("an unchanged channel was replaced: %v", err)
		}
		if ch, err := h.Channel("changes"); err != nil || ch != anew {
			t.Errorf("a changed channel was not replaced: %v", err)
		}
		if _, err := h.Channel("goes"); !errors.Is(err, channels.ErrNoChannel) {
			t.Errorf("a channel that is gone: %v", err)
		}
		if _, err := h.Channel("broken"); err == nil || errors.Is(err, channels.ErrNoChannel) {
			t.Errorf("a broken section: %v", err)
		}
		var names []string
		for _, c := range h.Health() {
			names = append(names, c.Name+" "+string(c.Receiving.State))
		}
		want(t, "health", names, "broken down", "changes ok", "stays ok")
		if len(*changes) != 1 || (*changes)[0].Name != "broken" {
			t.Errorf("told of %+v", *changes)
		}
	})
}

// A restart ends the run of a channel, or the wait for the next one, and runs the same channel: what it keeps between runs is still there. It does not
// count as a failure.
func TestHostRunsTheSameChannelAgain(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, changes *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		running := 0
		e := &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			running++
			defer func() { running-- }()
			if running != 1 {
				t.Errorf("%d runs side by side", running)
			}
			if n == 3 {
				return &channels.RetryAfter{After: time.Hour, Err: errPlain}
			}
			return listen(ctx, n, in)
		}}
		h.Restart("a") // there is none yet
		h.Replace(map[string]channels.Section{"a": {Kind: "ear", Fingerprint: "1", Channel: e}, "broken": {Err: errPlain}})
		synctest.Wait()
		*changes = nil
		for n := 1; n <= 5; n++ {
			if ch, err := h.Channel("a"); err != nil || ch != e || e.runs() != n {
				t.Errorf("after %d restarts: %v, %d runs", n-1, err, e.runs())
			}
			if n < 3 && len(*changes) != 0 {
				t.Errorf("after %d restarts it counts as a failure: %+v", n-1, *changes)
			}
			h.Restart("a")
			h.Restart("broken")
			synctest.Wait()
		}
	})
}

func TestHostStaysKnownWhileItStops(t *testing.T) {
	var h *channels.Host
	hosting(t, func(_ *testing.T, host *channels.Host, _ *[]channels.ChannelHealth, _ *channelstest.Inbox) {
		h = host
		h.Replace(map[string]channels.Section{"a": {Channel: &ear{run: listen}}})
		synctest.Wait()
	})
	if _, err := h.Channel("a"); err != nil {
		t.Errorf("after the end: %v; messages would be taken for undeliverable", err)
	}
}

func TestHostLetsNobodySpeakForOthers(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, in *channelstest.Inbox) {
		var errs []error
		e := &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			for _, source := range []string{"a", "cli"} {
				_, err := in.Accept(ctx, []event.In{{Source: source, ExtID: "1"}}, nil)
				errs = append(errs, err)
			}
			return listen(ctx, n, in)
		}}
		h.Replace(map[string]channels.Section{"a": {Channel: e}})
		synctest.Wait()
		if len(errs) != 2 || errs[0] != nil || errs[1] == nil {
			t.Errorf("own and foreign source: %v", errs)
		}
		if rows := in.Rows(); len(rows) != 1 || slices.ContainsFunc(rows, func(r event.In) bool { return r.Source == "cli" }) {
			t.Errorf("stored %+v", rows)
		}
	})
}

// known is an ear with an account that is available from the third request on.
type known struct {
	*ear
	asked *int
}

func (k known) Account(context.Context) (string, error) {
	if *k.asked++; *k.asked < 3 {
		return "", errPlain
	}
	return "me", nil
}

// register is an inbox that records the reported accounts, and how many messages had arrived before.
type register struct {
	*channelstest.Inbox
	met []string
	ear *ear
}

func (r *register) Connected(_ context.Context, channel, account string) error {
	r.met = append(r.met, fmt.Sprintf("%s %s after %d", channel, account, r.ear.runs()))
	return nil
}

// A channel receives after its account was reported; the account is requested once.
func TestHostMeetsBeforeItReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			if n < 3 {
				return errPlain
			}
			return listen(ctx, n, in)
		}}
		r, asked, g := &register{Inbox: &channelstest.Inbox{}, ear: e}, 0, sys.NewGroup(slog.New(slog.DiscardHandler), nil)
		h := channels.NewHost(channels.NewTable(), channels.HostConfig{Inbox: r, Admission: r, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler), Go: g.Go, Changed: func(channels.ChannelHealth) {}, Recovered: func(string) {}})
		h.Replace(map[string]channels.Section{"a": {Kind: "ear", Channel: known{e, &asked}}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		<-time.After(10 * time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		g.Wait()
		want(t, "met", r.met, "a me after 0")
		if asked != 3 || e.runs() != 3 {
			t.Errorf("asked %d times, received %d times", asked, e.runs())
		}
	})
}
