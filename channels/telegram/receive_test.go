package telegram_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/daemon/sys"
)

func TestPollsBehindTheCommitOnly(t *testing.T) {
	f := server(t)
	b := (&channelstest.MessageInbox{}).FailNext(2)
	b.Each(func(list []channels.Message) {
		if f.Pending() < len(list) {
			t.Errorf("%d updates are left while %d messages are being committed: something was acknowledged too early", f.Pending(), len(list))
		}
	})
	f.Say(sam, "one")
	f.Say(sam, "two")
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 2 })
	f.Listening(t.Context())
	if errs := stop(); len(errs) != 2 || !errors.Is(errs[0], channelstest.ErrFull) {
		t.Errorf("errors of Run: %v, want the inbox's twice", errs)
	}
	if f.Pending() != 0 {
		t.Errorf("%d updates are not acknowledged behind the commit", f.Pending())
	}
	if got := offset(t, b); got != 1003 {
		t.Errorf("offset %d, want the last update's number and one", got)
	}
	if want := []int64{0, 0, 0, 1003}; !slices.Equal(f.Offsets(), want) {
		t.Errorf("asked with the offsets %v, want %v", f.Offsets(), want)
	}
}

func TestCursorIsOfOneBot(t *testing.T) {
	f := server(t)
	f.Say(sam, "one")
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	stop()
	if want := "7001 " + f.URL(); b.Stored().Source != "telegram" || b.Stored().Identity != want {
		t.Errorf("cursor %+v, want it tied to %q", b.Stored(), want)
	}
}

func TestACursorThatCannotBeReadStartsAnew(t *testing.T) {
	f := server(t)
	f.Say(sam, "one")
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "telegram", Identity: "7001 " + f.URL(), Value: "nonsense"})
	channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
}

func TestBacklog(t *testing.T) {
	f := server(t)
	const n = 10_000
	for i := range n {
		f.Say(sam, fmt.Sprint(i))
	}
	for i, m := range channelstest.Received(t, open(t, f), n) {
		if m.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
	if calls := f.Calls("getUpdates"); calls > n/100+1 {
		t.Errorf("%d polls for %d messages, want 100 at a time", calls, n)
	}
}

func TestRandomNumberAfterAWeek(t *testing.T) {
	f := server(t)
	f.Say(sam, "before")
	var later atomic.Int64
	c := sys.ShiftedClock(func() time.Duration { return time.Duration(later.Load()) })
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, openAt(t, f, c), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	f.Listening(t.Context())
	stop()
	later.Store(int64(7 * 24 * time.Hour))
	f.Skip(17) // far below the offset
	f.Say(sam, "after")
	stop = channelstest.Keep(t, openAt(t, f, c), b)
	b.Until(t, func() bool { return len(b.List()) == 2 })
	f.Listening(t.Context())
	stop()
	if got := offset(t, b); got != 18 {
		t.Errorf("offset %d, want to go on from the new number", got)
	}
}

func TestAwayForMoreThanADay(t *testing.T) {
	for _, tc := range []struct {
		away time.Duration
		gaps int
	}{{23 * time.Hour, 0}, {25 * time.Hour, 1}, {-48 * time.Hour, 0}} {
		f := server(t)
		f.Say(sam, "before")
		var later atomic.Int64
		c := sys.ShiftedClock(func() time.Duration { return time.Duration(later.Load()) })
		b := &channelstest.MessageInbox{}
		stop := channelstest.Keep(t, openAt(t, f, c), b)
		b.Until(t, func() bool { return len(b.List()) == 1 })
		stop()
		left := c.Wall()
		later.Store(int64(tc.away))
		for _, text := range []string{"after", "and again"} { // told once, not at each start
			f.Say(sam, text)
			stop = channelstest.Keep(t, openAt(t, f, c), b)
			b.Until(t, func() bool { return b.List()[len(b.List())-1].Text == text })
			stop()
		}
		if len(b.Gaps()) != tc.gaps {
			t.Fatalf("away for %s: told %q", tc.away, b.Gaps())
		}
		if tc.gaps == 0 {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(b.Gaps()[0], "%d-%d ", &from, &to); err != nil {
			t.Fatal(err)
		}
		if from > left.Unix() || from < left.Unix()-5 || to-from < 3600 || to-from > 3610 {
			t.Errorf("gap from %d to %d, want from when hob left (%d) to a day ago: an hour", from, to, left.Unix())
		}
	}
}

func TestGapIsToldOnceThoughItsMessagesAreNotTaken(t *testing.T) {
	f := server(t)
	f.Say(sam, "new")
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "telegram", Identity: "7001 " + f.URL(), Value: `{"offset":5,"heard":1000,"newest":1000}`}).FailNext(3)
	channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	if len(b.Gaps()) != 1 {
		t.Errorf("told %q", b.Gaps())
	}
}

