package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"

	"hob/channels"
	"hob/channels/wire"
)

// maxFile is the limit for bots in private chats and on servers without boosts ("Uploading Files").
const maxFile = 10 << 20

// MaxFile returns the size of the largest file, in bytes.
func (c *Channel) MaxFile() int64 { return maxFile }

// uploaded describes a file of a message: its id is the number that follows "files", as a string like all ids
// ("Snowflakes").
type uploaded struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
}

// upload sends a message with a file as a form ("Uploading Files"). The file is streamed: it is never in
// memory as a whole.
func (c *Channel) upload(ctx context.Context, path string, out outgoing, f channels.File, result any) error {
	content, err := f.Whole(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	out.Files = []uploaded{{ID: "0", Name: f.Name}}
	head, tail, kind, err := formParts(out, f)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	body := io.MultiReader(bytes.NewReader(head), content, bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, body)
	if err != nil {
		return fmt.Errorf("make a request: %w", wire.WithoutAddress(ctx, err))
	}
	req.ContentLength = int64(len(head)) + f.Size + int64(len(tail))
	req.Header.Set("Content-Type", kind)
	return c.api.do(req, path, result)
}

// formParts returns the bytes before and after the file's content in a form (RFC 7578), and the form's content
// type.
func formParts(out outgoing, f channels.File) (head, tail []byte, kind string, err error) {
	about, err := json.Marshal(out)
	if err != nil {
		return nil, nil, "", fmt.Errorf("describe the message: %w", err)
	}
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"}})
	if err == nil {
		_, err = part.Write(about)
	}
	if err == nil {
		_, err = form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {multipart.FileContentDisposition("files[0]", f.Name)}, "Content-Type": {f.MIME}})
	}
	before := b.Len()
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return nil, nil, "", fmt.Errorf("write a form: %w", err)
	}
	return b.Bytes()[:before], b.Bytes()[before:], form.FormDataContentType(), nil
}
