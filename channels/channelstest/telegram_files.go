package channelstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// SentFile is a sent file as readers see it.
type SentFile struct {
	Kind    string // "document", "photo", or another kind of the platform
	Name    string
	MIME    string // as it was sent
	Data    string
	Caption string
}

// telegramParams parses the parameters of a call: JSON, or a form with a file ("Making requests", "Sending
// files").
func telegramParams(r *http.Request) (map[string]any, error) {
	params := map[string]any{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		form, err := r.MultipartReader()
		if err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		if err := telegramForm(form, params); err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // a body shorter than its Content-Length is incomplete (RFC 9112, section 8)
			return nil, fmt.Errorf("read behind the form: %w", err)
		}
		return params, nil
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&params); err != nil && r.ContentLength > 0 {
		return nil, fmt.Errorf("read the parameters: %w", err)
	}
	if params == nil {
		return nil, errors.New("the parameters are no object")
	}
	return params, nil
}

// formFile returns the file name of a part of a form, "" if it is not a file. filename* is not allowed in
// forms (RFC 7578, section 4.2).
func formFile(p *multipart.Part) string {
	if strings.Contains(p.Header.Get("Content-Disposition"), "filename*") {
		return ""
	}
	return p.FileName()
}

// telegramForm parses a form: its values are texts, or JSON in texts; its file is a *SentFile.
func telegramForm(form *multipart.Reader, params map[string]any) error {
	for {
		p, err := form.NextPart()
		if err == io.EOF { //nolint:errorlint // as the reader's documentation has it
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a part: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(p, 60<<20))
		if err != nil {
			return fmt.Errorf("read a part: %w", err)
		}
		if name := formFile(p); name != "" {
			params[p.FormName()] = &SentFile{Kind: p.FormName(), Name: name, MIME: p.Header.Get("Content-Type"), Data: string(data)}
			continue
		}
		params[p.FormName()] = string(data)
	}
}

// sendFile serves sendDocument and sendPhoto.
func (f *Telegram) sendFile(kind string, params map[string]any) (result any, status int, why string) {
	file, ok := params[kind].(*SentFile)
	text := func(key string) string { s, _ := params[key].(string); return s }
	chat, err := strconv.ParseInt(text("chat_id"), 10, 64)
	thread, _ := strconv.ParseInt(text("message_thread_id"), 10, 64) // none: 0
	var reply struct {
		ID int64 `json:"message_id"`
	}
	if raw := text("reply_parameters"); raw != "" && json.Unmarshal([]byte(raw), &reply) != nil {
		return nil, http.StatusBadRequest, "Bad Request: can't parse reply parameters JSON object"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !ok:
		return nil, http.StatusBadRequest, "Bad Request: there is no " + kind + " in the request"
	case err != nil || !f.chats[chat]:
		return nil, http.StatusBadRequest, "Bad Request: chat not found"
	case len(file.Data) == 0:
		return nil, http.StatusBadRequest, "Bad Request: file must be non-empty"
	case len(file.Data) > 50<<20 || kind == "photo" && len(file.Data) > 10<<20:
		return nil, http.StatusRequestEntityTooLarge, "Request Entity Too Large"
	case kind == "photo" && !strings.HasPrefix(http.DetectContentType([]byte(file.Data)), "image/"):
		return nil, http.StatusBadRequest, "Bad Request: IMAGE_PROCESS_FAILED"
	case len(utf16.Encode([]rune(text("caption")))) > 1024:
		return nil, http.StatusBadRequest, "Bad Request: message caption is too long"
	}
	file.Caption = text("caption")
	f.message++
	f.enter(TelegramSent{ID: f.message, Chat: chat, Thread: thread, ReplyTo: reply.ID, File: file})
	return map[string]any{"message_id": f.message, "date": time.Now().Unix(), "chat": map[string]any{"id": chat, "type": "private"}, "from": f.me}, 0, ""
}
