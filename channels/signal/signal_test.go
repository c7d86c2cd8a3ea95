package signal_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	signalchannel "hob/channels/signal"
	"hob/daemon/sys"
)

// TestMain is signal-cli itself, or a hob that runs it, if a test has started this program as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "-a" && os.Args[3] == "daemon" {
		os.Exit(standIn(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == runDaemonAt {
		os.Exit(keep(os.Args[2]))
	}
	channelstest.Main(m)
}

const (
	own   = channelstest.SignalSelf
	phone = "+491701234567"
	sam   = "11111111-1111-4111-8111-111111111111" // the owner
	other = "22222222-2222-4222-8222-222222222222"
	home  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" // a group
)

type obj = map[string]any

// standIn is a signal-cli with the command line that hob uses.
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
	return channels.Env{Name: "signal", HTTP: &http.Client{Transport: tr, Timeout: 10 * time.Second}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler)}
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
	return openAt(t, f, sys.RealClock())
}

func openAt(t testing.TB, f *channelstest.Signal, c sys.Clock) *signalchannel.Channel {
	t.Helper()
	e := env(t)
	e.Clock = c
	return openWith(t, e, f)
}

func openWith(t testing.TB, e channels.Env, f *channelstest.Signal) *signalchannel.Channel {
	t.Helper()
	return openAs(t, e, f, phone)
}

func openAs(t testing.TB, e channels.Env, f *channelstest.Signal, account string) *signalchannel.Channel {
	t.Helper()
	ch, err := signalchannel.New(e, signalchannel.Config{Account: account, URL: f.URL(), Audience: channels.Audience{Groups: []string{home}}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
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
	if got := channelstest.Received(t, ch, 1)[0].Text; got != "hello" {
		t.Errorf("received %q", got)
	}
	_, err = channels.Build([]channels.Kind{signalchannel.Kind()}, "chat", "signal", env(t), func(any) error { return context.Canceled })
	if err == nil || !strings.Contains(err.Error(), "channels.chat: ") {
		t.Errorf("decode error: %v", err)
	}
}