func TestGapIsKeptUntilStored(t *testing.T) {
	f := server(t)
	f.Say(sam, "new")
	b := &deaf{MessageInbox: channelstest.MessageInboxAt(channels.Cursor{Source: "telegram", Identity: "7001 " + f.URL(), Value: `{"offset":5,"heard":1000,"newest":1000}`})}
	if err := open(t, f).Run(t.Context(), b); !errors.Is(err, errDeaf) {
		t.Fatalf("Run: %v", err)
	}
	if len(b.List()) != 0 || f.Pending() != 1 {
		t.Errorf("received %+v, %d left; want nothing taken", b.List(), f.Pending())
	}
}

var errDeaf = errors.New("nobody listens")

type deaf struct{ *channelstest.MessageInbox }

func (*deaf) Gap(context.Context, time.Time, time.Time, string) error { return errDeaf }

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Telegram)
		want  string
		after time.Duration
	}{
		{"token revoked", (*channelstest.Telegram).Revoke, "does not know the bot", 5 * time.Minute},
		{"token malformed", fails("getMe", channelstest.TelegramFault{Status: 404}), "set token to the one that @BotFather shows", 5 * time.Minute},
		{"too many requests", fails("getUpdates", channelstest.TelegramFault{Status: 429, RetryAfter: 33}), "429", 33 * time.Second},
		{"too many requests, without a time", fails("getUpdates", channelstest.TelegramFault{Status: 429}), "429", 0},
		{"web hook", func(f *channelstest.Telegram) { f.Webhook("https://other.example/bot") }, "go to the web hook https://other.example/bot", 0},
		{"second poller", fails("getUpdates", channelstest.TelegramFault{Status: 409}), "another program receives this bot's messages", 0},
		{"broken", fails("getUpdates", channelstest.TelegramFault{Status: 502}), "502", 0},
		{"no Bot API", fails("getMe", channelstest.TelegramFault{Raw: "<html>welcome</html>"}), "check api_base", 0},
		{"cut", fails("getUpdates", channelstest.TelegramFault{Cut: "before"}), "getUpdates: ", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			tc.set(f)
			err := open(t, f).Run(t.Context(), &channelstest.MessageInbox{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one that says %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "AAsecret") {
				t.Errorf("the token is in %v", err)
			}
			later := (*channels.RetryAfter)(nil)
			if errors.As(err, &later) != (tc.after > 0 || strings.Contains(tc.name, "too many")) || later != nil && later.After != tc.after {
				t.Errorf("error %#v, want to come back after %s", err, tc.after)
			}
		})
	}
}

func fails(method string, faults ...channelstest.TelegramFault) func(*channelstest.Telegram) {
	return func(f *channelstest.Telegram) { f.Fail(method, faults...) }
}

func TestTwoPollers(t *testing.T) {
	f := server(t)
	ended := make(chan error, 1)
	go func() { ended <- open(t, f).Run(t.Context(), &channelstest.MessageInbox{}) }()
	f.Listening(t.Context())
	channelstest.Keep(t, open(t, f), &channelstest.MessageInbox{})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("the first one ends with %v", err)
	}
}

func TestNoServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // nobody is there
	ch, err := telegram.New(env(t), telegram.Config{Token: "env:TOKEN", APIBase: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	err = ch.Run(t.Context(), &channelstest.MessageInbox{})
	if err == nil || strings.Contains(err.Error(), "AAsecret") || strings.Contains(err.Error(), "/bot") {
		t.Errorf("error %v, want one without the address, which has the token in it", err)
	}
	if _, err := ch.Send(t.Context(), delivery("x")); channelstest.Kind(err) != "plain" || strings.Contains(err.Error(), "AAsecret") {
		t.Errorf("send: %v is %s, want an error to be tried again: nothing was written", err, channelstest.Kind(err))
	}
}

// TestFirstAnswerIsCommitted, even without updates: it shows that receiving works.
func TestFirstAnswerIsCommitted(t *testing.T) {
	f := server(t)
	now := time.Now().Unix()
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "telegram", Identity: "7001 " + f.URL(), Value: fmt.Sprintf(`{"offset":5,"heard":%d,"newest":%d}`, now, now)})
	var commits atomic.Int64
	b.Each(func([]channels.Message) { commits.Add(1) })
	channelstest.Keep(t, open(t, f), b)
	f.Listening(t.Context())
	if n := commits.Load(); n != 1 {
		t.Errorf("%d commits before it waits for messages, want one", n)
	}
}

func TestHalfOpenConnectionIsFoundWithinAMinute(t *testing.T) {
	me := `{"ok":true,"result":{"id":7001,"is_bot":true,"username":"hob_test_bot"}}`
	for _, tc := range []struct {
		name    string
		answers []string
		least   time.Duration // how long what answers may take
		want    string
	}{
		{"at the first poll, which does not wait", []string{me}, 20 * time.Second, "nothing heard for 30s"},
		{"at a long poll", []string{me, `{"ok":true,"result":[]}`}, 50 * time.Second, "nothing heard for 58s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go answer(theirs, tc.answers)
					return ours, nil
				}}
				defer tr.CloseIdleConnections()
				e := channels.Env{
					Name: "telegram", HTTP: &http.Client{Transport: tr, Timeout: 10 * time.Second}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
					Secret: func(string) (string, error) { return token, nil },
				}
				ch, err := telegram.New(e, telegram.Config{Token: "env:TOKEN", APIBase: "http://telegram.test"})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				err = ch.Run(t.Context(), &channelstest.MessageInbox{})
				if took := time.Since(began); took <= tc.least || took > time.Minute {
					t.Errorf("found after %s, want it after %s and within a minute", took, tc.least)
				}
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

// answer answers the first requests of a connection, and then stays silent.
func answer(conn net.Conn, answers []string) {
	defer func() { _ = conn.Close() }() // the other side has gone
	r := bufio.NewReader(conn)
	for _, body := range answers {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, r) // until the other side gives up
}

func TestUnreadableUpdatesHoldNothingUp(t *testing.T) {
	f := server(t)
	f.Push(`{"update_id":%d,"message":{"message_id":"x","text":7}}`)
	f.Say(sam, "behind it")
	f.Push(`[]`) // without a number: it cannot be acknowledged
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	f.Say(sam, "behind all")
	b.Until(t, func() bool { return len(b.List()) == 2 })
	stop()
	if got := b.List(); got[0].Text != "behind it" || got[1].Text != "behind all" {
		t.Errorf("received %+v", got)
	}
	if got := offset(t, b); got != 1005 {
		t.Errorf("offset %d, want to stand behind the last that could be read", got)
	}
}

func TestReconnectsLeaveNothingBehind(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	channelstest.Keep(t, ch, &channelstest.MessageInbox{})
	f.Listening(t.Context())
	before := runtime.NumGoroutine()
	const n = 1000
	f.Fail("getUpdates", slices.Repeat([]channelstest.TelegramFault{{Cut: "before"}}, n)...)
	f.Say(sam, "wake up") // so that the poll that waits returns
	for f.Calls("getUpdates") < n {
		f.Listening(t.Context())
	}
	f.Listening(t.Context())
	if after := runtime.NumGoroutine(); after > before+5 {
		t.Errorf("%d goroutines after %d reconnects, %d before", after, n, before)
	}
}

func TestGroupThatMoves(t *testing.T) {
	f := server(t)
	moved := func(from, to int64) {
		f.Write(map[string]any{"from": f.Person(sam, "Sam"), "chat": f.Group(from, "Home"), "migrate_to_chat_id": to, "date": int64(1700000000)})
	}
	moved(-77, -1077) // not listed
	moved(group, -1099)
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 2 })
	if len(b.Gaps()) != 1 || !strings.Contains(b.Gaps()[0], `1700000000-1700000000 the group "Home" is now a supergroup with the id -1099; put that in the place of -1001 in groups`) {
		t.Errorf("told %q", b.Gaps())
	}
}
