package email_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-smtp"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/email"
	"hob/daemon/event"
	"hob/daemon/sys/systest"
)

// TestSuiteOfDovecot runs the suite with the real server dovecot (Debian's dovecot-imapd and dovecot-lmtpd):
// mail arrives by LMTP, hob reads it over IMAP and stores its copies there. hob's mail goes to the fake's
// SMTP server.
func TestSuiteOfDovecot(t *testing.T) {
	t.Parallel()                         // most of it is waiting
	d := startDovecot(t, dovecotPath(t)) // one for all: what lies there when hob first comes is no news
	channelstest.RunInTurn(t, func(t *testing.T) channelstest.World {
		f := server(t, channelstest.EmailOptions{})
		cfg := config(f)
		cfg.IMAP = d.imap
		w := world(f, func() channels.Channel {
			e := env()
			e.Dial = d.dial
			return openWith(t, e, cfg)
		})
		w.Server, w.Again, w.Account, w.People = "dovecot", nil, channelstest.Account{}, channelstest.People{} // those are the fake's
		w.Noise = func() { d.deliver("news@example.org", "From: news@example.org\r\nList-Id: <x>\r\n\r\nnews\r\n") }
		w.ID = func(in event.In) string { return in.Text() }
		w.Say = func(text string) string {
			d.deliver(sam, mailOf(sam, text, ""))
			return text
		}
		w.Listening = d.listening
		return w
	})
}

// TestCopiesAtDovecot finds the folder for sent mail by its attribute, stores one copy there, and marks
// nothing in INBOX.
func TestCopiesAtDovecot(t *testing.T) {
	t.Parallel() // most of it is waiting
	d := startDovecot(t, dovecotPath(t))
	f := server(t, channelstest.EmailOptions{})
	cfg := config(f)
	cfg.IMAP = d.imap
	ch := open(t, cfg)
	d.deliver(sam, mailOf(sam, "old", ""))
	b := &imapConn{}
	stop := run(t, openDialing(t, d, cfg), b)
	d.listening(t.Context())
	d.deliver(sam, mailOf(sam, "hello", ""))
	b.until(t, func() bool { return len(b.list) == 1 })
	if errs := stop(); len(errs) > 0 || b.all()[0].Text != "hello" {
		t.Errorf("%+v, errors %v", b.all(), errs)
	}
	one := channels.Delivery{To: "email:" + sam, Body: "answer", Nonce: "n1", Parts: 1}
	var finder channels.Finder = ch
	if _, found, err := finder.Find(t.Context(), one); found || kind(err) != "unknown" {
		t.Errorf("before it is sent: found %v, %v", found, err)
	}
	id, err := ch.Send(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	got, found, err := finder.Find(t.Context(), one)
	if !found || err != nil || got != id {
		t.Errorf("after it: %q, found %v, %v; want %q", got, found, err, id)
	}
	if n, unseen := d.count(t, "Postausgang"); n != 1 || unseen != 0 {
		t.Errorf("%d copies, %d unseen, of a mail that was sent twice; want one, read", n, unseen)
	}
	if n, unseen := d.count(t, "INBOX"); n != 2 || unseen != 2 {
		t.Errorf("INBOX has %d mails, %d of them unread; want 2 and 2: nothing is deleted or marked", n, unseen)
	}
}

func openDialing(t *testing.T, d *dovecot, cfg email.Config) *email.Channel {
	e := env()
	e.Dial = d.dial
	return openWith(t, e, cfg)
}

// mailOf returns a plain mail that the server has verified, with more headers.
func mailOf(from, text, more string) string {
	_, domain, _ := strings.Cut(from, "@")
	return fmt.Sprintf("Authentication-Results: %s; dmarc=pass header.from=%s\r\nFrom: %s\r\nTo: %s\r\n%sMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n%s\r\n",
		channelstest.EmailTrust, domain, from, channelstest.EmailUser, more, strings.ReplaceAll(text, "\n", "\r\n"))
}

func dovecotPath(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server")
	}
	if _, err := os.Stat("/usr/lib/dovecot/lmtp"); err != nil {
		systest.Missing(t, "dovecot has no LMTP here")
	}
	return systest.Program(t, "dovecot")
}

// dovecot is a server that runs for a test.
type dovecot struct {
	t          *testing.T
	imap, lmtp string

	mu    sync.Mutex
	idle  map[net.Conn]bool // connections of hob's that wait for mail
	waits chan struct{}
}

