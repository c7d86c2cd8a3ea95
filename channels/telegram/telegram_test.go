package telegram_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { channelstest.Main(m) }

const (
	token = "7001:AAsecret_part-of-it"
	sam   = int64(42) // the owner
	group = int64(-1001)
)

func env(t testing.TB) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{
		Name: "telegram", HTTP: &http.Client{Transport: tr, Timeout: 10 * time.Second}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
		Secret: func(ref string) (string, error) {
			switch ref {
			case "env:TOKEN":
				return token + "\n", nil
			case "env:WORD":
				return "abc", nil
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
	return openAt(t, f, sys.RealClock())
}

func openAt(t testing.TB, f *channelstest.Telegram, c sys.Clock) *telegram.Channel {
	t.Helper()
	e := env(t)
	e.Clock = c
	return openWith(t, e, f)
}

func openWith(t testing.TB, e channels.Env, f *channelstest.Telegram) *telegram.Channel {
	t.Helper()
	ch, err := telegram.New(e, telegram.Config{Token: "env:TOKEN", APIBase: f.URL(), Audience: channels.Audience{Groups: []string{"-1001"}}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func offset(t *testing.T, b *channelstest.MessageInbox) int64 {
	t.Helper()
	var p struct{ Offset int64 }
	if err := json.Unmarshal([]byte(b.Stored().Value), &p); err != nil {
		t.Fatal(err)
	}
	return p.Offset
}
