package discord_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestGoesOnBehindTheCommitOnly(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	f.Say(sam, "one")
	has(t, b, "one")
	seq, read := stored(t, b).Seq, f.Calls("history")
	b.FailNext(1)
	f.Say(sam, "two")
	has(t, b, "two")
	settled(t, f, b)
	if errs := stop(); len(errs) != 1 || !errors.Is(errs[0], channelstest.ErrFull) {
		t.Errorf("errors of Run: %v, want the inbox's", errs)
	}
	want := []string{"identify 37376", fmt.Sprintf("resume session1 %d", seq)}
	if got := f.Logins(); !slices.Equal(got, want) {
		t.Errorf("logged in with %q, want %q: it goes on behind what was committed", got, want)
	}
	if f.Calls("history") != read {
		t.Error("the history was read, though the session went on")
	}
}

func TestResumesAfterARestart(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	id := f.Say(sam, "wrng")
	has(t, b, "wrng")
	stop()
	f.Edit(id, "wrong")
	f.Delete(id)
	channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool {
		return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return m.Deletes == id })
	})
	list := b.List()
	if m := list[1]; m.Edits != id || m.Text != "wrong" {
		t.Errorf("the edit came as %+v", m)
	}
	if m := list[len(list)-1]; m.From.ID != sam || m.Chat.ID != sam || m.ID == id {
		t.Errorf("the deletion came as %+v", m)
	}
}

func TestHistoryWhereTheSessionIsGone(t *testing.T) {
	t.Parallel() // a new session is begun after some seconds only
	f := server(t)
	f.Thread(thread, group, "plans")
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	call := func(channel, text string) {
		f.Write(obj{"channel_id": channel, "content": "<@7001> " + text, "mentions": []obj{{"id": "7001"}}})
	}
	f.Say(sam, "before")
	call(thread, "thread before")
	has(t, b, "thread before")
	stop()
	f.Lose()
	call(group, "group")
	f.Say(sam, "private")
	f.Say("99", "a stranger's")
	call(thread, "thread")
	f.Fail("history", channelstest.DiscordFault{Status: 429, Code: 1, RetryAfter: 0.01})
	stop = channelstest.Keep(t, open(t, f), b)
	for _, text := range []string{"group", "private", "thread"} {
		has(t, b, text)
	}
	settled(t, f, b)
	if errs := stop(); len(errs) != 0 {
		t.Errorf("Run: %v", errs)
	}
	got := texts(b)
	slices.Sort(got)
	if want := []string{"before", "group", "private", "thread", "thread before"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want each once: %q", got, want)
	}
	for _, m := range b.List() {
		if m.Text == "thread" && (m.Chat.ID != "#2001/3001" || !m.Mentioned) || m.Text == "private" && m.Chat.ID != sam {
			t.Errorf("from the history: %+v", m)
		}
	}
	if gaps := b.Gaps(); len(gaps) != 0 {
		t.Errorf("gaps %q", gaps)
	}
}

func TestFirstWordsOfSomebodyWhileAway(t *testing.T) {
	t.Parallel() // a new session is begun after some seconds only
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	stop()
	f.Lose()
	f.Say(sam, "the very first")
	channelstest.Keep(t, open(t, f), b)
	has(t, b, "the very first")
}

func TestBacklog(t *testing.T) {
	t.Parallel() // a new session is begun after some seconds only
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	f.Say(sam, "before")
	has(t, b, "before")
	stop()
	f.Lose()
	const n = 10_000
	for i := range n {
		f.Say(sam, fmt.Sprint(i))
	}
	stop = channelstest.Keep(t, open(t, f), b)
	b.Came(t, n+1)
	stop()
	for i, m := range b.List()[1:] {
		if m.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
	if b.Largest() != 100 {
		t.Errorf("%d messages in one commit, want a page", b.Largest())
	}
}

func TestAChannelThatCannotBeReadIsSaidOnce(t *testing.T) {
	t.Parallel() // a new session is begun after some seconds only
	f := server(t)
	b := &channelstest.MessageInbox{}
	f.Forbid(group)
	for _, text := range []string{"one", "two"} {
		f.Lose()
		stop := channelstest.Keep(t, open(t, f), b)
		settled(t, f, b)
		f.Say(sam, text)
		has(t, b, text)
		stop()
	}
	if gaps := b.Gaps(); len(gaps) != 1 || !strings.Contains(gaps[0], "in the channel 2001 not all could be read (GET /channels/2001/messages: Discord says 403 (Missing Access, code 50001))") {
		t.Errorf("gaps %q", gaps)
	}
}

func TestCursorIsOfOneBot(t *testing.T) {
	f := server(t)
	b := channelstest.MessageInboxAt(channels.Cursor{Source: "discord", Identity: "7001", Value: "nonsense"})
	channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return b.Stored().Value != "nonsense" })
	settled(t, f, b)
	f.Say(sam, "one")
	has(t, b, "one")
	if c := b.Stored(); c.Source != "discord" || c.Identity != "7001" {
		t.Errorf("cursor %+v", c)
	}
	p := stored(t, b)
	if p.Session != "session1" || p.Seq < 2 || p.Directs[sam] != direct || p.Newest[direct] == "" || time.Since(time.Unix(p.Heard, 0)) > time.Minute {
		t.Errorf("position %+v", p)
	}
}

