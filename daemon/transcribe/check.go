package transcribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"
)

// checkTime is how long a check may take.
const checkTime = 10 * time.Second

// State is what a check of the endpoint came to.
type State struct {
	BaseURL string // "": none is configured
	Model   string
	Key     bool   // one is sent
	Error   string // why nothing would be transcribed now, without the key
	Passing bool   // and that may be over by itself
}

// Look checks the endpoint that is configured.
func (d Service) Look(ctx context.Context) State {
	e, err := d.Endpoint(ctx)
	if errors.Is(err, ErrNone) {
		return State{}
	}
	if err == nil {
		err = e.Check(ctx)
	}
	s := State{BaseURL: e.URL, Model: e.Model, Key: e.Key != ""}
	if err != nil {
		no := (*refused)(nil)
		s.Error, s.Passing = err.Error(), errors.As(err, &no) && no.again()
	}
	return s
}

// Check asks whether the endpoint is there and takes the key, with a request that has no recording in it: whoever takes the key refuses it for
// that, so nothing is transcribed, and nothing paid for. Its errors are sentences as those of Transcribe.
func (e Endpoint) Check(ctx context.Context) error {
	limit := min(checkTime, e.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the endpoint did not answer within %s", limit))
	defer cancel()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := errors.Join(e.fields(w), w.Close()); err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	resp, err := e.post(ctx, &b, int64(b.Len()), w.FormDataContentType())
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it counts
	if resp.StatusCode == http.StatusOK {    // a page is an answer too, but nobody there can hear
		_, err := read(ctx, resp)
		return err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return unreached(ctx, err)
	case missesRecording(resp.StatusCode):
		return nil
	}
	return refusal(resp, body)
}

// missesRecording reports whether a status says that a request has come, and lacks something. 422 is what servers made with FastAPI say.
func missesRecording(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusUnsupportedMediaType || status == http.StatusLengthRequired
}
