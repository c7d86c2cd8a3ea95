// Package signal connects hob to Signal through signal-cli's daemon (https://github.com/AsamK/signal-cli,
// manual pages signal-cli(1) and signal-cli-jsonrpc(5)).
//
// Receiving: messages arrive as server-sent events, and are committed with the id of the event; a reconnect
// asks for the events after it. Sending: JSON-RPC calls over HTTP. hob can also start and stop the daemon.
//
// The package does no encryption and stores no keys. Every process that reaches the daemon's port can use the
// account, so the port belongs on the loopback interface.
package signal

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// defaultURL is the default of `signal-cli daemon --http`.
const defaultURL = "http://127.0.0.1:8080"

// quiet is when a silent stream counts as dead: the daemon sends a keep-alive every 15 seconds.
const quiet = 50 * time.Second

// Config is a section [channels.NAME] with kind = "signal".
type Config struct {
	Account string `toml:"account" json:"account"` // hob's own: its phone number, or its account id if it has none
	URL     string `toml:"url" json:"url"`         // address of the daemon; default http://127.0.0.1:8080
	Command string `toml:"command" json:"command"` // the program signal-cli, if hob shall run it; "": it already runs
	channels.Audience
}

// Channel is one account.
type Channel struct {
	channels.Audience
	name    string
	account string
	command string
	rpc     client
	clock   sys.Clock
	log     *slog.Logger
	quiet   time.Duration
	sends   sync.RWMutex // read-locked by each send; a daemon that hob runs ends between two sends
	kept    *batch       // messages that were not committed when the last Run ended; used by Run alone, of which there is one at a time
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "signal", Named: "signal", Doc: "An account of Signal, through signal-cli. See channels/signal.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	account := strings.ToLower(cfg.Account)
	switch {
	case account == "":
		return nil, fmt.Errorf("account: missing; want the phone number that signal-cli has registered or linked for hob, like \"+491701234567\"")
	case !numberForm().MatchString(account) && !personForm().MatchString(account):
		return nil, fmt.Errorf("account: %q is not a valid account; want a phone number with the country's code, like \"+491701234567\", or an account id", cfg.Account)
	}
	base, err := checkURL(cfg.URL, cfg.Command != "")
	if err != nil {
		return nil, err
	}
	group := channels.IDForm{OK: groupForm, Want: "the id of a group is what `signal-cli listGroups` shows, 44 characters with a = at the end"}
	person := channels.IDForm{OK: personForm().MatchString, Want: `the id of a person is an account id, like "11111111-1111-4111-8111-111111111111"; phone numbers change hands`}
	if err := cfg.Check(group, person); err != nil {
		return nil, err
	}
	return &Channel{
		Audience: cfg.Audience, name: env.Name, account: account, command: cfg.Command, rpc: client{base: base, account: account, http: wire.Client(env.HTTP, 0), clock: env.Clock},
		clock: env.Clock, log: env.Log, quiet: quiet,
	}, nil
}

// Form returns Signal's format: plain text with style ranges.
func (c *Channel) Form() markup.Form { return markup.Signal() }

// Forms of ids. An account id (ACI) belongs to one account for ever, while a phone number may be reassigned.
var (
	numberForm = sys.Regexp(`^\+[1-9][0-9]{5,14}$`)
	personForm = sys.Regexp(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// groupForm reports whether an id is a group's: 32 bytes in base64, or 16 in old groups.
func groupForm(id string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(id)
	return err == nil && (len(raw) == 32 || len(raw) == 16) && !strings.ContainsAny(id, "\r\n")
}

// checkURL checks the daemon's address. A daemon that hob starts must listen on the loopback interface,
// because it has no access control.
func checkURL(s string, starts bool) (string, error) {
	if s == "" {
		return defaultURL, nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("url: %q is not an address; want something like %s, or leave it out", s, defaultURL)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", fmt.Errorf("url: want only the daemon's address, like %s", defaultURL)
	case starts && (u.Scheme != "http" || u.Port() == "" || !wire.Loopback(u.Hostname()) || strings.Trim(u.Path, "/") != ""):
		return "", fmt.Errorf("url: %q: if hob starts signal-cli, it must listen on this machine only; want something like %s, or remove command", s, defaultURL)
	}
	return strings.TrimRight(u.String(), "/"), nil
}
