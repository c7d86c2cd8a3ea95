// Package telegram connects hob to a Telegram bot over the Bot API (https://core.telegram.org/bots/api).
//
// Receiving: a long poll (getUpdates) returns updates; they are converted to messages and committed together
// with the next offset. The next poll sends that offset, which acknowledges them. Sending: texts go out as
// HTML, files as uploads.
//
// It never follows redirects, never names its token in an error, and never acknowledges an update before its
// commit.
package telegram

import (
	"log/slog"
	"strings"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// publicBase is the server for everybody who does not run one.
const publicBase = "https://api.telegram.org"

// Config is a section [channels.NAME] with kind = "telegram".
type Config struct {
	Token   string `toml:"token" json:"token"`       // the bot's token, from @BotFather, as a secret reference
	APIBase string `toml:"api_base" json:"api_base"` // address of a Bot API server; default https://api.telegram.org
	channels.Audience
}

// Channel is one bot.
type Channel struct {
	channels.Audience
	name  string
	bot   string // the bot's id, from its token; message ids begin with it, because each bot numbers its messages separately
	api   client
	clock sys.Clock
	log   *slog.Logger
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "telegram", Named: "telegram", Doc: "A Telegram bot, which @BotFather makes. See channels/telegram.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the wrong key of the section.
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
		`[0-9]+:[0-9A-Za-z_-]+`, "not a bot token; a token looks like 123456789:AAE…")
	if err != nil {
		return nil, err
	}
	bot, _, _ := strings.Cut(token, ":")
	return &Channel{
		Audience: cfg.Audience, name: env.Name, bot: bot, api: client{base: base.String(), token: token, http: wire.Client(env.HTTP, 0)},
		clock: env.Clock, log: env.Log,
	}, nil
}

// Form returns Telegram's HTML format.
func (c *Channel) Form() markup.Form { return markup.Telegram() }
