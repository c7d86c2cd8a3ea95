package irc_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/irc"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { channelstest.Main(m) }

func env() channels.Env {
	return channels.Env{
		Name: "irc", Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
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
	return openWith(t, env(), cfg)
}

func openWith(t testing.TB, e channels.Env, cfg irc.Config) *irc.Channel {
	t.Helper()
	ch, err := irc.New(e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// listening runs a channel on a server, and waits until it is connected.
func listening(t *testing.T, f *channelstest.IRC, cfg irc.Config) (*irc.Channel, *channelstest.MessageInbox, func() []error) {
	t.Helper()
	ch, b := open(t, cfg), &channelstest.MessageInbox{}
	stop := channelstest.Keep(t, ch, b)
	f.Listening(t.Context())
	b.Until(t, func() bool { return b.Stored().Value != "" })
	return ch, b, stop
}

func delivery(to event.Address, body string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: to, Body: body, Nonce: "n0nce", Attempts: 1}
}
