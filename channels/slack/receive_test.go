package slack_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/sys"
)

const me = channelstest.SlackUser

type obj = map[string]any

func TestAcknowledgesBehindTheCommitOnly(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	b.Each(func(list []channels.Message) {
		if len(list) > 0 && f.Pending() == 0 {
			t.Error("an envelope was acknowledged while its message is being committed")
		}
	})
	stop := listen(t, f, b)
	f.Say(sam, "one")
	b.Came(t, 1)
	b.FailNext(1)
	at := f.Say(sam, "two")
	channelstest.Wait(t, time.Minute, "two coming again", func() bool {
		return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return m.ID == private+":"+at })
	})
	channelstest.Wait(t, time.Minute, "all being acknowledged", func() bool { return f.Pending() == 0 })
	if errs := stop(); len(errs) != 1 || !errors.Is(errs[0], channelstest.ErrFull) {
		t.Errorf("errors of Run: %v, want the inbox's", errs)
	}
}

func TestNoiseIsAcknowledged(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	listen(t, f, b)
	noise(f)
	f.Say(sam, "behind it")
	b.Came(t, 1)
	channelstest.Wait(t, time.Minute, "everything being acknowledged", func() bool { return len(f.Acked()) == 10 })
	got := slices.DeleteFunc(b.List(), func(m channels.Message) bool { return m.Auto })
	if len(got) != 1 || got[0].Text != "behind it" {
		t.Errorf("received %+v", got)
	}
}

func TestCursorIsOfOneAccount(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := listen(t, f, b)
	at := f.Say(sam, "one")
	b.Came(t, 1)
	stop()
	if got, want := b.Stored(), "T0HOB U0HOB "+f.URL()+"/api"; got.Source != "slack" || got.Identity != want {
		t.Errorf("cursor %+v, want it tied to %q", got, want)
	}
	if p := stored(t, b); p.Chats[private] != at || p.Began == "" || p.Heard < time.Now().Unix()-60 {
		t.Errorf("position %+v", p)
	}
}

func TestACursorThatCannotBeReadStartsAnew(t *testing.T) {
	f := server(t)
	f.Write(private, obj{"user": sam, "text": "old", "ts": "1000000000.000001"})
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "slack", Identity: "T0HOB U0HOB " + f.URL() + "/api", Value: "nonsense"})
	listen(t, f, b)
	f.Say(sam, "new")
	b.Came(t, 1)
	if got := b.List(); got[0].Text != "new" {
		t.Errorf("received %+v", got)
	}
}

// away runs a channel once, changes something while it is stopped, and runs it again until n messages have
// arrived.
func away(t *testing.T, f *channelstest.Slack, n int, before, meanwhile func()) []channels.Message {
	t.Helper()
	b := &channelstest.MessageInbox{}
	stop := listen(t, f, b)
	before()
	f.Say(sam, "before")
	b.Until(t, func() bool {
		return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return m.Text == "before" })
	})
	channelstest.Wait(t, time.Minute, "everything being acknowledged", func() bool { return f.Pending() == 0 })
	stop()
	known := map[string]bool{}
	for _, m := range b.List() {
		known[m.ID] = true
	}
	meanwhile()
	listen(t, f, b)
	f.Say(sam, "the end")
	b.Until(t, func() bool {
		return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return m.Text == "the end" })
	})
	var list []channels.Message
	for _, m := range b.List() {
		if !known[m.ID] && m.Text != "the end" {
			known[m.ID] = true
			list = append(list, m)
		}
	}
	if len(list) != n {
		t.Fatalf("%d messages came of what happened meanwhile, want %d: %.2000v", len(list), n, list)
	}
	return list
}

func TestHistory(t *testing.T) {
	f := server(t)
	f.Write(group, obj{"user": sam, "text": "<@" + me + "> long ago", "ts": "1000000000.000001"})
	var old, own string
	list := away(t, f, 6, func() {
		old = f.Write(group, obj{"user": sam, "text": "<@" + me + "> a thread"})
		own = f.Write(group, obj{"user": me, "bot_id": "B0HOB", "text": "my own"})
	}, func() {
		f.Say(sam, "private")
		f.Say(kim, "nobody")
		f.Write(group, obj{"user": kim, "text": "not meant"})
		root := f.Write(group, obj{"user": kim, "text": "<@" + me + "> a new thread"})
		f.Write(group, obj{"user": kim, "text": "<@" + me + "> in the old thread", "thread_ts": old})
		f.Write(group, obj{"user": kim, "text": "a reply", "thread_ts": own, "parent_user_id": me})
		f.Write(group, obj{"user": kim, "text": "not meant either", "thread_ts": root})
		f.Write(group, obj{"user": kim, "text": "<@" + me + "> in the new thread", "thread_ts": root})
		f.Write(private, obj{"user": sam, "text": "later", "edited": obj{"user": sam, "ts": "1.000001"}})
	})
	var texts []string
	for _, m := range list {
		texts = append(texts, m.Text)
	}
	// The listed groups come first; within a chat the order is by time.
	want := []string{"a new thread", "in the old thread", "a reply", "in the new thread", "private", "later"}
	if !slices.Equal(texts, want) {
		t.Errorf("received %q, want %q", texts, want)
	}
	if list[5].Edits != "" {
		t.Errorf("what was edited before it was read is no edit: %+v", list[5])
	}
}

