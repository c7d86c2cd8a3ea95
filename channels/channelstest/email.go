package channelstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-smtp"

	"hob/daemon/sys"
)

// The mailbox of the fake: who logs in, and the name under which the server vouches for who wrote.
const (
	EmailUser     = "hob@hob.test"
	EmailPassword = "let-me-in"
	EmailTrust    = "mx.hob.test"
)

// EmailOptions say what kind of server the fake is.
type EmailOptions struct {
	Files        bool // it puts what it sends into the folder Sent by itself
	TLS          bool // IMAP over TLS from the first byte, SMTP by STARTTLS
	Other        bool // with TLS, the other way round
	NoSentFolder bool // there is no folder Sent
}

// EmailFault is what the fake does instead of taking one mail.
type EmailFault struct {
	At   string // the command it comes at: "MAIL", "RCPT" or "DATA"
	Code int    // refuse with this
	Cut  string // "before" drops the connection without keeping the mail, "after" keeps it first
}

// Email is a fake mail server: IMAP4rev1 with IDLE and SMTP submission. What people write stands in INBOX; what hob sends goes nowhere.
type Email struct {
	opts    EmailOptions
	imap    net.Listener
	smtp    net.Listener
	print   string
	group   *sys.Group
	mails   *smtp.Server
	boxes   *imapserver.Server
	script  script[EmailFault]
	mu      sync.Mutex
	user    *imapmemserver.User
	open    map[net.Conn]bool
	sent    []EmailSent
	said    map[string][]byte // by what Say returned
	next    int
	idle    int
	logins  int
	revoked bool
	changed chan struct{} // closed when something happens
}

// NewEmail starts a fake on any free ports of the loopback.
func NewEmail(opts EmailOptions) (*Email, error) {
	in, err := listen("")
	if err != nil {
		return nil, err
	}
	out, err := listen("")
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return EmailOn(in, out, opts)
}

// EmailOn is NewEmail with listeners for IMAP and SMTP.
func EmailOn(in, out net.Listener, opts EmailOptions) (*Email, error) {
	f := &Email{opts: opts, imap: in, smtp: out, open: map[net.Conn]bool{}, said: map[string][]byte{}, changed: make(chan struct{}), group: sys.NewGroup(slog.New(slog.DiscardHandler), nil)}
	f.user = imapmemserver.NewUser(EmailUser, EmailPassword)
	if err := f.folders(); err != nil {
		return nil, err
	}
	var later [2]*tls.Config // of STARTTLS, by IMAP and by SMTP
	if opts.TLS {
		cert, err := selfSigned()
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(cert.Certificate[0])
		f.print = hex.EncodeToString(sum[:])
		how := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		if opts.Other {
			later[0], f.smtp = how, tls.NewListener(out, how)
		} else {
			f.imap, later[1] = tls.NewListener(in, how), how
		}
	}
	quiet := log.New(io.Discard, "", 0)
	f.boxes = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &mailbox{f: f}, nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}}, Logger: quiet, InsecureAuth: !opts.TLS, TLSConfig: later[0],
	})
	f.mails = smtp.NewServer(smtp.BackendFunc(f.begin))
	f.mails.AllowInsecureAuth, f.mails.ErrorLog, f.mails.Domain, f.mails.TLSConfig = !opts.TLS, quiet, "hob.test", later[1]
	f.serve("fake imap", f.imap, f.boxes.Serve)
	f.serve("fake smtp", f.smtp, f.mails.Serve)
	return f, nil
}

// serve starts a server, and waits until it takes connections: none can be closed while it is just beginning.
func (f *Email) serve(name string, l net.Listener, serve func(net.Listener) error) {
	k := &kept{Listener: l, f: f, asked: make(chan struct{})}
	f.group.Once(name, func() error { return serve(k) })
	<-k.asked
}

func (f *Email) folders() error {
	if err := f.user.Create("INBOX", nil); err != nil {
		return fmt.Errorf("make the fake's INBOX: %w", err)
	}
	if f.opts.NoSentFolder {
		return nil
	}
	if err := f.user.Create("Sent", nil); err != nil {
		return fmt.Errorf("make the fake's folder of what was sent: %w", err)
	}
	return nil
}

// IMAP is the address to configure as imap.
func (f *Email) IMAP() string { return f.imap.Addr().String() }

// SMTP is the address to configure as smtp.
func (f *Email) SMTP() string { return f.smtp.Addr().String() }

// Fingerprint is the SHA-256 of its certificate.
func (f *Email) Fingerprint() string { return f.print }

// Close ends the servers and all connections.
func (f *Email) Close() {
	f.Drop()
	_ = f.boxes.Close() // nobody asks a fake whether it ended well
	_ = f.mails.Close()
	f.group.Wait()
}

// kept is a listener whose connections can be dropped.
type kept struct {
	net.Listener
	f     *Email
	once  sync.Once
	asked chan struct{} // closed when somebody asks for connections
}

func (k *kept) Accept() (net.Conn, error) {
	k.once.Do(func() { close(k.asked) })
	conn, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	k.f.open[conn] = true
	return conn, nil
}

// Drop ends all connections, as a server does that is restarted.
func (f *Email) Drop() {
	f.mu.Lock()
	all := f.open
	f.open = map[net.Conn]bool{}
	f.mu.Unlock()
	for conn := range all {
		_ = conn.Close() // it may have ended
	}
}

