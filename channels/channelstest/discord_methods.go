package channelstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// DiscordNobody is the id of an account that does not exist.
const DiscordNobody = "4711471147114711"

func (f *Discord) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	token := "Bot " + f.token
	if r.Host != "discord.com" && r.Header.Get("Authorization") != "" {
		f.leaks = append(f.leaks, r.Host+r.URL.Path)
	}
	f.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v10")
	switch {
	case strings.HasSuffix(r.Host, ".discord.gg"):
		f.serveGateway(w, r)
	case r.Host == "cdn.discordapp.com":
		f.serveFile(w, r)
	case r.Host != "discord.com" || !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Header.Get("Authorization") != token:
		discordDeny(w, DiscordFault{Status: http.StatusUnauthorized}, "401: Unauthorized")
	default:
		f.method(w, r, path)
	}
}

func (f *Discord) serveFile(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	content, ok := f.files[strings.TrimPrefix(r.URL.Path, "/attachments/")]
	f.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write(content) // the reader may be gone
}

// discordCall is one call of the API.
type discordCall struct {
	*http.Request
	name  string // the name for scripted faults
	parts []string
	body  map[string]any
	files []Shown
}

// method serves one call, or its scripted fault.
func (f *Discord) method(w http.ResponseWriter, r *http.Request, path string) {
	c := &discordCall{Request: r, parts: strings.Split(strings.Trim(path, "/"), "/"), body: map[string]any{}}
	c.name = discordName(r.Method, c.parts)
	if err := errors.Join(c.read(), c.form()); err != nil {
		discordDeny(w, DiscordFault{Status: http.StatusBadRequest, Code: 50109}, "The request body contains invalid JSON.")
		return
	}
	fault := f.fault(c.name)
	switch {
	case fault.Status != 0:
		discordDeny(w, fault, "scripted")
		return
	case fault.Raw != "":
		_, _ = io.WriteString(w, fault.Raw) // the reader may be gone
		return
	case fault.Cut == "before":
		hangUp(w)
		return
	}
	f.mu.Lock()
	result, no, why := f.answer(c)
	f.mu.Unlock()
	switch {
	case fault.Cut == "after":
		hangUp(w)
	case no.Status != 0:
		discordDeny(w, no, why)
	case result == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		reply(w, result)
	}
}

// discordName returns a test's name for a method: me, app, gateway, dm, channel, history, send, edit, typing,
// callback.
func discordName(method string, parts []string) string {
	switch shape := method + " " + strings.Join(parts, "/"); {
	case shape == "GET users/@me":
		return "me"
	case shape == "GET applications/@me":
		return "app"
	case shape == "GET gateway/bot":
		return "gateway"
	case shape == "POST users/@me/channels":
		return "dm"
	case parts[0] == "interactions" && len(parts) == 4:
		return "callback"
	case parts[0] != "channels":
		return ""
	case method == "GET" && len(parts) == 2:
		return "channel"
	case method == "GET" && len(parts) == 3:
		return "history"
	case method == "POST" && len(parts) == 3 && parts[2] == "messages":
		return "send"
	case method == "POST" && len(parts) == 3:
		return "typing"
	case method == "PATCH" && len(parts) == 4:
		return "edit"
	}
	return ""
}

// form checks the requirements for each request ("User Agent") and for messages with files ("Attachment
// Object": the id is a snowflake, in JSON a string).
func (c *discordCall) form() error {
	if !regexp.MustCompile(`^DiscordBot \(https?://[^ ,]+, [0-9][^ ,]*\)`).MatchString(c.Header.Get("User-Agent")) {
		return fmt.Errorf("the User-Agent %q is not of the form DiscordBot ($url, $versionNumber)", c.Header.Get("User-Agent"))
	}
	files, _ := c.body["attachments"].([]any)
	for _, f := range files {
		about, _ := f.(map[string]any)
		if id, ok := about["id"].(string); !ok || id == "" {
			return fmt.Errorf("the attachment's id %v is not a string", about["id"])
		}
	}
	return nil
}

// read parses the body: JSON, or a form with files.
func (c *discordCall) read() error {
	if c.ContentLength == 0 {
		return nil
	}
	if !strings.HasPrefix(c.Header.Get("Content-Type"), "multipart/form-data") {
		return json.NewDecoder(io.LimitReader(c.Body, 1<<20)).Decode(&c.body)
	}
	form, err := c.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FormName() == "payload_json" {
			if err := json.Unmarshal(content, &c.body); err != nil {
				return err
			}
			continue
		}
		name := formFile(part)
		if name == "" {
			continue // neither a file nor a known field
		}
		c.files = append(c.files, Shown{Name: name, MIME: part.Header.Get("Content-Type"), Content: content})
	}
}

