package email_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/email"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { channelstest.Main(m) }

const (
	sam = "sam@example.org" // the owner
	ana = "ana@people.test" // known
)

func secrets() map[string]string {
	return map[string]string{"env:PASSWORD": channelstest.EmailPassword + "\n", "env:TWO": "a\nb"}
}

func env() channels.Env {
	return channels.Env{
		Name: "email", Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler),
		Owner: func() []event.Address { return []event.Address{"email:" + sam} },
		Secret: func(ref string) (string, error) {
			if s, ok := secrets()[ref]; ok {
				return s, nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

func server(t testing.TB, opts channelstest.EmailOptions) *channelstest.Email {
	t.Helper()
	f, err := channelstest.NewEmail(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func config(f *channelstest.Email) email.Config {
	plain := false
	return email.Config{
		IMAP: f.IMAP(), SMTP: f.SMTP(), Address: channelstest.EmailUser, Password: "env:PASSWORD", TLS: &plain,
		TrustResults: channelstest.EmailTrust, Known: []string{ana},
	}
}

func open(t testing.TB, cfg email.Config) *email.Channel {
	t.Helper()
	return openWith(t, env(), cfg)
}

func openWith(t testing.TB, e channels.Env, cfg email.Config) *email.Channel {
	t.Helper()
	ch, err := email.New(e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// world is the mail with the owner sam.
func world(f *channelstest.Email, open func() channels.Channel) channelstest.World {
	faults := map[channelstest.Failure]channelstest.EmailFault{
		channelstest.Later: {At: "RCPT", Code: 451}, channelstest.Refused: {At: "RCPT", Code: 550}, channelstest.Broken: {At: "MAIL"},
		channelstest.CutBefore: {Cut: "before"}, channelstest.CutAfter: {Cut: "after"},
	}
	return channelstest.World{
		Name: "email", To: "email:" + sam, None: "email:nobody@example.org", Rules: channels.Rules{Owner: []string{sam}}, Open: open, Doubts: true,
		Say:   func(text string) string { return f.Say(sam, text) },
		ID:    func(in event.In) string { id, _, _ := strings.Cut(in.ExtID, " "); return id },
		Again: f.Again,
		Noise: func() { noise(f) },
		Fail:  func(k channelstest.Failure) { f.Fail(faults[k]) },
		Sent: func() []string {
			var texts []string
			for _, m := range f.Sent() {
				texts = append(texts, unfolded(m.Text))
			}
			return texts
		},
		Listening: f.Listening,
		Readers: channelstest.Readers{Files: func() []channelstest.Shown {
			var files []channelstest.Shown
			for _, m := range f.Sent() {
				for _, s := range m.Files {
					s.Caption = unfolded(m.Text)
					files = append(files, s)
				}
			}
			return files
		}},
		People:  channelstest.People{Attach: func(name string, content []byte) string { return f.Attach(sam, name, content) }},
		Account: channelstest.Account{Revoke: f.Revoke, Lose: f.Renumber, Drop: f.Drop},
	}
}

// unfolded joins lines that were broken at the limit for mails (RFC 5322, section 2.1.1).
func unfolded(text string) string {
	var b strings.Builder
	for l := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		if len(l) > 990 {
			l = strings.TrimSuffix(l, "\n")
		}
		b.WriteString(l)
	}
	return b.String()
}

// noise returns mails that must not become input.
func noise(f *channelstest.Email) {
	vouched := "Authentication-Results: " + channelstest.EmailTrust + "; dmarc=pass header.from=example.org\r\n"
	to := "To: " + channelstest.EmailUser + "\r\n"
	for _, raw := range []string{
		"", "\r\n\r\n", "no header at all", "From\r\n: x\r\n\r\n", ": \r\n\r\nx",
		"From: " + sam + "\r\n" + to + "\r\nnobody vouches for this\r\n",
		vouched + "From: " + sam + "\r\nFrom: " + sam + "\r\n" + to + "\r\ntwo writers\r\n",
		vouched + "From: " + sam + "\r\n" + to + "Auto-Submitted: auto-replied\r\n\r\nI am on holiday\r\n",
		vouched + "From: " + sam + "\r\n" + to + "List-Id: <l.example.org>\r\n\r\nnews\r\n",
		vouched + "From: " + sam + "\r\n" + to + "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n",
		vouched + "From: eve@example.org\r\n" + to + "\r\na stranger\r\n",
		vouched + "From: " + channelstest.EmailUser + "\r\n" + to + "\r\nmy own\r\n",
		"From: " + channelstest.EmailUser + "\r\n" + to + "\r\nmy own\r\n",
	} {
		f.Put([]byte(raw))
	}
}

func TestSuite(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		f := server(t, channelstest.EmailOptions{Files: true})
		return world(f, func() channels.Channel { return open(t, config(f)) })
	})
}

// inMemory is a server on a simulated network.
func inMemory(t *testing.T, n *channelstest.Network) *channelstest.Email {
	t.Helper()
	f, err := channelstest.EmailOn(n.Listen(), n.Listen(), channelstest.EmailOptions{Files: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestStorm(t *testing.T) {
	channelstest.Storm(t, func(t *testing.T, n *channelstest.Network) channelstest.World {
		f := inMemory(t, n)
		return world(f, func() channels.Channel { return openWith(t, n.Env(t, "email", secrets()), config(f)) })
	})
}

// imapConn is an inbox that records the messages of the adapter.
type imapConn struct {
	mu      sync.Mutex
	list    []channels.Message
	gaps    []string
	cursor  *channels.Cursor
	fail    int // the next so many calls of Receive with messages take nothing
	changed chan struct{}
}

func (b *imapConn) Receive(_ context.Context, list []channels.Message, c *channels.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail > 0 && len(list) > 0 {
		b.fail--
		return channelstest.ErrFull
	}
	b.list, b.cursor = append(b.list, list...), c
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return nil
}

func (b *imapConn) Accept(context.Context, []event.In, *channels.Cursor) ([]event.Receipt, error) {
	return nil, errors.New("mail knows persons: Receive is the way in")
}

func (b *imapConn) Gap(_ context.Context, _, _ time.Time, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, why)
	return nil
}

func (b *imapConn) Cursor(_ context.Context, source, identity string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil || b.cursor.Source != source || b.cursor.Identity != identity {
		return "", nil
	}
	return b.cursor.Value, nil
}

func (b *imapConn) all() []channels.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// until waits until ok is true after an event.
func (b *imapConn) until(t *testing.T, ok func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		b.mu.Lock()
		if ok() {
			b.mu.Unlock()
			return
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("it did not happen; received: %+v", b.all())
		}
	}
}

// run runs a channel until the returned function is called. It collects the errors of Run, and restarts it at
// once.
func run(t *testing.T, ch channels.Channel, in channels.Inbox) (stop func() []error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan []error, 1)
	go func() {
		var errs []error
		for ctx.Err() == nil {
			if err := ch.Run(ctx, in); err != nil {
				errs = append(errs, err)
			}
		}
		ended <- errs
	}()
	stop = sync.OnceValue(func() []error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return stop
}

func isErr(err, target error) bool { return errors.Is(err, target) }

func asErr[T error](err error, target *T) bool { return errors.As(err, target) }
