// Package email is the channel to a mailbox: IMAP (RFC 3501) with IDLE (RFC 2177) in, SMTP submission (RFC 6409) out. It deletes and marks
// nothing in the mailbox, answers nobody whom the receiving server does not vouch for, and answers no machine (RFC 3834).
package email

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Config is a section [channels.NAME] with kind = "email".
type Config struct {
	IMAP         string   `toml:"imap" json:"imap"`                   // a host, with ":port" where that is not 993
	SMTP         string   `toml:"smtp" json:"smtp"`                   // a host, with ":port" where that is not 465
	User         string   `toml:"user" json:"user"`                   // to log in to both; default the address
	Password     string   `toml:"password" json:"password"`           // of both, as a reference
	Address      string   `toml:"address" json:"address"`             // hob's own
	Folder       string   `toml:"folder" json:"folder"`               // to read; default INBOX
	TLS          *bool    `toml:"tls" json:"tls"`                     // default true; false only on the loopback
	Fingerprint  string   `toml:"fingerprint" json:"fingerprint"`     // SHA-256 of the servers' certificate, which is then taken whoever signed it
	TrustResults string   `toml:"trust_results" json:"trust_results"` // the name under which the receiving server writes Authentication-Results
	Known        []string `toml:"known" json:"known"`                 // addresses of people whom the owner knows
	Public       []string `toml:"public" json:"public"`               // addresses of people who may write, and are nobody in particular
}

// Channel is one mailbox.
type Channel struct {
	channels.Audience
	name  string
	cfg   Config // complete, with the password in the place of its reference
	owner func() []string
	dial  channels.Dial
	clock sys.Clock
	log   *slog.Logger
	early atomic.Bool // the SMTP server was seen to speak TLS from the first byte, at a port that does not say so
}

// Kind is the line in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "email", Named: "email", Doc: "A mailbox: IMAP in, SMTP out. See channels.md.", Notes: notes()}, Config{Folder: "INBOX"}, New)
}

// New makes a channel. Errors name the key of the section that is wrong.
func New(env channels.Env, cfg Config) (*Channel, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if err := cfg.checkPeople(); err != nil {
		return nil, err
	}
	if err := checkOwner(env.OwnerIDs(), env.Name); err != nil {
		return nil, err
	}
	if err := cfg.readPassword(env.Secret); err != nil {
		return nil, err
	}
	c := &Channel{
		Audience: channels.Audience{Known: cfg.Known, Public: cfg.Public}, name: env.Name, cfg: cfg, owner: env.OwnerIDs,
		dial: env.Dial, clock: env.Clock, log: env.Log,
	}
	if c.dial == nil {
		c.dial = (&net.Dialer{}).DialContext
	}
	return c, nil
}

// Form is a text and an HTML part.
func (c *Channel) Form() markup.Form { return markup.Mail() }

// maxFile is what mail servers take: 25 MB and more, of which a third is the encoding.
const maxFile = 18 << 20

// MaxFile is the size of the largest file that is sent, in bytes.
func (c *Channel) MaxFile() int64 { return maxFile }

// Encloses says that a text and its file are one mail.
func (c *Channel) Encloses() bool { return true }

// Private says that there are no groups: lists are machines, and hob answers the writer alone.
func (c *Channel) Private() bool { return true }

// Patience is how long servers try to deliver a mail, and hob to hand it to one (RFC 5321, section 4.5.4.1, asks for days).
func (c *Channel) Patience() time.Duration { return 24 * time.Hour }

// The ports of TLS from the first byte (RFC 8314), and of STARTTLS.
const (
	imapPort      = 993
	imapStartPort = 143
	smtpPort      = 465
)

// serverForm is the name of a server, as trust_results takes it.
var serverForm = regexp.MustCompile(`^[0-9A-Za-z._:-]+$`)

