package signal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/event"
)

func TestSend(t *testing.T) {
	for _, tc := range []struct {
		d    channels.Delivery
		want channelstest.SignalSent
	}{
		{
			channels.Delivery{To: "signal:" + sam, Body: "😀 **bold** and `code`", ReplyRef: sam + "/5"},
			channelstest.SignalSent{To: sam, Text: "😀 bold and code", Styles: []string{"3:4:BOLD", "12:4:MONOSPACE"}},
		},
		{channels.Delivery{To: event.Address("signal:" + strings.ToUpper(sam)), Body: "x"}, channelstest.SignalSent{To: sam, Text: "x"}},
		{channels.Delivery{To: "signal:" + home, Body: "x", ReplyRef: sam + "/5"}, channelstest.SignalSent{To: home, Text: "x", QuoteAt: 5, QuoteOf: sam}},
		{channels.Delivery{To: "signal:" + home, Body: "x", ReplyRef: sam + "/5", Part: 1}, channelstest.SignalSent{To: home, Text: "x"}},
		{channels.Delivery{To: "signal:" + sam, Body: "x", ReplyRef: sam + "/5", Overtaken: true}, channelstest.SignalSent{To: sam, Text: "x", QuoteAt: 5, QuoteOf: sam}}, // N26
		{channels.Delivery{To: "signal:" + home, Body: "x", ReplyRef: "5"}, channelstest.SignalSent{To: home, Text: "x"}},
		{channels.Delivery{To: "signal:" + home, Body: "x", ReplyRef: "7001/42/5"}, channelstest.SignalSent{To: home, Text: "x"}},
	} {
		f := server(t)
		id, err := open(t, f).Send(t.Context(), tc.d)
		if err != nil {
			t.Errorf("%+v: %v", tc.d, err)
			continue
		}
		got := f.Sent()[0]
		tc.want.Timestamp = 1_700_000_000_001
		if got.Timestamp != tc.want.Timestamp || id != "1700000000001" || got.To != tc.want.To || got.Text != tc.want.Text ||
			!slices.Equal(got.Styles, tc.want.Styles) || got.QuoteAt != tc.want.QuoteAt || got.QuoteOf != tc.want.QuoteOf {
			t.Errorf("%+v: %s, %+v, want %+v", tc.d, id, got, tc.want)
		}
	}
}

// TestKindsOfFailure checks the answers of the daemon and of proxies.
func TestKindsOfFailure(t *testing.T) {
	type fault = channelstest.SignalFault
	for _, tc := range []struct {
		f    fault
		kind string
		says string
	}{
		{fault{Code: -1}, "permanent", ""},
		{fault{Code: -1, Result: "UNREGISTERED_FAILURE"}, "permanent", "this account does not exist"},
		{fault{Code: -4}, "permanent", "safety number"},
		{fault{Code: -4, Result: "IDENTITY_FAILURE"}, "permanent", "safety number"},
		{fault{Code: -5}, "5m0s", "send less"},
		{fault{Code: -5, Result: "RATE_LIMIT_FAILURE"}, "5m0s", "send less"},
		{fault{Code: -5, Result: "RATE_LIMIT_FAILURE", RetryAfter: 86400}, "24h0m0s", "--challenge t0ken"},
		{fault{Code: -1, Result: "NETWORK_FAILURE"}, "unknown", "lost the connection"},
		{fault{Code: -1, Result: "UNREGISTERED_FAILURE NETWORK_FAILURE"}, "unknown", ""}, // somebody may have it
		{fault{Code: -1, Result: "INVALID_PRE_KEY_FAILURE"}, "again there", "keys"},
		{fault{Code: -3}, "unknown", ""},
		{fault{Code: -32603}, "unknown", ""}, // also thrown when the way to Signal's server breaks
		{fault{Code: -32602}, "again", ""},
		{fault{Code: -32601}, "again", ""},
		{fault{Result: "SUCCESS UNREGISTERED_FAILURE"}, "sent", ""},
		{fault{Result: "UNREGISTERED_FAILURE"}, "permanent", ""},
		{fault{Result: "SOMETHING_NEW"}, "unknown", ""},
		{fault{Status: 503}, "again", ""},
		{fault{Status: 504}, "unknown", ""},
		{fault{Status: 413}, "permanent", ""},
		{fault{Status: 429, RetryAfter: 9}, "9s", ""},
		{fault{Raw: "<html>"}, "unknown", "check url"},
		{fault{Raw: `{"jsonrpc":"2.0","id":"1"}`}, "unknown", ""},
		{fault{Raw: `{"jsonrpc":"2.0","id":"1","result":{}}`}, "unknown", ""},
		{fault{Cut: "before"}, "unknown", ""},
	} {
		f := server(t)
		f.Fail("send", tc.f)
		_, err := open(t, f).Send(t.Context(), channels.Delivery{To: "signal:" + sam, Body: "x"})
		if got := kindOf(err); got != tc.kind || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %s (%v), want %s with %q", tc.f, got, err, tc.kind, tc.says)
		}
	}
}

