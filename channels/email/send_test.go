package email_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/email"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func delivery(body, ref string) channels.Delivery {
	return channels.Delivery{Outbox: 1, Parts: 1, To: "email:" + sam, Body: body, ReplyRef: ref, Nonce: "nonce " + body, Attempts: 1}
}

// sent sends a delivery and returns the arrived mail.
func sent(t *testing.T, d channels.Delivery) channelstest.EmailSent {
	t.Helper()
	f := server(t, channelstest.EmailOptions{})
	if _, err := open(t, config(f)).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return f.Sent()[0]
}

func TestWhatIsSent(t *testing.T) {
	m := sent(t, delivery("**hello** <you>, see https://x.test", ""))
	if m.From != channelstest.EmailUser || m.To != sam || m.Text != "hello <you>, see https://x.test" || !strings.Contains(m.HTML, "<strong>hello</strong> &lt;you&gt;") {
		t.Errorf("arrived %+v", m)
	}
	for key, want := range map[string]string{
		"Subject": "hello <you>, see https://x.test", "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All", "In-Reply-To": "", "References": "",
		"From": `"hob" <hob@hob.test>`, "To": "<sam@example.org>", "Mime-Version": "1.0", "User-Agent": "",
	} {
		if got := m.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestAnswersStayInTheirThread(t *testing.T) {
	for _, tc := range []struct{ ref, subject, in, refs string }{
		{"<m1@x> <m1@x> Lunch", "Re: Lunch", "<m1@x>", "<m1@x>"},
		{"<m3@x> <m1@x> Re: Lunch", "Re: Lunch", "<m3@x>", "<m1@x> <m3@x>"},
		{"<m3@x> <m1@x> AW: Grüße", "AW: Grüße", "<m3@x>", "<m1@x> <m3@x>"},
		{"<m1@x> <m1@x>", "the answer", "<m1@x>", "<m1@x>"},
		{"uid:1:2 uid:1:2 Lunch", "Re: Lunch", "", ""},
		{"uid:1:2 <m1@x> Lunch", "Re: Lunch", "", ""},
		{"<hob.abc@hob.test>", "the answer", "<hob.abc@hob.test>", "<hob.abc@hob.test>"},
		{"odd", "the answer", "", ""},
	} {
		m := sent(t, delivery("the answer\nof two lines", tc.ref))
		subject, err := m.Header.Text("Subject")
		if err != nil || subject != tc.subject || m.Header.Get("In-Reply-To") != tc.in || m.Header.Get("References") != tc.refs || m.Header.Get("Auto-Submitted") != "auto-replied" {
			t.Errorf("to %q: %v, subject %q; want %+v", tc.ref, m.Header.Map(), subject, tc)
		}
	}
}

// TestReferencesOfAThread (C11b): an answer refers to everything that the answered mail refers to, including
// hob's own mails, and to that mail (RFC 5322, section 3.6.4).
func TestReferencesOfAThread(t *testing.T) {
	long := make([]string, 30)
	for i := range long {
		long[i] = fmt.Sprintf("<%d@example.org>", i)
	}
	for _, tc := range []struct{ name, headers, want string }{
		{"the second mail of the thread", "References: <m1@example.org> <hob.x@hob.test>\r\nIn-Reply-To: <hob.x@hob.test>\r\n", "<m1@example.org> <hob.x@hob.test> <m3@example.org>"},
		{"over two lines", "References: <m1@example.org>\r\n <hob.x@hob.test>\r\n", "<m1@example.org> <hob.x@hob.test> <m3@example.org>"},
		{"without References", "In-Reply-To: <hob.x@hob.test>\r\n", "<hob.x@hob.test> <m3@example.org>"},
		{"the first mail", "", "<m3@example.org>"},
		{"a long thread", "References: " + strings.Join(long, "\r\n ") + "\r\n", "<0@example.org> " + strings.Join(long[11:], " ") + " <m3@example.org>"},
	} {
		in := read(t, mailOf(sam, "x", "Message-ID: <m3@example.org>\r\n"+tc.headers+"Subject: Lunch\r\n"))
		m := sent(t, delivery("yes", in.ID))
		if m.Header.Get("In-Reply-To") != "<m3@example.org>" || m.Header.Get("References") != tc.want || m.Header.Get("Subject") != "Re: Lunch" {
			t.Errorf("%s: %v, want %s", tc.name, m.Header.Map(), tc.want)
		}
	}
}

// TestATextAndItsFileAreOneMail (C11c): the first file of a text is part of the same mail; further files, and
// files without a text, are separate mails.
func TestATextAndItsFileAreOneMail(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	out := channelstest.NewOutbox(sys.RealClock().Wall)
	o := event.Out{Key: "1", To: "email:" + sam, Body: "Here it is.", ReplyRef: "<m1@x> <m1@x> Lunch", Cause: event.Cause{Kind: event.ByTurn}}
	o.Files = []event.Enclosed{{Name: "a.txt", Artifact: "a", MIME: "text/plain", Size: 3}, {Name: "b.txt", Artifact: "b", MIME: "text/plain", Size: 3}}
	out.Queue(o)
	deliver(t, out, open(t, config(f)), "done")
	got := f.Sent()
	if len(got) != 2 {
		t.Fatalf("%d mails: %+v", len(got), got)
	}
	if got[0].Text != "Here it is." || len(got[0].Files) != 1 || got[0].Files[0].Name != "a.txt" || got[0].Header.Get("Subject") != "Re: Lunch" {
		t.Errorf("the first mail is %+v", got[0])
	}
	if len(got[1].Files) != 1 || got[1].Files[0].Name != "b.txt" {
		t.Errorf("the second mail is %+v", got[1])
	}
}

func TestNoInjection(t *testing.T) {
	const evil = "x\r\nBcc: eve@evil.org\r\n\r\n<b>body</b>\r\n.\r\nMAIL FROM:<a@b>"
	d := delivery(evil, "<m1@x\r\nBcc: eve@evil.org> <m1@x> "+evil)
	d.Nonce = evil
	d.File = file("a\"\r\nBcc: eve@evil.org\r\n\r\n.txt", "text/plain\r\nBcc: eve@evil.org", "content")
	m := sent(t, d)
	if m.Header.Has("Bcc") || m.Header.Len() > 12 || m.To != sam {
		t.Errorf("headers %v", m.Header.Map())
	}
	head, _, _ := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
	for l := range strings.SplitSeq(string(head), "\r\n") {
		if strings.HasPrefix(l, "Bcc") || strings.ContainsAny(l, "\r\n") {
			t.Errorf("a line of the header: %q", l)
		}
	}
	if len(m.Files) != 1 || string(m.Files[0].Content) != "content" {
		t.Errorf("files %+v", m.Files)
	}
	if !strings.Contains(m.Text, "\n.\nMAIL FROM:") {
		t.Errorf("the text is cut: %q", m.Text)
	}
	for _, to := range []event.Address{"email:", "email:sam", "email:sam@x\r\nRCPT TO:<eve@x>", "email:Sam@example.org", "email:<sam@x>", "email:a@b,c@d", "email:" + channelstest.EmailUser} {
		d.To = to
		f := server(t, channelstest.EmailOptions{})
		if _, err := open(t, config(f)).Send(t.Context(), d); kind(err) != "permanent" || len(f.Sent()) != 0 {
			t.Errorf("to %q: %v", to, err)
		}
	}
}

// stored returns a file to send.
type stored struct{ *bytes.Reader }

func (stored) Close() error { return nil }

func file(name, mime, content string) *channels.File {
	return &channels.File{Name: name, MIME: mime, Size: int64(len(content)), Open: func(context.Context) (io.ReadSeekCloser, error) {
		return stored{bytes.NewReader([]byte(content))}, nil
	}}
}

func TestAFile(t *testing.T) {
	d := delivery("the *report*", "")
	content := strings.Repeat("\x00\xff\r\n.\r\n", 1000)
	d.File = file("résumé.pdf", "application/pdf", content)
	m := sent(t, d)
	if len(m.Files) != 1 || m.Files[0].MIME != "application/pdf" || string(m.Files[0].Content) != content || m.Text != "the report" {
		t.Errorf("arrived %d files, %.100q", len(m.Files), m.Raw)
	}
	ch := channel(t)
	var carrier channels.Carrier = ch
	d.File = file("large", "x/y", strings.Repeat("x", int(carrier.MaxFile())+1))
	if _, err := ch.Send(t.Context(), d); kind(err) != "permanent" {
		t.Errorf("a file that is too large: %v", err)
	}
	gone := errors.New("gone")
	d.File = &channels.File{Name: "x", Open: func(context.Context) (io.ReadSeekCloser, error) { return nil, gone }}
	if _, err := ch.Send(t.Context(), d); !errors.Is(err, gone) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

func TestClassesOfFailure(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault channelstest.EmailFault
		want  string
		kept  int
	}{
		{"greylisted", channelstest.EmailFault{At: "RCPT", Code: 451}, "later there", 0},
		{"the mailbox is full", channelstest.EmailFault{At: "RCPT", Code: 452}, "later there", 0},
		{"closing", channelstest.EmailFault{At: "RCPT", Code: 421}, "later", 0},
		{"nobody of that name", channelstest.EmailFault{At: "RCPT", Code: 550}, "permanent", 0},
		{"not this sender", channelstest.EmailFault{At: "MAIL", Code: 553}, "permanent", 0},
		{"not without a log-in", channelstest.EmailFault{At: "MAIL", Code: 530}, "plain", 0},
		{"spam", channelstest.EmailFault{At: "DATA", Code: 554}, "permanent", 0},
		{"not now", channelstest.EmailFault{At: "DATA", Code: 421}, "later", 0},
		{"cut at the beginning", channelstest.EmailFault{At: "MAIL"}, "plain", 0},
		{"cut before the mail", channelstest.EmailFault{At: "RCPT"}, "plain", 0},
		{"cut, not kept", channelstest.EmailFault{Cut: "before"}, "unknown", 0},
		{"cut, kept", channelstest.EmailFault{Cut: "after"}, "unknown", 1},
	} {
		f := server(t, channelstest.EmailOptions{})
		f.Fail(tc.fault)
		_, err := open(t, config(f)).Send(t.Context(), delivery("x", ""))
		if got := channelstest.Kind(err); got != tc.want || len(f.Sent()) != tc.kept {
			t.Errorf("%s: %v is %s, want %s; %d kept", tc.name, err, got, tc.want, len(f.Sent()))
		}
	}
	f := server(t, channelstest.EmailOptions{})
	ch := open(t, config(f))
	f.Revoke()
	if _, err := ch.Send(t.Context(), delivery("x", "")); kind(err) != "plain" || !strings.Contains(err.Error(), "check user and password") {
		t.Errorf("a password that is not taken: %v", err)
	}
	f.Close()
	if _, err := ch.Send(t.Context(), delivery("x", "")); kind(err) != "plain" {
		t.Errorf("nobody there: %v", err)
	}
}

// A mailbox without a folder for sent mail cannot be searched: whether a mail has arrived is unknown.
func TestNoFolderOfWhatWasSent(t *testing.T) {
	f := server(t, channelstest.EmailOptions{NoSentFolder: true})
	ch := open(t, config(f))
	d := delivery("x", "")
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Errorf("a mail that was taken: %v", err)
	}
	if _, found, err := ch.Find(t.Context(), d); found || kind(err) != "unknown" {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestThroughThePump tests a server that stores no copies by itself: an uncertain mail to the owner is repeated once,
// marked and with the same Message-ID; to others it is held with a question. A mail with a copy is never repeated.
func TestThroughThePump(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	ch := open(t, config(f))
	out := channelstest.NewOutbox(sys.RealClock().Wall)
	out.Queue(event.Out{Key: "1", To: "email:" + sam, Body: "cut", Cause: event.Cause{Kind: event.ByTurn}})
	f.Fail(channelstest.EmailFault{Cut: "after"})
	deliver(t, out, ch, "done")
	got := f.Sent()
	if len(got) != 2 || got[1].Text != "cut\n\n(may be a repeat)" || got[0].Header.Get("Message-Id") != got[1].Header.Get("Message-Id") {
		t.Errorf("arrived %+v", got)
	}
	out.Queue(event.Out{Key: "2", To: "email:" + ana, Body: "for ana", Cause: event.Cause{Kind: event.ByTurn}})
	f.Fail(channelstest.EmailFault{Cut: "before"})
	deliver(t, out, ch, "held")
	if asked := out.Asked(); len(asked) != 1 || slices.ContainsFunc(f.Sent(), func(m channelstest.EmailSent) bool { return m.Text == "for ana" }) {
		t.Errorf("asked about %v, %d arrived: what may have reached others is never sent again by itself", asked, len(f.Sent()))
	}
}

// deliver runs a pump until the newest row of the outbox has a state.
func deliver(t *testing.T, out *channelstest.Outbox, ch channels.Channel, state string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pump := channels.NewPump(channels.Config{
		Hide: func(text string) string { return text }, Store: out.Process(), Channel: func(string) (channels.Channel, error) { return ch, nil },
		Owner: func() []event.Address { return []event.Address{"email:" + sam} }, Elsewhere: func(string) event.Address { return event.CLI }, Zone: func() *time.Location { return time.UTC },
		Report: func(string, error) {}, Receives: func(string) time.Time { return time.Time{} }, Away: func(string) bool { return false }, Once: func(_ string, f func() error) { go func() { _ = f() }() },
		Open: func(ctx context.Context, id string) (io.ReadSeekCloser, error) {
			return channelstest.Enclosed(id, "", "one").Open(ctx)
		},
		Wake: out.Wake, Clock: sys.RealClock(), Ident: sys.RandomIDs(), Log: slog.New(slog.DiscardHandler),
	})
	ended := make(chan error, 1)
	go func() { ended <- pump.Run(ctx) }()
	channelstest.Wait(t, 20*time.Second, "the last message being "+state, func() bool {
		rows := slices.DeleteFunc(out.Rows(), func(r channelstest.OutRow) bool { return r.Cause.Kind != event.ByTurn })
		return rows[len(rows)-1].State == state
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A mail to somebody else waits a day for the server.
func TestADayForOthers(t *testing.T) {
	var slow channels.SlowSender = channel(t)
	if slow.Patience() != 24*time.Hour {
		t.Errorf("%s", slow.Patience())
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	at := func(change func(*email.Config)) email.Config {
		c := email.Config{IMAP: "imap.hob.test", SMTP: "smtp.hob.test", Address: "hob@hob.test", Password: "env:PASSWORD"}
		change(&c)
		return c
	}
	off := false
	for _, tc := range []struct {
		cfg  email.Config
		want string
	}{
		{at(func(c *email.Config) { c.IMAP = "" }), "imap: missing; want the server's address"},
		{at(func(c *email.Config) { c.SMTP = "" }), "smtp: missing; want the server's address"},
		{at(func(c *email.Config) { c.IMAP = "imap://x" }), `imap: "imap://x" is not an address`},
		{at(func(c *email.Config) { c.SMTP = "x:70000" }), `smtp: "x:70000" is not an address`},
		{at(func(c *email.Config) { c.Address = "" }), "address: missing"},
		{at(func(c *email.Config) { c.Address = "hob" }), `address: "hob" is not an address`},
		{at(func(c *email.Config) { c.TLS = &off }), "tls: without TLS, anybody on the way"},
		{at(func(c *email.Config) { c.Fingerprint = "aa" }), "fingerprint: want the SHA-256"},
		{at(func(c *email.Config) { c.TrustResults = "a; b" }), `trust_results: "a; b" is not the name`},
		{at(func(c *email.Config) { c.Folder = "IN\nBOX" }), "user, folder: want one line"},
		{at(func(c *email.Config) { c.Password = "" }), "password: missing; create one for hob"},
		{at(func(c *email.Config) { c.Password = "env:NONE" }), "password: no secret"},
		{at(func(c *email.Config) { c.Password = "env:TWO" }), `password: the value of "env:TWO" is empty or has more`},
		{at(func(c *email.Config) { c.Known = []string{"Ana@example.org"} }), `known: "Ana@example.org" is not a valid id`},
		{at(func(c *email.Config) { c.Public = []string{"example.org"} }), `public: "example.org" is not a valid id`},
		{at(func(c *email.Config) { c.Known, c.Public = []string{ana}, []string{ana} }), "public: " + ana + " is listed twice, also in known"},
		{at(func(c *email.Config) { c.Known = []string{"hob@hob.test"} }), "known: hob@hob.test is listed twice, also in address"},
	} {
		if _, err := email.New(env(), tc.cfg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want one that begins with %q", tc.cfg, err, tc.want)
		}
	}
	e := env()
	e.Owner = func() []event.Address { return []event.Address{"email:Sam@example.org"} }
	if _, err := email.New(e, at(func(*email.Config) {})); err == nil || !strings.HasPrefix(err.Error(), "the owner's address email:Sam@example.org") {
		t.Errorf("an owner in capitals: %v", err)
	}
}

func TestTry(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts channelstest.EmailOptions
		set  func(*channelstest.Email, *email.Config)
		says []string
		err  string
	}{
		{"all is well", channelstest.EmailOptions{}, func(f *channelstest.Email, _ *email.Config) { f.Say(sam, "x") }, []string{"accepts the log-in", "has 1 mails", "IDLE", "go to Sent", "accepts the log-in", "has verified the sender of the newest mail, " + sam}, ""},
		{"over TLS", channelstest.EmailOptions{TLS: true}, func(f *channelstest.Email, c *email.Config) {
			c.TLS, c.Fingerprint = nil, f.Fingerprint()
		}, []string{"accepts the log-in", "no mail yet to check"}, ""},
		{"another certificate", channelstest.EmailOptions{TLS: true}, func(_ *channelstest.Email, c *email.Config) {
			c.TLS, c.Fingerprint = nil, strings.Repeat("ab", 32)
		}, nil, "not the one of the config"},
		{"a certificate that nobody has signed", channelstest.EmailOptions{TLS: true}, func(_ *channelstest.Email, c *email.Config) { c.TLS = nil }, nil, "certificate"},
		{"nobody vouches", channelstest.EmailOptions{}, func(f *channelstest.Email, _ *email.Config) { f.Put([]byte("From: x@y\r\n\r\nx")) }, []string{"has not verified the sender of the newest mail"}, ""},
		{"no name of who vouches", channelstest.EmailOptions{}, func(_ *channelstest.Email, c *email.Config) { c.TrustResults = "" }, []string{"go to Sent"}, "set trust_results"},
		// C11d, C14: without the author's display name, and without or with another trust_results
		{"nobody vouches for an address alone", channelstest.EmailOptions{}, func(f *channelstest.Email, _ *email.Config) {
			f.Put([]byte("Authentication-Results: mx.other.test; dmarc=pass header.from=y.test\r\nFrom: x@y.test\r\n\r\nx"))
		}, []string{"has not verified the sender of the newest mail, x@y.test:", "set: trust_results = \"mx.other.test\""}, ""},
		{"who could be trusted", channelstest.EmailOptions{}, func(f *channelstest.Email, c *email.Config) { f.Say(sam, "x"); c.TrustResults = "" }, []string{"newest mail, from " + sam, "set: trust_results = \"" + channelstest.EmailTrust + "\""}, "set trust_results"},
		{"no copies", channelstest.EmailOptions{NoSentFolder: true}, func(*channelstest.Email, *email.Config) {}, []string{"There is no folder for sent mail"}, ""},
		{"no such folder", channelstest.EmailOptions{}, func(_ *channelstest.Email, c *email.Config) { c.Folder = "none" }, nil, "open the folder none"},
		{"no log-in", channelstest.EmailOptions{}, func(f *channelstest.Email, _ *email.Config) { f.Revoke() }, nil, "check user and password"},
	} {
		f := server(t, tc.opts)
		cfg := config(f)
		tc.set(f, &cfg)
		var ch channels.Tester = open(t, cfg)
		lines, err := ch.Test(t.Context())
		all := strings.Join(lines, "\n")
		if missing := slices.IndexFunc(tc.says, func(s string) bool { return !strings.Contains(all, s) }); missing >= 0 {
			t.Errorf("%s: %q, want %q among it", tc.name, lines, tc.says[missing])
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
		if len(f.Sent()) != 0 {
			t.Errorf("%s: it sent something", tc.name)
		}
	}
}

// The port decides how TLS begins: STARTTLS at IMAP's 143, implicit TLS at SMTP's 465.
func TestPorts(t *testing.T) {
	f := server(t, channelstest.EmailOptions{TLS: true, Other: true})
	cfg := config(f)
	cfg.TLS, cfg.Fingerprint, cfg.IMAP, cfg.SMTP = nil, f.Fingerprint(), "imap.hob.test:143", "smtp.hob.test"
	e := env()
	e.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		at := map[string]string{"imap.hob.test:143": f.IMAP(), "smtp.hob.test:465": f.SMTP()}[addr]
		return (&net.Dialer{}).DialContext(ctx, network, at)
	}
	if lines, err := openWith(t, e, cfg).Test(t.Context()); err != nil || len(lines) != 6 {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestTLSAtAnotherPort (C11e): implicit TLS at another port than 465 is detected, once; if neither way works, the error
// names both. A slow server is not given up.
func TestTLSAtAnotherPort(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := server(t, channelstest.EmailOptions{TLS: true, Other: true})
	cfg := config(f)
	cfg.TLS, cfg.Fingerprint, cfg.IMAP = nil, f.Fingerprint(), "imap.hob.test:143"
	e := env()
	e.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "imap.hob.test:143" {
			addr = f.IMAP()
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	ch := openWith(t, e, cfg)
	for range 2 {
		if _, err := ch.Send(t.Context(), delivery("hello", "")); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.Sent()) != 2 {
		t.Errorf("%d mails arrived", len(f.Sent()))
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	cfg.SMTP = mute.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if _, err := openWith(t, e, cfg).Send(ctx, delivery("hello", "")); err == nil || !strings.Contains(err.Error(), "no greeting within 3s") || !strings.Contains(err.Error(), "TLS from the first byte was tried") {
		t.Errorf("a server that says nothing: %v", err)
	}
}

// TestASlowGreeting (C11e): a server that greets after more than three seconds, and then uses STARTTLS, works
// as before.
func TestASlowGreeting(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := server(t, channelstest.EmailOptions{TLS: true})
	slow, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slow.Close() })
	go func() { // what hob says is handed on at once, what the server says after the wait
		for {
			in, err := slow.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = in.Close() }()
				first := make([]byte, 1)
				_ = in.SetReadDeadline(time.Now().Add(greetLate))
				if n, _ := in.Read(first); n > 0 { // who speaks first gets an answer that is no TLS
					_, _ = in.Write([]byte("554 you talk before me\r\n"))
					return
				}
				_ = in.SetReadDeadline(time.Time{})
				out, err := net.Dial("tcp", f.SMTP())
				if err != nil {
					return
				}
				defer func() { _ = out.Close() }()
				go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	cfg := config(f)
	cfg.TLS, cfg.Fingerprint, cfg.SMTP = nil, f.Fingerprint(), slow.Addr().String()
	if _, err := open(t, cfg).Send(t.Context(), delivery("hello", "")); err != nil || len(f.Sent()) != 1 {
		t.Errorf("%v, %d mails arrived", err, len(f.Sent()))
	}
}

// greetLate is the delay of a slow server's greeting.
const greetLate = 3500 * time.Millisecond

func TestLink(t *testing.T) {
	var ch channels.Linker = channel(t)
	if text, url, err := ch.Link(t.Context()); err != nil || !strings.Contains(text, channelstest.EmailUser) || url != "mailto:"+channelstest.EmailUser {
		t.Errorf("%q, %q, %v", text, url, err)
	}
	deaf := open(t, email.Config{IMAP: "a", SMTP: "b", Address: channelstest.EmailUser, Password: "env:PASSWORD"})
	if _, _, err := deaf.Link(t.Context()); err == nil || !strings.Contains(err.Error(), "set trust_results") {
		t.Errorf("where nobody is recognised: %v", err)
	}
}

// FuzzHeaders: nothing in a delivery becomes a separate header.
func FuzzHeaders(f *testing.F) {
	f.Add("hello", "<a@b> <c@d> subject", "n", "a.txt")
	f.Add("x\r\nBcc: y", "<a@b\r\nBcc: y>", "\x00", "=?utf-8?q?=0d=0a?=")
	f.Add("\r\n.\r\n", "uid:1:2  \u202e", "", "../\\\"")
	ch := channel(f)
	f.Fuzz(func(t *testing.T, body, ref, nonce, name string) {
		d := channels.Delivery{To: "email:" + sam, Body: body, ReplyRef: ref, Nonce: nonce, File: file(name, name, body)}
		raw, err := ch.Compose(t.Context(), sam, d)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(raw), "\r\n\r\n")
		for l := range strings.SplitSeq(head, "\r\n") {
			key, _, ok := strings.Cut(l, ":")
			if !strings.HasPrefix(l, " ") && (!ok || !slices.Contains(known, key)) || strings.ContainsAny(l, "\r\n\x00") {
				t.Errorf("a header of %q: %q", head, l)
			}
		}
		if body != "" && !strings.Contains(string(raw), base64.StdEncoding.EncodeToString([]byte(body))[:min(4, len(body))]) {
			t.Errorf("the file is not there: %q", raw)
		}
	})
}

var known = []string{"Auto-Submitted", "Date", "MIME-Version", "Message-ID", "Subject", "X-Auto-Response-Suppress", "From", "To", "In-Reply-To", "References", "Content-Type"}
