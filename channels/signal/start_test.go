//go:build unix

package signal_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	signalchannel "hob/channels/signal"
)

// free returns an unused address on the loopback interface.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func started(t *testing.T, account, command, addr string) *signalchannel.Channel {
	t.Helper()
	ch, err := signalchannel.New(env(t), signalchannel.Config{Account: account, URL: "http://" + addr, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// TestRunsItsOwnDaemon twice at the same address: the first daemon ended with its channel.
func TestRunsItsOwnDaemon(t *testing.T) {
	t.Setenv("HOB_SECRET", "not for others")
	addr, b := free(t), &channelstest.MessageInbox{}
	for i := range 2 {
		stop := channelstest.Keep(t, started(t, phone, os.Args[0], addr), b)
		b.Came(t, i+1)
		began := time.Now()
		if errs := stop(); len(errs) > 0 || time.Since(began) > 4*time.Second {
			t.Errorf("Run: %v; it ended after %s, want it to end when asked", errs, time.Since(began))
		}
		if resp, err := http.Get(fmt.Sprintf("http://%s/api/v1/check", addr)); err == nil {
			_ = resp.Body.Close() // that it answers is the fault
			t.Error("the daemon lives on")
		}
	}
	if gaps := b.Gaps(); len(gaps) != 0 {
		t.Errorf("an end in good order lost something: %q", gaps)
	}
}

// heldSend is a transport that lets a request that sends a message begin, and go on when hold returns.
type heldSend struct {
	http.RoundTripper
	hold func()
}

func (h heldSend) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			if raw, err := io.ReadAll(body); err == nil && strings.Contains(string(raw), `"method":"send"`) {
				h.hold()
			}
		}
	}
	return h.RoundTripper.RoundTrip(req)
}

// A daemon that hob runs ends after the message that is being sent: hob would not know whether that arrived.
func TestDaemonEndsAfterASend(t *testing.T) {
	e, ended := env(t), make(chan []error, 1)
	var stop func() []error
	e.HTTP.Transport = heldSend{e.HTTP.Transport, func() {
		go func() { ended <- stop() }()
		select {
		case errs := <-ended:
			t.Errorf("it ended during a send: %v", errs)
			ended <- errs
		case <-time.After(time.Second / 2): // time for a daemon that would end
		}
	}}
	ch, err := signalchannel.New(e, signalchannel.Config{Account: phone, URL: "http://" + free(t), Command: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	b := &channelstest.MessageInbox{}
	stop = channelstest.Keep(t, ch, b)
	b.Came(t, 1)
	if _, err := ch.Send(t.Context(), channels.Delivery{To: "signal:" + sam, Body: "x"}); err != nil {
		t.Errorf("the message was not sent: %v", err)
	}
	if errs := <-ended; len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
}

func TestDaemonThatCannotRun(t *testing.T) {
	for _, tc := range []struct{ account, command, want string }{
		{phone, "/no/such/signal-cli", "set command"},
		{"+49000000", os.Args[0], "signal-cli ended by itself: User +49000000 is not registered."},
	} {
		err := started(t, tc.account, tc.command, free(t)).Run(t.Context(), &channelstest.MessageInbox{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.command, err, tc.want)
		}
	}
}

// A running daemon is used, and not stopped.
func TestDaemonThatRunsAlready(t *testing.T) {
	f := server(t)
	f.Say(sam, "hello")
	ch := started(t, phone, "/no/such/signal-cli", strings.TrimPrefix(f.URL(), "http://"))
	if got := channelstest.Received(t, ch, 1); got[0].Text != "hello" {
		t.Errorf("received %+v", got)
	}
	if _, err := ch.Send(t.Context(), channels.Delivery{To: "signal:" + sam, Body: "x"}); err != nil {
		t.Errorf("it was ended: %v", err)
	}
	if f.Calls("check") == 0 {
		t.Error("nobody looked")
	}
}
