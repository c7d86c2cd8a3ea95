package ntfy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/ntfy"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { channelstest.Main(m) }

func env(t *testing.T) channels.Env {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{
		Name: "ntfy.test", HTTP: &http.Client{Transport: tr, Timeout: 20 * time.Second}, Clock: sys.RealClock(),
		Log: slog.New(slog.DiscardHandler),
		Secret: func(ref string) (string, error) {
			if ref == "env:TOKEN" {
				return "tk_secret", nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

func server(t *testing.T) *channelstest.Ntfy {
	n, err := channelstest.NewNtfy("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func open(t *testing.T, cfg ntfy.Config) *ntfy.Channel {
	t.Helper()
	ch, err := ntfy.New(env(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// listening waits for a subscription.
func listening(n *channelstest.Ntfy) func(context.Context) {
	return func(ctx context.Context) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n.Listening() == 0 && ctx.Err() == nil {
			<-tick.C
		}
	}
}

const noiseLines = "\n{}\n[1]\n{\"event\":\"message\"}\nnot json\n{\"event\":\"message\",\"id\":\"x\",\"topic\":\"other\",\"message\":\"foreign\"}\n" +
	"{\"event\":\"message_delete\",\"id\":\"d\",\"topic\":\"talk\"}\n{\"event\":\"message\",\"id\":\"cut\",\"topic\":\"talk\",\"message\":\"cut o"

func TestSuite(t *testing.T) {
	receive := false
	for name, cfg := range map[string]ntfy.Config{
		"public": {Topic: "talk"}, "owner": {Topic: "talk", Token: "env:TOKEN", Owner: true}, "only sends": {Topic: "talk", Receive: &receive},
	} {
		t.Run(name, func(t *testing.T) {
			channelstest.Run(t, func(t *testing.T) channelstest.World { return world(t, server(t), env(t), cfg) })
		})
	}
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, net *channelstest.Network) channelstest.World {
		n := channelstest.NtfyOn(net.Listen())
		t.Cleanup(n.Close)
		return world(t, n, net.Env(t, "ntfy.test", nil), ntfy.Config{Topic: "talk"})
	})
}

func world(t *testing.T, n *channelstest.Ntfy, e channels.Env, cfg ntfy.Config) channelstest.World {
	cfg.Server = n.URL()
	if cfg.Owner {
		n.Protect("talk", "tk_secret")
	}
	faults := map[channelstest.Failure]channelstest.NtfyFault{
		channelstest.Later: {Status: 429, RetryAfter: "7"}, channelstest.Refused: {Status: 403}, channelstest.Broken: {Status: 500},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "ntfy.test", To: "ntfy.test:talk", SendOnly: cfg.Receive != nil && !*cfg.Receive,
		Open: func() channels.Channel {
			ch, err := ntfy.New(e, cfg)
			if err != nil {
				t.Fatal(err)
			}
			return ch
		},
		Say:   func(text string) string { return n.Publish("talk", text) },
		Again: n.Again,
		Noise: func() {
			for _, raw := range []string{noiseLines, strings.Repeat("x", 3<<20)} {
				n.FailStream(channelstest.NtfyFault{Raw: raw})
			}
			n.Inject(channelstest.NtfyMessage{Topic: "talk", Event: "poll_request", Message: "no"})
			n.Inject(channelstest.NtfyMessage{Topic: "talk", ID: "id with spaces", Message: "no"})
			n.Inject(channelstest.NtfyMessage{Topic: "talk", Message: "/+8=", Encoding: "base64"})
			n.CutStreams()
		},
		Readers: channelstest.Readers{Files: func() []channelstest.Shown { return shown(n) }},
		Fail:    func(f channelstest.Failure) { n.FailPublish(faults[f]) },
		Sent: func() []string {
			var bodies []string
			for _, m := range n.Received() {
				bodies = append(bodies, m.Message)
			}
			return bodies
		},
		Listening: listening(n),
		Account:   channelstest.Account{Drop: n.Drop, Revoke: func() { n.Protect("talk", "another"); n.CutStreams() }},
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	for _, tc := range []struct {
		cfg  ntfy.Config
		want string
	}{
		{ntfy.Config{}, "topic: missing"},
		{ntfy.Config{Topic: "a", Topics: []string{"b"}}, "topic, topics:"},
		{ntfy.Config{Topic: "a b"}, "topic: "},
		{ntfy.Config{Topics: []string{"a", "a"}}, "topics: "},
		{ntfy.Config{Topics: []string{"a/json"}}, "topics: "},
		{ntfy.Config{Topic: "a", Server: "ntfy.sh"}, "server: "},
		{ntfy.Config{Topic: "a", Server: "ftp://ntfy.sh"}, "server: "},
		{ntfy.Config{Topic: "a", Server: "https://u:p" + "@ntfy.sh"}, "server: "},
		{ntfy.Config{Topic: "a", Server: "https://ntfy.sh/?x=1"}, "server: "},
		{ntfy.Config{Topic: "a", Owner: true}, "owner: "},
		{ntfy.Config{Topic: "a", Token: "env:NONE"}, "token: "},
		{ntfy.Config{Topic: "a", Title: "x\ny"}, "title: "},
	} {
		if _, err := ntfy.New(env(t), tc.cfg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want one that begins with %q", tc.cfg, err, tc.want)
		}
	}
}

func TestBuildFromSection(t *testing.T) {
	decode := func(v any) error { v.(*ntfy.Config).Topic = "talk"; return nil }
	if _, err := channels.Build([]channels.Kind{ntfy.Kind()}, "phone", "ntfy", env(t), decode); err != nil {
		t.Error(err)
	}
	_, err := channels.Build([]channels.Kind{ntfy.Kind()}, "phone", "pigeon", env(t), decode)
	if err == nil || !strings.Contains(err.Error(), `channels.phone: there is no kind of channel named "pigeon"; set kind to one of: ntfy`) {
		t.Errorf("unknown kind: %v", err)
	}
	_, err = channels.Build([]channels.Kind{ntfy.Kind()}, "phone", "ntfy", env(t), func(any) error { return errors.New("line 3: unknown key") })
	if err == nil || !strings.Contains(err.Error(), "channels.phone: line 3") {
		t.Errorf("decode error: %v", err)
	}
}

// receiveOne runs a channel until it has received n messages.
func receiveOne(t *testing.T, ch channels.Channel, in *channelstest.Inbox, n int) []event.In {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ch.Run(ctx, in) }()
	limit, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if !in.Wait(limit, func(rows []event.In) bool { return len(rows) >= n }) {
		t.Errorf("only %d of %d received", len(in.Rows()), n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	return in.Rows()
}

// ntfy shows no markup, so it gets plain text.
func TestSendsPlainText(t *testing.T) {
	n := server(t)
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "talk"})
	d := channels.Delivery{To: "ntfy.test:talk", Body: "**Done**: [the log](https://example.org/log)", Nonce: "n", Parts: 1}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := n.Received()[0].Message; got != "Done: the log (https://example.org/log)" {
		t.Errorf("arrived %q", got)
	}
}

func TestTrust(t *testing.T) {
	n := server(t)
	n.Publish("talk", "/status please")
	row := receiveOne(t, open(t, ntfy.Config{Server: n.URL(), Topic: "talk", Token: "env:TOKEN"}), &channelstest.Inbox{}, 1)[0]
	if row.Trust != event.Public || row.Kind != event.Message || row.Typed || row.Rank != event.RankRest || row.Session != "ntfy.test:talk" {
		t.Errorf("a token alone does not make an owner: %+v", row)
	}

	n.Protect("talk", "tk_secret")
	n.Publish("talk", "hello")
	rows := receiveOne(t, open(t, ntfy.Config{Server: n.URL(), Topic: "talk", Token: "env:TOKEN", Owner: true}), &channelstest.Inbox{}, 2)
	if r := rows[0]; r.Trust != event.Owner || r.Kind != event.Command || !r.Typed || r.Rank != event.RankOwner || r.Session != "main" {
		t.Errorf("the owner's command: %+v", r)
	}
	if rows[1].Kind != event.Message {
		t.Errorf("the owner's message: %+v", rows[1])
	}
}

func TestOwnerTopicMustBeClosed(t *testing.T) {
	n := server(t) // nothing is protected
	n.Publish("talk", "I am the owner, believe me")
	in := &channelstest.Inbox{}
	err := open(t, ntfy.Config{Server: n.URL(), Topic: "talk", Token: "env:TOKEN", Owner: true}).Run(t.Context(), in)
	if err == nil || !strings.HasPrefix(err.Error(), "owner: anybody can write to the topic talk") {
		t.Errorf("error %v", err)
	}
	if len(in.Rows()) != 0 || len(n.Received()) != 0 {
		t.Errorf("received %+v, published %+v; want nothing", in.Rows(), n.Received())
	}
}

func TestResumesAtTheCursor(t *testing.T) {
	n := server(t)
	cfg := ntfy.Config{Server: n.URL(), Topic: "talk"}
	in := &channelstest.Inbox{}
	n.Publish("talk", "one")
	receiveOne(t, open(t, cfg), in, 1)
	// A message scheduled before the newest one, delivered while hob was down: by id it is after the cursor,
	// by time it is not.
	n.Inject(channelstest.NtfyMessage{Topic: "talk", Message: "scheduled", Time: time.Now().Add(-30 * time.Second).Unix()})
	n.Inject(channelstest.NtfyMessage{Topic: "talk", Message: "long ago", Time: time.Now().Add(-2 * time.Hour).Unix()})
	n.Publish("talk", "two")
	rows := receiveOne(t, open(t, cfg), in, 3)
	for i, want := range []string{"one", "scheduled", "two"} {
		if rows[i].Text() != want {
			t.Errorf("row %d is %q, want %q", i, rows[i].Text(), want)
		}
	}
}

func TestCursorIsOfOneAccount(t *testing.T) {
	n := server(t)
	in := &channelstest.Inbox{}
	n.Inject(channelstest.NtfyMessage{Topic: "talk", Message: "old", Time: time.Now().Add(-2 * time.Minute).Unix()})
	receiveOne(t, open(t, ntfy.Config{Server: n.URL(), Topic: "talk"}), in, 1)
	n.Inject(channelstest.NtfyMessage{Topic: "other", Message: "older", Time: time.Now().Add(-5 * time.Minute).Unix()})
	rows := receiveOne(t, open(t, ntfy.Config{Server: n.URL(), Topics: []string{"talk", "other"}}), in, 2)
	if rows[1].Text() != "older" || rows[1].ReplyTo != "ntfy.test:other" {
		t.Errorf("another set of topics has a cursor of its own: %+v", rows[1])
	}
}

func TestPollsWhileStreamsFail(t *testing.T) {
	n := server(t)
	n.FailStream(channelstest.NtfyFault{Status: 502}) // the stream; the poll after it works
	n.Publish("talk", "through the back door")
	receiveOne(t, open(t, ntfy.Config{Server: n.URL(), Topic: "talk"}), &channelstest.Inbox{}, 1)
}

func TestRunReportsWhatItCannotMend(t *testing.T) {
	n := server(t)
	n.Protect("talk", "tk_other")
	err := open(t, ntfy.Config{Server: n.URL(), Topic: "talk"}).Run(t.Context(), &channelstest.Inbox{})
	if !errors.Is(err, channels.ErrPermanent) || !strings.Contains(err.Error(), "check token") {
		t.Errorf("error %v", err)
	}
	n.FailStream(channelstest.NtfyFault{Status: 500}, channelstest.NtfyFault{Status: 429, RetryAfter: "30"})
	err = open(t, ntfy.Config{Server: n.URL(), Topic: "free"}).Run(t.Context(), &channelstest.Inbox{})
	if later := (*channels.RetryAfter)(nil); !errors.As(err, &later) || later.After != 30*time.Second {
		t.Errorf("error %v", err)
	}
}

func TestSendOnly(t *testing.T) {
	n := server(t)
	no := false
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "talk", Receive: &no})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ch.Run(ctx, &channelstest.Inbox{}); err != nil || n.Listening() != 0 {
		t.Errorf("Run: %v", err)
	}
}

func send(t *testing.T, ch *ntfy.Channel, d channels.Delivery) (string, error) {
	t.Helper()
	d.To, d.Parts = "ntfy.test:talk", 1
	if d.Nonce == "" {
		d.Nonce = "abcdef0123456789"
	}
	return ch.Send(t.Context(), d)
}

func TestSendHeaders(t *testing.T) {
	n := server(t)
	n.Protect("talk", "tk_secret")
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "talk", Token: "env:TOKEN", Title: "Käthe"})
	id, err := send(t, ch, channels.Delivery{Body: "now", Urgent: true})
	if err != nil {
		t.Fatal(err)
	}
	m := n.Received()[0]
	if m.ID != id || m.Title != "Käthe" || m.Priority != 4 || len(m.Tags) != 1 || m.Tags[0] != "hob" || m.Sequence != "abcdef0123456789" {
		t.Errorf("published %+v", m)
	}
}

func TestStatuses(t *testing.T) {
	for _, tc := range []struct {
		fault channelstest.NtfyFault
		kind  string
	}{
		{channelstest.NtfyFault{Status: 400}, "permanent"},
		{channelstest.NtfyFault{Status: 401}, "permanent"},
		{channelstest.NtfyFault{Status: 404}, "permanent"},
		{channelstest.NtfyFault{Status: 413}, "permanent"},
		{channelstest.NtfyFault{Status: 301}, "permanent"},
		{channelstest.NtfyFault{Status: 408}, "plain"},
		{channelstest.NtfyFault{Status: 429}, "plain"},
		{channelstest.NtfyFault{Status: 429, RetryAfter: "soon"}, "plain"},
		{channelstest.NtfyFault{Status: 429, RetryAfter: "3"}, "later"},
		{channelstest.NtfyFault{Status: 503, RetryAfter: "3"}, "later"},
		{channelstest.NtfyFault{Status: 503}, "plain"},
		{channelstest.NtfyFault{Status: 504}, "unknown"},
		{channelstest.NtfyFault{Body: "<html>log in to the hotel's network</html>"}, "plain"},
		{channelstest.NtfyFault{Body: "{}"}, "plain"},
	} {
		n := server(t)
		n.FailPublish(tc.fault)
		_, err := send(t, open(t, ntfy.Config{Server: n.URL(), Topic: "talk"}), channels.Delivery{Body: "x"})
		if got := kind(err); got != tc.kind {
			t.Errorf("%+v: %s (%v), want %s", tc.fault, got, err, tc.kind)
		}
	}
}

func kind(err error) string {
	later := (*channels.RetryAfter)(nil)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &later):
		return "later"
	case errors.Is(err, channels.ErrPermanent):
		return "permanent"
	case errors.Is(err, channels.ErrUnknown):
		return "unknown"
	}
	return "plain"
}

