package channelstest

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// serveMethod carries out a method: it returns the result, or the status and text of a refusal.
func (f *Telegram) serveMethod(r *http.Request, method string, params map[string]any) (result any, status int, why string) {
	switch method {
	case "getMe":
		f.mu.Lock()
		defer f.mu.Unlock()
		return maps.Clone(f.me), 0, ""
	case "getWebhookInfo":
		f.mu.Lock()
		defer f.mu.Unlock()
		return map[string]any{"url": f.hook, "pending_update_count": len(f.queue)}, 0, ""
	case "getUpdates":
		return f.getUpdates(r, params)
	case "sendMessage":
		return f.sendMessage(params)
	case "editMessageText":
		return f.editMessage(params)
	case "sendDocument":
		return f.sendFile("document", params)
	case "sendPhoto":
		return f.sendFile("photo", params)
	case "answerCallbackQuery":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pressed = append(f.pressed, fmt.Sprint(params["callback_query_id"]))
		return true, 0, ""
	case "sendChatAction":
		return f.chatAction(params)
	case "getFile":
		return f.getFile(fmt.Sprint(params["file_id"]))
	}
	return nil, http.StatusNotFound, "Not Found"
}

// getUpdates drops updates below the offset, and waits until there are others, or the timeout. A second call
// ends the first one.
func (f *Telegram) getUpdates(r *http.Request, params map[string]any) (result any, status int, why string) {
	offset := int64(number(params["offset"]))
	limit := int(number(params["limit"]))
	kinds, _ := params["allowed_updates"].([]any)
	wait := time.Duration(number(params["timeout"])) * time.Second
	timer := time.NewTimer(wait)
	defer timer.Stop()
	f.mu.Lock()
	f.offsets = append(f.offsets, offset)
	f.wake(true)
	if f.hook != "" {
		f.mu.Unlock()
		return nil, http.StatusConflict, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	}
	if offset > 0 {
		f.queue = slices.DeleteFunc(f.queue, func(u telegramUpdate) bool { return u.id < offset })
	}
	list := f.due(kinds, limit)
	if len(list) > 0 || wait == 0 {
		f.mu.Unlock()
		return list, 0, ""
	}
	mine := &telegramPoll{wake: make(chan bool, 1)}
	f.poll = mine
	f.mu.Unlock()
	select {
	case other := <-mine.wake:
		if other {
			return nil, http.StatusConflict, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
		}
	case <-timer.C:
	case <-r.Context().Done():
	case <-f.quit:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.poll == mine {
		f.poll = nil
	}
	return f.due(kinds, limit), 0, ""
}

// due returns the updates for a call.
func (f *Telegram) due(kinds []any, limit int) []json.RawMessage {
	list := []json.RawMessage{}
	for _, u := range f.queue {
		if len(list) == limit {
			break
		}
		if len(kinds) == 0 || slices.Contains(kinds, any(u.kind)) {
			list = append(list, u.raw)
		}
	}
	return list
}

func number(v any) float64 {
	n, _ := v.(float64)
	return n
}

func (f *Telegram) sendMessage(params map[string]any) (result any, status int, why string) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // it was JSON
	}
	var p struct {
		Chat    int64  `json:"chat_id"`
		Thread  int64  `json:"message_thread_id"`
		Text    string `json:"text"`
		Mode    string `json:"parse_mode"`
		Preview struct {
			Off bool `json:"is_disabled"`
		} `json:"link_preview_options"`
		Reply struct {
			ID      int64 `json:"message_id"`
			Lenient bool  `json:"allow_sending_without_reply"`
		} `json:"reply_parameters"`
		Keyboard struct {
			Rows [][]TelegramButton `json:"inline_keyboard"`
		} `json:"reply_markup"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, http.StatusBadRequest, "Bad Request: " + err.Error()
	}
	text := p.Text
	if p.Mode == "HTML" {
		if text, why = telegramText(p.Text); why != "" {
			return nil, http.StatusBadRequest, "Bad Request: can't parse entities: " + why
		}
	}
	text = strings.TrimSpace(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.refusal(p.Chat, text, p.Keyboard.Rows); why != "" {
		return nil, http.StatusBadRequest, "Bad Request: " + why
	}
	f.message++
	f.enter(TelegramSent{
		ID: f.message, Chat: p.Chat, Thread: p.Thread, Text: text, Raw: p.Text, Mode: p.Mode, ReplyTo: p.Reply.ID, Previews: !p.Preview.Off, Buttons: p.Keyboard.Rows,
	})
	return map[string]any{"message_id": f.message, "date": time.Now().Unix(), "chat": map[string]any{"id": p.Chat, "type": "private"}, "from": f.me, "text": text}, 0, ""
}

// editMessage changes the text of a message of the bot, and records the old text.
func (f *Telegram) editMessage(params map[string]any) (result any, status int, why string) {
	raw := fmt.Sprint(params["text"])
	text := raw
	if params["parse_mode"] == "HTML" {
		if text, why = telegramText(raw); why != "" {
			return nil, http.StatusBadRequest, "Bad Request: can't parse entities: " + why
		}
	}
	text = strings.TrimSpace(text)
	chat, id := int64(number(params["chat_id"])), int64(number(params["message_id"]))
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.refusal(chat, text, nil); why != "" {
		return nil, http.StatusBadRequest, "Bad Request: " + why
	}
	f.page.Lock()
	defer f.page.Unlock()
	i := slices.IndexFunc(f.entries, func(s TelegramSent) bool { return s.ID == id && s.Chat == chat })
	switch {
	case i < 0:
		return nil, http.StatusBadRequest, "Bad Request: message to edit not found"
	case f.entries[i].Text == text:
		return nil, http.StatusBadRequest, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
	}
	m := &f.entries[i]
	m.Was = append(m.Was, m.Text)
	m.Text, m.Raw = text, raw
	if params["reply_markup"] == nil { // an edit without buttons removes them
		m.Buttons = nil
	}
	m.Mode, _ = params["parse_mode"].(string)
	return map[string]any{"message_id": id, "date": time.Now().Unix(), "chat": map[string]any{"id": chat, "type": "private"}, "from": f.me, "text": text}, 0, ""
}

// refusal returns why a message is rejected.
func (f *Telegram) refusal(chat int64, text string, rows [][]TelegramButton) string {
	switch {
	case !f.chats[chat]:
		return "chat not found"
	case text == "":
		return "message text is empty"
	case len(utf16.Encode([]rune(text))) > 4096:
		return "message is too long"
	}
	for _, row := range rows {
		for _, b := range row {
			if len(b.Data) == 0 || len(b.Data) > 64 {
				return "BUTTON_DATA_INVALID"
			}
		}
	}
	return ""
}

// telegramText returns an HTML text as readers see it ("Formatting options"), or the parse error.
func telegramText(raw string) (text, why string) {
	tags := regexp.MustCompile(`^<(/?)([a-z-]+)((?: [a-z-]+(?:="[^"<>]*")?)*)>`)
	known := []string{"a", "b", "blockquote", "code", "del", "em", "i", "ins", "pre", "s", "span", "strike", "strong", "tg-emoji", "tg-spoiler", "u"}
	var out strings.Builder
	var open []string
	for raw != "" {
		if raw[0] != '<' {
			end := strings.IndexByte(raw+"<", '<')
			out.WriteString(html.UnescapeString(raw[:end]))
			raw = raw[end:]
			continue
		}
		m := tags.FindStringSubmatch(raw)
		switch {
		case m == nil || !slices.Contains(known, m[2]):
			return "", fmt.Sprintf("Unsupported start tag at byte offset of %.20q", raw)
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			return "", fmt.Sprintf("Unexpected end tag %q", m[2])
		default:
			open = open[:len(open)-1]
		}
		raw = raw[len(m[0]):]
	}
	if len(open) > 0 {
		return "", fmt.Sprintf("Can't find end tag corresponding to start tag %q", open[len(open)-1])
	}
	return out.String(), ""
}

// chatAction records a typing sign with its chat.
func (f *Telegram) chatAction(params map[string]any) (result any, status int, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	chat := int64(number(params["chat_id"]))
	if !f.chats[chat] {
		return nil, http.StatusBadRequest, "Bad Request: chat not found"
	}
	f.signs = append(f.signs, fmt.Sprintf("%v in %d/%d", params["action"], chat, int64(number(params["message_thread_id"]))))
	return true, 0, ""
}

func (f *Telegram) getFile(id string) (result any, status int, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.files[id]
	switch {
	case !ok:
		return nil, http.StatusBadRequest, "Bad Request: invalid file_id"
	case len(content) > 20<<20:
		return nil, http.StatusBadRequest, "Bad Request: file is too big"
	}
	return map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": len(content), "file_path": "documents/" + id}, 0, ""
}

func (f *Telegram) download(w http.ResponseWriter, r *http.Request, id string) {
	fault := f.fault("file")
	f.mu.Lock()
	content, ok := f.files[id]
	f.mu.Unlock()
	switch {
	case fault.Status != 0:
		http.Error(w, "scripted", fault.Status)
	case fault.Cut != "":
		hangUp(w)
	case !ok:
		http.NotFound(w, r)
	default:
		_, _ = w.Write(content) // the reader may be gone
	}
}
