// Package slack connects hob to a Slack app in one workspace. It receives over Socket Mode
// (https://docs.slack.dev/apis/events-api/using-socket-mode) and sends with the Web API.
//
// Receiving: each connection first reads from the history what was written since the last one, then serves
// events. An envelope is acknowledged only after its message is committed; Slack offers others again.
// Sending: the nonce travels in the message's metadata, so that an uncertain send can be looked up.
//
// The package never follows redirects, and gives its tokens only to Slack's own hosts.
package slack

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Config is a section [channels.NAME] with kind = "slack".
type Config struct {
	AppToken string `toml:"app_token" json:"app_token"` // opens the socket; a secret reference to xapp-…
	BotToken string `toml:"bot_token" json:"bot_token"` // the bot's; a secret reference to xoxb-…
	APIBase  string `toml:"api_base" json:"api_base"`   // address of the Web API; default https://slack.com/api
	channels.Audience
}

// Channel is one app in one workspace.
type Channel struct {
	channels.Audience
	name  string
	owner func() []string // the owner's current ids
	web   web
	frame func(sent bool, text []byte)
	clock sys.Clock
	log   *slog.Logger

	mu      sync.Mutex // protects the fields below
	me      account
	directs map[string]string // private chats by person
}

// web holds the HTTP clients for Slack's servers.
type web struct {
	*slack.Client               // limited to callTime
	bulk          *slack.Client // limited to bulkTime
	plain         *http.Client  // no time limit of its own
	base          *url.URL
	token         string // the bot token
}

// Timeouts of calls.
const (
	callTime = 30 * time.Second
	bulkTime = 10 * time.Minute // for an upload
)

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "slack", Named: "slack", Doc: "An app in a Slack workspace. See channels/slack.md.", Notes: notes()}, Config{}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	base, err := wire.Server{Key: "api_base", Like: "https://slack.com/api", Optional: true, Login: "the tokens are"}.Read(cfg.APIBase)
	if err != nil {
		return nil, err
	}
	group := channels.Form(groupForm, `the id of a channel is like "C012AB3CD", in Slack at the end of the channel's details`)
	person := channels.Form(personForm, `the id of a person is like "U012AB3CD", in Slack under Profile, "Copy member ID"; names can be taken by anybody`)
	if err := cfg.Check(group, person); err != nil {
		return nil, err
	}
	app, err := readToken(env, "app_token", "xapp-", "Basic Information, App-Level Tokens", cfg.AppToken)
	if err != nil {
		return nil, err
	}
	bot, err := readToken(env, "bot_token", "xoxb-", "Install App", cfg.BotToken)
	if err != nil {
		return nil, err
	}
	api := func(limit time.Duration) *slack.Client {
		return slack.New(bot, slack.OptionAppLevelToken(app), slack.OptionAPIURL(base.String()+"/"), slack.OptionHTTPClient(wire.Client(env.HTTP, limit)))
	}
	return &Channel{
		Audience: cfg.Audience, name: env.Name, owner: env.OwnerIDs, frame: env.Framed, clock: env.Clock, log: env.Log, directs: map[string]string{},
		web: web{Client: api(callTime), bulk: api(bulkTime), plain: wire.Client(env.HTTP, 0), base: base, token: bot},
	}, nil
}

// Form returns Slack's mrkdwn format.
func (c *Channel) Form() markup.Form { return markup.Slack() }

// Buttons reports that choices are shown as buttons.
func (c *Channel) Buttons() bool { return true }

// MaxFile is hob's own limit; Slack's is a gigabyte.
func (c *Channel) MaxFile() int64 { return event.MaxEnclosed }

// readToken resolves a token. page is where the app's settings show it. It also detects a token at the wrong key, by the prefix of its kind.
func readToken(env channels.Env, key, form, page, ref string) (string, error) {
	hint := fmt.Sprintf(`the app's page at https://api.slack.com/apps shows it under %s: put it in the environment and write %s = "env:SLACK_%s"`, page, key, strings.ToUpper(key))
	token, err := env.Token(key, ref, hint, `[0-9A-Za-z.-]+`, fmt.Sprintf("not a Slack token; a token looks like %s…", form))
	if err != nil || token == channels.StandIn {
		return token, err
	}
	kind := regexp.MustCompile(`^(xapp|xox[a-z])-`).FindString(strings.TrimPrefix(token, "xoxe."))
	switch kind {
	case form:
		return token, nil
	case "":
		return "", fmt.Errorf("%s: the value of %q is not a Slack token; a token looks like %s…", key, ref, form)
	}
	return "", fmt.Errorf("%s: the value of %q begins with %s, which is another kind of token; want one that begins with %s", key, ref, kind, form)
}

// Forms of Slack's ids.
const (
	personForm = `[UW][0-9A-Z]{2,20}`
	groupForm  = `[CG][0-9A-Z]{2,20}`
	timeForm   = `[0-9]{1,12}\.[0-9]{6}`
)

// target is the place to write to: a person, or a group and optionally a thread.
type target struct{ person, group, thread string }

// target parses an address.
func (c *Channel) target(to event.Address) (target, error) {
	local := to.Local()
	if regexp.MustCompile("^" + personForm + "$").MatchString(local) {
		return target{person: local}, nil
	}
	if m := regexp.MustCompile("^(" + groupForm + ")(?:/(" + timeForm + "))?$").FindStringSubmatch(local); m != nil {
		return target{group: m[1], thread: m[2]}, nil
	}
	return target{}, fmt.Errorf("address %q: want the id of a person or a channel, as in %s:U012AB3CD: %w", to, c.name, channels.ErrPermanent)
}

// id makes the id of a message. Its timestamp is unique within the chat.
func id(chat, ts string) string { return chat + ":" + ts }
