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
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/daemon/sys"
)

// The limits of a request.
const (
	maxAnswer = 1 << 20 // bytes
	tries     = 3
	firstWait = 500 * time.Millisecond
	longWait  = 10 * time.Second // after a longer Retry-After the request is not repeated
	maxWords  = 200              // characters of a server's error message
)

// Endpoint is a transcription endpoint.
type Endpoint struct {
	URL      string // the base_url; /audio/transcriptions is appended
	Model    string
	Key      string // "": none is sent
	Language string // ISO 639-1; "": the endpoint detects it
	Timeout  time.Duration
	Price    int64        // per minute, in millionths of the budget's currency; 0: unknown
	HTTP     *http.Client // redirects are not followed
}

// Local reports whether the endpoint runs on this machine and therefore costs nothing.
func (e Endpoint) Local() bool {
	u, err := url.Parse(e.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
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

// refused is an error response.
type refused struct {
	status int
	says   string // the server's message, on one line
	after  time.Duration
}

func (e *refused) Error() string {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the endpoint does not accept the key (HTTP %d)", e.status)
	case http.StatusNotFound:
		return "the endpoint has no such address or model (HTTP 404)" + e.says
	case http.StatusRequestEntityTooLarge:
		return "the endpoint does not accept files of this size (HTTP 413)"
	case http.StatusTooManyRequests:
		return "the endpoint accepts no more requests at the moment (HTTP 429)"
	}
	return fmt.Sprintf("the endpoint answers with HTTP %d%s", e.status, e.says)
}

// again reports whether a retry may work later.
func (e *refused) again() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout || e.status >= http.StatusInternalServerError
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
		no := (*refused)(nil)
		wait := firstWait << (try - 1)
		if errors.As(err, &no) {
			if !no.again() || no.after > longWait {
				return w, err
			}
			wait = cmp.Or(no.after, wait)
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
	resp, err := e.post(ctx, body, int64(len(head)+len(tail))+r.Size, kind)
	if err != nil {
		return w, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or not needed
	return read(ctx, resp)
}

// post sends a form with a length in bytes. It follows no redirect.
func (e Endpoint) post(ctx context.Context, body io.Reader, length int64, kind string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.URL, "/")+"/audio/transcriptions", body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", kind)
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	web := *e.HTTP
	web.Timeout, web.CheckRedirect = 0, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := web.Do(req)
	if err != nil {
		return nil, unreached(ctx, err)
	}
	return resp, nil
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

// unreached explains why there is no response.
func unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("the endpoint cannot be reached: %w", err)
}

// read parses a response.
func read(ctx context.Context, resp *http.Response) (w Words, err error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return w, refusal(resp, body)
	case err != nil:
		return w, unreached(ctx, err)
	case len(body) > maxAnswer:
		return w, errors.New("the endpoint's answer has more than 1 MB")
	}
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

// refusal makes the error of an error response, with the server's message if it has one.
func refusal(resp *http.Response, body []byte) *refused {
	e := &refused{status: resp.StatusCode}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.after = time.Duration(min(n, math.MaxInt32)) * time.Second
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Message == "" {
		return e // a proxy's page, or another format
	}
	line := []rune(strings.Join(strings.Fields(said.Error.Message), " "))
	e.says = ": " + string(line[:min(len(line), maxWords)])
	return e
}
