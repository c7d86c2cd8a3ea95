// Package irc is the channel to an IRC network, over the client protocol (https://modern.ircdocs.horse) and the IRCv3 extensions that the server
// offers (https://ircv3.net/irc). It joins the channels that the config lists and no others, answers no CTCP and no
// notice, and takes nobody for a person whom the server does not vouch for.
package irc

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// The ports of servers that do not say another one.
const (
	tlsPort   = "6697" // RFC 7194
	plainPort = "6667"
)

// Config is a section [channels.NAME] with kind = "irc".
type Config struct {
	Server         string   `toml:"server" json:"server"`                   // a host, with ":port" when it is not 6697 (6667 with plain)
	Plain          bool     `toml:"plain" json:"plain"`                     // without TLS
	Fingerprint    string   `toml:"fingerprint" json:"fingerprint"`         // SHA-256 of the server's certificate, which is then taken whoever signed it
	Nick           string   `toml:"nick" json:"nick"`                       // default hob
	Account        string   `toml:"account" json:"account"`                 // to log in to; default the nick
	Password       string   `toml:"password" json:"password"`               // the account's, as a reference: SASL PLAIN
	Certificate    string   `toml:"certificate" json:"certificate"`         // PEM with the key, as a reference: SASL EXTERNAL without a password
	ServerPassword string   `toml:"server_password" json:"server_password"` // of the server itself (PASS), as a reference
	Channels       []string `toml:"channels" json:"channels"`               // to join; hob answers there when it is mentioned
	Known          []string `toml:"known" json:"known"`                     // accounts of people whom the owner knows, as "$sam"
	Public         []string `toml:"public" json:"public"`                   // accounts of people who may write, and are nobody in particular
	TrustNicks     bool     `toml:"trust_nicks" json:"trust_nicks"`         // a nick is a person: only where nobody else can take it
}

// Channel is one nick on one network.
type Channel struct {
	channels.Audience
	name    string
	cfg     Config // with the secrets in the place of their references
	host    string // without the port
	connect channels.Dial
	clock   sys.Clock
	log     *slog.Logger

	// Of Run alone: what was received and the inbox has not taken, and of which channels the owner was told.
	pending []channels.Message
	heard   int64 // the newest Heard of this process; only Run touches it
	told    map[string]bool

	mu   sync.Mutex
	live *session      // nil: not connected
	up   chan struct{} // closed when live is there
}

// Kind is the line in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "irc", Named: "irc", Doc: "A nick on an IRC network. See channels.md.", Notes: notes()}, Config{Nick: "hob"}, New)
}

