// Package transcribe turns voice notes into text, with any endpoint that implements OpenAI's transcription API
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). It adds the text to the transcript before a model reads it.
// The text keeps the trust of its message.
//
// The flow: before the first request of a turn, the agent calls Service.Hear. For each new note it reserves the cost, sends the
// recording, corrects the cost, and commits the text, or the reason why there is none.
package transcribe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/textproto"
	"strings"
	"time"

	"hob/daemon/modelapi"
	"hob/daemon/sys"
)

// The limits of a request.
const (
	route     = "/audio/transcriptions"
	maxAnswer = 1 << 20 // bytes
	tries     = 3
	firstWait = 500 * time.Millisecond
	longWait  = 10 * time.Second // after a longer Retry-After the request is not repeated
)

// Endpoint is a transcription endpoint.
type Endpoint struct {
	modelapi.Server
	Model    string
	Language string // ISO 639-1; "": the endpoint detects it
	Timeout  time.Duration
	Price    int64 // per minute, in millionths of the budget's currency; 0: unknown
}

// Recording is an audio file to transcribe.
type Recording struct {
	Name, MIME string
	Size       int64 // in bytes
	Body       io.ReadSeeker
}

// Words is a transcription with the usage that the endpoint reported. Unreported values are 0.
type Words struct {
	Text    string
	Seconds float64
	Tokens  int64
	Cost    float64 // in the budget's currency
}

// Transcribe sends a recording, up to three times within the endpoint's timeout. Its errors are sentences for people and contain neither
// the key nor text of the note.
func (e Endpoint) Transcribe(ctx context.Context, r Recording) (Words, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, fmt.Errorf("the endpoint did not answer within %s", e.Timeout))
	defer cancel()
	for try := 1; ; try++ {
		w, err := e.once(ctx, r)
		if err == nil || try == tries || ctx.Err() != nil {
			return w, err
		}
		no := (*modelapi.Refused)(nil)
		wait := firstWait << (try - 1)
		if errors.As(err, &no) {
			if !no.Again() || no.After > longWait {
				return w, err
			}
			wait = cmp.Or(no.After, wait)
		}
		if !sys.Sleep(ctx, wait) {
			return w, err
		}
	}
}

// once sends one request.
func (e Endpoint) once(ctx context.Context, r Recording) (w Words, err error) {
	if _, err := r.Body.Seek(0, io.SeekStart); err != nil {
		return w, fmt.Errorf("the file cannot be read: %w", err)
	}
	head, tail, kind, err := e.form(r)
	if err != nil {
		return w, fmt.Errorf("write the request: %w", err)
	}
	body := io.MultiReader(bytes.NewReader(head), io.LimitReader(r.Body, r.Size), bytes.NewReader(tail))
	answer, err := e.Post(ctx, route, kind, body, int64(len(head)+len(tail))+r.Size)
	if err != nil {
		return w, err
	}
	return read(answer)
}

// form returns the bytes before and after the file in a multipart/form-data body (RFC 7578), and its content type.
func (e Endpoint) form(r Recording) (head, tail []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	err = e.fields(w)
	_, part := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("file", r.Name)}, "Content-Type": {cmp.Or(r.MIME, "application/octet-stream")},
	})
	head = bytes.Clone(b.Bytes())
	err = errors.Join(err, part, w.Close())
	return head, bytes.Clone(b.Bytes()[len(head):]), w.FormDataContentType(), err
}

// fields writes the form fields other than the file.
func (e Endpoint) fields(w *multipart.Writer) (err error) {
	fields := [][2]string{{"model", e.Model}, {"response_format", "json"}}
	if e.Language != "" {
		fields = append(fields, [2]string{"language", e.Language})
	}
	for _, f := range fields {
		err = errors.Join(err, w.WriteField(f[0], f[1]))
	}
	return err
}

// read parses an answer.
func read(body []byte) (w Words, err error) {
	var a struct {
		Text  *string `json:"text"`
		Usage struct {
			Seconds float64 `json:"seconds"`
			Total   int64   `json:"total_tokens"`
			Cost    float64 `json:"cost"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Text == nil {
		return w, errors.New("the endpoint's answer is not a transcription (check base_url)")
	}
	u := a.Usage
	return Words{Text: strings.TrimSpace(strings.ToValidUTF8(*a.Text, "\uFFFD")), Seconds: sane(u.Seconds), Tokens: max(u.Total, 0), Cost: sane(u.Cost)}, nil
}

// sane returns a number that can be calculated with, or 0.
func sane(f float64) float64 {
	if math.IsNaN(f) || f < 0 || f > 1e9 {
		return 0
	}
	return f
}