func kindOf(err error) string {
	later := (*channels.RetryAfter)(nil)
	switch {
	case errors.Is(err, channels.ErrAddress):
		return "again there"
	case err == nil:
		return "sent"
	case errors.As(err, &later):
		return later.After.Round(time.Second).String()
	case errors.Is(err, channels.ErrPermanent):
		return "permanent"
	case errors.Is(err, channels.ErrUnknown):
		return "unknown"
	}
	return "again"
}

// If the daemon is not running, surely nothing was sent.
func TestNobodyThere(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	gone, err := channelstest.NewSignal("", phone)
	if err != nil {
		t.Fatal(err)
	}
	away := open(t, gone)
	gone.Close()
	if _, err := away.Send(t.Context(), channels.Delivery{To: "signal:" + sam, Body: "x"}); kindOf(err) != "again" {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := ch.Send(t.Context(), channels.Delivery{To: "signal:+491707654321", Body: "x"}); kindOf(err) != "permanent" || !strings.Contains(err.Error(), "account id") {
		t.Errorf("a number: %v", err)
	}
}

func TestTyping(t *testing.T) {
	f := server(t)
	var ch channels.Typer = open(t, f)
	for _, to := range []event.Address{"signal:" + sam, "signal:" + home} {
		if err := ch.Typing(t.Context(), to); err != nil {
			t.Error(err)
		}
	}
	if got := f.Signs(); !slices.Equal(got, []string{sam, home}) {
		t.Errorf("signs in %q", got)
	}
	if err := ch.Typing(t.Context(), "signal:x"); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("a place that cannot be: %v", err)
	}
}

// TestTestAsksForEvents: a daemon that knows the account may still not deliver its messages.
func TestTestAsksForEvents(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*channelstest.Signal)
		want string // "": all is well
	}{
		{"one account", func(*channelstest.Signal) {}, ""},
		{"several accounts", several, ""},
		{"several accounts of an older version", func(f *channelstest.Signal) { f.Plain(); several(f) }, ""},
		{"refused", func(f *channelstest.Signal) {
			several(f)
			f.Fail("events", channelstest.SignalFault{Status: 400}, channelstest.SignalFault{Status: 400})
		}, "has no account"},
		{"only methods", func(f *channelstest.Signal) { f.Fail("events", channelstest.SignalFault{Status: 404}) }, "404"},
		{"a page", func(f *channelstest.Signal) { f.Fail("events", channelstest.SignalFault{Raw: "<html>"}) }, "check url"},
	} {
		f := server(t)
		f.Group(home, "Home", true)
		tc.set(f)
		lines, err := channels.Tester(open(t, f)).Test(t.Context())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) || f.Calls("events") == 0 {
			t.Errorf("%s: %q, %v, want %q; asked %d times", tc.name, lines, err, tc.want, f.Calls("events"))
		}
	}
}

func TestLinkAndTest(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	if text, url, err := channels.Linker(ch).Link(t.Context()); err != nil || url != "https://signal.me/#p/"+phone || !strings.Contains(text, url+" ") {
		t.Errorf("link %q, %q, %v", text, url, err)
	}
	if id, err := channels.Accounted(ch).Account(t.Context()); err != nil || id != phone {
		t.Errorf("account %q, %v", id, err)
	}
	tester := channels.Tester(ch)
	lines, err := tester.Test(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not a member of "+home) || !strings.Contains(strings.Join(lines, "\n"), own) {
		t.Errorf("without the group: %q, %v", lines, err)
	}
	f.Group(home, "Home", true)
	if lines, err = tester.Test(t.Context()); err != nil || len(lines) != 4 || lines[3] != `It is a member of "Home".` {
		t.Errorf("%q, %v", lines, err)
	}
	f.Accounts(obj{"number": "+49000"})
	if lines, err = tester.Test(t.Context()); err == nil || len(lines) != 1 || !strings.Contains(err.Error(), "has no account") {
		t.Errorf("another account: %q, %v", lines, err)
	}
	if f.Calls("send") != 0 {
		t.Error("it sent something")
	}
	gone, err := channelstest.NewSignal("", phone)
	if err != nil {
		t.Fatal(err)
	}
	tester = open(t, gone)
	gone.Close()
	if lines, err := tester.Test(t.Context()); err == nil || len(lines) != 0 {
		t.Errorf("nobody there: %q, %v", lines, err)
	}
}
