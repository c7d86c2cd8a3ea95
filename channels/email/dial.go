package email

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"os"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/text"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// Timeouts of connections.
const (
	dialTime   = 20 * time.Second // for the connection and the server's greeting
	answerTime = 10 * time.Second // for the answer to a short command; after it the connection is dead
	fetchTime  = 3 * time.Minute  // for fetching mails
)

// noLogin says what to do about a refused log-in.
const noLogin = "the server refuses the log-in: check user and password (many providers require an app password)"

// connect opens a connection to a server, with TLS from the first byte (implicit TLS) unless the port or the
// config says otherwise. starts: TLS begins later, with STARTTLS.
func (c *Channel) connect(ctx context.Context, at string, starts bool) (net.Conn, error) {
	conn, err := c.dial(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", at, err)
	}
	if !c.cfg.secure() || starts {
		return conn, nil
	}
	return c.cfg.secured(ctx, conn, at)
}

// secured starts TLS on a connection. It closes the connection if that fails.
func (c *Config) secured(ctx context.Context, conn net.Conn, at string) (net.Conn, error) {
	secure := tls.Client(conn, c.tls(at))
	err := secure.HandshakeContext(ctx)
	if err == nil {
		return secure, nil
	}
	_ = conn.Close() // the handshake's error is returned
	if other := (tls.RecordHeaderError{}); errors.As(err, &other) {
		err = fmt.Errorf("%w: %w", errPlain, err)
	}
	return nil, fmt.Errorf("connect to %s over TLS: %w", at, err)
}

// errPlain reports a server without implicit TLS on this port.
var errPlain = errors.New("this port does not speak TLS from the first byte (IMAP does at 993, and begins it by STARTTLS at 143; SMTP does at 465)")

// dialSMTP connects to the SMTP server. On ports other than 465, TLS begins with STARTTLS after the server's
// greeting. A server that does not greet may expect implicit TLS, so that is tried next, and remembered. If
// the server was only slow, it is connected again with the full time.
func dialSMTP(ctx context.Context, c *Channel) (conn net.Conn, starts bool, err error) {
	at := c.cfg.SMTP
	starts = c.cfg.secure() && !strings.HasSuffix(at, fmt.Sprintf(":%d", smtpPort)) && !c.early.Load()
	if conn, err = c.connect(ctx, at, starts); err != nil || !starts {
		return conn, starts, err
	}
	greeted := &peeked{Conn: conn, in: bufio.NewReader(conn)}
	if greeted.within(greetTime) {
		return greeted, true, nil
	}
	conn, err = c.cfg.secured(ctx, conn, at)
	switch {
	case err == nil:
		c.early.Store(true)
		return conn, false, nil
	case errors.Is(err, errPlain):
		conn, err = c.connect(ctx, at, true)
		return conn, true, err
	}
	return nil, false, fmt.Errorf("no greeting within %s, after which TLS would begin by STARTTLS; TLS from the first byte was tried then: %w", greetTime, err)
}

// greetTime is how long the server has for its greeting before implicit TLS is tried.
const greetTime = 3 * time.Second

// peeked is a connection whose first byte may have been read ahead.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

// Read reads the connection, beginning with what was read ahead.
func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// within reports whether a byte arrives within a time. A closed connection counts as an answer; the next read
// will find it.
func (p *peeked) within(d time.Duration) bool {
	_ = p.SetReadDeadline(time.Now().Add(d)) // without a deadline, the dial timeout applies
	defer func() { _ = p.SetReadDeadline(time.Time{}) }()
	_, err := p.in.Peek(1)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// tls returns how the server must prove its identity.
func (c *Config) tls(at string) *tls.Config {
	host, _, _ := net.SplitHostPort(at)
	return wire.TLS(host, c.Fingerprint)
}

// imapConn is a logged-in connection to the IMAP server (RFC 3501).
type imapConn struct {
	*imapclient.Client
	conn      net.Conn
	announced chan struct{} // wake signal: the server announced a change
	stop      func() bool
}

// openIMAP connects and logs in. The connection ends with ctx at the latest.
func (c *Channel) openIMAP(ctx context.Context) (*imapConn, error) {
	// One limit for the connection and the TLS handshake.
	dialing, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no connection within %s", dialTime))
	defer cancel()
	starts := c.cfg.secure() && strings.HasSuffix(c.cfg.IMAP, fmt.Sprintf(":%d", imapStartPort))
	conn, err := c.connect(dialing, c.cfg.IMAP, starts)
	if err != nil {
		return nil, err
	}
	b := &imapConn{conn: conn, announced: make(chan struct{}, 1)}
	b.stop = context.AfterFunc(ctx, b.disconnect)
	options := &imapclient.Options{
		TLSConfig: c.cfg.tls(c.cfg.IMAP), WordDecoder: &mime.WordDecoder{CharsetReader: text.Charset},
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: func(*imapclient.UnilateralDataMailbox) { b.wake() }},
	}
	// STARTTLS and the log-in share one limit: either may hang on a broken connection.
	err = b.within(dialTime, func() error {
		if starts {
			if b.Client, err = imapclient.NewStartTLS(conn, options); err != nil {
				return fmt.Errorf("STARTTLS: %w", err)
			}
		} else {
			b.Client = imapclient.New(conn, options)
		}
		return b.Login(c.cfg.User, c.cfg.Password).Wait()
	})
	if err != nil {
		b.end()
		return nil, refusedIMAP(fmt.Errorf("log in to %s: %w", c.cfg.IMAP, err))
	}
	return b, nil
}

