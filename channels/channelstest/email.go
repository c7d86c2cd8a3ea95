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

// The fake's mailbox: the user, and the server's name in Authentication-Results.
const (
	EmailUser     = "hob@hob.test"
	EmailPassword = "let-me-in"
	EmailTrust    = "mx.hob.test"
)

// EmailOptions select the kind of server.
type EmailOptions struct {
	Files        bool // it stores sent mail in the folder Sent by itself
	TLS          bool // IMAP with implicit TLS, SMTP with STARTTLS
	Other        bool // with TLS: the other way round
	NoSentFolder bool // there is no folder Sent
}

// EmailFault replaces the normal handling of one mail.
type EmailFault struct {
	At   string // the command that fails: "MAIL", "RCPT" or "DATA"
	Code int    // refuse with this code
	Cut  string // "before" drops the connection before the mail is stored, "after" after it
}

// Email is a fake mail server: IMAP4rev1 with IDLE, and SMTP submission. Received mail is in INBOX; hob's
// mail goes nowhere.
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
	said    map[string][]byte // by the result of Say
	next    int
	idle    map[*mailbox]bool // those that wait for mail
	logins  int
	revoked bool
	changed chan struct{} // closed when something happens
}

// NewEmail starts a fake on free ports of the loopback interface.
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
	f := &Email{opts: opts, imap: in, smtp: out, open: map[net.Conn]bool{}, idle: map[*mailbox]bool{}, said: map[string][]byte{}, changed: make(chan struct{}), group: sys.NewGroup(slog.New(slog.DiscardHandler), nil)}
	f.user = imapmemserver.NewUser(EmailUser, EmailPassword)
	if err := f.folders(); err != nil {
		return nil, err
	}
	var later [2]*tls.Config // for STARTTLS, of IMAP and of SMTP
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
		NewSession: func(c *imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &mailbox{f: f, conn: c.NetConn()}, nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}}, Logger: quiet, InsecureAuth: !opts.TLS, TLSConfig: later[0],
	})
	f.mails = smtp.NewServer(smtp.BackendFunc(f.begin))
	f.mails.AllowInsecureAuth, f.mails.ErrorLog, f.mails.Domain, f.mails.TLSConfig = !opts.TLS, quiet, "hob.test", later[1]
	f.serve("fake imap", f.imap, f.boxes.Serve)
	f.serve("fake smtp", f.smtp, f.mails.Serve)
	return f, nil
}

// serve starts a server, and waits until it accepts connections: it cannot be closed before that.
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
		return fmt.Errorf("make the fake's folder for sent mail: %w", err)
	}
	return nil
}

// IMAP returns the address for the key imap.
func (f *Email) IMAP() string { return f.imap.Addr().String() }

// SMTP returns the address for the key smtp.
func (f *Email) SMTP() string { return f.smtp.Addr().String() }

// Fingerprint returns the SHA-256 of the server's certificate.
func (f *Email) Fingerprint() string { return f.print }

// Close ends the servers and all connections.
func (f *Email) Close() {
	f.Drop()
	_ = f.boxes.Close() // the fake ends anyway
	_ = f.mails.Close()
	f.group.Wait()
}

// kept is a listener whose connections can be closed.
type kept struct {
	net.Listener
	f     *Email
	once  sync.Once
	asked chan struct{} // closed when a connection is requested
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

// Drop closes all connections, like a server that restarts.
func (f *Email) Drop() {
	f.mu.Lock()
	all := f.open
	f.open, f.idle = map[net.Conn]bool{}, map[*mailbox]bool{}
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

// Say sends a mail to hob, without a subject and verified by the server. It returns the Message-ID.
func (f *Email) Say(from, text string) string {
	return f.write(from, "Content-Type: text/plain; charset=utf-8\r\n\r\n"+strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
}

// Attach sends a mail with a file and without text.
func (f *Email) Attach(from, name string, content []byte) string {
	var lines strings.Builder
	for chunk := range slices.Chunk(content, 57) {
		lines.WriteString(base64.StdEncoding.EncodeToString(chunk) + "\r\n")
	}
	return f.write(from, fmt.Sprintf("Content-Type: multipart/mixed; boundary=cut\r\n\r\n--cut\r\nContent-Type: application/octet-stream\r\n"+
		"Content-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64\r\n\r\n%s--cut--\r\n", name, lines.String()))
}

// write delivers a mail; body begins with its own header fields.
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

// Put adds a raw mail to INBOX.
func (f *Email) Put(raw []byte) { f.put("INBOX", raw) }

func (f *Email) put(folder string, raw []byte) {
	f.mu.Lock()
	user := f.user
	f.mu.Unlock()
	if _, err := user.Append(folder, literal{bytes.NewReader(raw)}, &imap.AppendOptions{}); err != nil {
		panic(err) // the fake's folders exist
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.happened()
}

type literal struct{ *bytes.Reader }

func (l literal) Size() int64 { return int64(l.Len()) }

// Renumber gives INBOX a new UIDVALIDITY without mails, and ends all connections.
func (f *Email) Renumber() {
	f.mu.Lock()
	err := errors.Join(f.user.Delete("INBOX"), f.user.Create("INBOX", nil))
	f.mu.Unlock()
	if err != nil {
		panic(err) // INBOX is there
	}
	f.Drop()
}

// Logins returns the number of IMAP log-ins.
func (f *Email) Logins() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logins
}

// Listening waits until a client waits for mail (IDLE), or ctx ends.
func (f *Email) Listening(ctx context.Context) {
	for ctx.Err() == nil {
		f.mu.Lock()
		waits, changed := len(f.idle) > 0, f.changed
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

// Flags returns the flags of all mails in a folder, in order.
func (f *Email) Flags(folder string) ([]string, error) {
	f.mu.Lock()
	status, err := f.user.Status(folder, &imap.StatusOptions{NumMessages: true, NumUnseen: true})
	f.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", folder, err)
	}
	return []string{fmt.Sprintf("%d mails", *status.NumMessages), fmt.Sprintf("%d unseen", *status.NumUnseen)}, nil
}

// mailbox is one IMAP connection.
type mailbox struct {
	*imapmemserver.UserSession
	f    *Email
	conn net.Conn // as accepted, before STARTTLS
}

// Close ends the session and forgets its connection. A record of ended connections would look like a leak of hob.
func (b *mailbox) Close() error {
	b.f.mu.Lock()
	delete(b.f.open, b.conn)
	b.f.mu.Unlock()
	if b.UserSession == nil {
		return nil
	}
	return b.UserSession.Close()
}

// Login accepts hob's user and password.
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

// Idle announces mail until stop, beginning with mail that arrived before.
func (b *mailbox) Idle(w *imapserver.UpdateWriter, stop <-chan struct{}) error {
	b.waiting(true)
	defer b.waiting(false)
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

func (b *mailbox) waiting(begins bool) {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if begins {
		b.f.idle[b] = true
	} else {
		delete(b.f.idle, b)
	}
	b.f.happened()
}

// happened wakes waiting callers. The caller holds mu.
func (f *Email) happened() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Fail scripts the next mails that hob sends, one fault each; the zero fault means success.
func (f *Email) Fail(faults ...EmailFault) { f.script.Fail("send", faults...) }

// Sent returns the mails that hob has sent, in order.
func (f *Email) Sent() []EmailSent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}
