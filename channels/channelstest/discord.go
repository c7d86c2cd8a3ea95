package channelstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DiscordFault replaces the normal answer to one call.
type DiscordFault struct {
	Status     int     // answer with this error of the API; for "identify" and "resume": close with this code
	Code       int     // with Status: Discord's own code; 0: answer like a proxy
	RetryAfter float64 // with Status: seconds
	Global     bool    // with Status 429: the limit applies to the whole bot
	Cut        string  // "before" drops the connection before the call takes effect, "after" after it
	Raw        string  // answer 200 with this
}

// DiscordSent is a message of the bot as readers see it now.
type DiscordSent struct {
	ID      string
	Channel string
	Text    string
	Nonce   string
	ReplyTo string
	Flags   int
	Calls   []string          // permitted by allowed_mentions
	Buttons [][]DiscordButton // row by row
	Files   []Shown
}

// DiscordButton is one button below a message.
type DiscordButton struct {
	Label string `json:"label"`
	Data  string `json:"custom_id"`
}

// Ids of the bot and its application, and of the server with all groups.
const (
	discordBot   = "7001"
	discordApp   = "8001"
	discordGuild = "6001"
)

// discordTime is Discord's time format.
const discordTime = "2006-01-02T15:04:05.000000-07:00"

// Discord is a fake of Discord with one bot, id 7001: the REST API, the gateway and the file server, on one socket
// (https://discord.com/developers/docs). Client sends requests for Discord's hosts there.
type Discord struct {
	web
	script[DiscordFault]
	token string

	mu        sync.Mutex
	handlers  sync.WaitGroup // of the gateway
	began     time.Time
	last      int64 // newest id
	rooms     map[string]map[string]any
	said      map[string][]map[string]any // messages by channel, oldest first
	sent      []DiscordSent
	nonces    map[string]string // messages by channel and nonce
	forbidden map[string]bool
	files     map[string][]byte
	seen      []string // answered interactions
	signs     []string
	leaks     []string // requests that sent the token to other hosts than the API's
	blind     bool     // the intent for message content is off
	beat      time.Duration
	session   *discordSession
	sessions  int
	logins    []string // identify and resume requests
	lines     map[*discordLine]bool
}

// NewDiscord starts a fake on addr, "" for any free port on the loopback interface.
func NewDiscord(addr, token string) (*Discord, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	return DiscordOn(l, token), nil
}

// DiscordOn is NewDiscord with a listener.
func DiscordOn(l net.Listener, token string) *Discord {
	f := &Discord{
		token: token, began: time.Now(), rooms: map[string]map[string]any{}, said: map[string][]map[string]any{}, nonces: map[string]string{},
		forbidden: map[string]bool{}, files: map[string][]byte{}, lines: map[*discordLine]bool{}, beat: 41250 * time.Millisecond,
	}
	f.serveOn(l, f.serve)
	return f
}

// Close ends all calls, all connections and the server.
func (f *Discord) Close() {
	f.Drop()
	f.web.Close()
	f.handlers.Wait()
}

// Client returns a copy of base that connects to the fake instead of Discord's hosts.
func (f *Discord) Client(base *http.Client) *http.Client {
	routed := *base
	next := base.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	routed.Transport = discordRoute{next: next, to: strings.TrimPrefix(f.URL(), "http://")}
	return &routed
}

// discordRoute sends requests to a fake, which learns the original host.
type discordRoute struct {
	next http.RoundTripper
	to   string
}

func (r discordRoute) RoundTrip(req *http.Request) (*http.Response, error) {
	routed := req.Clone(req.Context())
	routed.Host, routed.URL.Scheme, routed.URL.Host = req.URL.Host, "http", r.to
	return r.next.RoundTrip(routed)
}

// CloseIdleConnections does it where they are.
func (r discordRoute) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Group creates a channel of the server.
func (f *Discord) Group(id, name string) { f.room(id, map[string]any{"type": 0, "name": name}) }

// Thread creates a thread in a channel.
func (f *Discord) Thread(id, parent, name string) {
	f.room(id, map[string]any{"type": 11, "name": name, "parent_id": parent})
}

func (f *Discord) room(id string, about map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	about["id"], about["guild_id"] = id, discordGuild
	f.rooms[id] = about
}

// Direct returns the channel of the private chat with a person.
func (f *Discord) Direct(person string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.direct(person)
}

func (f *Discord) direct(person string) string {
	id := "90000" + person
	if f.rooms[id] == nil {
		f.rooms[id] = map[string]any{"id": id, "type": 1, "recipients": []any{f.Person(person, "Sam")}}
	}
	return id
}

// Person returns a user in the form of the API.
func (f *Discord) Person(id, name string) map[string]any {
	return map[string]any{"id": id, "username": strings.ToLower(name), "global_name": name}
}

func (f *Discord) me() map[string]any {
	return map[string]any{"id": discordBot, "username": "hob", "bot": true}
}

