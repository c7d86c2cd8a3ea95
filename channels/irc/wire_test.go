package irc_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
	"hob/daemon/event"
)

func TestLogIn(t *testing.T) {
	for _, tc := range []struct {
		name     string
		opts     channelstest.IRCOptions
		password string
		want     string // of the error; "" for none
		later    bool
	}{
		{"with a password", channelstest.IRCOptions{Caps: channelstest.IRCModern(), Account: "bot", Password: "s3cret"}, "env:PASSWORD", "", false},
		{"with a long one", channelstest.IRCOptions{Caps: channelstest.IRCModern(), Account: "bot", Password: strings.Repeat("x", 400)}, "env:LONG", "", false},
		{"with a wrong one", channelstest.IRCOptions{Caps: channelstest.IRCModern(), Account: "bot", Password: "else"}, "env:PASSWORD", "refuses the log-in as bot", true},
		{"not that way", channelstest.IRCOptions{Caps: []string{"sasl=EXTERNAL", "batch"}}, "env:PASSWORD", "offers no log-in with SASL PLAIN", true},
		{"not at all", channelstest.IRCOptions{}, "env:PASSWORD", "offers no log-in with SASL PLAIN", true},
	} {
		f := server(t, tc.opts)
		cfg := config(f)
		cfg.Account, cfg.Password, cfg.TrustNicks = "bot", tc.password, true
		var ch channels.Tester = open(t, cfg)
		lines, err := ch.Test(t.Context())
		later := (*channels.RetryAfter)(nil)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) || errors.As(err, &later) != tc.later {
			t.Errorf("%s: %v after %q", tc.name, err, lines)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the password is in %v", tc.name, err)
		}
	}
}

