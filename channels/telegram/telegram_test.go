package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/daemon/clock"
	"hob/daemon/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "7001:AAsecret_part-of-it"
	sam   = int64(42) // the owner
	group = int64(-1001)
)

func env(t testing.TB) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{
		Name: "telegram", HTTP: &http.Client{Transport: tr, Timeout: time.Second}, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler),
		Secret: func(ref string) (string, error) {
			switch ref {
			case "env:TOKEN":
				return token + "\n", nil
			case "env:ODD":
				return "7001:AA/../x", nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

func server(t testing.TB) *channelstest.Telegram {
	f, err := channelstest.NewTelegram("", token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func open(t testing.TB, f *channelstest.Telegram) *telegram.Channel {
	return openAt(t, f, clock.Real())
}

func openAt(t testing.TB, f *channelstest.Telegram, c clock.Clock) *telegram.Channel {
	t.Helper()
	e := env(t)
	e.Clock = c
	ch, err := telegram.New(e, telegram.Config{Token: "env:TOKEN", APIBase: f.URL(), Audience: channels.Audience{Groups: []string{"-1001"}}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t)
		ids := map[string]int64{}
		faults := map[channelstest.Failure]channelstest.TelegramFault{
			channelstest.Later: {Status: 429, RetryAfter: 7}, channelstest.Refused: {Status: 403}, channelstest.Broken: {Status: 502},
			channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
		}
		f.Knows(sam)
		return channelstest.World{
			Name: "telegram", To: "telegram:42", Rules: channels.Rules{Owner: []string{"42"}},
			Open: func() channels.Channel { return open(t, f) },
			Say: func(text string) string {
				n := f.Say(sam, text)
				id := fmt.Sprintf("7001/42/%d", n)
				ids[id] = n
				return id
			},
			Again: func(id string) { f.Again(ids[id]) },
			Noise: func() {
				f.Fail("getUpdates", channelstest.TelegramFault{Raw: "<html>"}, channelstest.TelegramFault{Status: 502}, channelstest.TelegramFault{Cut: "before"},
					channelstest.TelegramFault{Raw: `{"ok":true,"result":[{"update_id":`}, channelstest.TelegramFault{Raw: `{}`})
				f.Push(`{"update_id":%d,"message":{"message_id":"x"}}`)
				f.Push(`{"update_id":%d}`)
				f.Push(`{"update_id":%d,"message":{"message_id":5,"chat":{"id":42,"type":"private"},"from":{"id":42},"pinned_message":{}}}`)
				f.Push(`{"update_id":%d,"message":{"message_id":6,"chat":{"id":42,"type":"private"},"from":{"id":7001,"is_bot":true},"text":"my own"}}`)
				f.Push(`{"update_id":%d,"callback_query":{"id":"1","from":{"id":42},"data":"/status"}}`)
			},
			Fail: func(k channelstest.Failure) { f.Fail("sendMessage", faults[k]) },
			Sent: func() []string {
				var texts []string
				for _, m := range f.Sent() {
					texts = append(texts, m.Text)
				}
				return texts
			},
			Listening: f.Listening,
		}
	})
}

// box is an inbox that keeps messages as they are handed on.
type box struct {
	mu      sync.Mutex
	list    []channels.Message
	gaps    []string
	cursor  *channels.Cursor
	fail    int                      // the next so many calls of Receive take nothing
	each    func([]channels.Message) // told of what is taken, before it is
	changed chan struct{}
}

func (b *box) Receive(_ context.Context, list []channels.Message, c *channels.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail > 0 && len(list) > 0 {
		b.fail--
		return channelstest.ErrFull
	}
	if b.each != nil {
		b.each(list)
	}
	b.list, b.cursor = append(b.list, list...), c
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return nil
}

func (b *box) Accept(context.Context, []event.In, *channels.Cursor) ([]event.Receipt, error) {
	return nil, errors.New("Telegram knows persons: Receive is the way in")
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
	b.until(t, func() bool { return len(b.list) >= n })
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	return b.all()
}

func offset(t *testing.T, b *box) int64 {
	t.Helper()
	var p struct{ Offset int64 }
	if err := json.Unmarshal([]byte(b.cursor.Value), &p); err != nil {
		t.Fatal(err)
	}
	return p.Offset
}