// New makes a channel. Errors name the key of the section that is wrong.
func New(env channels.Env, cfg Config) (*Channel, error) {
	if cfg.Nick == "" {
		cfg.Nick = "hob"
	}
	host, err := cfg.checkServer()
	if err != nil {
		return nil, err
	}
	if err := cfg.checkNames(); err != nil {
		return nil, err
	}
	if err := checkOwner(env.OwnerIDs(), env.Name, cfg.TrustNicks); err != nil {
		return nil, err
	}
	if err := cfg.readSecrets(env.Secret); err != nil {
		return nil, err
	}
	if env.Dial == nil {
		env.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	if cfg.TrustNicks {
		env.Log.Warn("trust_nicks is on: whoever takes a nick is that person", "channel", env.Name, "server", cfg.Server)
	}
	return &Channel{
		Audience: channels.Audience{Groups: cfg.Channels, Known: cfg.Known, Public: cfg.Public}, name: env.Name, cfg: cfg, host: host,
		connect: env.Dial, clock: env.Clock, log: env.Log, told: map[string]bool{}, up: make(chan struct{}),
	}, nil
}

// Form is IRC's.
func (c *Channel) Form() markup.Form { return markup.IRC() }

// checkServer completes the address with its port, and returns the host.
func (c *Config) checkServer() (string, error) {
	if c.Server == "" {
		return "", fmt.Errorf("server: missing; want the network's address, like irc.libera.chat")
	}
	host, port, err := net.SplitHostPort(c.Server)
	if err != nil {
		host, port = strings.Trim(c.Server, "[]"), tlsPort
		if c.Plain {
			port = plainPort
		}
	}
	if !hostForm.MatchString(host) || !portForm.MatchString(port) {
		return "", fmt.Errorf("server: %q is no address; want something like irc.libera.chat or irc.example.org:6697", c.Server)
	}
	c.Server = net.JoinHostPort(host, port)
	if c.Fingerprint != "" {
		print, ok := wire.Fingerprint(c.Fingerprint)
		if !ok || c.Plain {
			return "", fmt.Errorf("fingerprint: want the SHA-256 of the server's certificate, 64 hexadecimal digits, and no plain = true beside it")
		}
		c.Fingerprint = print
	}
	return host, nil
}

// Names on the wire: no space, comma, colon or control character ends or splits them.
var (
	nickForm    = regexp.MustCompile("^[A-Za-z\\[\\]\\\\^_{|}`][0-9A-Za-z\\[\\]\\\\^_{|}`-]{0,49}$")
	chanForm    = regexp.MustCompile(`^[#&][^\x00-\x20,\x7f:]{1,63}$`)
	accountForm = regexp.MustCompile(`^\$[^\x00-\x20,\x7f:*?!@$]{1,50}$`)
	hostForm    = regexp.MustCompile(`^[0-9A-Za-z._:-]+$`)
	portForm    = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// checkNames also brings the ids of people and channels into the form in which they are compared.
func (c *Config) checkNames() error {
	if !nickForm.MatchString(c.Nick) {
		return fmt.Errorf("nick: %q is not a valid nick; want letters, digits and -_[]{}\\|^`, a letter first", c.Nick)
	}
	if c.Account != "" && !accountForm.MatchString("$"+c.Account) {
		return fmt.Errorf("account: %q cannot be one", c.Account)
	}
	if c.Account != "" && c.Password == "" && c.Certificate == "" {
		return fmt.Errorf("account: it is of no use without a password or a certificate; add one as a reference, like password = \"env:IRC_PASSWORD\"")
	}
	for _, ids := range []*[]string{&c.Channels, &c.Known, &c.Public} {
		*ids = slices.Clone(*ids)
		for i, id := range *ids {
			(*ids)[i] = fold(id)
		}
	}
	const who = `want an account like "$sam"; a nick can be taken by anybody (only trust_nicks = true takes nicks)`
	return channels.CheckListed(
		channels.Listed{Key: "channels", IDs: c.Channels, IDForm: channels.IDForm{OK: chanForm.MatchString, Want: `want names like "#family"`}},
		channels.Listed{Key: "known", IDs: c.Known, IDForm: channels.IDForm{OK: c.person, Want: who}},
		channels.Listed{Key: "public", IDs: c.Public, IDForm: channels.IDForm{OK: c.person, Want: who}},
	)
}

func (c *Config) person(id string) bool {
	return accountForm.MatchString(id) || c.TrustNicks && nickForm.MatchString(id)
}

// checkOwner refuses an owner whom anybody could play, and one who would never be recognised.
func checkOwner(owner []string, name string, nicks bool) error {
	for _, local := range owner {
		switch {
		case strings.HasPrefix(local, "$") && local != fold(local), nicks && local != fold(local):
			return fmt.Errorf("the owner's address %s:%s: write it in small letters, as %s:%s", name, local, name, fold(local))
		case !strings.HasPrefix(local, "$") && !chanForm.MatchString(local) && !nicks:
			return fmt.Errorf("the owner's address %s is a nick, which anybody can take; want your account, as in %s:$sam", name+":"+local, name)
		}
	}
	return nil
}

// readSecrets puts secrets in the place of their references.
func (c *Config) readSecrets(secret func(string) (string, error)) error {
	for _, s := range []struct {
		key string
		ref *string
	}{{"password", &c.Password}, {"certificate", &c.Certificate}, {"server_password", &c.ServerPassword}} {
		if *s.ref == "" {
			continue
		}
		value, err := secret(*s.ref)
		if err != nil {
			return fmt.Errorf("%s: %w", s.key, err)
		}
		value = strings.TrimSpace(value)
		if s.key != "certificate" && (value == "" || strings.ContainsAny(value, "\r\n\x00")) {
			return fmt.Errorf("%s: the value of %q is empty or has more than one line", s.key, *s.ref)
		}
		*s.ref = value
	}
	return nil
}

// keyPair is the certificate to log in with; none when there is none.
func (c *Config) keyPair() ([]tls.Certificate, error) {
	if c.Certificate == "" {
		return nil, nil
	}
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Certificate))
	if err != nil {
		return nil, fmt.Errorf("certificate: want a certificate and its key in PEM: %w", err)
	}
	return []tls.Certificate{pair}, nil
}

// login is the name to log in with.
func (c *Config) login() string {
	if c.Account != "" {
		return c.Account
	}
	return c.Nick
}

// fold is a name in the form in which names are compared. Only ASCII is folded: where a server folds more, one nick in two
// spellings is two people, never two people one.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
