package matrix_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/matrix"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { channelstest.Main(m) }

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
		Name: "matrix", HTTP: &http.Client{Transport: tr, Timeout: 10 * time.Second}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
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

type obj = map[string]any

// listening runs a channel that has caught up with its server.
func listening(t *testing.T, f *channelstest.Matrix, b *channelstest.MessageInbox) (stop func() []error) {
	t.Helper()
	stop = channelstest.Keep(t, open(t, f), b)
	f.Listening(t.Context())
	return stop
}

// one returns the next received message.
func one(t *testing.T, f *channelstest.Matrix, write func()) channels.Message {
	t.Helper()
	b := &channelstest.MessageInbox{}
	stop := listening(t, f, b)
	write()
	b.Until(t, func() bool { return len(b.List()) > 0 })
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	return b.List()[0]
}
