package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// Limits of one request.
const (
	maxBody     = 1 << 20 // bytes
	bodyTime    = 30 * time.Second
	answerTime  = 30 * time.Second
	problemType = "application/problem+json"
)

// problemOf sorts an error; internal is true when the cause must be logged, because the caller is not told.
func problemOf(err error) (p api.Problem, internal bool) {
	var ap *api.Approval
	if errors.As(err, &ap) {
		p = api.NewProblem(http.StatusForbidden, ap.Error(), "call again with approve set to the hash")
		p.Kind, p.Code, p.Summary, p.Reason, p.Allow = event.Pending, ap.Code, ap.Summary, ap.Reason, ap.Allow
		p.Shown, p.Canonical, p.Hash, p.Warnings = ap.Shown, ap.Canonical, ap.Hash, ap.Warnings
		return p, false
	}
	if f, ok := event.AsFault(err); ok {
		p = api.NewProblem(statusOf(f.Kind), f.Text, f.Hint)
		p.Kind = f.Kind
		return p, false
	}
	return api.NewProblem(http.StatusInternalServerError, "something inside hob went wrong", "the log has the details"), true
}

// statusOf is the HTTP status of a kind of fault. Clients branch on the kind, which is in the problem too; the
// status is for proxies and for people.
func statusOf(k event.FaultKind) int {
	switch k {
	case event.Invalid:
		return http.StatusBadRequest
	case event.Missing:
		return http.StatusNotFound
	case event.Clash:
		return http.StatusConflict
	case event.TooLarge:
		return http.StatusRequestEntityTooLarge
	case event.Refused, event.Pending:
		return http.StatusForbidden
	case event.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// answer replies with v, or with err as a problem.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.reply(w, r, http.StatusOK, v)
}

// reply writes a value as JSON.
// A value that cannot be encoded is an internal error.
func (h *handler) reply(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		h.fail(w, r, fmt.Errorf("encode the answer: %w", err))
		return
	}
	send(w, status, "application/json", body)
}

// fail writes an error as a problem (RFC 9457). Plain first translates errors of packages below, such as a full
// disk, into faults. What is left is an internal error: it is logged here, once, and the client learns nothing
// about it.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	sendProblem(w, h.problem(r, err))
}

// problem sorts the error of a request, and logs one that is no fault.
func (d Deps) problem(r *http.Request, err error) api.Problem {
	if d.Plain != nil {
		err = d.Plain(err)
	}
	p, internal := problemOf(err)
	if internal && r.Context().Err() == nil {
		d.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	return p
}

// sendProblem writes a problem. 503 tells the client when to try again.
func sendProblem(w http.ResponseWriter, p api.Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		panic("api: a problem cannot be encoded: " + err.Error())
	}
	// Retry-After is in seconds (RFC 9110, section 10.2.3).
	if p.Status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "5")
	}
	send(w, p.Status, problemType, body)
}

// send writes a whole answer. A caller that has gone or does not read is no news to anybody.
func send(w http.ResponseWriter, status int, kind string, body []byte) {
	if err := writeWithin(w, answerTime); err != nil {
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if _, err := w.Write(append(body, '\n')); err != nil {
		return
	}
}

// writeWithin bounds the time that the next writes may take.
func writeWithin(w http.ResponseWriter, d time.Duration) error {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
	return sys.Except(err, http.ErrNotSupported)
}

// decode reads the one JSON value of a body into v, strictly; an empty body leaves v as it is.
func decode(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return event.NewFault(event.Invalid, "", "the request's body could not be read")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	// A misspelt field must not be ignored: the caller would believe that it had an effect.
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badBody(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return event.NewFault(event.Invalid, "", "the request's body has more than one JSON value")
	}
	return nil
}

// badBody is the fault of a body that cannot be decoded.
func badBody(err error) error {
	if f, ok := event.AsFault(err); ok { // a type of package api has refused the value
		return f
	}
	return &event.Fault{Kind: event.Invalid, Text: "the request's body is not understood: " + api.BodyProblem(err), Err: err}
}