// Say writes to the bot in the private chat with a person. It returns "CHANNEL/MESSAGE".
func (f *Discord) Say(from, text string) string {
	return f.Write(map[string]any{"author": f.Person(from, "Sam"), "content": text})
}

// Write adds a message. Missing fields (id, timestamp, the private chat with its author) are filled in.
func (f *Discord) Write(m map[string]any) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m["author"] == nil {
		m["author"] = f.Person("42", "Sam")
	}
	if m["channel_id"] == nil {
		author, _ := m["author"].(map[string]any) // otherwise the test is wrong
		m["channel_id"] = f.direct(fmt.Sprint(author["id"]))
	}
	return f.keep(m)
}

// keep stores a message and sends the event.
func (f *Discord) keep(m map[string]any) string {
	channel := fmt.Sprint(m["channel_id"])
	if m["id"] == nil {
		m["id"] = f.id()
	}
	for key, value := range map[string]any{"timestamp": time.Now().UTC().Format(discordTime), "type": 0, "flags": 0, "edited_timestamp": nil} {
		if _, ok := m[key]; !ok {
			m[key] = value
		}
	}
	f.said[channel] = append(f.said[channel], m)
	f.tell("MESSAGE_CREATE", f.event(m))
	return channel + "/" + fmt.Sprint(m["id"])
}

// id returns the next snowflake.
func (f *Discord) id() string {
	f.last = max(f.last+1, (time.Now().UnixMilli()-1_420_070_400_000)<<22)
	return strconv.FormatInt(f.last, 10)
}

// event returns a message in the form of the gateway: the history does not contain the server.
func (f *Discord) event(m map[string]any) map[string]any {
	e := maps.Clone(m)
	if f.rooms[fmt.Sprint(m["channel_id"])]["guild_id"] != nil {
		e["guild_id"] = discordGuild
	}
	return e
}

// find returns a stored message.
func (f *Discord) find(id string) map[string]any {
	channel, message, _ := strings.Cut(id, "/")
	for _, m := range f.said[channel] {
		if m["id"] == message {
			return m
		}
	}
	return nil
}

// Edit changes the text of a message. It returns the time of the edit in Unix milliseconds.
func (f *Discord) Edit(id, text string) (at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UTC()
	if m := f.find(id); m != nil {
		m["content"], m["edited_timestamp"] = text, now.Format(discordTime)
		f.tell("MESSAGE_UPDATE", f.event(m))
	}
	return strconv.FormatInt(now.UnixMilli(), 10)
}

// Text returns the current text of a message.
func (f *Discord) Text(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, _ := f.find(id)["content"].(string)
	return text
}

// Delete deletes a message.
func (f *Discord) Delete(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	channel, message, _ := strings.Cut(id, "/")
	f.said[channel] = slices.DeleteFunc(f.said[channel], func(m map[string]any) bool { return m["id"] == message })
	f.tell("MESSAGE_DELETE", map[string]any{"id": message, "channel_id": channel})
}

// Press presses a button of the bot's message in the private chat with a person. It returns the id of the
// interaction.
func (f *Discord) Press(from, message, data string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.id()
	f.tell("INTERACTION_CREATE", map[string]any{
		"id": id, "token": "press-token", "type": 3, "channel_id": f.direct(from), "user": f.Person(from, "Sam"),
		"message": map[string]any{"id": message}, "data": map[string]any{"custom_id": data, "component_type": 2},
	})
	return id
}

// Again delivers a message a second time, as another event.
func (f *Discord) Again(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell("MESSAGE_CREATE", f.event(f.find(id)))
}

// Push sends an event of any type and data.
func (f *Discord) Push(kind, data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(kind, json.RawMessage(data))
}

// File stores a received file and returns its address.
func (f *Discord) File(name string, content []byte) (address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name] = content
	return "https://cdn.discordapp.com/attachments/" + name + "?ex=1&is=2&hm=3"
}

// Forbid removes the bot's access to a channel.
func (f *Discord) Forbid(channel string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forbidden[channel] = true
}

// HideContent switches the intent for message content off.
func (f *Discord) HideContent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blind = true
}

// Revoke invalidates the bot's token; open connections end.
func (f *Discord) Revoke() {
	f.mu.Lock()
	f.token = "revoked"
	f.mu.Unlock()
	f.End(4004)
}

// Sent returns the bot's messages as they are now, in order.
func (f *Discord) Sent() []DiscordSent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}

// Answered returns the answered interactions.
func (f *Discord) Answered() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// Signs returns the channels in which the typing sign was shown.
func (f *Discord) Signs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.signs)
}

// Leaks returns requests that sent the token to other hosts than the API's.
func (f *Discord) Leaks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.leaks)
}

// Logins returns the requested sessions in order: "identify" with its intents, "resume" with its session and
// number.
func (f *Discord) Logins() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.logins)
}
