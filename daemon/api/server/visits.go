package server

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
)

// Limits of the programs with tokens of their own. At most maxVisits*maxBody + maxLarge*maxAttached bytes of bodies are in memory.
const (
	maxVisits = 64 // requests at the same time
	ofOne     = 8  // of them of one client
	ofLocal   = 32 // of them of hob mcp serve, which may run for several programs
	maxLarge  = 2  // bodies over maxBody, or of unknown length, that arrive or are read
)

// visits counts the requests of programs that are served.
type visits struct {
	mu    sync.Mutex
	here  map[int64]int // by Endpoint.ID
	all   int
	large chan struct{}
}

// visit is a request of a program. It has a place from before its body is read.
type visit struct {
	client api.Endpoint
	leave  func() // gives the place back; it may be called twice
	read   func() // says that the body has been read and dropped; it may be called twice
}

// visitKey finds the visit in the context of a request.
type visitKey struct{}

// visitOf returns the visit that admitted began.
func visitOf(r *http.Request) *visit {
	v, ok := r.Context().Value(visitKey{}).(*visit)
	if !ok {
		panic("api: a route of programs was reached without its client") // the routes that toClient knows are all of them
	}
	return v
}

// admitted lets the requests of programs pass that have a good token and a place. Both are looked at before the body is read, so that nobody without a
// token can make hob read much, and one with a token only so much at a time.
func (h *clientHandler) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := readWithin(w, bodyTime); err != nil { // also limits the rest of a refused request
			return
		}
		p, client := h.authenticate(r)
		v := &visit{client: client, read: func() {}}
		if p.Status == 0 {
			p = h.visits.begin(v)
		}
		if p.Status == 0 {
			defer v.leave()
			p = h.visits.await(r, v)
		}
		if p.Status != 0 {
			refuseClient(w, r, p)
			return
		}
		defer v.read()
		if err := readWithin(w, 0); err != nil { // an answer may take hours
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	})
}

// begin takes a place, or says why there is none.
func (s *visits) begin(v *visit) api.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, most := v.client.ID, ofOne
	if id == 0 {
		most = ofLocal
	}
	if s.all >= maxVisits || s.here[id] >= most {
		return busy(s.here[id])
	}
	s.all++
	s.here[id]++
	v.leave = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.here[id]--; s.here[id] == 0 {
			delete(s.here, id)
		}
	})
	return api.Problem{}
}

// busy is the answer to one request too many of a client that has n.
func busy(n int) api.Problem {
	p := api.NewProblem(http.StatusServiceUnavailable, "hob serves too many requests of programs already, "+strconv.Itoa(n)+" of them of this one", "try again a little later")
	p.Kind = event.Unavailable
	return p
}

// await waits until a large body may arrive.
func (s *visits) await(r *http.Request, v *visit) api.Problem {
	if r.ContentLength >= 0 && r.ContentLength <= maxBody || bodyLimit(r) <= maxBody {
		return api.Problem{}
	}
	timer := time.NewTimer(bodyTime)
	defer timer.Stop()
	select {
	case s.large <- struct{}{}:
		v.read = sync.OnceFunc(func() { <-s.large })
		return api.Problem{}
	case <-timer.C:
	case <-draining(r.Context()):
	case <-r.Context().Done():
	}
	return busy(1)
}

// refuseClient answers a program with a problem.
func refuseClient(w http.ResponseWriter, r *http.Request, p api.Problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="hob"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(int(wrongPause.Seconds())))
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	refuse(w, r, p)
}
