// Package irc connects hob to an IRC network over the client protocol (https://modern.ircdocs.horse) and the
// IRCv3 extensions that the server offers (https://ircv3.net/irc).
//
// Receiving: lines are read as they arrive, and committed with the server's time of the last line; after a
// reconnect the history is read, if the server has one. Sending: lines followed by a ping, whose answer shows
// that the server has processed them.
//
// The package joins only the configured channels, answers no CTCP and no notice, and identifies people only
// by what the server confirms.
package irc

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// Default ports.
const (
	tlsPort   = "6697" // RFC 7194
	plainPort = "6667"
)

// Config is a section [channels.NAME] with kind = "irc".
type Config struct {
	Server         string   `toml:"server" json:"server"`                   // a host, with ":port" if it is not 6697 (6667 with plain)
	Plain          bool     `toml:"plain" json:"plain"`                     // without TLS
	Fingerprint    string   `toml:"fingerprint" json:"fingerprint"`         // SHA-256 of the server's certificate, which is then accepted regardless of who signed it
	Nick           string   `toml:"nick" json:"nick"`                       // default hob
	Account        string   `toml:"account" json:"account"`                 // account to log in to; default: the nick
	Password       string   `toml:"password" json:"password"`               // of the account, as a secret reference: SASL PLAIN
	Certificate    string   `toml:"certificate" json:"certificate"`         // PEM with the key, as a secret reference: SASL EXTERNAL if there is no password
	ServerPassword string   `toml:"server_password" json:"server_password"` // of the server itself (PASS), as a secret reference
	Channels       []string `toml:"channels" json:"channels"`               // channels to join; hob answers there when mentioned
	Known          []string `toml:"known" json:"known"`                     // accounts of people whom the owner knows, like "$sam"
	Public         []string `toml:"public" json:"public"`                   // accounts of people who may write, without being known
	TrustNicks     bool     `toml:"trust_nicks" json:"trust_nicks"`         // a nick identifies a person: only if nobody else can take it
}

// Channel is one account or nick on one network.
type Channel struct {
	channels.Audience
	name    string
	cfg     Config // with the secrets instead of their references
	host    string // without port
	connect channels.Dial
	clock   sys.Clock
	log     *slog.Logger

	// Used by Run alone: received messages that are not committed, and channels that were reported to the
	// owner.
	pending   []channels.Message
	lastHeard int64 // the newest Heard in this process; used by Run alone
	reported  map[string]bool

	// mu protects live and up.
	mu   sync.Mutex
	live *session      // nil: not connected
	up   chan struct{} // closed when live is set
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "irc", Named: "irc", Doc: "A nick on an IRC network. See channels/irc.md.", Notes: notes()}, Config{Nick: "hob"}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	cfg.Nick = cmp.Or(cfg.Nick, "hob")
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
	// The owner must see in the log that this section trusts names that anybody may be able to take.
	if cfg.TrustNicks {
		env.Log.Warn("trust_nicks is on: anybody who takes a person's nick is taken for that person", "channel", env.Name, "server", cfg.Server)
	}
	return &Channel{
		Audience: channels.Audience{Groups: cfg.Channels, Known: cfg.Known, Public: cfg.Public}, name: env.Name, cfg: cfg, host: host,
		connect: env.Dial, clock: env.Clock, log: env.Log, reported: map[string]bool{}, up: make(chan struct{}),
	}, nil
}

// Form returns IRC's format.
func (c *Channel) Form() markup.Form { return markup.IRC() }

