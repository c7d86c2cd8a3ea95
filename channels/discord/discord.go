// Package discord connects hob to a Discord bot (https://discord.com/developers/docs, API v10).
//
// Receiving: events arrive over the gateway (a web socket). Each event is committed with its sequence number,
// and the next connection resumes after it. If the session cannot be resumed, the missed messages are read
// from the history over REST. Sending: messages go out over REST with a nonce.
//
// The package never follows redirects, and sends its token only to Discord's own hosts.
//
// It has its own gateway client: discordgo 0.29 counts an event as seen before the handler gets it and does
// not expose the number, needs five heartbeats to detect a dead connection, and panics at a frame "null".
package discord

import (
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

// Config is a section [channels.NAME] with kind = "discord".
type Config struct {
	Token string `toml:"token" json:"token"` // the bot's token, as a secret reference
	channels.Audience
}

// Channel is one bot.
type Channel struct {
	channels.Audience
	name  string
	api   client
	owner func() []string // the owner's current ids
	frame func(sent bool, text []byte)
	clock sys.Clock
	log   *slog.Logger

	mu        sync.Mutex        // protects the fields below
	directs   map[string]string // channels of private chats, by person
	confirmed recent[string]    // nonces of confirmed messages, by message id: Find must not take these for another delivery
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "discord", Named: "discord", Doc: "A Discord bot. See channels/discord.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	const want = `an id is a number, like "175928847299117063"; switch on Developer Mode in Discord (User Settings, Advanced) and choose Copy ID in the menu of the `
	if err := cfg.Check(channels.Form(snowflake, want+"channel"), channels.Form(snowflake, want+"person")); err != nil {
		return nil, err
	}
	token, err := env.Token("token", cfg.Token, `create an application at https://discord.com/developers/applications, and under Bot press Reset Token: put it in the environment and write token = "env:DISCORD_TOKEN"`,
		`(Bot )?[0-9A-Za-z_=-]+(\.[0-9A-Za-z_=-]+){2}`, "not a bot token; a token has three parts with points between them, like MTk4NjIy….Cl2FMQ.ZnCjm1XV…")
	if err != nil {
		return nil, err
	}
	return &Channel{
		Audience: cfg.Audience, name: env.Name, api: client{token: strings.TrimPrefix(token, "Bot "), http: wire.Client(env.HTTP, 0), clock: env.Clock}, owner: env.OwnerIDs,
		frame: env.Framed, clock: env.Clock, log: env.Log, directs: map[string]string{},
	}, nil
}

// Form returns Discord's Markdown format.
func (c *Channel) Form() markup.Form { return markup.Discord() }

// snowflake is the form of Discord's ids.
const snowflake = `[1-9][0-9]{0,19}`

// target is the place to write to: a person, or a channel of a server and optionally a thread in it.
type target struct{ person, group, thread string }

// target parses an address.
func (c *Channel) target(to event.Address) (target, error) {
	m := regexp.MustCompile("^(?:(" + snowflake + ")|#(" + snowflake + ")(?:/(" + snowflake + "))?)$").FindStringSubmatch(to.Local())
	if m == nil {
		return target{}, fmt.Errorf("address %q: want the id of a person, as in %s:1234567890, or of a channel, as in %s:#1234567890: %w", to, c.name, c.name, channels.ErrPermanent)
	}
	return target{person: m[1], group: m[2], thread: m[3]}, nil
}

// recent is a map that keeps only the newest entries. The zero recent is empty.
type recent[T any] struct {
	by    map[string]T
	order []string
}

// remembered is the size of a recent.
const remembered = 1000

// put stores an entry, and drops the oldest one beyond the limit.
func (r *recent[T]) put(id string, what T) {
	if r.by == nil {
		r.by = map[string]T{}
	}
	if _, there := r.by[id]; !there {
		r.order = append(r.order, id)
	}
	r.by[id] = what
	if len(r.order) > remembered {
		delete(r.by, r.order[0])
		r.order = r.order[1:]
	}
}

// get returns an entry; ok is false if it is unknown or was dropped.
func (r *recent[T]) get(id string) (T, bool) {
	what, ok := r.by[id]
	return what, ok
}
