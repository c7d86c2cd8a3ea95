package channelstest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TelegramFault replaces the normal answer to one call.
type TelegramFault struct {
	Status     int    // answer with this error of the Bot API
	RetryAfter int    // with Status: parameters.retry_after, in seconds
	MigrateTo  int64  // with Status: parameters.migrate_to_chat_id
	Cut        string // "before" drops the connection before the call takes effect, "after" after it
	Raw        string // answer 200 with this
	Silent     bool   // do not answer until the caller has gone
}

// TelegramSent is a message of a bot as readers see it.
type TelegramSent struct {
	ID       int64 // of the message
	Chat     int64
	Thread   int64
	Text     string // without tags
	Raw      string // as it was sent
	Mode     string
	ReplyTo  int64
	Previews bool
	Buttons  [][]TelegramButton
	Was      []string // earlier texts, oldest first
	File     *SentFile
}

// TelegramButton is one button below a message.
type TelegramButton struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Telegram is a fake Bot API server with one bot, on a real socket (https://core.telegram.org/bots/api). A
// chat is known after its first message.
type Telegram struct {
	web
	script[TelegramFault]
	sentLog[TelegramSent]
	token string

	mu      sync.Mutex
	me      map[string]any
	queue   []telegramUpdate
	update  int64 // the newest id
	message int64
	offsets []int64 // requested offsets
	said    map[string]map[string]any
	chats   map[int64]bool
	pressed []string // answered callbacks
	signs   []string
	files   map[string][]byte
	hook    string
	poll    *telegramPoll // the waiting poll
}

type telegramUpdate struct {
	id   int64
	kind string
	raw  []byte
}

// telegramPoll is a waiting getUpdates: a value ends it, true if another call replaced it.
type telegramPoll struct{ wake chan bool }

// NewTelegram starts a fake on addr, "" for any free port on the loopback interface, for the bot with this
// token: "ID:SECRET". Its name is @hob_test_bot. Its URL is the address for the key api_base.
func NewTelegram(addr, token string) (*Telegram, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	return TelegramOn(l, token)
}

// TelegramOn is NewTelegram with a listener.
func TelegramOn(l net.Listener, token string) (*Telegram, error) {
	number, _, _ := strings.Cut(token, ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("a token for the fake Telegram: %w", err)
	}
	f := &Telegram{
		token: token, update: 1000, message: 100, said: map[string]map[string]any{}, chats: map[int64]bool{}, files: map[string][]byte{},
		me: map[string]any{"id": id, "is_bot": true, "first_name": "Hob", "username": "hob_test_bot", "can_read_all_group_messages": false},
	}
	f.serveOn(l, f.serve)
	return f, nil
}

// Person returns a user in the form of the API.
func (f *Telegram) Person(id int64, name string) map[string]any {
	return map[string]any{"id": id, "is_bot": false, "first_name": name}
}

// Group returns a supergroup in the form of the API; its id is negative.
func (f *Telegram) Group(id int64, title string) map[string]any {
	return map[string]any{"id": id, "type": "supergroup", "title": title}
}

// Knows makes a chat known before anything was written in it.
func (f *Telegram) Knows(chat int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chats[chat] = true
}

// Say writes to the bot in the private chat with a person. It returns the message's number.
func (f *Telegram) Say(from int64, text string) int64 {
	return f.Write(map[string]any{"from": f.Person(from, "Sam"), "text": text})
}

// Write adds a message. Missing fields (message_id, date, and the private chat with its author) are filled
// in.
func (f *Telegram) Write(m map[string]any) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fill(m)
	f.push("message", m)
	id := whole(m["message_id"])
	f.said[strconv.FormatInt(id, 10)] = m
	return id
}

// Edit changes the text of a message. It returns the number of the update.
func (f *Telegram) Edit(id int64, text string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := map[string]any{}
	for k, v := range f.said[strconv.FormatInt(id, 10)] {
		m[k] = v
	}
	m["text"], m["edit_date"] = text, time.Now().Unix()
	f.push("edited_message", m)
	return f.update
}

// Move moves a shared live location; the last move ends it. It returns the number of the update.
func (f *Telegram) Move(id int64, latitude, longitude float64, over bool) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := maps.Clone(f.said[strconv.FormatInt(id, 10)])
	at := map[string]any{"latitude": latitude, "longitude": longitude, "horizontal_accuracy": 12.5}
	if !over {
		at["live_period"] = 900
	}
	m["location"], m["edit_date"] = at, time.Now().Unix()
	f.push("edited_message", m)
	return f.update
}

// Remove deletes a message of the bot.
func (f *Telegram) Remove(id int64) {
	f.page.Lock()
	defer f.page.Unlock()
	f.entries = slices.DeleteFunc(f.entries, func(m TelegramSent) bool { return m.ID == id })
}

// Press presses a button below a message of the bot. It returns the id of the callback.
func (f *Telegram) Press(from, message int64, data string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := map[string]any{"message_id": message, "from": f.me, "text": "…"}
	m["chat"] = map[string]any{"id": from, "type": "private", "first_name": "Sam"}
	f.fill(m)
	id := strconv.FormatInt(f.update, 10)
	f.push("callback_query", map[string]any{"id": id, "from": f.Person(from, "Sam"), "chat_instance": "1", "message": m, "data": data})
	return id
}

