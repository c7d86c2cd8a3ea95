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

// The Bot API's limits of files ("Sending files"), in bytes.
const (
	maxFile  = 50 << 20 // of any kind
	maxPhoto = 10 << 20 // of a picture that is shown in the chat
)

// MaxFile is the largest file that a bot may send.
func (c *Channel) MaxFile() int64 { return maxFile }

// sendFile sends a file: a picture so that it is seen in the chat, if Telegram takes it as one, else as a document. What Telegram will not
// take as a picture (400: its sides), it surely has not delivered.
func (c *Channel) sendFile(ctx context.Context, to target, d channels.Delivery) (string, error) {
	u := upload{target: to, method: "sendDocument", field: "document", caption: strings.TrimSpace(markup.Plain().Render(d.Body).Text), reply: c.replyTo(to.Chat, d), file: d.File}
	if picture(d.File) {
		u.method, u.field = "sendPhoto", "photo"
	}
	id, err := c.upload(ctx, u)
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

// picture tells whether a file is one that Telegram shows in the chat.
func picture(f *channels.File) bool {
	return (f.MIME == "image/jpeg" || f.MIME == "image/png") && f.Size <= maxPhoto
}

// upload is a file on its way to a chat.
type upload struct {
	target
	method, field string
	caption       string // plain
	reply         *reply
	file          *channels.File
}

// upload sends a file and returns its message's number.
func (c *Channel) upload(ctx context.Context, u upload) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wire.FileTime, fmt.Errorf("the file did not go out within %s", wire.FileTime))
	defer cancel()
	content, err := u.file.Whole(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = content.Close() }() // only read
	head, tail, kind, err := u.form()
	if err != nil {
		return 0, fmt.Errorf("write the request: %w", err)
	}
	body := io.MultiReader(bytes.NewReader(head), content, bytes.NewReader(tail))
	return sent(ctx, func(ctx context.Context, result any) error {
		return c.api.post(ctx, u.method, kind, body, int64(len(head)+len(tail))+u.file.Size, result)
	})
}

// form is what stands before and behind a file's bytes as multipart/form-data (RFC 7578), and its type.
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
