// Package discord is the channel to a Discord bot (https://discord.com/developers/docs, API v10): events come over the gateway, messages go out
// over REST, and what the gateway could not hand on is read from the history. It goes on behind the last event that was committed, never
// follows redirects, and sends its token to Discord's own hosts only.
//
// It speaks the gateway itself: discordgo 0.29 counts an event as seen before it is handed on and keeps the number to itself, finds a
// half-open connection after five heartbeats, and a frame "null" ends the process.
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
	Token string `toml:"token" json:"token"` // the bot's, as a reference
	channels.Audience
}

// Channel is one bot.
type Channel struct {
	channels.Audience
	name  string
	api   client
	owner func() []string // the owner's ids as they are now
	clock sys.Clock
	log   *slog.Logger

	mu      sync.Mutex
	directs map[string]string // the channels of private chats, by person
	mine    recent[string]    // the nonces of messages whose answer has come: they are no other delivery's
}

// Kind is the line in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "discord", Named: "discord", Doc: "A Discord bot. See channels.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the key of the section that is wrong.
func New(env channels.Env, cfg Config) (*Channel, error) {
	const want = `an id is a number, like "175928847299117063"; switch on Developer Mode in Discord (User Settings, Advanced) and choose Copy ID in the menu of the `
	if err := cfg.Check(channels.Form(snowflake, want+"channel"), channels.Form(snowflake, want+"person")); err != nil {
		return nil, err
	}
	token, err := env.Token("token", cfg.Token, `make an application at https://discord.com/developers/applications, and under Bot press Reset Token: put it in the environment and write token = "env:DISCORD_TOKEN"`,
		`(Bot )?[0-9A-Za-z_.=-]+`, "no bot's token; it is one word of letters, digits, points and dashes")
	if err != nil {
		return nil, err
	}
	return &Channel{
		Audience: cfg.Audience, name: env.Name, api: client{token: strings.TrimPrefix(token, "Bot "), http: wire.Client(env.HTTP, 0), clock: env.Clock}, owner: env.OwnerIDs,
		clock: env.Clock, log: env.Log, directs: map[string]string{},
	}, nil
}

// Form is Discord's Markdown.
func (c *Channel) Form() markup.Form { return markup.Discord() }

// snowflake is the form of all of Discord's ids.
const snowflake = `[1-9][0-9]{0,19}`

// target is a place to write to: a person, or a channel of a server and a thread in it.
type target struct{ person, group, thread string }

// target reads an address.
func (c *Channel) target(to event.Address) (target, error) {
	m := regexp.MustCompile("^(?:(" + snowflake + ")|#(" + snowflake + ")(?:/(" + snowflake + "))?)$").FindStringSubmatch(to.Local())
	if m == nil {
		return target{}, fmt.Errorf("address %q: want the id of a person, as in %s:1234567890, or of a channel, as in %s:#1234567890: %w", to, c.name, c.name, channels.ErrPermanent)
	}
	return target{person: m[1], group: m[2], thread: m[3]}, nil
}

// recent remembers the latest things by their ids, as many as there is room for. The zero recent is empty.
type recent[T any] struct {
	by    map[string]T
	order []string
}

// room of a recent.
const remembered = 1000

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

func (r *recent[T]) get(id string) (T, bool) {
	what, ok := r.by[id]
	return what, ok
}