// checkServer adds the default port to the address, and returns the host.
func (c *Config) checkServer() (string, error) {
	if c.Server == "" {
		return "", fmt.Errorf("server: missing; want the network's address, like irc.libera.chat")
	}
	// SplitHostPort fails if there is no port; then the whole text is the host.
	host, port, err := net.SplitHostPort(c.Server)
	if err != nil {
		host, port = strings.Trim(c.Server, "[]"), tlsPort
		if c.Plain {
			port = plainPort
		}
	}
	if !hostForm().MatchString(host) || !portForm().MatchString(port) {
		return "", fmt.Errorf("server: %q is not an address; want something like irc.libera.chat or irc.example.org:6697", c.Server)
	}
	c.Server = net.JoinHostPort(host, port)
	if c.Fingerprint != "" {
		print, ok := wire.Fingerprint(c.Fingerprint)
		if !ok || c.Plain {
			return "", fmt.Errorf("fingerprint: want the SHA-256 of the server's certificate, 64 hexadecimal digits, and plain not set")
		}
		c.Fingerprint = print
	}
	return host, nil
}

// Forms of names in the protocol. Spaces, commas, colons and control characters would end or split a
// parameter.
var (
	nickForm    = sys.Regexp("^[A-Za-z\\[\\]\\\\^_{|}`][0-9A-Za-z\\[\\]\\\\^_{|}`-]{0,49}$")
	chanForm    = sys.Regexp(`^[#&][^\x00-\x20,\x7f:]{1,63}$`)
	accountForm = sys.Regexp(`^\$[^\x00-\x20,\x7f:*?!@$]{1,50}$`)
	hostForm    = sys.Regexp(`^[0-9A-Za-z._:-]+$`)
	portForm    = sys.Regexp(`^[0-9]{1,5}$`)
)

// checkNames checks the names, and converts ids to the form in which they are compared.
func (c *Config) checkNames() error {
	if !nickForm().MatchString(c.Nick) {
		return fmt.Errorf("nick: %q is not a valid nick; want letters, digits and -_[]{}\\|^`, a letter first", c.Nick)
	}
	if c.Account != "" && !accountForm().MatchString("$"+c.Account) {
		return fmt.Errorf("account: %q is not a valid account", c.Account)
	}
	if c.Account != "" && c.Password == "" && c.Certificate == "" {
		return fmt.Errorf("account: it has no effect without a password or a certificate; add one as a reference, like password = \"env:IRC_PASSWORD\"")
	}
	for _, ids := range []*[]string{&c.Channels, &c.Known, &c.Public} {
		*ids = slices.Clone(*ids)
		for i, id := range *ids {
			(*ids)[i] = fold(id)
		}
	}
	// A nick proves nothing on most networks, so it is accepted only if the config allows it.
	const who = `want an account like "$sam"; a nick can be taken by anybody (only trust_nicks = true allows nicks)`
	return channels.CheckListed(
		channels.Listed{Key: "channels", IDs: c.Channels, IDForm: channels.IDForm{OK: chanForm().MatchString, Want: `want names like "#family"`}},
		channels.Listed{Key: "known", IDs: c.Known, IDForm: channels.IDForm{OK: c.person, Want: who}},
		channels.Listed{Key: "public", IDs: c.Public, IDForm: channels.IDForm{OK: c.person, Want: who}},
	)
}

// person reports whether an id can identify a person on this network.
func (c *Config) person(id string) bool {
	return accountForm().MatchString(id) || c.TrustNicks && nickForm().MatchString(id)
}

// checkOwner rejects an owner's address that anybody could use, or that would never match.
func checkOwner(owner []string, name string, nicks bool) error {
	for _, local := range owner {
		switch {
		case strings.HasPrefix(local, "$") && local != fold(local), nicks && local != fold(local):
			return fmt.Errorf("the owner's address %s:%s: write it in lower case, as %s:%s", name, local, name, fold(local))
		case !strings.HasPrefix(local, "$") && !chanForm().MatchString(local) && !nicks:
			return fmt.Errorf("the owner's address %s is a nick, which anybody can take; want your account, as in %s:$sam", name+":"+local, name)
		}
	}
	return nil
}

// readSecrets replaces references by their secrets.
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

// keyPair returns the certificate for the log-in; none if there is none.
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

// login returns the name of the account to log in to.
func (c *Config) login() string {
	return cmp.Or(c.Account, c.Nick)
}

// fold converts a name to the form in which names are compared. Only ASCII is folded. If a server folds more
// characters, one person may count as two, but never two as one.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
