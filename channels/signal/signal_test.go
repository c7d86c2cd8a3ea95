package signal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	signalchannel "hob/channels/signal"
	"hob/daemon/clock"
	"hob/daemon/event"
)

// TestMain is signal-cli itself where a test has started this program as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "-a" && os.Args[3] == "daemon" {
		os.Exit(standIn(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

const (
	own   = channelstest.SignalSelf
	phone = "+491701234567"
	sam   = "11111111-1111-4111-8111-111111111111" // the owner
	other = "22222222-2222-4222-8222-222222222222"
	home  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" // a group
)

type obj = map[string]any

// standIn is a signal-cli with the command line that hob writes.
func standIn(args []string) int {
	if len(args) != 7 || args[2] != "--http" || !slices.Equal(args[4:], []string{"--receive-mode", "on-connection", "--no-receive-stdout"}) || os.Getenv("HOB_SECRET") != "" {
		fmt.Fprintln(os.Stderr, "a wrong command line:", args)
		return 1
	}
	if args[0] == "+49000000" {
		fmt.Fprintln(os.Stderr, "User +49000000 is not registered.")
		return 1
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	f, err := channelstest.NewSignal(args[3], args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	f.Say(sam, "from a daemon that hob runs")
	<-end
	f.Close()
	return 0
}

func env(t testing.TB) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{Name: "signal", HTTP: &http.Client{Transport: tr, Timeout: time.Second}, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler)}
}

func server(t testing.TB) *channelstest.Signal {
	f, err := channelstest.NewSignal("", phone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func open(t testing.TB, f *channelstest.Signal) *signalchannel.Channel {
	return openAt(t, f, clock.Real())
}

func openAt(t testing.TB, f *channelstest.Signal, c clock.Clock) *signalchannel.Channel {
	t.Helper()
	e := env(t)
	e.Clock = c
	ch, err := signalchannel.New(e, signalchannel.Config{Account: phone, URL: f.URL(), Audience: channels.Audience{Groups: []string{home}}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World { return world(t, server(t)) })
}

func world(t *testing.T, f *channelstest.Signal) channelstest.World {
	ids := map[string]int64{}
	faults := map[channelstest.Failure]channelstest.SignalFault{
		channelstest.Later: {Code: -5, Result: "RATE_LIMIT_FAILURE", RetryAfter: 7}, channelstest.Refused: {Code: -1, Result: "UNREGISTERED_FAILURE"},
		channelstest.Broken: {Status: 502}, channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "signal", To: "signal:" + sam, Rules: channels.Rules{Owner: []string{sam}},
		Open: func() channels.Channel { return open(t, f) },
		Say: func(text string) string {
			n := f.Say(sam, text)
			id := fmt.Sprintf("%s/%d", sam, n)
			ids[id] = n
			return id
		},
		Again: func(id string) { f.Again(sam, ids[id]) },
		Noise: func() {
			f.Push("<html>")
			f.Push("")
			f.Push(`{"account":"` + phone + `"}`)
			f.Push(`{"exception":{"message":"no session","type":"ProtocolNoSessionException"},"envelope":{"sourceUuid":"` + sam + `","timestamp":1}}`)
			f.Push(`{"envelope":{"dataMessage":{"timestamp":"x"}}}`)
			f.Envelope(sam, obj{"timestamp": 5, "typingMessage": obj{"action": "STARTED", "timestamp": 5}})
			f.Envelope(sam, obj{"timestamp": 6, "receiptMessage": obj{"when": 6, "isDelivery": true, "timestamps": []int{1}}})
			f.Write(sam, obj{"message": nil, "expiresInSeconds": 3600, "isExpirationUpdate": true})
			f.Write(sam, obj{"message": nil, "reaction": obj{"emoji": "👍", "targetSentTimestamp": 1}})
			f.Write(own, obj{"message": "my own"})
			f.Note(other, obj{"message": "what the account's owner wrote to somebody else"})
			f.Fail("events", channelstest.SignalFault{Status: 500}, channelstest.SignalFault{Raw: "<html>"}, channelstest.SignalFault{Cut: "before"})
			f.CutStreams()
			f.Listening(t.Context())
		},
		Fail: func(k channelstest.Failure) { f.Fail("send", faults[k]) },
		Sent: func() []string {
			var texts []string
			for _, m := range f.Sent() {
				texts = append(texts, m.Text)
			}
			return texts
		},
		Listening: f.Listening,
	}
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

func (b *box) Receive(ctx context.Context, list []channels.Message, c *channels.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.fail > 0 && len(list) > 0 {
		b.fail--
		return channelstest.ErrFull
	}
	b.list, b.cursor = append(b.list, list...), c
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return nil
}

func (b *box) Accept(context.Context, []event.In, *channels.Cursor) ([]event.Receipt, error) {
	return nil, errors.New("Signal knows persons: Receive is the way in")
}

func (b *box) Gap(_ context.Context, from, to time.Time, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, fmt.Sprintf("%d-%d %s", from.Unix(), to.Unix(), why))
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

func (b *box) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.gaps)
}

// until waits until n messages have come.
func (b *box) until(t *testing.T, n int) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		b.mu.Lock()
		if len(b.list) >= n {
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
			t.Fatalf("it did not happen; received: %+v", b.all())
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

// received runs a channel until n messages have come, and returns them.
func received(t *testing.T, ch channels.Channel, n int) []channels.Message {
	t.Helper()
	b := &box{}
	stop := run(t, ch, b)
	b.until(t, n)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	return b.all()
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	for _, tc := range []struct {
		cfg  signalchannel.Config
		want string
	}{
		{signalchannel.Config{}, "account: missing"},
		{signalchannel.Config{Account: "0170123"}, "account: "},
		{signalchannel.Config{Account: phone, URL: "localhost:8080"}, "url: "},
		{signalchannel.Config{Account: phone, URL: "http://u:p" + "@localhost:8080"}, "url: "},
		{signalchannel.Config{Account: phone, URL: "http://localhost:8080?x"}, "url: "},
		{signalchannel.Config{Account: phone, URL: "http://0.0.0.0:8080", Command: "signal-cli"}, "url: "},
		{signalchannel.Config{Account: phone, URL: "http://localhost", Command: "signal-cli"}, "url: "},
		{signalchannel.Config{Account: phone, URL: "https://localhost:8080", Command: "signal-cli"}, "url: "},
		{signalchannel.Config{Account: phone, Audience: channels.Audience{Known: []string{"+491707654321"}}}, "known: "},
		{signalchannel.Config{Account: phone, Audience: channels.Audience{Public: []string{strings.ToUpper("a" + sam[1:])}}}, "public: "},
		{signalchannel.Config{Account: phone, Audience: channels.Audience{Groups: []string{sam}}}, "groups: "},
		{signalchannel.Config{Account: phone, Audience: channels.Audience{Groups: []string{home, home}}}, "groups: "},
		{signalchannel.Config{Account: phone, Audience: channels.Audience{Known: []string{sam}, Public: []string{sam}}}, "public: "},
	} {
		_, err := signalchannel.New(env(t), tc.cfg)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.cfg, err, tc.want)
		}
	}
	for _, cfg := range []signalchannel.Config{
		{Account: phone},
		{Account: strings.ToUpper(sam), URL: "https://signal.example/api/"},
		{Account: phone, URL: "http://[::1]:9000", Command: "/opt/signal-cli/bin/signal-cli"},
		{Account: phone, Audience: channels.Audience{Known: []string{sam}, Groups: []string{home}}},
	} {
		if _, err := signalchannel.New(env(t), cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestBuildFromSection(t *testing.T) {
	f := server(t)
	decode := func(v any) error {
		cfg := v.(*signalchannel.Config)
		cfg.Account, cfg.URL = phone, f.URL()
		return nil
	}
	ch, err := channels.Build([]channels.Kind{signalchannel.Kind()}, "chat", "signal", env(t), decode)
	if err != nil {
		t.Fatal(err)
	}
	f.Say(sam, "hello")
	if got := received(t, ch, 1)[0].Text; got != "hello" {
		t.Errorf("received %q", got)
	}
	_, err = channels.Build([]channels.Kind{signalchannel.Kind()}, "chat", "signal", env(t), func(any) error { return context.Canceled })
	if err == nil || !strings.Contains(err.Error(), "channels.chat: ") {
		t.Errorf("decode error: %v", err)
	}
}
