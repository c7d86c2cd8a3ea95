// Package ntfy connects hob to an ntfy server: it publishes to topics and subscribes to them over HTTP
// (https://docs.ntfy.sh/publish and https://docs.ntfy.sh/subscribe/api).
//
// Receiving: a stream, or polling while streams fail; each message is committed with the server's time as the
// cursor. Sending: the nonce becomes the sequence id, by which Find recognises a message.
//
// The package never follows redirects, never sends its token to another host, and never takes hob's own
// messages for input: each has the tag "hob".
package ntfy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// MaxPart is the longest message of ntfy, in bytes; the server would turn a longer one into an attachment.
const MaxPart = 4096

// ownTag marks the messages that hob publishes.
const ownTag = "hob"

// Config is a section [channels.NAME] with kind = "ntfy".
type Config struct {
	Server  string   `toml:"server" json:"server"`   // default https://ntfy.sh
	Topic   string   `toml:"topic" json:"topic"`     // one topic
	Topics  []string `toml:"topics" json:"topics"`   // or several
	Token   string   `toml:"token" json:"token"`     // access token, as a secret reference
	Owner   bool     `toml:"owner" json:"owner"`     // messages in the topics are from the owner; needs a token, and topics that others cannot write to
	Receive *bool    `toml:"receive" json:"receive"` // false: only send; default true
	Title   string   `toml:"title" json:"title"`     // title of hob's messages; default "hob"
}

// Channel is one ntfy section.
type Channel struct {
	name    string
	server  string
	topics  []string
	token   string
	owner   bool
	receive bool
	title   string
	http    *http.Client // with a time limit
	stream  *http.Client // without one: a watchdog limits its silence
	clock   sys.Clock
	log     *slog.Logger
}

// Kind is the entry in the list of channels.
func Kind() channels.Kind {
	return channels.Of(channels.Kind{Name: "ntfy", Named: "alerts", Doc: "A topic at an ntfy server, without an account. See channels/ntfy.md.", Notes: notes()}, Config{Server: "https://ntfy.sh", Title: "hob"}, New)
}

// New makes a channel. Errors name the wrong key of the section.
func New(env channels.Env, cfg Config) (*Channel, error) {
	server, err := checkServer(cfg.Server)
	if err != nil {
		return nil, err
	}
	topics, err := checkTopics(cfg)
	if err != nil {
		return nil, err
	}
	token, err := readToken(cfg, env)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(cfg.Title, "\r\n") || len(cfg.Title) > 200 {
		return nil, fmt.Errorf("title: want one line of at most 200 bytes")
	}
	return &Channel{
		name: env.Name, server: server, topics: topics, token: token, owner: cfg.Owner,
		receive: cfg.Receive == nil || *cfg.Receive, title: cfg.Title, clock: env.Clock, log: env.Log,
		http: wire.Client(env.HTTP, env.HTTP.Timeout), stream: wire.Client(env.HTTP, 0),
	}, nil
}

// OwnerPlaces returns the topics if the section says that they belong to the owner.
func (c *Channel) OwnerPlaces() []string {
	if !c.owner {
		return nil
	}
	return c.topics
}

// checkServer checks the address, and returns it without a slash at its end.
func checkServer(s string) (string, error) {
	s = cmp.Or(s, "https://ntfy.sh")
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("server: %q is not an address; want something like https://ntfy.sh", s)
	case u.User != nil:
		return "", fmt.Errorf("server: want no user name or password in the address; use token")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("server: %q has something after the path; want only the server, like https://ntfy.sh", s)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// checkTopics returns the topics of the section, from either key.
func checkTopics(cfg Config) ([]string, error) {
	if cfg.Topic != "" && len(cfg.Topics) > 0 {
		return nil, fmt.Errorf("topic, topics: want only one of the two")
	}
	key, topics := "topics", cfg.Topics
	if cfg.Topic != "" {
		key, topics = "topic", []string{cfg.Topic}
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("topic: missing; want the topic to listen to, like topic = \"hob-and-me\"")
	}
	seen := map[string]bool{}
	for _, t := range topics {
		if !validTopic(t) {
			return nil, fmt.Errorf("%s: %q is not a topic; want 1 to 64 letters, digits, hyphen and underscore", key, t)
		}
		if seen[t] {
			return nil, fmt.Errorf("%s: %q is listed twice", key, t)
		}
		seen[t] = true
	}
	return topics, nil
}

// validTopic implements the server's rule for topics (server/server.go of ntfy, topicRegex).
func validTopic(t string) bool {
	return regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(t)
}

// readToken resolves the token. A topic of the owner requires one.
func readToken(cfg Config, env channels.Env) (string, error) {
	if cfg.Token == "" {
		if cfg.Owner {
			return "", fmt.Errorf("owner: a topic is the owner's only with an access token; set token, or remove owner")
		}
		return "", nil
	}
	return env.Token("token", cfg.Token, "", `[!-~]+`, "not an access token; a token looks like tk_…")
}

// identity ties the cursor to the account: another server, other topics or another token have their own
// cursor.
func (c *Channel) identity() string {
	// Only a hash of the token is stored.
	sum := sha256.Sum256([]byte(c.token))
	return c.server + "/" + strings.Join(c.topics, ",") + "#" + hex.EncodeToString(sum[:6])
}

// Form returns plain text of at most MaxPart bytes.
func (c *Channel) Form() markup.Form {
	f := markup.Plain()
	f.Limit = MaxPart
	return f
}

// request makes a request to the server, with the token if there is one.
func (c *Channel) request(ctx context.Context, method, path string, body string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	c.authorize(req)
	return req, nil
}

// authorize adds the token to a request.
func (c *Channel) authorize(req *http.Request) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// input converts a message. A topic does not identify senders, so all messages are public, or all are the
// owner's.
func (c *Channel) input(m message) event.In {
	in := event.In{
		Source: c.name, ExtID: m.ID, Session: c.name + ":" + m.Topic, Kind: event.Message,
		Rank: event.RankRest, Trust: event.Public, Sender: m.Topic,
		ReplyTo: event.Address(c.name + ":" + m.Topic), Parts: event.Say(m.text()), Received: c.clock.Wall(),
	}
	if m.Time > 0 {
		in.Origin.Sent = time.Unix(m.Time, 0)
	}
	if c.owner {
		in.Session, in.Kind = "main", channels.KindOf(m.text())
		in.Rank, in.Trust, in.Typed = event.RankOwner, event.Owner, true
	}
	return in
}

// idle limits the silence of a stream: the server sends a keep-alive every 45 s by default
// (keepalive-interval in server.yml).
const idle = time.Minute