func TestNothingListens(t *testing.T) {
	n := server(t)
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "talk"})
	n.FailPublish() // nothing
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	gone := open(t, ntfy.Config{Server: dead.URL, Topic: "talk"})
	if _, err := send(t, gone, channels.Delivery{Body: "x"}); kind(err) != "plain" {
		t.Errorf("a refused connection is %s (%v), want plain", kind(err), err)
	}
	if _, err := send(t, ch, channels.Delivery{Body: "x"}); err != nil {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	hits := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits++
		_, _ = io.WriteString(w, `{"id":"x","event":"message"}`)
	}))
	defer elsewhere.Close()
	srv := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/talk", http.StatusMovedPermanently))
	defer srv.Close()
	_, err := send(t, open(t, ntfy.Config{Server: srv.URL, Topic: "talk", Token: "env:TOKEN"}), channels.Delivery{Body: "x"})
	if kind(err) != "permanent" || !strings.Contains(err.Error(), elsewhere.URL) {
		t.Errorf("error %v", err)
	}
	if hits != 0 {
		t.Error("the redirect was followed")
	}
}

func TestFind(t *testing.T) {
	n := server(t)
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "talk"})
	find := func(nonce string, tried time.Time) (string, bool, error) {
		return ch.Find(t.Context(), channels.Delivery{To: "ntfy.test:talk", Nonce: nonce, Tried: tried})
	}
	n.FailPublish(channelstest.NtfyFault{Cut: "after"})
	tried := time.Now()
	if _, err := send(t, ch, channels.Delivery{Body: "x", Nonce: "first"}); kind(err) != "unknown" {
		t.Fatalf("error %v", err)
	}
	id, found, err := find("first", tried)
	if err != nil || !found || id != n.Received()[0].ID {
		t.Errorf("what arrived: %q %v %v", id, found, err)
	}
	if _, found, err := find("second", tried); found || !errors.Is(err, channels.ErrUnknown) {
		t.Errorf("nothing proves that the cache reaches back: %v %v", found, err)
	}
	n.Inject(channelstest.NtfyMessage{Topic: "talk", Message: "old", Tags: []string{"hob"}, Sequence: "zero", Time: time.Now().Add(-time.Hour).Unix()})
	if _, found, err := find("second", time.Now().Add(-time.Minute)); found || err != nil {
		t.Errorf("surely not there: %v %v", found, err)
	}
	if _, found, err := find("second", time.Now()); found || kind(err) != "plain" {
		t.Errorf("too early to tell: %v %v", found, err)
	}
	n.Forget()
	if _, found, err := find("first", tried); found || !errors.Is(err, channels.ErrUnknown) {
		t.Errorf("a server without a cache: %v %v", found, err)
	}
	n.FailStream(channelstest.NtfyFault{Status: 500})
	if _, found, err := find("first", tried); found || kind(err) != "plain" {
		t.Errorf("a server that is down: %v %v", found, err)
	}
	n.Protect("talk", "tk_other")
	if _, found, err := find("first", tried); found || !errors.Is(err, channels.ErrUnknown) {
		t.Errorf("a topic that may not be read: %v %v", found, err)
	}
}

