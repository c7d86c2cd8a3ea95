package transcribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"time"

	"hob/daemon/modelapi"
)

// checkTime is the time limit of a check. It is less than the 5 s of a check of hob doctor, which shows the result.
const checkTime = 4 * time.Second

// State is the result of a check of the endpoint.
type State struct {
	BaseURL   string // "": none is configured
	Model     string
	Key       bool   // a key is sent
	Error     string // why transcription would fail now; it never contains the key
	Temporary bool   // the error may go away by itself
}

// Look checks the configured endpoint.
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
		no := (*modelapi.Refused)(nil)
		s.Error, s.Temporary = err.Error(), errors.As(err, &no) && no.Again()
	}
	return s
}

// Check tests whether the endpoint exists and accepts the key. Its request contains no recording: an endpoint that accepts the key
// rejects it for that reason, so nothing is transcribed or billed. Errors are sentences like those of Transcribe.
func (e Endpoint) Check(ctx context.Context) error {
	limit := min(checkTime, e.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the endpoint did not answer within %s", limit))
	defer cancel()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := errors.Join(e.fields(w), w.Close()); err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	answer, err := e.Post(ctx, route, w.FormDataContentType(), &b, int64(b.Len()))
	if no := (*modelapi.Refused)(nil); errors.As(err, &no) && missesRecording(no.Status) {
		return nil
	}
	if err == nil { // a web page is an answer too, but not from a transcription endpoint
		_, err = read(answer)
	}
	return err
}

// missesRecording reports whether a status means that the request arrived but is incomplete. 422 is what FastAPI servers return.
func missesRecording(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusUnsupportedMediaType || status == http.StatusLengthRequired
}
