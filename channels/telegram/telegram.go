// Package telegram is the channel to a Telegram bot, over the Bot API (https://core.telegram.org/bots/api): it asks for updates by
// long polling and sends messages as HTML. It never follows redirects, never names its token in an error, and acknowledges an
// update only by a poll that comes after the update's commit.
package telegram

import (
	"log/slog"
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
	base, err := wire.Server{Key: "api_base", Like: publicBase, Optional: true, Login: "the bot's token is"}.Read(cfg.APIBase)
	if err != nil {
		return nil, err
	}
	group := channels.Form(`-[1-9][0-9]*`, `the id of a group is a negative number, like "-1001234567890"`)
	person := channels.Form(`[1-9][0-9]*`, `the id of a person is a number, like "123456789"; names can be taken by anybody`)
	if err := cfg.Check(group, person); err != nil {
		return nil, err
	}
	token, err := env.Token("token", cfg.Token, `@BotFather gives one for a new bot: put it in the environment and write token = "env:TELEGRAM_TOKEN"`,
		`[0-9A-Za-z_:-]+`, "no bot's token; it looks like 123456789:AAE…")
	if err != nil {
		return nil, err
	}
	bot, _, ok := strings.Cut(token, ":")
	if !ok {
		bot = "" // the server will refuse it; a token must not become part of an id
	}
	return &Channel{
		Audience: cfg.Audience, name: env.Name, bot: bot, api: client{base: base.String(), token: token, http: wire.Client(env.HTTP, 0)},
		clock: env.Clock, log: env.Log,
	}, nil
}

// Form is Telegram's HTML.
func (c *Channel) Form() markup.Form { return markup.Telegram() }
