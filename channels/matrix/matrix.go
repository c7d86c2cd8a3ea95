// Package matrix is the channel to a Matrix account, over plain REST (https://spec.matrix.org, Client-Server API v1.11): it asks for what is
// new with /sync and sends messages with a transaction id, by which the server knows a repeat. It speaks no encryption, follows redirects of files only,
// never puts its token into an address, and asks for more only when what it has is committed.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Config is a section [channels.NAME] with kind = "matrix".
type Config struct {
	Homeserver string `toml:"homeserver" json:"homeserver"` // the address of its client API, like https://matrix-client.matrix.org
	Token      string `toml:"token" json:"token"`           // the access token of hob's account, as a reference
	channels.Audience
}

// Channel is one account.
type Channel struct {
	channels.Audience
	name  string
	owner func() []string // the owner's ids as they are now
	pairs func(ctx context.Context) (bool, error)
	api   client
	clock sys.Clock
	log   *slog.Logger

	mu      sync.Mutex // guards what follows, and the account data that directs is a copy of
	me      account
	directs map[string][]string // the rooms of private chats by person, the latest first; nil before it was read
	invited map[string]string   // who has invited hob to the rooms that it is in, as far as it was there to see; nil before the cursor was read
	made    map[string]string   // rooms that hob has made and does not know to be of use, by person; nil before it was read
}

// Kind is the line in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "matrix", Named: "matrix", Doc: "An account at a Matrix homeserver. See channels.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the key of the section that is wrong.
func New(env channels.Env, cfg Config) (*Channel, error) {
	base, err := checkServer(cfg.Homeserver)
	if err != nil {
		return nil, err
	}
	if err := checkAudience(cfg.Audience); err != nil {
		return nil, err
	}
	token, err := checkToken(cfg.Token, env.Secret)
	if err != nil {
		return nil, err
	}
	c := &Channel{
		Audience: cfg.Audience, name: env.Name, api: client{base: base, token: token, http: wire.Client(env.HTTP, 0), clock: env.Clock}, clock: env.Clock, log: env.Log, owner: env.OwnerIDs, pairs: env.Pairing,
	}
	return c, nil
}

// Form is the plain text and the HTML of a message.
func (c *Channel) Form() markup.Form { return markup.Matrix() }

// DedupsByNonce says that a transaction id counts once ("Transaction identifiers").
func (c *Channel) DedupsByNonce() bool { return true }

func checkServer(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "", errors.New(`homeserver: missing; want the address of the server's client API, like homeserver = "https://matrix-client.matrix.org"`)
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("homeserver: %q is no address; want something like https://matrix-client.matrix.org", s)
	case u.User != nil:
		return "", errors.New("homeserver: no user name or password in the address; the access token is all that is needed")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("homeserver: %q has something behind the path; want only the server", s)
	}
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/_matrix/client"), nil
}

func checkToken(ref string, secret func(string) (string, error)) (string, error) {
	if ref == "" {
		return "", errors.New("token: missing; make an account for hob and take its access token (in Element: All settings, Help & About, Access Token): put it in the environment and write token = \"env:MATRIX_TOKEN\"")
	}
	token, err := secret(ref)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token = strings.TrimSpace(token)
	if !regexp.MustCompile(`^[!-~]+$`).MatchString(token) {
		return "", fmt.Errorf("token: the value behind %q is no access token; it is one word of letters, digits and marks", ref)
	}
	return token, nil
}

// The forms of ids ("Identifier grammar"). Since room version 12 a room's id names no server.
const (
	personForm = `@[^\s:/]+:[^\s/]+`
	roomForm   = `![^\s/]+`
)

func checkAudience(a channels.Audience) error {
	room, person := regexp.MustCompile("^"+roomForm+"$").MatchString, regexp.MustCompile("^"+personForm+"$").MatchString
	const who = `the id of a person is like "@ana:example.org"`
	return channels.CheckListed(
		channels.Listed{Key: "groups", IDs: a.Groups, OK: room, Want: `the id of a room is like "!AbCdEf:example.org", in Element under Room settings, Advanced; a #name can be given to another room`},
		channels.Listed{Key: "known", IDs: a.Known, OK: person, Want: who},
		channels.Listed{Key: "public", IDs: a.Public, OK: person, Want: who},
	)
}

// target is a place to write to: a person or a room, and the beginning of a thread in the room.
type target struct{ person, room, thread string }

// target reads an address.
func (c *Channel) target(to event.Address) (target, error) {
	local := to.Local()
	if regexp.MustCompile("^" + personForm + "$").MatchString(local) {
		return target{person: local}, nil
	}
	if m := regexp.MustCompile("^(" + roomForm + `)(?:/(\$[^\s/]+))?$`).FindStringSubmatch(local); m != nil {
		return target{room: m[1], thread: m[2]}, nil
	}
	return target{}, fmt.Errorf("address %q: want the id of a person or a room, as in %s:@ana:example.org: %w", to, c.name, channels.ErrPermanent)
}
