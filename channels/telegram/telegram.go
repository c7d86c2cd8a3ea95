// Package telegram is the channel to a Telegram bot, over the Bot API (https://core.telegram.org/bots/api): it asks for updates by
// long polling and sends messages as HTML. It never follows redirects, never names its token in an error, and acknowledges an
// update only by a poll that comes after the update's commit.
package telegram

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// publicBase is the server of everybody who runs none of his own.
const publicBase = "https://api.telegram.org"

// Config is a section [channels.NAME] with kind = "telegram".
type Config struct {
	Token   string `toml:"token" json:"token"`       // the bot's, from @BotFather, as a reference
	APIBase string `toml:"api_base" json:"api_base"` // a Bot API server; default https://api.telegram.org
	channels.Audience
}

// Channel is one bot.
type Channel struct {
	channels.Audience
	name  string
	bot   string // the bot's id, as its token begins; message ids begin with it, because each bot counts its messages anew
	api   client
	clock sys.Clock
	log   *slog.Logger
}

// Kind is the line in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "telegram", Named: "telegram", Doc: "A Telegram bot. See channels.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the key of the section that is wrong.
func New(env channels.Env, cfg Config) (*Channel, error) {
	base, err := checkBase(cfg.APIBase)
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
	bot, _, ok := strings.Cut(token, ":")
	if !ok {
		bot = "" // the server will refuse it; a token must not become part of an id
	}
	return &Channel{
		Audience: cfg.Audience, name: env.Name, bot: bot, api: client{base: base, token: token, http: wire.Client(env.HTTP, 0)},
		clock: env.Clock, log: env.Log,
	}, nil
}

// Form is Telegram's HTML.
func (c *Channel) Form() markup.Form { return markup.Telegram() }

func checkBase(s string) (string, error) {
	if s == "" {
		return publicBase, nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("api_base: %q is no address; want something like %s, or leave it out", s, publicBase)
	case u.User != nil:
		return "", fmt.Errorf("api_base: no user name or password in the address; the bot's token is all that is needed")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("api_base: %q has something behind the path; want only the server, like %s", s, publicBase)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func checkToken(ref string, secret func(string) (string, error)) (string, error) {
	if ref == "" {
		return "", fmt.Errorf("token: missing; @BotFather gives one for a new bot: put it in the environment and write token = \"env:TELEGRAM_TOKEN\"")
	}
	token, err := secret(ref)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token = strings.TrimSpace(token)
	if !regexp.MustCompile(`^[0-9A-Za-z_:-]+$`).MatchString(token) {
		return "", fmt.Errorf("token: the value behind %q is no bot's token; it looks like 123456789:AAE…", ref)
	}
	return token, nil
}

func checkAudience(a channels.Audience) error {
	group, person := regexp.MustCompile(`^-[1-9][0-9]*$`).MatchString, regexp.MustCompile(`^[1-9][0-9]*$`).MatchString
	const who = `the id of a person is a number, like "123456789"; names can be taken by anybody`
	return channels.CheckListed(
		channels.Listed{Key: "groups", IDs: a.Groups, OK: group, Want: `the id of a group is a negative number, like "-1001234567890"`},
		channels.Listed{Key: "known", IDs: a.Known, OK: person, Want: who},
		channels.Listed{Key: "public", IDs: a.Public, OK: person, Want: who},
	)
}
