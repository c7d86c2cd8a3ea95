package matrix_test

import (
	"context"
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
	"hob/channels/matrix"
	"hob/daemon/clock"
	"hob/daemon/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hob   = "@hob:hob.test"
	sam   = "@sam:hob.test" // the owner
	ana   = "@ana:far.test" // known
	eve   = "@eve:far.test" // a stranger
	chat  = "!chat:hob.test"
	home  = "!home:hob.test" // the listed group
	token = "syt_secret"
)

func env(t testing.TB) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{
		Name: "matrix", HTTP: &http.Client{Transport: tr, Timeout: time.Second}, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler),
		Owner: func() []event.Address { return []event.Address{"cli:main", "matrix:" + sam} },
		Secret: func(ref string) (string, error) {
			switch ref {
			case "env:TOKEN":
				return token + "\n", nil
			case "env:ODD":
				return "two words", nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

func server(t testing.TB) *channelstest.Matrix {
	f, err := channelstest.NewMatrix("", hob, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func open(t testing.TB, f *channelstest.Matrix) *matrix.Channel {
	t.Helper()
	return openWith(t, env(t), f)
}

func openWith(t testing.TB, e channels.Env, f *channelstest.Matrix) *matrix.Channel {
	t.Helper()
	ch, err := matrix.New(e, matrix.Config{Homeserver: f.URL(), Token: "env:TOKEN", Audience: channels.Audience{Groups: []string{home}, Known: []string{ana}}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t)
		f.Room(chat, "", sam)
		f.Direct(sam, chat)
		faults := map[channelstest.Failure]channelstest.MatrixFault{
			channelstest.Later:   {Status: 429, Code: "M_LIMIT_EXCEEDED", RetryMS: 7000},
			channelstest.Refused: {Status: 403, Code: "M_FORBIDDEN"}, channelstest.Broken: {Status: 502},
			channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
		}
		return channelstest.World{
			Name: "matrix", To: "matrix:" + sam, Rules: channels.Rules{Owner: []string{sam}},
			Open:  func() channels.Channel { return open(t, f) },
			Say:   func(text string) string { return chat + "/" + f.Say(chat, sam, text) },
			Again: func(id string) { f.Again(id[len(chat)+1:]) },
			Noise: func() {
				f.Fail("sync", channelstest.MatrixFault{Raw: "<html>"}, channelstest.MatrixFault{Status: 502}, channelstest.MatrixFault{Cut: "before"},
					channelstest.MatrixFault{Raw: `{"rooms":{"join":`}, channelstest.MatrixFault{Raw: `{}`})
				f.Put(chat, obj{"sender": sam, "type": "m.room.message", "content": "x"})
				f.Put(chat, obj{"sender": sam, "type": "m.room.message", "content": obj{}}) // redacted
				f.Put(chat, obj{"sender": 5, "type": "m.room.message"})
				f.Put(chat, obj{"sender": sam, "type": "m.reaction", "content": obj{"body": "no text"}})
				f.State(chat, sam, "m.room.message", "", obj{"msgtype": "m.text", "body": "state"})
				f.Say(chat, hob, "my own")
				f.Write(chat, sam, obj{"msgtype": "m.notice", "body": "a machine's"})
			},
			Fail: func(k channelstest.Failure) { f.Fail("send", faults[k]) },
			Sent: func() []string {
				var texts []string
				for _, m := range f.Sent() {
					texts = append(texts, m.Body())
				}
				return texts
			},
			Listening: f.Listening,
		}
	})
}

type obj = map[string]any

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
	b.wake()
	return nil
}

func (b *box) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

func (b *box) Accept(context.Context, []event.In, *channels.Cursor) ([]event.Receipt, error) {
	return nil, errors.New("Matrix knows persons: Receive is the way in")
}

func (b *box) Gap(_ context.Context, from, to time.Time, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, fmt.Sprintf("%d-%d %s", from.Unix(), to.Unix(), why))
	b.wake()
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

// until waits until ok holds after something was received or told.
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
			t.Fatalf("it did not happen; received: %+v, told: %q", b.all(), b.gaps)
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

// listening runs a channel that has caught up with its server.
func listening(t *testing.T, f *channelstest.Matrix, b *box) (stop func() []error) {
	t.Helper()
	stop = run(t, open(t, f), b)
	f.Listening(t.Context())
	return stop
}

// one is the message that is received next.
func one(t *testing.T, f *channelstest.Matrix, write func()) channels.Message {
	t.Helper()
	b := &box{}
	stop := listening(t, f, b)
	write()
	b.until(t, func() bool { return len(b.list) > 0 })
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	return b.all()[0]
}
