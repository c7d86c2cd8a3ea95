package irc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
	"hob/daemon/clock"
	"hob/daemon/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func env() channels.Env {
	return channels.Env{
		Name: "irc", Clock: clock.Real(), Log: slog.New(slog.DiscardHandler),
		Secret: func(ref string) (string, error) {
			switch ref {
			case "env:PASSWORD":
				return "s3cret\n", nil
			case "env:LONG":
				return strings.Repeat("x", 400), nil
			case "env:LINES":
				return "a\nb", nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

func server(t testing.TB, opts channelstest.IRCOptions) *channelstest.IRC {
	f, err := channelstest.NewIRC(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Person("sam", "Sam")
	f.Person("eve", "")
	return f
}

func modern(t testing.TB) *channelstest.IRC {
	return server(t, channelstest.IRCOptions{Caps: channelstest.IRCModern()})
}

func config(f *channelstest.IRC) irc.Config {
	return irc.Config{Server: f.Addr(), Fingerprint: f.Fingerprint(), Plain: f.Fingerprint() == "", Channels: []string{"#Family"}}
}

func open(t testing.TB, cfg irc.Config) *irc.Channel {
	t.Helper()
	ch, err := irc.New(env(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// world is one private chat with sam, who is the owner.
func world(t *testing.T, f *channelstest.IRC, cfg irc.Config, to event.Address) channelstest.World {
	faults := map[channelstest.Failure]channelstest.IRCFault{
		channelstest.Later: {Numeric: "439"}, channelstest.Refused: {Numeric: "404"}, channelstest.Broken: {Numeric: "401"},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "irc", To: to, Rules: channels.Rules{Owner: []string{to.Local()}}, Connected: true, Lines: true,
		Open:  func() channels.Channel { return open(t, cfg) },
		Say:   func(text string) string { return f.Say("sam", "hob", text) },
		Again: f.Again,
		Noise: func() {
			f.Push(":irc.test NOTICE hob :*** Looking up your hostname")
			f.Push("")
			f.Push(":")
			f.Push("@x")
			f.Push(":irc.test PRIVMSG hob :a server speaks")
			f.Push(":sam!u@h PRIVMSG")
			f.Push(":sam!u@h PRIVMSG hob :\x01VERSION\x01")
			f.Push(":irc.test 999 hob :?")
			f.Push(":hob!~hob@hob.test PRIVMSG hob :my own")
			f.Push(":sam!u@h PRIVMSG @#family :hob: for operators")
			f.Push("@account=Sam;msgid=n1 :sam!u@h NOTICE hob :an auto-reply")
			f.Push("@account=Sam;msgid=n2 :sam!u@h PRIVMSG #other :hob: not listed")
		},
		Fail: func(k channelstest.Failure) { f.Fail(faults[k]) },
		Sent: func() []string {
			var texts []string
			for _, s := range f.Sent() {
				texts = append(texts, s.Text)
			}
			return texts
		},
		Listening: f.Listening,
	}
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := modern(t)
		return world(t, f, config(f), "irc:$sam")
	})
}

// TestSuiteOfAnOldServer runs the suite where the server has none of the extensions and no TLS.
func TestSuiteOfAnOldServer(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t, channelstest.IRCOptions{Plain: true})
		cfg := config(f)
		cfg.TrustNicks = true
		w := world(t, f, cfg, "irc:sam")
		w.Forgets, w.Again = true, nil
		w.Say = func(text string) string { f.Say("sam", "hob", text); return text }
		w.ID = func(in event.In) string { return in.Text() }
		return w
	})
}

// box is an inbox that keeps messages as they are handed on.
type box struct {
	mu      sync.Mutex
	list    []channels.Message
	gaps    []string
	cursor  *channels.Cursor
	fail    int // the next so many calls of Receive with messages take nothing
	changed chan struct{}
}

func (b *box) happened() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

func (b *box) Receive(ctx context.Context, list []channels.Message, c *channels.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail > 0 && len(list) > 0 {
		b.fail--
		b.happened()
		return channelstest.ErrFull
	}
	b.list, b.cursor = append(b.list, list...), c
	b.happened()
	return ctx.Err()
}

func (b *box) Accept(context.Context, []event.In, *channels.Cursor) ([]event.Receipt, error) {
	return nil, errors.New("IRC knows persons: Receive is the way in")
}

func (b *box) Gap(_ context.Context, from, to time.Time, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to.Before(from) {
		why = "backwards: " + why
	}
	b.gaps = append(b.gaps, why)
	b.happened()
	return nil
}

func (b *box) Cursor(_ context.Context, source, identity string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil || b.cursor.Source != source || b.cursor.Identity != identity {
		return "", nil
	}
	return b.cursor.Value, nil
}

func (b *box) all() []channels.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// until waits until ok holds after something was received.
func (b *box) until(t *testing.T, ok func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		b.mu.Lock()
		if ok() {
			b.mu.Unlock()
			return
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("it did not happen; received: %+v; gaps: %q", b.all(), b.gaps)
		}
	}
}

// run runs a channel until what it returns is called. Errors of Run are collected, and it is run again at once.
func run(t *testing.T, ch channels.Channel, in channels.Inbox) (stop func() []error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan []error, 1)
	go func() {
		var errs []error
		for ctx.Err() == nil {
			if err := ch.Run(ctx, in); err != nil {
				errs = append(errs, err)
			}
		}
		ended <- errs
	}()
	stop = sync.OnceValue(func() []error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return stop
}

// listening runs a channel on a server, and waits until it listens.
func listening(t *testing.T, f *channelstest.IRC, cfg irc.Config) (*irc.Channel, *box, func() []error) {
	t.Helper()
	ch, b := open(t, cfg), &box{}
	stop := run(t, ch, b)
	f.Listening(t.Context())
	b.until(t, func() bool { return b.cursor != nil })
	return ch, b, stop
}

func delivery(to event.Address, body string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: to, Body: body, Nonce: "n0nce", Attempts: 1}
}
