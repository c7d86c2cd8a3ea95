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

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-message/charset"
	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// Times of connections.
const (
	dialTime   = 20 * time.Second // until a server has greeted
	answerTime = 10 * time.Second // for an answer to a short command: nobody is there after it, the connection is half open
	fetchTime  = 3 * time.Minute  // for mails to arrive
)

// noLogin says what to do about a log-in that is refused.
const noLogin = "the log-in is not taken: check user and password (many providers want an app password here)"

// connect opens a connection to a server, over TLS from its first byte unless the port or the config says otherwise. starts tells that TLS is to
// begin later, by STARTTLS.
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

// secured speaks TLS over a connection, which it closes when that fails.
func (c *Config) secured(ctx context.Context, conn net.Conn, at string) (net.Conn, error) {
	secure := tls.Client(conn, c.tls(at))
	err := secure.HandshakeContext(ctx)
	if err == nil {
		return secure, nil
	}
	_ = conn.Close() // the handshake's error is told
	if other := (tls.RecordHeaderError{}); errors.As(err, &other) {
		err = fmt.Errorf("%w: %w", errPlain, err)
	}
	return nil, fmt.Errorf("connect to %s over TLS: %w", at, err)
}

// errPlain is a server that does not speak TLS from the first byte.
var errPlain = errors.New("this port does not speak TLS from the first byte (IMAP does at 993, and begins it by STARTTLS at 143; SMTP does at 465)")

// reach connects to the SMTP server. At a port other than 465 TLS begins by STARTTLS, after the server's greeting. A server that does not greet may
// be waiting for TLS: then that is tried, and remembered. Where it was only slow, it gets all the time there is.
func reach(ctx context.Context, c *Channel) (conn net.Conn, starts bool, err error) {
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

// greetTime is how long a server may take to greet before it is taken for one that waits for TLS.
const greetTime = 3 * time.Second

// peeked is a connection of which the first byte may have been looked at.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// within tells whether anything comes within a time. Whether the connection has ended, the next to read it finds.
func (p *peeked) within(d time.Duration) bool {
	_ = p.SetReadDeadline(time.Now().Add(d)) // without one, the dialing's own time ends it
	defer func() { _ = p.SetReadDeadline(time.Time{}) }()
	_, err := p.in.Peek(1)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// tls is how a server has to prove who it is.
func (c *Config) tls(at string) *tls.Config {
	host, _, _ := net.SplitHostPort(at)
	return wire.TLS(host, c.Fingerprint)
}

// box is a connection to the IMAP server, logged in.
type box struct {
	*imapclient.Client
	conn net.Conn
	news chan struct{} // something was announced
	stop func() bool
}

// openBox connects and logs in. The connection ends with ctx at the latest.
func (c *Channel) openBox(ctx context.Context) (*box, error) {
	dialing, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no connection within %s", dialTime))
	defer cancel()
	starts := c.cfg.secure() && strings.HasSuffix(c.cfg.IMAP, fmt.Sprintf(":%d", imapStartPort))
	conn, err := c.connect(dialing, c.cfg.IMAP, starts)
	if err != nil {
		return nil, err
	}
	b := &box{conn: conn, news: make(chan struct{}, 1)}
	b.stop = context.AfterFunc(ctx, b.cut)
	options := &imapclient.Options{
		TLSConfig: c.cfg.tls(c.cfg.IMAP), WordDecoder: &mime.WordDecoder{CharsetReader: charset.Reader},
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: func(*imapclient.UnilateralDataMailbox) { b.wake() }},
	}
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
		return nil, notTaken(fmt.Errorf("log in to %s: %w", c.cfg.IMAP, err))
	}
	return b, nil
}

// notTaken names a log-in that the server refuses, which is tried again slowly.
func notTaken(err error) error {
	var no *imap.Error
	if !errors.As(err, &no) || no.Type != imap.StatusResponseTypeNo || no.Code == imap.ResponseCodeUnavailable || no.Code == imap.ResponseCodeLimit {
		return err
	}
	return channels.Refused(fmt.Errorf("%w; %s", err, noLogin))
}

func (b *box) wake() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// cut ends the connection: whatever waits on it fails.
func (b *box) cut() { _ = b.conn.Close() } // closing twice is harmless

// end ends the connection and waits until nothing reads it any more.
func (b *box) end() {
	b.stop()
	b.cut()
	if b.Client != nil {
		_ = b.Close() // it was cut on purpose
	}
}

// within does something that the server has so long to answer to; else the connection is cut.
func (b *box) within(d time.Duration, do func() error) error {
	timer := time.AfterFunc(d, b.cut)
	err := do()
	if !timer.Stop() {
		return fmt.Errorf("nothing heard for %s", d)
	}
	return err
}

// look opens a folder without a right to change it (EXAMINE).
func (b *box) look(folder string) (*imap.SelectData, error) {
	var data *imap.SelectData
	err := b.within(fetchTime, func() (err error) { // a large mailbox takes servers long to open
		data, err = b.Select(folder, &imap.SelectOptions{ReadOnly: true}).Wait()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", folder, err)
	}
	return data, nil
}

// sent is the folder that keeps what was sent: the one that the server marks as such (RFC 6154), else one with a usual name; "" when there is none.
func (b *box) sent() (string, error) {
	var list []*imap.ListData
	err := b.within(answerTime, func() (err error) {
		options := &imap.ListOptions{ReturnSpecialUse: b.Caps().Has(imap.CapListExtended) && b.Caps().Has(imap.CapSpecialUse)}
		list, err = b.List("", "*", options).Collect()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("list the folders: %w", err)
	}
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

// holds tells whether a folder has a message with an id (its header Message-ID).
func (b *box) holds(folder, id string) (bool, error) {
	if _, err := b.look(folder); err != nil {
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

// post is a connection to the SMTP server, logged in.
type post struct {
	*smtp.Client
	conn net.Conn
	stop func() bool
}

// openPost connects and logs in. The connection ends with ctx at the latest.
func (c *Channel) openPost(ctx context.Context) (*post, error) {
	host, _, _ := net.SplitHostPort(c.cfg.SMTP) // New has checked it
	dialing, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no connection within %s", dialTime))
	defer cancel()
	conn, starts, err := reach(dialing, c)
	if err != nil {
		return nil, fmt.Errorf("log in to %s: %w", c.cfg.SMTP, err)
	}
	p := &post{conn: conn, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}
	options := []mail.Option{
		mail.WithTimeout(dialTime), mail.WithHELO(domain(c.cfg.Address)), mail.WithTLSConfig(c.cfg.tls(c.cfg.SMTP)), mail.WithTLSPolicy(mail.NoTLS),
		mail.WithUsername(c.cfg.User), mail.WithPassword(c.cfg.Password), mail.WithoutSMTPUTF8(),
		mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin),
		mail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	if starts {
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
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

// end ends the connection. It says nothing more: QUIT in the middle of a mail would end the mail, and send it (net/textproto).
func (p *post) end() {
	p.stop()
	_ = p.conn.Close() // what was sent has been answered, or never will be
}

// domain is what stands behind the @.
func domain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }
