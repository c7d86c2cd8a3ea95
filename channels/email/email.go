// Package email connects hob to a mailbox: IMAP (RFC 3501) with IDLE (RFC 2177) for receiving, SMTP
// submission (RFC 6409) for sending.
//
// Receiving: new mails are found by their UIDs, converted, and committed with the highest UID. Sending: each
// mail gets a Message-ID made from the nonce; a copy in the folder for sent mail lets a later look-up find
// it.
//
// The package deletes and marks nothing in the mailbox. It accepts mail only from senders whom the receiving
// server verified, and never answers automatic mail (RFC 3834).
package email

import (
	"cmp"
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
	"hob/daemon/mail"
	"hob/daemon/sys"
)

// Config is a section [channels.NAME] with kind = "email".
type Config struct {
	IMAP         string   `toml:"imap" json:"imap"`                   // a host, with ":port" if it is not 993
	SMTP         string   `toml:"smtp" json:"smtp"`                   // a host, with ":port" if it is not 465
	User         string   `toml:"user" json:"user"`                   // log-in name for both; default: the address
	Password     string   `toml:"password" json:"password"`           // for both, as a secret reference
	Address      string   `toml:"address" json:"address"`             // hob's own
	Folder       string   `toml:"folder" json:"folder"`               // folder to read; default INBOX
	TLS          *bool    `toml:"tls" json:"tls"`                     // default true; false only for a server on this machine
	Fingerprint  string   `toml:"fingerprint" json:"fingerprint"`     // SHA-256 of the servers' certificate, which is then accepted regardless of who signed it
	TrustResults string   `toml:"trust_results" json:"trust_results"` // the receiving server's name in Authentication-Results
	Known        []string `toml:"known" json:"known"`                 // addresses of people whom the owner knows
	Public       []string `toml:"public" json:"public"`               // addresses of people who may write, without being known
}

// Channel is one mailbox.
type Channel struct {
	channels.Audience
	name  string
	cfg   Config // complete, with the password instead of its reference
	owner func() []string
	dial  channels.Dial
	clock sys.Clock
	log   *slog.Logger
	early atomic.Bool // the SMTP server was found to use implicit TLS at an unusual port
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "email", Named: "email", Doc: "A mailbox: IMAP in, SMTP out. See channels/email.md.", Notes: notes()}, Config{Folder: "INBOX"}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if err := cfg.checkPeople(); err != nil {
		return nil, err
	}
	// An address in another spelling would silently never match.
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

// Form returns the mail format: a text part and an HTML part.
func (c *Channel) Form() markup.Form { return markup.Mail() }

// maxFile is hob's limit: most servers accept 25 MB, of which a third is the encoding.
const maxFile = 18 << 20

// MaxFile returns the size of the largest file that can be sent, in bytes.
func (c *Channel) MaxFile() int64 { return maxFile }

// Encloses reports that a text and its file are one mail.
func (c *Channel) Encloses() bool { return true }

// Private reports that there are no groups: mailing lists count as automatic, and hob answers only the
// author.
func (c *Channel) Private() bool { return true }

// Patience returns how long hob tries to hand a mail to the server. Servers themselves try for days (RFC
// 5321, section 4.5.4.1).
func (c *Channel) Patience() time.Duration { return 24 * time.Hour }

// Ports of implicit TLS (RFC 8314), and of STARTTLS.
const (
	imapPort      = 993
	imapStartPort = 143
	smtpPort      = 465
)

// serverForm is the form of a server's name in trust_results.
var serverForm = sys.Regexp(`^[0-9A-Za-z._:-]+$`)

