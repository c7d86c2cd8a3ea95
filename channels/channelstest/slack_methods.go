package channelstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// answer carries out a method: it returns the result, or the code of a refusal.
func (f *Slack) answer(r *http.Request, method string) (result map[string]any, why string) {
	token := r.Form.Get("token")
	if token == "" {
		token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	want := f.bot
	if method == "apps.connections.open" {
		want = f.app
	}
	if token != want {
		return nil, "invalid_auth"
	}
	q := r.Form
	switch method {
	case "apps.connections.open":
		f.number++
		return map[string]any{"url": fmt.Sprintf("ws%s/link?ticket=%d", strings.TrimPrefix(f.URL(), "http"), f.number)}, ""
	case "auth.test":
		return map[string]any{
			"url": "https://test.slack.com/", "team": "Test", "user": "hob", "team_id": SlackTeam, "user_id": SlackUser, "bot_id": slackBot,
		}, ""
	case "bots.info":
		return map[string]any{"bot": map[string]any{"id": slackBot, "app_id": "A0HOB", "name": "hob"}}, ""
	case "users.info":
		name, ok := f.people[q.Get("user")]
		if !ok {
			return nil, "user_not_found"
		}
		return map[string]any{"user": map[string]any{"id": q.Get("user"), "name": strings.ToLower(name), "profile": map[string]any{"display_name": name}}}, ""
	case "chat.postMessage":
		return f.post(q)
	case "chat.update":
		return f.update(q)
	case "files.getUploadURLExternal":
		f.number++
		id := fmt.Sprintf("F%06d", f.number)
		f.uploads[id] = &SlackSent{File: q.Get("filename")}
		return map[string]any{"upload_url": f.URL() + "/upload/" + id, "file_id": id}, ""
	case "files.completeUploadExternal":
		return f.complete(q)
	case "files.info":
		return map[string]any{"file": map[string]any{"id": q.Get("file"), "url_private_download": f.URL() + "/files-pri/" + q.Get("file")}}, ""
	}
	return f.conversations(q, method)
}

// conversations serves the methods about chats.
func (f *Slack) conversations(q url.Values, method string) (result map[string]any, why string) {
	switch method {
	case "conversations.open":
		chat := "D" + q.Get("users")
		if f.chats[chat] == nil {
			return nil, "user_not_found"
		}
		return map[string]any{"channel": map[string]any{"id": chat}}, ""
	case "conversations.list":
		var list []any
		for _, id := range slices.Sorted(maps.Keys(f.chats)) {
			if c := f.chats[id]; c.person != "" {
				list = append(list, map[string]any{"id": id, "is_im": true, "user": c.person})
			}
		}
		return map[string]any{"channels": list, "response_metadata": map[string]any{"next_cursor": ""}}, ""
	}
	c := f.chats[q.Get("channel")]
	switch {
	case c == nil:
		return nil, "channel_not_found"
	case method == "conversations.info":
		return map[string]any{"channel": map[string]any{"id": q.Get("channel"), "name": c.title, "is_member": !c.away}}, ""
	case c.away:
		return nil, "not_in_channel"
	case method == "conversations.history":
		return c.history(q, func(m map[string]any) bool {
			return m["thread_ts"] == nil || m["thread_ts"] == m["ts"] || m["subtype"] == "thread_broadcast"
		}), ""
	case method == "conversations.replies":
		list := c.history(q, func(m map[string]any) bool { return m["thread_ts"] == q.Get("ts") || m["ts"] == q.Get("ts") })
		if messages, ok := list["messages"].([]map[string]any); ok {
			slices.Reverse(messages)
		}
		return list, ""
	}
	return nil, "unknown_method"
}

// history returns a page of messages, the newest first.
func (c *slackChat) history(q url.Values, ok func(map[string]any) bool) map[string]any {
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit <= 0 {
		limit = 100
	}
	replies := map[string]string{}
	for _, m := range c.log {
		replies[text(m["thread_ts"])] = text(m["ts"])
	}
	list := []map[string]any{}
	more := ""
	for _, m := range slices.Backward(c.log) {
		ts := text(m["ts"])
		if ts <= q.Get("oldest") || !ok(m) || q.Get("cursor") != "" && ts >= q.Get("cursor") {
			continue
		}
		if len(list) == limit {
			more = text(list[limit-1]["ts"])
			break
		}
		m = maps.Clone(m)
		if q.Get("include_all_metadata") != "1" {
			delete(m, "metadata")
		}
		if last := replies[ts]; last > ts {
			m["latest_reply"], m["reply_count"] = last, 1
		}
		list = append(list, m)
	}
	return map[string]any{"messages": list, "has_more": more != "", "response_metadata": map[string]any{"next_cursor": more}}
}

// text returns a text field of a message.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// slackContent parses the content of chat.postMessage and chat.update.
func (f *Slack) slackContent(q url.Values) (s SlackSent, why string) {
	var meta struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	}
	if err := json.Unmarshal([]byte(q.Get("metadata")), &meta); err != nil || meta.Type == "" {
		return s, "invalid_metadata_format"
	}
	s = SlackSent{
		Chat: q.Get("channel"), Thread: q.Get("thread_ts"), Raw: q.Get("text"), Nonce: text(meta.Payload["nonce"]),
		Previews: q.Get("unfurl_links") != "false" || q.Get("unfurl_media") != "false",
	}
	s.Text = slackSeen(s.Raw)
	var blocks []struct {
		Type     string
		Text     struct{ Text string }
		Elements []struct {
			Text  struct{ Text string }
			Value string
		}
	}
	if raw := q.Get("blocks"); raw != "" && json.Unmarshal([]byte(raw), &blocks) != nil {
		return s, "invalid_blocks_format"
	}
	for _, b := range blocks {
		if utf8.RuneCountInString(b.Text.Text) > 3000 || len(b.Elements) > 25 {
			return s, "invalid_blocks"
		}
		if b.Type == "section" {
			s.Sections = append(s.Sections, b.Text.Text)
		}
		for _, e := range b.Elements {
			if utf8.RuneCountInString(e.Text.Text) > 75 || len(e.Value) > 2000 {
				return s, "invalid_blocks"
			}
			s.Buttons = append(s.Buttons, SlackButton{e.Text.Text, e.Value})
		}
	}
	c := f.chats[s.Chat]
	switch {
	case c == nil:
		return s, "channel_not_found"
	case c.away:
		return s, "not_in_channel"
	case s.Raw == "":
		return s, "no_text"
	case utf8.RuneCountInString(s.Raw) > 40_000:
		return s, "msg_too_long"
	}
	return s, ""
}