// Again delivers a message a second time, as a new update.
func (f *Telegram) Again(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.push("message", f.said[strconv.FormatInt(id, 10)])
}

// Push sends a raw update; %d in it becomes its number.
func (f *Telegram) Push(raw string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.update++
	f.put(telegramUpdate{f.update, "message", []byte(strings.ReplaceAll(raw, "%d", strconv.FormatInt(f.update, 10)))})
}

// Skip sets the number of the next update, which may be smaller, as after a week without updates.
func (f *Telegram) Skip(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.update = n - 1
}

func (f *Telegram) fill(m map[string]any) {
	if m["message_id"] == nil {
		f.message++
		m["message_id"] = f.message
	}
	if m["date"] == nil {
		m["date"] = time.Now().Unix()
	}
	if from, ok := m["from"].(map[string]any); ok && m["chat"] == nil {
		m["chat"] = map[string]any{"id": from["id"], "type": "private", "first_name": from["first_name"]}
	}
	if chat, ok := m["chat"].(map[string]any); ok {
		f.chats[whole(chat["id"])] = true
	}
}

// whole converts a number in a test's form.
func whole(v any) int64 {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	n, _ := v.(int64)
	return n
}

func (f *Telegram) push(kind string, what map[string]any) {
	f.update++
	raw, err := json.Marshal(map[string]any{"update_id": f.update, kind: what})
	if err != nil {
		panic(err) // a test's own mistake
	}
	f.put(telegramUpdate{f.update, kind, raw})
}

func (f *Telegram) put(u telegramUpdate) {
	f.queue = append(f.queue, u)
	f.wake(false)
}

// wake ends the waiting poll.
func (f *Telegram) wake(other bool) {
	if f.poll != nil {
		f.poll.wake <- other // it has room for one, and is forgotten with it
		f.poll = nil
	}
}

// File stores a file.
func (f *Telegram) File(id string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[id] = content
}

// Fail scripts the next calls of a method, one fault each; "file" means downloads.
func (f *Telegram) Fail(method string, faults ...TelegramFault) {
	f.script.Fail(method, faults...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if method == "getUpdates" {
		f.wake(false)
	}
}

// Webhook sets the web hook that gets the updates, "" for none.
func (f *Telegram) Webhook(url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = url
	f.wake(true)
}

// Revoke invalidates the bot's token.
func (f *Telegram) Revoke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token = "revoked"
	f.wake(true)
}

// ReadsAll switches the bot's privacy mode off.
func (f *Telegram) ReadsAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.me["can_read_all_group_messages"] = true
}

// Answered returns the answered callbacks.
func (f *Telegram) Answered() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pressed)
}

// Signs returns the typing signs, as "ACTION in CHAT/TOPIC".
func (f *Telegram) Signs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.signs)
}

// Offsets returns the offsets of all getUpdates calls, in order.
func (f *Telegram) Offsets() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.offsets)
}

// Pending returns the number of unacknowledged updates.
func (f *Telegram) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}

// Listening waits until a poll waits for updates, or ctx ends.
func (f *Telegram) Listening(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.poll != nil
	})
}

func (f *Telegram) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	token := f.token
	f.mu.Unlock()
	if id, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+token+"/"); ok {
		f.download(w, r, strings.TrimPrefix(id, "documents/"))
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	named, method, cut := strings.Cut(rest, "/")
	switch {
	case !ok || !cut:
		deny(w, http.StatusNotFound, "Not Found", TelegramFault{})
	case named != token:
		deny(w, http.StatusUnauthorized, "Unauthorized", TelegramFault{})
	default:
		f.method(w, r, method)
	}
}

func (f *Telegram) method(w http.ResponseWriter, r *http.Request, method string) {
	params, err := telegramParams(r)
	if err != nil {
		deny(w, http.StatusBadRequest, "Bad Request: can't parse the request", TelegramFault{})
		return
	}
	fault := f.fault(method)
	switch {
	case fault.Status != 0:
		deny(w, fault.Status, "scripted", fault)
		return
	case fault.Raw != "":
		_, _ = io.WriteString(w, fault.Raw) // the reader may be gone
		return
	case fault.Cut == "before":
		hangUp(w)
		return
	case fault.Silent:
		select {
		case <-r.Context().Done():
		case <-f.quit:
		}
		return
	}
	result, status, why := f.serveMethod(r, method, params)
	switch {
	case fault.Cut == "after":
		hangUp(w)
	case status != 0:
		deny(w, status, why, TelegramFault{})
	default:
		reply(w, map[string]any{"ok": true, "result": result})
	}
}

// deny answers with a refusal of the Bot API.
func deny(w http.ResponseWriter, status int, why string, f TelegramFault) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"ok": false, "error_code": status, "description": why}
	parameters := map[string]any{}
	if f.RetryAfter > 0 {
		parameters["retry_after"] = f.RetryAfter
	}
	if f.MigrateTo != 0 {
		parameters["migrate_to_chat_id"] = f.MigrateTo
	}
	if len(parameters) > 0 {
		body["parameters"] = parameters
	}
	reply(w, body)
}