// complete checks the addresses of the servers and of hob, and fills in defaults.
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
			return fmt.Errorf("%s: %q is not an address; want something like %s.example.org or %s.example.org:%d", s.key, *s.at, s.key, s.key, s.port)
		}
		if !c.secure() && !wire.Loopback(host) {
			return fmt.Errorf("tls: without TLS, anybody on the way to %s can read the password; only a server on this machine may do without it", host)
		}
		*s.at = net.JoinHostPort(host, port)
	}
	c.Address = strings.ToLower(c.Address)
	switch {
	case c.Address == "":
		return errors.New(`address: missing; want the address of hob's own mailbox, like address = "hob@example.org"`)
	case !isAddress(c.Address):
		return fmt.Errorf("address: %q is not an address; want one like hob@example.org", c.Address)
	case c.TrustResults != "" && !serverForm().MatchString(c.TrustResults):
		return fmt.Errorf("trust_results: %q is not the name of a server; want the name at the beginning of the Authentication-Results header of incoming mail, like mx.example.org", c.TrustResults)
	case strings.ContainsFunc(c.User+c.Folder, mail.Invisible):
		return errors.New("user, folder: want one line without control characters")
	}
	c.User = cmp.Or(c.User, c.Address)
	c.Folder = cmp.Or(c.Folder, "INBOX")
	return c.checkFingerprint()
}

// checkFingerprint converts the fingerprint to the form in which it is compared.
func (c *Config) checkFingerprint() error {
	if c.Fingerprint == "" {
		return nil
	}
	// A fingerprint without TLS would protect nothing.
	print, ok := wire.Fingerprint(c.Fingerprint)
	if !ok || !c.secure() {
		return errors.New("fingerprint: want the SHA-256 of the servers' certificate, 64 hexadecimal digits, and tls not switched off")
	}
	c.Fingerprint = print
	return nil
}

// secure reports whether the servers are used over TLS.
func (c *Config) secure() bool { return c.TLS == nil || *c.TLS }

// addressForm is the plain form of an address (RFC 5321, section 4.1.2, without quotes), in lower case.
const addressForm = "[0-9a-z.!#$%&'*+=?^_{|}~-]{1,64}@[0-9a-z](?:[0-9a-z.-]{0,250}[0-9a-z])?"

var addressPattern = sys.Regexp("^" + addressForm + "$")

// isAddress reports whether s is a plain address in lower case.
func isAddress(s string) bool { return addressPattern().MatchString(s) }

// checkPeople checks the lists of people. hob's own address must not be among them.
func (c *Config) checkPeople() error {
	const want = "want an address in lower case, like ana@example.org"
	return channels.CheckListed(
		channels.Listed{Key: "address", IDs: []string{c.Address}, IDForm: channels.IDForm{OK: isAddress, Want: want}},
		channels.Listed{Key: "known", IDs: c.Known, IDForm: channels.IDForm{OK: isAddress, Want: want}},
		channels.Listed{Key: "public", IDs: c.Public, IDForm: channels.IDForm{OK: isAddress, Want: want}},
	)
}

// checkOwner rejects an owner's address that would never match.
func checkOwner(owner []string, name string) error {
	for _, local := range owner {
		if !isAddress(local) {
			return fmt.Errorf("the owner's address %s:%s: want it in lower case, as in %s:you@example.org", name, local, name)
		}
	}
	return nil
}

// readPassword replaces the reference by the password.
func (c *Config) readPassword(secret func(string) (string, error)) error {
	if c.Password == "" {
		return errors.New(`password: missing; create one for hob (many providers call it an app password), put it in the environment and write password = "env:MAIL_PASSWORD"`)
	}
	value, err := secret(c.Password)
	if err != nil {
		return fmt.Errorf("password: %w", err)
	}
	if value = strings.TrimSpace(value); value == "" || strings.ContainsFunc(value, mail.Invisible) {
		return fmt.Errorf("password: the value of %q is empty or has more than one line", c.Password)
	}
	c.Password = value
	return nil
}

// listens reports whether hob reads mail from an address.
func (c *Channel) listens(address string) bool {
	return slices.Contains(c.owner(), address) || slices.Contains(c.Known, address) || slices.Contains(c.Public, address)
}

// target parses an address to write to.
func (c *Channel) target(to event.Address) (string, error) {
	switch local := to.Local(); {
	case !isAddress(local):
		return "", fmt.Errorf("address %q: want one in lower case, as in %s:ana@example.org: %w", to, c.name, channels.ErrPermanent)
	case local == c.cfg.Address:
		return "", fmt.Errorf("address %q: that is hob's own address: %w", to, channels.ErrPermanent)
	default:
		return local, nil
	}
}
