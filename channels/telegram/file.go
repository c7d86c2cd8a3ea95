package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
)

// Size limits of the Bot API ("Sending files"), in bytes.
const (
	maxFile  = 50 << 20 // any file
	maxPhoto = 10 << 20 // a picture that the chat shows
)

// MaxFile returns the largest file that a bot may send.
func (c *Channel) MaxFile() int64 { return maxFile }

// sendFile sends a file: a picture so that the chat shows it, if Telegram accepts it as one, otherwise as a
// document. A picture that is rejected (400, for example for its dimensions) was surely not delivered, so it
// can be sent again.
func (c *Channel) sendFile(ctx context.Context, to target, d channels.Delivery) (string, error) {
	u := upload{target: to, method: "sendDocument", field: "document", caption: strings.TrimSpace(markup.Plain().Render(d.Body).Text), reply: c.replyTo(to.Chat, d), file: d.File}
	if picture(d.File) {
		u.method, u.field = "sendPhoto", "photo"
	}
	id, err := c.upload(ctx, u)
	// A group that became a supergroup has a new id, which the refusal names.
	if chat := migrated(err); chat != 0 {
		u.target, u.reply = target{Chat: chat}, nil
		id, err = c.upload(ctx, u)
	}
	if wire.HasStatus(err, http.StatusBadRequest) && u.field == "photo" {
		u.method, u.field = "sendDocument", "document"
		id, err = c.upload(ctx, u)
	}
	if err != nil {
		return "", fmt.Errorf("send a file to %s: %w", d.To, err)
	}
	return c.id(u.Chat, id), nil
}

// picture reports whether Telegram can show a file in the chat.
func picture(f *channels.File) bool {
	return (f.MIME == "image/jpeg" || f.MIME == "image/png") && f.Size <= maxPhoto
}

// upload is a file to be sent to a chat.
type upload struct {
	target
	method, field string
	caption       string // plain text
	reply         *reply
	file          *channels.File
}

// upload sends a file and returns the number of its message. The file is streamed: it is never in memory as a
// whole.
func (c *Channel) upload(ctx context.Context, u upload) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wire.FileTime, fmt.Errorf("the file did not go out within %s", wire.FileTime))
	defer cancel()
	content, err := u.file.Whole(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = content.Close() }() // it was only read
	head, tail, kind, err := u.form()
	if err != nil {
		return 0, fmt.Errorf("write the request: %w", err)
	}
	body := io.MultiReader(bytes.NewReader(head), content, bytes.NewReader(tail))
	return sent(ctx, func(ctx context.Context, result any) error {
		return c.api.post(ctx, u.method, kind, body, int64(len(head)+len(tail))+u.file.Size, result)
	})
}

// form returns the bytes before and after the file's content in a multipart/form-data body (RFC 7578), and
// the content type.
func (u upload) form() (head, tail []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"chat_id", strconv.FormatInt(u.Chat, 10)}}
	if u.Thread != 0 {
		fields = append(fields, [2]string{"message_thread_id", strconv.FormatInt(u.Thread, 10)})
	}
	if u.caption != "" {
		fields = append(fields, [2]string{"caption", u.caption})
	}
	if u.reply != nil {
		r, err := json.Marshal(u.reply)
		if err != nil {
			return nil, nil, "", err
		}
		fields = append(fields, [2]string{"reply_parameters", string(r)})
	}
	for _, f := range fields {
		err = errors.Join(err, w.WriteField(f[0], f[1]))
	}
	_, ferr := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(u.field, u.file.Name)}, "Content-Type": {cmp.Or(u.file.MIME, "application/octet-stream")},
	})
	head = bytes.Clone(b.Bytes())
	err = errors.Join(err, ferr, w.Close())
	return head, bytes.Clone(b.Bytes()[len(head):]), w.FormDataContentType(), err
}
