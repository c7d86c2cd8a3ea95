package server

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
)

// Limits of the calls that one program makes by MCP. The calls of a minute are limited by the config. hob mcp serve may run for several programs, so all of
// them together get localFactor times as much.
const (
	maxCalls     = 8 // at the same time
	maxQuestions = 5
	maxScratch   = 100 << 20 // bytes in its scratch folder
	maxFiles     = 5000      // entries there
	localFactor  = 4
	localCalls   = 1200 // of a minute
)

// Quotas count the calls of programs. The zero value has counted none.
type Quotas struct {
	mu      sync.Mutex
	clients map[int64]*spent // by Endpoint.ID
}

// spent is what a program has made of its limits.
type spent struct {
	running int
	left    float64 // calls that it may make now
	at      time.Duration
}

// begin counts a call at an instant of the monotonic clock. end ends it.
func (q *Quotas) begin(client api.Endpoint, now time.Duration) (end func(), err error) {
	perMinute, most := float64(client.CallsPerMinute), maxCalls
	if client.ID == 0 {
		most *= localFactor
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.clients == nil {
		q.clients = map[int64]*spent{}
	}
	s := q.clients[client.ID]
	if s == nil {
		s = &spent{left: perMinute, at: now}
		q.clients[client.ID] = s
	}
	s.left, s.at = min(perMinute, s.left+(now-s.at).Minutes()*perMinute), now
	switch {
	case s.running >= most:
		return nil, event.NewFault(event.Unavailable, "wait for one of them", "this program has %d calls under way already", s.running)
	case s.left < 1:
		return nil, event.NewFault(event.Unavailable, "wait a little; calls_per_minute in [endpoints.NAME] allows a program more", "this program has made %.0f calls in a minute", perMinute)
	}
	s.running++
	s.left--
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		s.running--
	}), nil
}

// full reports whether a scratch folder holds as much as it may. A folder that is not there yet holds nothing.
func full(folder string) (bool, error) {
	size, files := int64(0), 0
	over := errors.New("over")
	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		files++
		if info.Mode().IsRegular() {
			size += info.Size()
		}
		if size > maxScratch || files > maxFiles {
			return over
		}
		return nil
	})
	if errors.Is(err, over) {
		return true, nil
	}
	return false, err
}