// answer carries out a call. A nil result is an answer without a body.
func (f *Discord) answer(c *discordCall) (result any, no DiscordFault, why string) {
	if c.parts[0] == "channels" {
		if f.rooms[c.parts[1]] == nil {
			return nil, DiscordFault{Status: http.StatusNotFound, Code: 10003}, "Unknown Channel"
		}
		if f.forbidden[c.parts[1]] {
			return nil, DiscordFault{Status: http.StatusForbidden, Code: 50001}, "Missing Access"
		}
	}
	switch c.name {
	case "me":
		return f.me(), no, ""
	case "app":
		flags := 1 << 19
		if f.blind {
			flags = 0
		}
		return map[string]any{"id": discordApp, "flags": flags}, no, ""
	case "gateway":
		return map[string]any{"url": "wss://gateway.discord.gg", "shards": 1, "session_start_limit": map[string]any{"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}}, no, ""
	case "dm":
		person, _ := c.body["recipient_id"].(string)
		if person == "" || person == discordBot || person == DiscordNobody || f.rooms[person] != nil {
			return nil, DiscordFault{Status: http.StatusBadRequest, Code: 50033}, "Invalid Recipient(s)"
		}
		return f.rooms[f.direct(person)], no, ""
	case "callback":
		f.seen = append(f.seen, c.parts[1])
		return nil, no, ""
	case "channel":
		return f.rooms[c.parts[1]], no, ""
	case "history":
		return f.history(c), no, ""
	case "send":
		return f.send(c)
	case "edit":
		return f.change(c)
	case "typing":
		f.signs = append(f.signs, c.parts[1])
		return nil, no, ""
	}
	return nil, DiscordFault{Status: http.StatusNotFound}, "404: Not Found"
}

// history returns a page of a channel, the newest message first, as Discord does for every query.
func (f *Discord) history(c *discordCall) []map[string]any {
	limit, err := strconv.Atoi(c.URL.Query().Get("limit"))
	if err != nil || limit > 100 {
		limit = 50
	}
	after, _ := strconv.ParseInt(c.URL.Query().Get("after"), 10, 64)   // 0 for none
	before, _ := strconv.ParseInt(c.URL.Query().Get("before"), 10, 64) // 0 for none
	page := []map[string]any{}
	for _, m := range f.said[c.parts[1]] {
		id, _ := strconv.ParseInt(fmt.Sprint(m["id"]), 10, 64) // the fake's own
		if id > after && (before == 0 || id < before) {
			page = append(page, m)
		}
	}
	if after > 0 {
		page = page[:min(limit, len(page))]
	}
	page = slices.Clone(page[max(len(page)-limit, 0):])
	slices.Reverse(page)
	return page
}

// discordText returns the text of a message, or why it is rejected.
func (c *discordCall) text() (text string, no DiscordFault, why string) {
	text, _ = c.body["content"].(string)
	text = strings.TrimSpace(text)
	switch {
	case text == "" && len(c.files) == 0:
		return "", DiscordFault{Status: http.StatusBadRequest, Code: 50006}, "Cannot send an empty message"
	case utf8.RuneCountInString(text) > 2000:
		return "", DiscordFault{Status: http.StatusBadRequest, Code: 50035}, "Invalid Form Body"
	}
	return text, no, ""
}

// send stores a message of the bot, once for each nonce.
func (f *Discord) send(c *discordCall) (any, DiscordFault, string) {
	text, no, why := c.text()
	if no.Status != 0 {
		return nil, no, why
	}
	channel := c.parts[1]
	nonce, _ := c.body["nonce"].(string)
	if enforce, _ := c.body["enforce_nonce"].(bool); enforce && f.nonces[channel+nonce] != "" {
		return f.find(f.nonces[channel+nonce]), DiscordFault{}, ""
	}
	s := DiscordSent{Channel: channel, Text: text, Nonce: nonce, Files: c.files}
	raw, _ := json.Marshal(c.body) // it was JSON
	var more struct {
		Flags int `json:"flags"`
		Calls *struct {
			Parse []string `json:"parse"`
		} `json:"allowed_mentions"`
		Reply struct {
			ID string `json:"message_id"`
		} `json:"message_reference"`
		Rows []struct {
			Buttons []DiscordButton `json:"components"`
		} `json:"components"`
	}
	if json.Unmarshal(raw, &more) != nil || len(nonce) > 25 {
		return nil, DiscordFault{Status: http.StatusBadRequest, Code: 50035}, "Invalid Form Body"
	}
	s.Flags, s.ReplyTo, s.Calls = more.Flags, more.Reply.ID, []string{"users", "roles", "everyone"}
	if more.Calls != nil {
		s.Calls = more.Calls.Parse
	}
	for _, r := range more.Rows {
		s.Buttons = append(s.Buttons, r.Buttons)
	}
	m := map[string]any{"channel_id": channel, "author": f.me(), "content": text}
	var files []any
	for i := range s.Files {
		s.Files[i].Caption = text
		files = append(files, map[string]any{"filename": s.Files[i].Name, "size": len(s.Files[i].Content)})
	}
	if files != nil {
		m["attachments"] = files
	}
	f.nonces[channel+nonce] = f.keep(m)
	s.ID, _ = m["id"].(string)
	f.sent = append(f.sent, s)
	return m, DiscordFault{}, ""
}

// change replaces the text of a message of the bot.
func (f *Discord) change(c *discordCall) (any, DiscordFault, string) {
	text, no, why := c.text()
	if no.Status != 0 {
		return nil, no, why
	}
	m := f.find(c.parts[1] + "/" + c.parts[3])
	if m == nil {
		return nil, DiscordFault{Status: http.StatusNotFound, Code: 10008}, "Unknown Message"
	}
	m["content"], m["edited_timestamp"] = text, time.Now().UTC().Format(discordTime)
	for i := range f.sent {
		if f.sent[i].ID == m["id"] {
			f.sent[i].Text = text
			if rows, ok := c.body["components"].([]any); ok && len(rows) == 0 { // missing fields stay unchanged ("Edit Message")
				f.sent[i].Buttons = nil
			}
		}
	}
	f.tell("MESSAGE_UPDATE", f.event(m))
	return m, DiscordFault{}, ""
}

// discordDeny answers with a refusal; without a code it answers like a proxy, without JSON.
func discordDeny(w http.ResponseWriter, no DiscordFault, why string) {
	if no.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(no.RetryAfter, 'f', -1, 64))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.Status)
	if no.Code == 0 && why == "scripted" {
		_, _ = io.WriteString(w, "<html>no</html>") // the reader may be gone
		return
	}
	reply(w, map[string]any{"code": no.Code, "message": why, "retry_after": no.RetryAfter, "global": no.Global})
}