// Revoke makes the server refuse the password from now on.
func (f *Email) Revoke() {
	f.mu.Lock()
	f.revoked = true
	f.mu.Unlock()
	f.Drop()
}

// Say is somebody writing to hob, without a subject; the server vouches for him. It returns the mail's Message-ID.
func (f *Email) Say(from, text string) string {
	return f.write(from, "Content-Type: text/plain; charset=utf-8\r\n\r\n"+strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
}

// Attach is a mail with a file, and without words.
func (f *Email) Attach(from, name string, content []byte) string {
	var lines strings.Builder
	for chunk := range slices.Chunk(content, 57) {
		lines.WriteString(base64.StdEncoding.EncodeToString(chunk) + "\r\n")
	}
	return f.write(from, fmt.Sprintf("Content-Type: multipart/mixed; boundary=cut\r\n\r\n--cut\r\nContent-Type: application/octet-stream\r\n"+
		"Content-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64\r\n\r\n%s--cut--\r\n", name, lines.String()))
}

// write delivers a mail; body begins with its own heads.
func (f *Email) write(from, body string) string {
	f.mu.Lock()
	f.next++
	id := fmt.Sprintf("<%d@people.test>", f.next)
	f.mu.Unlock()
	_, domain, _ := strings.Cut(from, "@")
	raw := fmt.Sprintf("Authentication-Results: %s; dmarc=pass header.from=%s\r\nFrom: %s\r\nTo: %s\r\nMessage-ID: %s\r\nMIME-Version: 1.0\r\n%s",
		EmailTrust, domain, from, EmailUser, id, body)
	f.mu.Lock()
	f.said[id] = []byte(raw)
	f.mu.Unlock()
	f.Put([]byte(raw))
	return id
}

// Again delivers a mail of Say a second time.
func (f *Email) Again(id string) {
	f.mu.Lock()
	raw := f.said[id]
	f.mu.Unlock()
	f.Put(raw)
}

// Put lays a mail into INBOX as it is.
func (f *Email) Put(raw []byte) { f.put("INBOX", raw) }

func (f *Email) put(folder string, raw []byte) {
	f.mu.Lock()
	user := f.user
	f.mu.Unlock()
	if _, err := user.Append(folder, literal{bytes.NewReader(raw)}, &imap.AppendOptions{}); err != nil {
		panic(err) // the fake's own folders are there
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.happened()
}

type literal struct{ *bytes.Reader }

func (l literal) Size() int64 { return int64(l.Len()) }

// Renumber makes the server forget how it has numbered the mails of INBOX (UIDVALIDITY), with all of them, and ends all connections.
func (f *Email) Renumber() {
	f.mu.Lock()
	err := errors.Join(f.user.Delete("INBOX"), f.user.Create("INBOX", nil))
	f.mu.Unlock()
	if err != nil {
		panic(err) // INBOX is there
	}
	f.Drop()
}

// Logins is how often somebody has logged in by IMAP.
func (f *Email) Logins() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logins
}

// Listening blocks until somebody waits for mail (IDLE), or ctx ends.
func (f *Email) Listening(ctx context.Context) {
	for ctx.Err() == nil {
		f.mu.Lock()
		waits, changed := f.idle > 0, f.changed
		f.mu.Unlock()
		if waits {
			return
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// Flags are the marks of all mails in a folder, in their order.
func (f *Email) Flags(folder string) ([]string, error) {
	f.mu.Lock()
	status, err := f.user.Status(folder, &imap.StatusOptions{NumMessages: true, NumUnseen: true})
	f.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", folder, err)
	}
	return []string{fmt.Sprintf("%d mails", *status.NumMessages), fmt.Sprintf("%d unseen", *status.NumUnseen)}, nil
}

// mailbox is one connection by IMAP.
type mailbox struct {
	*imapmemserver.UserSession
	f *Email
}

// Close ends the session of who has logged in.
func (b *mailbox) Close() error {
	if b.UserSession == nil {
		return nil
	}
	return b.UserSession.Close()
}

// Login lets hob in.
func (b *mailbox) Login(user, password string) error {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	b.f.logins++
	if b.f.revoked {
		return imapserver.ErrAuthFailed
	}
	if err := b.f.user.Login(user, password); err != nil {
		return err
	}
	b.UserSession = imapmemserver.NewUserSession(b.f.user)
	return nil
}

// Idle announces mail until stop, first what has come before it.
func (b *mailbox) Idle(w *imapserver.UpdateWriter, stop <-chan struct{}) error {
	b.f.waiting(+1)
	defer b.f.waiting(-1)
	for {
		b.f.mu.Lock()
		changed := b.f.changed
		b.f.mu.Unlock()
		if err := b.Poll(w, true); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stop:
			return nil
		}
	}
}

func (f *Email) waiting(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle += n
	f.happened()
}

// happened wakes whoever waits for something; it is called with mu held.
func (f *Email) happened() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Fail scripts what happens to the next mails that hob sends, one fault each; the zero fault is none.
func (f *Email) Fail(faults ...EmailFault) { f.script.Fail("send", faults...) }

// Sent are the mails that hob has sent, in order.
func (f *Email) Sent() []EmailSent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}