// startDovecot starts a server with one mailbox, whose folder for sent mail has an unusual name.
func startDovecot(t *testing.T, path string) *dovecot {
	t.Helper()
	dir := t.TempDir()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	reader, more := "uid=mail gid=mail", ""
	if me.Uid != "0" {
		reader = "uid=" + me.Uid + " gid=" + me.Gid
		group, err := user.LookupGroupId(me.Gid)
		if err != nil {
			t.Fatal(err)
		}
		more = fmt.Sprintf("default_internal_user = %s\ndefault_login_user = %s\ndefault_internal_group = %s\n", me.Username, me.Username, group.Name)
	}
	d := &dovecot{t: t, imap: freePort(t), lmtp: freePort(t), idle: map[net.Conn]bool{}, waits: make(chan struct{})}
	_, imapPort, _ := net.SplitHostPort(d.imap)
	_, lmtpPort, _ := net.SplitHostPort(d.lmtp)
	conf := strings.NewReplacer("DIR", dir, "IMAP", imapPort, "LMTP", lmtpPort, "READER", reader).Replace(dovecotConf) + more
	write(t, filepath.Join(dir, "conf"), conf)
	write(t, filepath.Join(dir, "people"), channelstest.EmailUser+":{PLAIN}"+channelstest.EmailPassword+"\n")
	for _, open := range []string{dir, filepath.Dir(dir)} { // its processes are other users
		if err := os.Chmod(open, 0o755); err != nil { //nolint:gosec // a test's folder
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "mail"), 0o777); err != nil { //nolint:gosec // a test's folder
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "mail"), 0o777); err != nil { //nolint:gosec // a test's folder
		t.Fatal(err)
	}
	cmd := osexec.CommandContext(context.WithoutCancel(t.Context()), path, "-F", "-c", filepath.Join(dir, "conf"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it ends its children
		_ = cmd.Wait()
		if log, err := os.ReadFile(filepath.Join(dir, "log")); t.Failed() {
			t.Logf("dovecot: %s%s (%v)", said.String(), log, err)
		}
	})
	for _, at := range []string{d.imap, d.lmtp} {
		channelstest.Wait(t, 20*time.Second, "dovecot listening", func() bool {
			conn, err := net.Dial("tcp", at)
			return err == nil && conn.Close() == nil
		})
	}
	return d
}

const dovecotConf = `base_dir = DIR/run
state_dir = DIR/state
log_path = DIR/log
listen = 127.0.0.1
protocols = imap lmtp
ssl = no
disable_plaintext_auth = no
mail_location = maildir:DIR/mail/%u
mail_home = DIR/mail/home/%u
first_valid_uid = 1
postmaster_address = postmaster@hob.test
passdb {
  driver = passwd-file
  args = DIR/people
}
userdb {
  driver = static
  args = READER allow_all_users=yes
}
namespace inbox {
  inbox = yes
  mailbox Postausgang {
    special_use = \Sent
    auto = create
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    port = IMAP
  }
  inet_listener imaps {
    port = 0
  }
}
service lmtp {
  inet_listener lmtp {
    port = LMTP
  }
}
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // other users read it
		t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	return lis.Addr().String()
}

// deliver sends a mail to hob's mailbox.
func (d *dovecot) deliver(from, raw string) {
	d.t.Helper()
	conn, err := net.Dial("tcp", d.lmtp)
	if err != nil {
		d.t.Fatal(err)
	}
	c := smtp.NewClientLMTP(conn)
	defer func() { _ = c.Close() }() // it has been answered
	if err := c.SendMail(from, []string{channelstest.EmailUser}, strings.NewReader(raw)); err != nil {
		d.t.Fatal(err)
	}
}

// dial connects hob, and detects when it waits for mail.
func (d *dovecot) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watched{conn, d}, nil
}

type watched struct {
	net.Conn
	d *dovecot
}

func (w *watched) Write(b []byte) (int, error) {
	w.d.mu.Lock()
	if bytes.HasSuffix(b, []byte(" IDLE\r\n")) {
		w.d.idle[w] = true
		close(w.d.waits)
		w.d.waits = make(chan struct{})
	} else {
		delete(w.d.idle, w)
	}
	w.d.mu.Unlock()
	return w.Conn.Write(b)
}

func (w *watched) Close() error {
	w.d.mu.Lock()
	delete(w.d.idle, w)
	w.d.mu.Unlock()
	return w.Conn.Close()
}

// listening waits until hob waits for mail.
func (d *dovecot) listening(ctx context.Context) {
	for ctx.Err() == nil {
		d.mu.Lock()
		n, more := len(d.idle), d.waits
		d.mu.Unlock()
		if n > 0 {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
		}
	}
}

// count returns the number of mails in a folder, and of unread ones.
func (d *dovecot) count(t *testing.T, folder string) (all, unseen uint32) {
	t.Helper()
	c, err := imapclient.DialInsecure(d.imap, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // it has said what was asked
	if err := c.Login(channelstest.EmailUser, channelstest.EmailPassword).Wait(); err != nil {
		t.Fatal(err)
	}
	status, err := c.Status(folder, &imap.StatusOptions{NumMessages: true, NumUnseen: true}).Wait()
	if err != nil {
		t.Fatal(err)
	}
	return *status.NumMessages, *status.NumUnseen
}

// kind returns the class of an error of Send or Find.
func kind(err error) string {
	later := (*channels.RetryAfter)(nil)
	i := slices.Index([]bool{err == nil, isErr(err, channels.ErrPermanent), isErr(err, channels.ErrUnknown), asErr(err, &later)}, true)
	return []string{"plain", "none", "permanent", "unknown", "later"}[i+1]
}