// refusedIMAP marks a refused log-in as a lasting refusal, so that it is tried again slowly. A server that is
// only busy says UNAVAILABLE or LIMIT (RFC 5530).
func refusedIMAP(err error) error {
	var no *imap.Error
	if !errors.As(err, &no) || no.Type != imap.StatusResponseTypeNo || no.Code == imap.ResponseCodeUnavailable || no.Code == imap.ResponseCodeLimit {
		return err
	}
	return channels.Refused(fmt.Errorf("%w; %s", err, noLogin))
}

// wake records that the server announced a change. Several announcements become one.
func (b *imapConn) wake() {
	select {
	case b.announced <- struct{}{}:
	default:
	}
}

// disconnect closes the connection, so that everything that waits for it fails.
func (b *imapConn) disconnect() { _ = b.conn.Close() } // closing twice is harmless

// end closes the connection and waits until nothing reads from it.
func (b *imapConn) end() {
	b.stop()
	b.disconnect()
	if b.Client != nil {
		_ = b.Close() // closed on purpose
	}
}

// within runs do, and closes the connection if it takes longer than d.
func (b *imapConn) within(d time.Duration, do func() error) error {
	timer := time.AfterFunc(d, b.disconnect)
	err := do()
	if !timer.Stop() {
		return fmt.Errorf("nothing heard for %s", d)
	}
	return err
}

// examine opens a folder read-only (EXAMINE).
func (b *imapConn) examine(folder string) (*imap.SelectData, error) {
	var data *imap.SelectData
	err := b.within(fetchTime, func() (err error) { // large mailboxes take long to open
		data, err = b.Select(folder, &imap.SelectOptions{ReadOnly: true}).Wait()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", folder, err)
	}
	return data, nil
}

// sentFolder returns the folder for sent mail: the one that the server marks as such (RFC 6154), else one with a
// usual name; "" if there is none.
func (b *imapConn) sentFolder() (string, error) {
	var list []*imap.ListData
	err := b.within(answerTime, func() (err error) {
		options := &imap.ListOptions{ReturnSpecialUse: b.Caps().Has(imap.CapListExtended) && b.Caps().Has(imap.CapSpecialUse)}
		list, err = b.List("", "*", options).Collect()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("list the folders: %w", err)
	}
	// Servers without SPECIAL-USE do not mark the folder.
	usual := ""
	for _, f := range list {
		for _, attr := range f.Attrs {
			if attr == imap.MailboxAttrSent {
				return f.Mailbox, nil
			}
		}
		switch strings.TrimPrefix(strings.ToLower(f.Mailbox), "inbox"+string(f.Delim)) {
		case "sent", "sent items", "sent messages", "sent mail", "gesendet":
			usual = f.Mailbox
		}
	}
	return usual, nil
}

// hasMessage reports whether a folder has a message with the given Message-ID.
func (b *imapConn) hasMessage(folder, id string) (bool, error) {
	if _, err := b.examine(folder); err != nil {
		return false, err
	}
	var found *imap.SearchData
	err := b.within(fetchTime, func() (err error) {
		found, err = b.UIDSearch(&imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: id}}}, nil).Wait()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("search %s: %w", folder, err)
	}
	return len(found.AllUIDs()) > 0, nil
}

// smtpConn is a logged-in connection to the SMTP server (RFC 6409).
type smtpConn struct {
	*smtp.Client
	conn net.Conn
	stop func() bool
}

// openSMTP connects and logs in. The connection ends with ctx at the latest.
func (c *Channel) openSMTP(ctx context.Context) (*smtpConn, error) {
	host, _, _ := net.SplitHostPort(c.cfg.SMTP) // New has checked it
	dialing, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no connection within %s", dialTime))
	defer cancel()
	conn, starts, err := dialSMTP(dialing, c)
	if err != nil {
		return nil, fmt.Errorf("log in to %s: %w", c.cfg.SMTP, err)
	}
	p := &smtpConn{conn: conn, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}
	options := []mail.Option{
		mail.WithTimeout(dialTime), mail.WithHELO(domain(c.cfg.Address)), mail.WithTLSConfig(c.cfg.tls(c.cfg.SMTP)), mail.WithTLSPolicy(mail.NoTLS),
		mail.WithUsername(c.cfg.User), mail.WithPassword(c.cfg.Password), mail.WithoutSMTPUTF8(),
		mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin),
		mail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	// The library must not continue in plain text if the server no longer offers STARTTLS.
	if starts {
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	// The library dials through the given connection, so proxies and TLS are hob's own.
	client, err := mail.NewClient(host, options...)
	if err != nil {
		p.end()
		return nil, fmt.Errorf("prepare SMTP: %w", err)
	}
	p.Client, err = client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		p.end()
		return nil, refusedLogin(fmt.Errorf("log in to %s: %w", c.cfg.SMTP, err))
	}
	return p, nil
}

// end closes the connection without QUIT: in the middle of a mail, QUIT would end the mail and send it
// (net/textproto).
func (p *smtpConn) end() {
	p.stop()
	_ = p.conn.Close() // the mail was answered, or never will be
}

// domain returns the part after the @.
func domain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }
