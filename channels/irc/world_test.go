package irc_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
	"hob/daemon/event"
)

// world is one private chat with the owner sam.
func world(f *channelstest.IRC, to event.Address, open func() channels.Channel) channelstest.World {
	faults := map[channelstest.Failure]channelstest.IRCFault{
		channelstest.Later: {Numeric: "439"}, channelstest.Refused: {Numeric: "404"}, channelstest.Broken: {Numeric: "400"},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "irc", To: to, None: to + "nobody", Rules: channels.Rules{Owner: []string{to.Local()}, Groups: []string{"#family"}}, Connected: true, Lines: true,
		Open:  open,
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
		People: channelstest.People{
			Delete: func(id string) { f.Write("REDACT", "sam", "hob", id, "") },
			Group:  func(text string) string { return f.Say("sam", "#family", "hob: "+text) },
		},
		Account: channelstest.Account{Drop: f.Drop, Revoke: func() { f.Refuse("464"); f.Drop() }},
	}
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := modern(t)
		return world(f, "irc:$sam", func() channels.Channel { return open(t, config(f)) })
	})
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f, cfg := inMemory(t, n, channelstest.IRCOptions{Caps: channelstest.IRCModern()})
		w := world(f, "irc:$sam", func() channels.Channel { return openWith(t, n.Env(t, "irc", nil), cfg) })
		w.Account.Other = func() channels.Channel {
			n := channelstest.NewNetwork()
			_, cfg := inMemory(t, n, channelstest.IRCOptions{Caps: channelstest.IRCModern()})
			cfg.Nick = "another"
			return openWith(t, n.Env(t, "irc", nil), cfg)
		}
		return named(f, w)
	})
}

// TestStormOverAnOldServer tests a network without extensions: messages during hob's absence are lost.
func TestStormOverAnOldServer(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f, cfg := inMemory(t, n, channelstest.IRCOptions{Plain: true})
		cfg.TrustNicks = true
		return named(f, forgetful(f, world(f, "irc:sam", func() channels.Channel { return openWith(t, n.Env(t, "irc", nil), cfg) })))
	})
}

// inMemory is a server on a simulated network.
func inMemory(t *testing.T, n *channelstest.Network, opts channelstest.IRCOptions) (*channelstest.IRC, irc.Config) {
	t.Helper()
	f, err := channelstest.IRCOn(n.Listen(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Person("sam", "Sam")
	return f, config(f)
}

// named is a world whose adapter counts as listening when it has its nick: a dead connection may still hold
// it.
func named(f *channelstest.IRC, w channelstest.World) channelstest.World {
	w.Listening = func(ctx context.Context) {
		f.Listening(ctx)
		for !slices.Equal(f.Nicks(), []string{"hob"}) && ctx.Err() == nil {
			<-time.After(20 * time.Millisecond)
		}
	}
	return w
}

// forgetful is a server without message ids and history.
func forgetful(f *channelstest.IRC, w channelstest.World) channelstest.World {
	w.Forgets, w.Again, w.People.Delete = true, nil, nil
	w.People.Group = func(text string) string { f.Say("sam", "#family", "hob: "+text); return text }
	w.Say = func(text string) string { f.Say("sam", "hob", text); return text }
	w.ID = func(in event.In) string { return in.Text() }
	return w
}

// TestSuiteOfAnOldServer runs the suite without extensions and TLS.
func TestSuiteOfAnOldServer(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t, channelstest.IRCOptions{Plain: true})
		cfg := config(f)
		cfg.TrustNicks = true
		return forgetful(f, world(f, "irc:sam", func() channels.Channel { return open(t, cfg) }))
	})
}

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	f := modern(t)
	w := world(f, "irc:$sam", func() channels.Channel { return open(t, config(f)) })
	channelstest.Table(t, "irc", w, forgetful(f, w), channelstest.World{Server: "ngircd"}, channelstest.World{Server: "InspIRCd"})
}
