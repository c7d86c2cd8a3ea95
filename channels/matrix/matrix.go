// Package matrix is the channel to a Matrix account, over plain REST (https://spec.matrix.org, Client-Server API v1.11): it asks for what is
// new with /sync and sends messages with a transaction id, by which the server knows a repeat. It speaks no encryption, follows redirects of files only,
// never puts its token into an address, and asks for more only when what it has is committed.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	base, err := readServer(cfg.Homeserver)
	if err != nil {
		return nil, err
	}
	room := channels.Form(roomForm, `the id of a room is like "!AbCdEf:example.org", in Element under Room settings, Advanced; a #name can be given to another room`)
	if err := cfg.Check(room, channels.Form(personForm, `the id of a person is like "@ana:example.org"`)); err != nil {
		return nil, err
	}
	token, err := env.Token("token", cfg.Token, `make an account for hob and take its access token (in Element: All settings, Help & About, Access Token): put it in the environment and write token = "env:MATRIX_TOKEN"`,
		`[!-~]+`, "no access token; it is one word of letters, digits and marks")
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

func readServer(s string) (string, error) {
	if s == "" {
		return "", errors.New(`homeserver: missing; want the address of the server's client API, like homeserver = "https://matrix-client.matrix.org"`)
	}
	u, err := wire.Server{Key: "homeserver", Like: "https://matrix-client.matrix.org", Login: "the access token is"}.Read(s)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(u.String(), "/_matrix/client"), nil
}

// The forms of ids ("Identifier grammar"). Since room version 12 a room's id names no server.
const (
	personForm = `@[^\s:/]+:[^\s/]+`
	roomForm   = `![^\s/]+`
)

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