func TestEditMeanwhile(t *testing.T) {
	f := server(t)
	var at, edit string
	list := away(t, f, 1, func() { at = f.Say(sam, "wrong") }, func() { edit = f.Edit(private, at, "right") })
	if m := list[0]; m.Edits != private+":"+at || m.ID != m.Edits+"/"+edit || m.Text != "right" {
		t.Errorf("received %+v", m)
	}
}

func TestBacklog(t *testing.T) {
	f := server(t)
	const n = 10_000
	list := away(t, f, n, func() {}, func() {
		for i := range n {
			f.Say(sam, fmt.Sprint(i))
		}
	})
	for i, m := range list {
		if m.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
	if calls := f.Calls("conversations.history"); calls > n/200+8 {
		t.Errorf("%d calls for %d messages, want 200 at a time", calls, n)
	}
}

func TestPositionGrowsWithoutMessagesForHob(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	listen(t, f, b)()
	at := f.Write(group, obj{"user": kim, "text": "not for hob"})
	listen(t, f, b)()
	if p := stored(t, b); p.Chats[group] != at {
		t.Errorf("position %+v, want it behind %s: else more and more is read again", p, at)
	}
}

func TestGroupThatComesBackBringsNothingOld(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	f.Group("C002", "other")
	stop := keep(t, f, openWith(t, f, env(t), group, "C002"), b)
	f.Write("C002", obj{"user": sam, "text": "<@" + me + "> hello"})
	b.Came(t, 1)
	stop()
	listen(t, f, b)() // without it
	if p := stored(t, b); p.Chats["C002"] != "" || len(p.Threads) != 0 {
		t.Errorf("position %+v still has the group", p)
	}
}

func TestGaps(t *testing.T) {
	for _, tc := range []struct {
		name  string
		away  time.Duration
		fault channelstest.SlackFault
		gaps  int
	}{
		{"the scope is missing", time.Hour, channelstest.SlackFault{Error: "missing_scope", Needed: "channels:history"}, 1},
		{"Slack offers it again by itself", 2 * time.Minute, channelstest.SlackFault{Error: "missing_scope"}, 0},
		{"hob is not in the channel", time.Hour, channelstest.SlackFault{Error: "not_in_channel"}, 0},
		{"nothing is wrong", time.Hour, channelstest.SlackFault{}, 0},
		{"it cannot be read", time.Hour, channelstest.SlackFault{Raw: `{"ok":true,"messages":[{"ts":7}]}`}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			var later atomic.Int64
			e := env(t)
			e.Clock = sys.ShiftedClock(func() time.Duration { return time.Duration(later.Load()) })
			b := &channelstest.MessageInbox{}
			keep(t, f, openIn(t, f, e), b)()
			left := e.Clock.Wall().Unix()
			later.Store(int64(tc.away))
			for range 2 { // told once
				f.Fail("conversations.history", tc.fault) // of the group, which comes first
				keep(t, f, openIn(t, f, e), b)()
			}
			if len(b.Gaps()) != tc.gaps {
				t.Fatalf("told %q, want %d", b.Gaps(), tc.gaps)
			}
			if tc.gaps == 0 {
				return
			}
			var from, to int64
			if _, err := fmt.Sscanf(b.Gaps()[0], "%d-%d ", &from, &to); err != nil {
				t.Fatal(err)
			}
			if from < left-60 || from > left || to-from < 3500 || to-from > 3700 || !strings.Contains(b.Gaps()[0], group) {
				t.Errorf("told %q, want the hour since %d", b.Gaps()[0], left)
			}
		})
	}
}

func TestGapIsKeptUntilStored(t *testing.T) {
	f := server(t)
	b := deaf{channelstest.MessageInboxAt(channels.Cursor{Source: "slack", Identity: "T0HOB U0HOB " + f.URL() + "/api", Value: `{"began":"1000000000.000000","heard":1000}`})}
	f.Fail("conversations.history", channelstest.SlackFault{Error: "missing_scope"})
	if err := open(t, f).Run(t.Context(), b); !errors.Is(err, errDeaf) {
		t.Fatalf("Run: %v", err)
	}
	if p := stored(t, b.MessageInbox); p.Heard != 1000 {
		t.Errorf("position %+v has moved", p)
	}
}

var errDeaf = errors.New("nobody listens")

type deaf struct{ *channelstest.MessageInbox }

func (deaf) Gap(context.Context, time.Time, time.Time, string) error { return errDeaf }

func TestWaitsForThePages(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	listen(t, f, b)()
	f.Say(sam, "meanwhile")
	f.Fail("conversations.history", channelstest.SlackFault{Status: 429, RetryAfter: 1})
	began := time.Now()
	stop := listen(t, f, b)
	b.Came(t, 1)
	if took := time.Since(began); took < time.Second {
		t.Errorf("it came after %s, though Slack has asked to wait for a second", took)
	}
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
}

func TestRefusals(t *testing.T) {
	fails := func(method string, fault channelstest.SlackFault) func(*channelstest.Slack) {
		return func(f *channelstest.Slack) { f.Fail(method, fault) }
	}
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Slack)
		want  string
		after time.Duration // -1: at once, as the platform asks
	}{
		{"tokens revoked", (*channelstest.Slack).Revoke, "does not accept the token", 5 * time.Minute},
		{"app token of another app", fails("apps.connections.open", channelstest.SlackFault{Error: "not_allowed_token_type"}), "apps.connections.open: not_allowed_token_type; Slack does not accept the token", 5 * time.Minute},
		{"a scope is missing", fails("apps.connections.open", channelstest.SlackFault{Error: "missing_scope", Needed: "connections:write"}), "lacks connections:write", 5 * time.Minute},
		{"too many requests", fails("auth.test", channelstest.SlackFault{Status: 429, RetryAfter: 33}), "33s", 33 * time.Second},
		{"too many requests, without a time", fails("auth.test", channelstest.SlackFault{Status: 429}), "429", -1},
		{"broken", fails("apps.connections.open", channelstest.SlackFault{Status: 502}), "502", 0},
		{"no Slack", fails("auth.test", channelstest.SlackFault{Raw: "{}"}), "check api_base", 0},
		{"no socket", fails("apps.connections.open", channelstest.SlackFault{Raw: `{"ok":true}`}), "check api_base", 0},
		{"cut", fails("auth.test", channelstest.SlackFault{Cut: "before"}), "auth.test: ", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			tc.set(f)
			err := open(t, f).Run(t.Context(), &channelstest.MessageInbox{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one that says %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a token is in %v", err)
			}
			later := (*channels.RetryAfter)(nil)
			if errors.As(err, &later) != (tc.after != 0) || later != nil && later.After != max(tc.after, 0) {
				t.Errorf("error %#v, want to come back after %s", err, tc.after)
			}
		})
	}
}

func TestConnectionThatSlackEnds(t *testing.T) {
	for reason, want := range map[string]string{
		"link_disabled":      "Socket Mode was switched off",
		"too_many_webockets": "the connection was ended by Slack: too_many_webockets",
		"refresh_requested":  "the connection is to be renewed", // at once after the last one: the host rests
	} {
		f := server(t)
		ended := make(chan error, 1)
		go func() { ended <- open(t, f).Run(t.Context(), &channelstest.MessageInbox{}) }()
		f.Listening(t.Context())
		f.Disconnect(reason)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Run ends with %v, want %q", reason, err, want)
		}
	}
}

func TestFollowsToANewConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := channelstest.NewNetwork()
		f := channelstest.SlackOn(n.Listen(), appToken, botToken)
		defer f.Close()
		furnish(f)
		e := n.Env(t, "slack", map[string]string{"env:APP": appToken, "env:BOT": botToken})
		e.Owner = owner
		b := &channelstest.MessageInbox{}
		stop := channelstest.Keep(t, openIn(t, f, e), b)
		for _, reason := range []string{"warning", "refresh_requested"} {
			f.Listening(t.Context())
			time.Sleep(time.Hour) // in the bubble: the connection lives on pings alone
			before := f.Calls("apps.connections.open")
			f.Disconnect(reason)
			channelstest.Wait(t, time.Minute, "another connection", func() bool { return f.Calls("apps.connections.open") > before })
		}
		f.Listening(t.Context())
		f.Say(sam, "still there?")
		b.Came(t, 1)
		if heard := time.Unix(stored(t, b).Heard, 0); time.Since(heard) > 5*time.Minute {
			t.Errorf("that hob listened was last stored at %s", heard)
		}
		if errs := stop(); len(errs) > 0 || f.Calls("apps.connections.open") != 3 {
			t.Errorf("%d connections; Run: %v", f.Calls("apps.connections.open"), errs)
		}
	})
}

func TestReconnectsLeaveNothingBehind(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	listen(t, f, b)
	before := runtime.NumGoroutine()
	n := 200
	if testing.Short() {
		n = 50
	}
	for range n {
		f.Drop()
		f.Listening(t.Context())
	}
	f.Say(sam, "still there?")
	b.Came(t, 1)
	channelstest.Wait(t, time.Minute, "goroutines ending", func() bool { return runtime.NumGoroutine() <= before+8 })
}

func TestHistoryMovesBehindTheCommitOnly(t *testing.T) {
	f := server(t)
	for _, ts := range []string{"1000000100.000001", "1000003700.000001"} { // further apart than what is read again
		f.Write(private, obj{"user": sam, "text": ts, "ts": ts})
	}
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "slack", Identity: "T0HOB U0HOB " + f.URL() + "/api", Value: `{"began":"1000000000.000000","heard":1000}`}).FailNext(1)
	stop := listen(t, f, b)
	b.Came(t, 2)
	stop()
	if list := b.List(); list[0].Text != "1000000100.000001" || list[1].Text != "1000003700.000001" {
		t.Errorf("received %+v", list)
	}
}
