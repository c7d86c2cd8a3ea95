package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"hob/daemon/event"
)

// recovering answers a panic with a problem and logs it; the others go on.
func (a *api) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			a.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}()
		next.ServeHTTP(w, r)
	})
}

// whole reads the body before anything else runs, so that no handler waits for a slow sender.
func whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r)
		var big *http.MaxBytesError
		switch {
		case errors.As(err, &big):
			p := newProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request's body is over %d bytes", maxBody), "put long text into a file and name the file")
			p.Kind = event.TooLarge
			p.send(w)
			return
		case err != nil:
			p := newProblem(http.StatusRequestTimeout, "the request's body did not arrive whole", "")
			p.Kind = event.Invalid
			p.send(w)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return body, nil
}

// problems turns the router's own "not found" and "method not allowed" into problems.
func problems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &verdict{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if probe.status == http.StatusMethodNotAllowed {
			allow := probe.header.Get("Allow")
			w.Header().Set("Allow", allow)
			p := newProblem(probe.status, fmt.Sprintf("%s does not take %s", r.URL.Path, r.Method), "it takes "+allow)
			p.Kind = event.Invalid
			p.send(w)
			return
		}
		p := newProblem(http.StatusNotFound, fmt.Sprintf("there is nothing at %s", r.URL.Path), "")
		p.Kind = event.Missing
		p.send(w)
	})
}

// verdict notes what the router would have answered.
type verdict struct {
	header http.Header
	status int
}

func (v *verdict) Header() http.Header         { return v.header }
func (v *verdict) WriteHeader(status int)      { v.status = status }
func (v *verdict) Write(b []byte) (int, error) { return len(b), nil }