// slackSeen returns a text as readers see it: without mrkdwn escapes.
func slackSeen(raw string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "\u200B", "").Replace(raw)
}

func (f *Slack) post(q url.Values) (result map[string]any, why string) {
	s, why := f.slackContent(q)
	if why != "" {
		return nil, why
	}
	m := map[string]any{
		"user": SlackUser, "bot_id": slackBot, "app_id": "A0HOB", "text": s.Raw, "ts": f.tick(),
		"metadata": map[string]any{"event_type": "hob_delivery", "event_payload": map[string]any{"nonce": s.Nonce}},
	}
	if s.Thread != "" {
		m["thread_ts"] = s.Thread
	}
	s.TS = f.write(s.Chat, m)
	f.sent = append(f.sent, s)
	return map[string]any{"channel": s.Chat, "ts": s.TS, "message": map[string]any{"ts": s.TS, "text": s.Raw}}, ""
}

func (f *Slack) update(q url.Values) (result map[string]any, why string) {
	s, why := f.slackContent(q)
	if why != "" {
		return nil, why
	}
	at := slices.IndexFunc(f.sent, func(e SlackSent) bool { return e.Chat == s.Chat && e.TS == q.Get("ts") })
	m := f.find(s.Chat, q.Get("ts"))
	if at < 0 || m == nil {
		return nil, "message_not_found"
	}
	was := maps.Clone(m)
	s.TS, s.Thread, s.Previews = q.Get("ts"), f.sent[at].Thread, f.sent[at].Previews
	s.Was = append(slices.Clone(f.sent[at].Was), f.sent[at].Text)
	if q.Get("blocks") == "" { // missing blocks may stay (chat.update)
		s.Buttons = f.sent[at].Buttons
	}
	f.sent[at] = s
	m["text"] = s.Raw
	m["edited"] = map[string]any{"user": SlackUser, "ts": f.tick()}
	f.event(s.Chat, map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "ts": f.tick(), "message": maps.Clone(m), "previous_message": was})
	return map[string]any{"channel": s.Chat, "ts": s.TS, "text": s.Raw}, ""
}

// received accepts the content of a file.
func (f *Slack) received(w http.ResponseWriter, r *http.Request, id string) {
	part, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	content, err := io.ReadAll(part)
	f.mu.Lock()
	defer f.mu.Unlock()
	up := f.uploads[id]
	if fault := f.fault("upload"); fault.Status != 0 || err != nil || up == nil {
		http.Error(w, "scripted", cmp.Or(fault.Status, http.StatusBadGateway))
		return
	}
	up.Content = content
	_, _ = io.WriteString(w, "OK - "+strconv.Itoa(len(content))) // the reader may be gone
}

// complete shows an uploaded file in a chat.
func (f *Slack) complete(q url.Values) (result map[string]any, why string) {
	var files []struct{ ID, Title string }
	if err := json.Unmarshal([]byte(q.Get("files")), &files); err != nil || len(files) != 1 {
		return nil, "invalid_arguments"
	}
	up := f.uploads[files[0].ID]
	switch {
	case up == nil || up.Content == nil:
		return nil, "file_not_found"
	case f.chats[q.Get("channel_id")] == nil:
		return nil, "channel_not_found"
	}
	up.FileID = files[0].ID
	up.Chat, up.Thread, up.Raw = q.Get("channel_id"), q.Get("thread_ts"), q.Get("initial_comment")
	up.Text = slackSeen(up.Raw)
	m := map[string]any{"user": SlackUser, "bot_id": slackBot, "subtype": "file_share", "text": up.Raw, "files": []any{map[string]any{"id": files[0].ID, "name": up.File}}}
	up.TS = f.write(up.Chat, m)
	f.sent = append(f.sent, *up)
	return map[string]any{"files": []any{map[string]any{"id": files[0].ID, "title": files[0].Title}}}, ""
}

// download returns a file to authorised clients; others are redirected to the sign-in page.
func (f *Slack) download(w http.ResponseWriter, r *http.Request, id string) {
	fault := f.fault("file")
	f.mu.Lock()
	content, ok := f.files[id]
	token := f.bot
	f.mu.Unlock()
	switch {
	case fault.Status != 0:
		http.Error(w, "scripted", fault.Status)
	case fault.Cut != "":
		hangUp(w)
	case r.Header.Get("Authorization") != "Bearer "+token:
		http.Redirect(w, r, "/?redir="+url.QueryEscape(r.URL.Path), http.StatusFound)
	case !ok:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(content) // the reader may be gone
	}
}
