// Package matrix connects hob to a Matrix account over plain REST (https://spec.matrix.org, Client-Server API
// v1.11).
//
// Receiving: /sync returns the events since a token; messages are committed together with the next token, and
// only then is the next sync made. Sending: each message has a transaction id made from the nonce, by which
// the server recognises a repeat.
//
// The package supports no encryption, follows redirects for files only, and never puts its token into an
// address.
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
	Homeserver string `toml:"homeserver" json:"homeserver"` // address of the client API, like https://matrix-client.matrix.org
	Token      string `toml:"token" json:"token"`           // access token of hob's account, as a secret reference
	channels.Audience
}

// Channel is one account.
type Channel struct {
	channels.Audience
	name  string
	owner func() []string // the owner's current ids
	pairs func(ctx context.Context) (bool, error)
	api   client
	clock sys.Clock
	log   *slog.Logger

	mu      sync.Mutex // protects the fields below, and the account data that directs is a copy of
	me      account
	directs map[string][]string // rooms of private chats by person, the newest first; nil until read
	invited map[string]string   // who invited hob to the rooms that it is in, if known; nil until the cursor was read
	made    map[string]string   // created rooms that are not yet known to be usable, by person; nil until read
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "matrix", Named: "matrix", Doc: "An account at a Matrix homeserver. See channels/matrix.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	base, err := readServer(cfg.Homeserver)
	if err != nil {
		return nil, err
	}
	room := channels.Form(roomForm, `the id of a room is like "!AbCdEf:example.org", in Element under Room settings, Advanced; a #name can be given to another room`)
	if err := cfg.Check(room, channels.Form(personForm, `the id of a person is like "@ana:example.org"`)); err != nil {
		return nil, err
	}
	token, err := env.Token("token", cfg.Token, `create an account for hob and copy its access token (in Element: All settings, Help & About, Access Token): put it in the environment and write token = "env:MATRIX_TOKEN"`,
		`[!-~]+`, "not an access token; a token is one word of letters, digits and punctuation")
	if err != nil {
		return nil, err
	}
	c := &Channel{
		Audience: cfg.Audience, name: env.Name, api: client{base: base, token: token, http: wire.Client(env.HTTP, 0), clock: env.Clock}, clock: env.Clock, log: env.Log, owner: env.OwnerIDs, pairs: env.PairingOpen,
	}
	return c, nil
}

// Form returns the Matrix format: plain text and HTML.
func (c *Channel) Form() markup.Form { return markup.Matrix() }

// DedupsByNonce reports that the server accepts a transaction id once ("Transaction identifiers").
func (c *Channel) DedupsByNonce() bool { return true }

// readServer checks the homeserver's address. A pasted API path is removed.
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

// Forms of ids ("Identifier grammar"). Since room version 12, the id of a room contains no server name.
const (
	personForm = `@[^\s:/]+:[^\s/]+`
	roomForm   = `![^\s/]+`
)

// target is the place to write to: a person, or a room and optionally the first event of a thread in it.
type target struct{ person, room, thread string }

// target parses an address.
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