func TestRefusedByTheServer(t *testing.T) {
	for numeric, want := range map[string]string{"465": "has banned hob", "464": "check server_password"} {
		f := modern(t)
		f.Refuse(numeric)
		err := open(t, config(f)).Run(t.Context(), &channelstest.MessageInbox{})
		if later := (*channels.RetryAfter)(nil); !errors.As(err, &later) || later.After < time.Minute || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", numeric, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	f := modern(t)
	for name, print := range map[string]string{"signed by nobody": "", "another one": strings.Repeat("00", 32)} {
		cfg := config(f)
		cfg.Fingerprint, cfg.Plain = print, false
		if _, err := open(t, cfg).Test(t.Context()); err == nil || f.Calls("NICK") != 0 {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestNickInUse(t *testing.T) {
	f := modern(t)
	f.Person("hob", "")
	_, b, _ := listening(t, f, config(f))
	if got := f.Nicks(); !slices.Equal(got, []string{"hob_"}) {
		t.Fatalf("nicks %q", got)
	}
	f.Say("sam", "#family", "hob: and what of my old name?")
	f.Say("sam", "#family", "hob_: and of this?")
	b.Until(t, func() bool { return len(b.List()) == 2 && b.List()[0].Mentioned && b.List()[1].Mentioned })
}

// TestADeadConnectionHoldsTheNick: what people write to hob's nick while a dead connection of its own holds it arrives when hob has the nick again.
func TestADeadConnectionHoldsTheNick(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := modern(t)
	_, dead, end := listening(t, f, config(f))
	ch, b := open(t, config(f)), &channelstest.MessageInbox{}
	channelstest.Keep(t, ch, b)
	b.Until(t, func() bool { return b.Stored().Value != "" })
	if got := f.Nicks(); !slices.Equal(got, []string{"hob", "hob_"}) {
		t.Fatalf("nicks %q", got)
	}
	f.Say("sam", "hob", "are you there?")
	dead.Until(t, func() bool { return len(dead.List()) == 1 })
	end()
	b.Until(t, func() bool { return len(b.List()) == 1 && b.List()[0].Text == "are you there?" })
	if got := f.Nicks(); !slices.Equal(got, []string{"hob"}) {
		t.Errorf("nicks %q", got)
	}
}

// TestOwnEcho: hob's own mention of itself in a group comes back from the server.
func TestOwnEcho(t *testing.T) {
	f := modern(t)
	ch, b, _ := listening(t, f, config(f))
	id, err := ch.Send(t.Context(), delivery("irc:#family", "hob: do it again"))
	if err != nil || !strings.HasPrefix(id, "own-") {
		t.Errorf("sent as %q, %v: want the id of the echo", id, err)
	}
	f.Say("sam", "#family", "hob: hello")
	b.Until(t, func() bool { return len(b.List()) > 0 })
	if got := b.List(); len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("received %+v", got)
	}
}

// TestHistory: messages from hob's absence arrive once each, in private and in the channel, over several
// pages.
func TestHistory(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := modern(t)
	ch, b, stop := listening(t, f, config(f))
	f.Say("sam", "hob", "before")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	stop()
	want := []string{"before"}
	for _, text := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		f.Say("sam", "#family", "hob: "+text)
		want = append(want, text)
	}
	f.Say("sam", "hob", "z")
	want = append(want, "z")
	b.FailNext(1) // and the inbox is full for a moment
	channelstest.Keep(t, ch, b)
	distinct := func() []string {
		var texts []string
		seen := map[string]bool{}
		for _, m := range b.List() {
			if !seen[m.ID] {
				seen[m.ID] = true
				texts = append(texts, m.Text)
			}
		}
		slices.Sort(texts)
		return texts
	}
	slices.Sort(want)
	b.Until(t, func() bool { return slices.Equal(distinct(), want) })
	if len(b.Gaps()) > 0 {
		t.Errorf("gaps %q", b.Gaps())
	}
}

// TestCutByTheServer: after a lost connection hob reconnects, and reports the gap.
func TestCutByTheServer(t *testing.T) {
	f := server(t, channelstest.IRCOptions{Plain: true})
	cfg := config(f)
	cfg.TrustNicks = true
	_, b, _ := listening(t, f, cfg)
	f.Drop()
	b.Until(t, func() bool { return len(b.Gaps()) == 1 && strings.Contains(b.Gaps()[0], "stores no messages") })
	f.Listening(t.Context())
	f.Say("sam", "hob", "welcome back")
	b.Until(t, func() bool { return len(b.List()) == 1 })
}

// TestFullInbox: an inbox fails for longer than a connection lasts; the messages are stored by the next
// connection.
func TestFullInbox(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := server(t, channelstest.IRCOptions{Plain: true})
	cfg := config(f)
	cfg.TrustNicks = true
	ch, b := open(t, cfg), &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, ch, b)
	b.Until(t, func() bool { return b.Stored().Value != "" })
	b.FailNext(3)
	f.Say("sam", "hob", "do not lose me")
	b.Until(t, func() bool { return len(b.List()) == 1 && b.Full() == 0 })
	if errs := stop(); len(errs) != 1 || !errors.Is(errs[0], channelstest.ErrFull) {
		t.Errorf("Run ended with %v, want it to say once that the inbox is full", errs)
	}
}

func TestChannelsThatAreClosed(t *testing.T) {
	f := modern(t)
	cfg := config(f)
	cfg.Channels = append(cfg.Channels, "#closed")
	_, b, _ := listening(t, f, cfg)
	b.Until(t, func() bool {
		return len(b.Gaps()) == 1 && strings.Contains(b.Gaps()[0], "cannot join #closed (Cannot join channel (+i))")
	})
	f.Push(":op!u@h KICK #family hob :enough")
	f.Say("sam", "hob", "sorry")
	b.Until(t, func() bool {
		return len(b.Gaps()) == 2 && strings.Contains(b.Gaps()[1], "kicked from #family by op (“enough”)")
	})
}

func TestAnswersNothing(t *testing.T) {
	f := modern(t)
	_, b, _ := listening(t, f, config(f))
	f.Write("NOTICE", "sam", "hob", "x", "")
	f.Say("sam", "hob", "\x01VERSION\x01")
	f.Say("sam", "hob", "done")
	b.Until(t, func() bool { return len(b.List()) == 2 })
	if len(f.Sent()) != 0 || f.Calls("NOTICE") != 0 {
		t.Errorf("hob said %q", f.Sent())
	}
	f.Push("PING :are you there")
	if !f.Called(t.Context(), "PONG", 1) {
		t.Error("a ping was not answered")
	}
}

// TestToAnAccount: a message to a person goes to the nick that is logged in to the account now, and to nobody
// else.
func TestToAnAccount(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := modern(t)
	ch, b, _ := listening(t, f, config(f))
	if _, err := ch.Send(t.Context(), delivery("irc:$sam", "hello")); err != nil {
		t.Fatal(err)
	}
	f.Person("kim_away", "Kim")
	f.Person("kim", "Eve") // somebody else has taken the nick
	_, err := ch.Send(t.Context(), delivery("irc:$kim", "secret"))
	if err == nil || errors.Is(err, channels.ErrPermanent) || errors.Is(err, channels.ErrUnknown) {
		t.Errorf("to nobody: %v", err)
	}
	f.Say("kim_away", "hob", "I am here")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	if _, err := ch.Send(t.Context(), delivery("irc:$kim", "hi")); err != nil {
		t.Error(err)
	}
	if got := f.Sent(); !slices.Equal(got, []channelstest.IRCSent{{Target: "sam", Text: "hello"}, {Target: "kim_away", Text: "hi"}}) {
		t.Errorf("sent %q", got)
	}
}

func TestAddresses(t *testing.T) {
	ch := open(t, irc.Config{Server: "irc.test"})
	for _, to := range []event.Address{"irc:", "irc:sam", "irc:#a b", "irc:#a,#b", "irc:$", "irc:$a b", "irc:a\r\nQUIT", "irc:$*"} {
		if _, err := ch.Send(t.Context(), delivery(to, "x")); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("%q: %v", to, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ch.Send(ctx, delivery("irc:$sam", "x")); err == nil || errors.Is(err, channels.ErrUnknown) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("without a connection: %v, want it surely not sent", err)
	}
}

// TestPartlyRefused: if one of several lines may have been read, the part is not repeated automatically.
func TestPartlyRefused(t *testing.T) {
	f := modern(t)
	ch, _, _ := listening(t, f, config(f))
	f.Fail(channelstest.IRCFault{}, channelstest.IRCFault{Numeric: "439"})
	if _, err := ch.Send(t.Context(), delivery("irc:#family", "one\ntwo")); !errors.Is(err, channels.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
	f.Fail(channelstest.IRCFault{Numeric: "439"}, channelstest.IRCFault{Numeric: "439"})
	_, err := ch.Send(t.Context(), delivery("irc:#family", "one\ntwo"))
	if later := (*channels.RetryAfter)(nil); !errors.As(err, &later) || errors.Is(err, channels.ErrUnknown) {
		t.Errorf("%v, want it tried again later", err)
	}
}

// TestRefusedSends: an absent or rate limited recipient says nothing about the channel.
func TestRefusedSends(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := modern(t)
	ch, _, _ := listening(t, f, config(f))
	for numeric, want := range map[string]string{"401": "plain there", "439": "later there", "263": "later", "400": "plain", "404": "permanent"} {
		f.Fail(channelstest.IRCFault{Numeric: numeric})
		if _, err := ch.Send(t.Context(), delivery("irc:$sam", "x")); channelstest.Kind(err) != want {
			t.Errorf("%s: %v is %s, want %s", numeric, err, channelstest.Kind(err), want)
		}
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	const s = "irc.test"
	for _, tc := range []struct {
		cfg  irc.Config
		want string
	}{
		{irc.Config{}, "server: missing"},
		{irc.Config{Server: "https://irc.test"}, "server: "},
		{irc.Config{Server: s, Fingerprint: "ab"}, "fingerprint: "},
		{irc.Config{Server: s, Fingerprint: strings.Repeat("ab", 32), Plain: true}, "fingerprint: "},
		{irc.Config{Server: s, Nick: "a b"}, `nick: "a b"`},
		{irc.Config{Server: s, Account: "bot"}, "account: it has no effect without"},
		{irc.Config{Server: s, Password: "env:NONE"}, "password: no secret"},
		{irc.Config{Server: s, Password: "env:LINES"}, "password: the value of"},
		{irc.Config{Server: s, Channels: []string{"family"}}, `channels: "family" is not a valid id`},
		{irc.Config{Server: s, Known: []string{"sam"}}, `known: "sam" is not a valid id; want an account like "$sam"; a nick can be taken by anybody`},
		{irc.Config{Server: s, Known: []string{"$Sam"}, Public: []string{"$sam"}}, "public: $sam is listed twice, also in known"},
	} {
		if _, err := irc.New(env(), tc.cfg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want one that begins with %q", tc.cfg, err, tc.want)
		}
	}
	for owner, want := range map[event.Address]string{"irc:sam": "which anybody can take", "irc:$Sam": "as irc:$sam", "irc:$sam": "", "other:sam": ""} {
		e := env()
		e.Owner = func() []event.Address { return []event.Address{owner} }
		if _, err := irc.New(e, irc.Config{Server: s}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("owner %s: %v", owner, err)
		}
	}
}

func TestLink(t *testing.T) {
	var ch channels.Linker = open(t, irc.Config{Server: "irc.test"})
	if text, url, err := ch.Link(t.Context()); err != nil || url != "" || !strings.Contains(text, "account at irc.test") || !strings.Contains(text, "/query hob") {
		t.Errorf("link %q, %q, %v", text, url, err)
	}
}

// TestNickThatTheNetworkGives (C8): if the network forces the account's nick, hob shows the actual nick
// everywhere.
func TestNickThatTheNetworkGives(t *testing.T) {
	f := server(t, channelstest.IRCOptions{Caps: channelstest.IRCModern(), Account: "hobacct", Password: "s3cret", ForceNick: true})
	cfg := config(f)
	cfg.Account, cfg.Password = "hobacct", "env:PASSWORD"
	ch := open(t, cfg)
	if text, _, _ := ch.Link(t.Context()); !strings.Contains(text, "hob is not connected now") {
		t.Errorf("before it is connected: %q", text)
	}
	if ch.Nick() != "" {
		t.Errorf("before it is connected hob is %q", ch.Nick())
	}
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, ch, b)
	b.Until(t, func() bool { return b.Stored().Value != "" })
	text, _, err := ch.Link(t.Context())
	if err != nil || !strings.Contains(text, "(/query hobacct)") || ch.Nick() != "hobacct" {
		t.Errorf("link %q, %v, nick %q", text, err, ch.Nick())
	}
	lines, err := ch.Test(t.Context())
	if err != nil || !slices.Contains(lines, "hob is connected as hobacct.") {
		t.Errorf("test: %q, %v", lines, err)
	}
}

// TestAccount depends on the network and on hob's account, not on the nick of the moment.
func TestAccount(t *testing.T) {
	for want, cfg := range map[string]irc.Config{
		"irc.test/hob": {Server: "irc.test"}, "irc.test/bot": {Server: "IRC.test:7000", Nick: "Bot"},
		"irc.test/robin": {Server: "irc.test", Nick: "bot", Account: "Robin", Password: "env:PASSWORD"},
	} {
		var ch channels.Accounted = open(t, cfg)
		if id, err := ch.Account(t.Context()); err != nil || id != want {
			t.Errorf("account %q, %v, want %q", id, err, want)
		}
	}
}

// TestHistoryOfEvents (C3): replayed channel events from hob's absence are not messages: hob's own joins,
// others' joins, a topic and a part with its name. With draft/event-playback and without, like ergo.
func TestHistoryOfEvents(t *testing.T) {
	without := slices.DeleteFunc(channelstest.IRCModern(), func(name string) bool { return name == "draft/event-playback" })
	for _, caps := range [][]string{channelstest.IRCModern(), without} {
		f := server(t, channelstest.IRCOptions{Caps: caps, Account: "hob", Password: "s3cret"})
		cfg := config(f)
		cfg.Password = "env:PASSWORD"
		ch, b, stop := listening(t, f, cfg)
		stop()
		f.Write("JOIN", "hobbit", "#family", "#family", "")
		f.Write("TOPIC", "sam", "#family", "ask hob", "")
		f.Write("PART", "sam", "#family", "bye, hob", "")
		f.Write("NOTICE", "sam", "#family", "hob: an auto-reply", "")
		f.Say("sam", "#family", "hob: a word")
		channelstest.Keep(t, ch, b)
		said := func() (texts []string) {
			for _, m := range b.List() {
				if !m.Auto && m.From.ID != "" {
					texts = append(texts, m.Text)
				}
			}
			return texts
		}
		b.Until(t, func() bool { return slices.Contains(said(), "a word") })
		if got := said(); !slices.Equal(got, []string{"a word"}) {
			t.Errorf("with %d capabilities hob took for speech: %q", len(caps), got)
		}
	}
}
