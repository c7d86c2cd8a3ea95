package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// recovering answers a panic with a problem and logs it; the others go on.
func (h *handler) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			h.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}()
		next.ServeHTTP(w, r)
	})
}

// whole reads the body before anything else runs, so that no handler waits for a slow sender.
func whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := arrived(w, r, bodyLimit(r))
		if !ok {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// arrived reads a body of at most limit bytes. False: it did not come whole, and the sender has been told.
func arrived(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	body, err := readBody(w, r, limit)
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		p := api.NewProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request's body is over %d bytes", big.Limit), "put long text into a file and name the file")
		if toWebhook(r) {
			p.Hint = ""
		}
		p.Kind = event.TooLarge
		refuse(w, r, p)
		return nil, false
	case err != nil:
		p := api.NewProblem(http.StatusRequestTimeout, "the request's body did not arrive whole", "")
		p.Kind = event.Invalid
		refuse(w, r, p)
		return nil, false
	}
	return body, true
}

// readBody reads a body of at most limit bytes, within bodyTime. The time limit ends with the body, because the
// handler may take longer.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if err := readWithin(w, bodyTime); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, err
	}
	// The deadline is taken back, or it would cut the connection while a handler still works.
	return body, readWithin(w, 0)
}

// readWithin bounds the time that the next reads may take; 0: they may take any.
func readWithin(w http.ResponseWriter, d time.Duration) error {
	end := time.Time{}
	if d > 0 {
		end = time.Now().Add(d)
	}
	err := http.NewResponseController(w).SetReadDeadline(end)
	return sys.Except(err, http.ErrNotSupported)
}

// problems turns the router's own "not found" and "method not allowed" into problems. It asks the router first
// what it would do. An answer of the router itself is made into a recorder, and written anew as a problem.
func problems(mux *http.ServeMux, known map[string]Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			if err := checkQuery(known[pattern], r.URL.RawQuery); err != nil {
				p, _ := problemOf(err)
				sendProblem(w, p)
				return
			}
			mux.ServeHTTP(w, r)
			return
		}
		// The router's own handler writes plain text. It runs into the recorder, which keeps only status and headers.
		probe := &verdict{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if probe.status == http.StatusMethodNotAllowed {
			allow := probe.header.Get("Allow")
			w.Header().Set("Allow", allow)
			p := api.NewProblem(probe.status, fmt.Sprintf("%s does not take %s", r.URL.Path, r.Method), "it takes "+allow)
			p.Kind = event.Invalid
			refuse(w, r, p)
			return
		}
		p := api.NewProblem(http.StatusNotFound, fmt.Sprintf("there is nothing at %s", r.URL.Path), "")
		p.Kind = event.Missing
		refuse(w, r, p)
	})
}

// checkQuery refuses a query that the route would not read: a misspelt filter must not show everything.
func checkQuery(route Route, raw string) error {
	if route.free {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return event.NewFault(event.Invalid, "", "the address's query is not understood")
	}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		hint := "there is nothing to ask for behind the ?"
		if len(route.keys) > 0 {
			hint = "it takes " + strings.Join(route.keys, ", ")
		}
		if !slices.Contains(route.keys, key) {
			return event.NewFault(event.Invalid, hint, "the query has an unknown key %q", key)
		}
		if len(query[key]) > 1 {
			return event.NewFault(event.Invalid, hint, "the query has %q twice", key)
		}
	}
	return nil
}

// verdict notes what the router would have answered.
type verdict struct {
	header http.Header
	status int
}

func (v *verdict) Header() http.Header         { return v.header }
func (v *verdict) WriteHeader(status int)      { v.status = status }
func (v *verdict) Write(b []byte) (int, error) { return len(b), nil }