func TestLongLinesArePassedOver(t *testing.T) {
	line := func(id, text string) string {
		return fmt.Sprintf("{\"id\":%q,\"event\":\"message\",\"topic\":\"talk\",\"message\":%q}\n", id, text)
	}
	ch := open(t, ntfy.Config{Topic: "talk"})
	ids, _, err := ch.Lines([]byte(line("small", "x") + line("huge", strings.Repeat("x", 1<<20)) + line("after", "y")))
	if err != nil || len(ids) != 2 || ids[0] != "small" || ids[1] != "after" {
		t.Errorf("ids %v, %v", ids, err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(noiseLines))
	f.Add([]byte("{\"id\":\"a\",\"time\":1,\"event\":\"message\",\"topic\":\"talk\",\"message\":\"hi\"}\n"))
	f.Add([]byte("{\"id\":\"a\",\"event\":\"message\",\"topic\":\"talk\",\"encoding\":\"base64\",\"message\":\"aGk=\"}\n"))
	f.Add([]byte("{\"id\":\"a\",\"event\":\"message\",\"attachment\":{\"name\":\"x\"}}\n\n\n"))
	ch, err := ntfy.New(channels.Env{Name: "n", HTTP: http.DefaultClient, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler)}, ntfy.Config{Topic: "talk"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ids, texts, err := ch.Lines(b)
		for i, id := range ids {
			if id == "" || strings.ContainsAny(id, "\n\r \x00") {
				t.Errorf("id %q", id)
			}
			if !strings.Contains(string(b), "\n") {
				t.Errorf("a message %q out of no whole line", texts[i])
			}
		}
		whole := len(b) == 0 || b[len(b)-1] == '\n'
		if whole && err != nil {
			t.Errorf("whole lines: %v", err)
		}
		if !whole && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a cut line: %v", err)
		}
		lengths, _ := ntfy.LineLengths(b)
		sum := 0
		for _, n := range lengths {
			sum += n
		}
		if whole && len(b) < 1<<20 && sum != len(b) {
			t.Errorf("lines of %d bytes in %d", sum, len(b))
		}
	})
}

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	channelstest.Table(t, "ntfy", world(t, server(t), env(t), ntfy.Config{Topic: "talk"}))
}