// complete checks the addresses of servers and of hob, and fills in what was left out.
func (c *Config) complete() error {
	for _, s := range []struct {
		key  string
		at   *string
		port int
	}{{"imap", &c.IMAP, imapPort}, {"smtp", &c.SMTP, smtpPort}} {
		if *s.at == "" {
			return fmt.Errorf("%s: missing; want the server's address, like %s.example.org", s.key, s.key)
		}
		host, port, err := net.SplitHostPort(*s.at)
		if err != nil {
			host, port = strings.Trim(*s.at, "[]"), strconv.Itoa(s.port)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !regexp.MustCompile(`^[0-9A-Za-z._:-]+$`).MatchString(host) {
			return fmt.Errorf("%s: %q is no address; want something like %s.example.org or %s.example.org:%d", s.key, *s.at, s.key, s.key, s.port)
		}
		if !c.secure() && !wire.Loopback(host) {
			return fmt.Errorf("tls: without it everybody on the way to %s reads the password; only a server on this machine may go without", host)
		}
		*s.at = net.JoinHostPort(host, port)
	}
	c.Address = strings.ToLower(c.Address)
	switch {
	case c.Address == "":
		return errors.New(`address: missing; want the address of hob's own mailbox, like address = "hob@example.org"`)
	case !isAddress(c.Address):
		return fmt.Errorf("address: %q is none; want one like hob@example.org", c.Address)
	case c.TrustResults != "" && !serverForm.MatchString(c.TrustResults):
		return fmt.Errorf("trust_results: %q is no name of a server; want what stands first in the header Authentication-Results of mail that has come, like mx.example.org", c.TrustResults)
	case strings.ContainsFunc(c.User+c.Folder, unseen):
		return errors.New("user, folder: want one line without control characters")
	}
	if c.User == "" {
		c.User = c.Address
	}
	if c.Folder == "" {
		c.Folder = "INBOX"
	}
	return c.checkFingerprint()
}

func (c *Config) checkFingerprint() error {
	if c.Fingerprint == "" {
		return nil
	}
	print, ok := wire.Fingerprint(c.Fingerprint)
	if !ok || !c.secure() {
		return errors.New("fingerprint: want the SHA-256 of the servers' certificate, 64 hexadecimal digits, and no tls = false beside it")
	}
	c.Fingerprint = print
	return nil
}

// secure tells whether the servers are spoken to over TLS.
func (c *Config) secure() bool { return c.TLS == nil || *c.TLS }

// addressForm is the plain form of an address (RFC 5321, section 4.1.2, without quotes), in small letters.
const addressForm = "[0-9a-z.!#$%&'*+=?^_{|}~-]{1,64}@[0-9a-z](?:[0-9a-z.-]{0,250}[0-9a-z])?"

func isAddress(s string) bool { return regexp.MustCompile("^" + addressForm + "$").MatchString(s) }

func (c *Config) checkPeople() error {
	const want = "want an address in small letters, like ana@example.org"
	return channels.CheckListed(
		channels.Listed{Key: "address", IDs: []string{c.Address}, IDForm: channels.IDForm{OK: isAddress, Want: want}},
		channels.Listed{Key: "known", IDs: c.Known, IDForm: channels.IDForm{OK: isAddress, Want: want}},
		channels.Listed{Key: "public", IDs: c.Public, IDForm: channels.IDForm{OK: isAddress, Want: want}},
	)
}

// checkOwner refuses an owner who would never be recognised.
func checkOwner(owner []string, name string) error {
	for _, local := range owner {
		if !isAddress(local) {
			return fmt.Errorf("the owner's address %s:%s: want it in small letters, as in %s:you@example.org", name, local, name)
		}
	}
	return nil
}

func (c *Config) readPassword(secret func(string) (string, error)) error {
	if c.Password == "" {
		return errors.New(`password: missing; make one for hob (many providers call it an app password), put it in the environment and write password = "env:MAIL_PASSWORD"`)
	}
	value, err := secret(c.Password)
	if err != nil {
		return fmt.Errorf("password: %w", err)
	}
	if value = strings.TrimSpace(value); value == "" || strings.ContainsFunc(value, unseen) {
		return fmt.Errorf("password: the value of %q is empty or has more than one line", c.Password)
	}
	c.Password = value
	return nil
}

// listens tells whether hob takes mail of an address.
func (c *Channel) listens(address string) bool {
	return slices.Contains(c.owner(), address) || slices.Contains(c.Known, address) || slices.Contains(c.Public, address)
}

// target reads an address to write to.
func (c *Channel) target(to event.Address) (string, error) {
	switch local := to.Local(); {
	case !isAddress(local):
		return "", fmt.Errorf("address %q: want one in small letters, as in %s:ana@example.org: %w", to, c.name, channels.ErrPermanent)
	case local == c.cfg.Address:
		return "", fmt.Errorf("address %q: that is hob's own: %w", to, channels.ErrPermanent)
	default:
		return local, nil
	}
}