func TestButtonsAreAnsweredBehindTheCommit(t *testing.T) {
	f := server(t)
	var early atomic.Bool
	b := &channelstest.MessageInbox{}
	b.Each(func(list []channels.Message) {
		if len(list) > 0 && len(f.Answered()) > 0 {
			early.Store(true)
		}
	})
	b.FailNext(1)
	channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	id := f.Press(sam, "77", "/approve K7Q2")
	b.Came(t, 1)
	channelstest.Wait(t, 10*time.Second, "the answer", func() bool { return slices.Equal(f.Answered(), []string{id}) })
	if early.Load() {
		t.Error("it was answered before it was stored")
	}
	m := b.List()[0]
	if m.Choice != "/approve K7Q2" || m.Text != "" || m.ReplyTo != direct+"/77" || m.From.ID != sam || m.Chat.ID != sam || m.Chat.Group != "" {
		t.Errorf("pressed %+v", m)
	}
}

func TestPreviewsAreNoEdits(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	id := f.Say(sam, "see https://a.example")
	f.Push("MESSAGE_UPDATE", `{"id":"5","channel_id":"9000042","embeds":[{}]}`)
	f.Push("MESSAGE_UPDATE", `{"id":"5","channel_id":"9000042","author":{"id":"42"},"content":"x","edited_timestamp":null,"embeds":[{}]}`)
	f.Edit(id, "see that")
	has(t, b, "see that")
	if len(b.List()) != 2 {
		t.Errorf("received %+v", b.List())
	}
}

func TestAskedToConnectAgain(t *testing.T) {
	t.Parallel() // a new session is begun after some seconds only
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	for i, ask := range []func(){f.Reconnect, func() { f.Frame(`{"op":9,"d":true}`) }, func() { f.Frame(`{"op":1,"d":null}`) }, func() { f.End(4009) }} {
		settled(t, f, b)
		ask()
		text := fmt.Sprint("after ", i)
		f.Say(sam, text)
		has(t, b, text)
	}
	settled(t, f, b)
	if errs := stop(); len(errs) != 0 {
		t.Errorf("Run: %v; that is no failure", errs)
	}
	if logins := f.Logins(); len(logins) != 4 || !strings.HasPrefix(logins[1], "resume session1") || !strings.HasPrefix(logins[2], "resume session1") || logins[3] != "identify 37376" {
		t.Errorf("logged in with %q", logins)
	}
}

// A gateway that says nothing any more, not even an answer to a heartbeat, is left for a new connection, and the session goes on.
func TestASilentGatewayIsLeft(t *testing.T) {
	t.Parallel() // two heartbeats go by
	f := server(t)
	f.Beat(time.Second)
	b := &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, open(t, f), b)
	settled(t, f, b)
	f.Silence()
	f.Say(sam, "is somebody there?")
	has(t, b, "is somebody there?")
	if errs := stop(); len(errs) == 0 || !strings.Contains(errs[0].Error(), "not answered a heartbeat") {
		t.Errorf("Run: %v", errs)
	}
	if logins := f.Logins(); len(logins) < 2 || !strings.HasPrefix(logins[1], "resume session1") {
		t.Errorf("logged in with %q", logins)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*channelstest.Discord)
		want  string
		after time.Duration
	}{
		{"token revoked", func(f *channelstest.Discord) { f.Revoke() }, "press Reset Token under Bot", 5 * time.Minute},
		{"token refused by the gateway", fails("identify", channelstest.DiscordFault{Status: 4004}), "set token to the new one", 5 * time.Minute},
		{"intents", (*channelstest.Discord).HideContent, "switch on Message Content Intent", 5 * time.Minute},
		{"too large", fails("identify", channelstest.DiscordFault{Status: 4011}), "too many servers", 5 * time.Minute},
		{"no sessions left", fails("gateway", channelstest.DiscordFault{Raw: `{"url":"wss://gateway.discord.gg","session_start_limit":{"remaining":0,"reset_after":90000}}`}), "Discord allows no more today", 90 * time.Second},
		{"another gateway", fails("gateway", channelstest.DiscordFault{Raw: `{"url":"wss://gateway.discord.gg.evil.example"}`}), "is not one of Discord's", 0},
		{"a gateway in the open", fails("gateway", channelstest.DiscordFault{Raw: `{"url":"ws://gateway.discord.gg"}`}), "is not one of Discord's", 0},
		{"too many requests", fails("me", channelstest.DiscordFault{Status: 429, RetryAfter: 33.5}), "429", 33500 * time.Millisecond},
		{"broken", fails("me", channelstest.DiscordFault{Status: 502}), "502", 0},
		{"no Discord", fails("me", channelstest.DiscordFault{Raw: "<html>"}), "not one of Discord's", 0},
		{"cut", fails("me", channelstest.DiscordFault{Cut: "before"}), "GET /users/@me: ", 0},
		{"closed", fails("identify", channelstest.DiscordFault{Status: 4008}), "the gateway: ", 0},
	} {
		f := server(t)
		tc.set(f)
		err := open(t, f).Run(t.Context(), &channelstest.MessageInbox{})
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret-part") {
			t.Errorf("%s: error %v, want one that says %q", tc.name, err, tc.want)
		}
		later := (*channels.RetryAfter)(nil)
		if errors.As(err, &later) != (tc.after > 0) || later != nil && later.After != tc.after {
			t.Errorf("%s: error %#v, want to come back after %s", tc.name, err, tc.after)
		}
		if leaks := f.Leaks(); len(leaks) != 0 {
			t.Errorf("%s: the token went to %q", tc.name, leaks)
		}
	}
}

func fails(method string, faults ...channelstest.DiscordFault) func(*channelstest.Discord) {
	return func(f *channelstest.Discord) { f.Fail(method, faults...) }
}
