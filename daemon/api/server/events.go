package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"hob/daemon/event"
	"hob/daemon/secret"
)

// Limits of one stream.
const (
	page       = 200              // events read at once
	heartbeat  = 15 * time.Second // between comments that keep a quiet stream open
	streamTime = 10 * time.Second // a client that takes longer to read is disconnected
)

// startHeader names the event after which the stream begins: the requested one, or the newest if that does not exist yet.
const startHeader = "Hob-After"

// drainKey finds the channel that Serve closes when it begins to stop.
type drainKey struct{}

// draining returns the channel that ends streams; nil (never) when no Server carries the request.
func draining(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(drainKey{}).(<-chan struct{})
	return c
}

// follow serves GET /v1/events: the stored events after ?after=N, then new ones, as server-sent events
// (HTML Living Standard, section 9.2). Without a start it begins after the newest event.
func (h *handler) follow(w http.ResponseWriter, r *http.Request) {
	after, err := h.place(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set(startHeader, strconv.FormatInt(after, 10))
	w.WriteHeader(http.StatusOK)
	// Following begins before the first read of events, so that no piece in between is lost.
	pieces, end := h.Feed.Follow()
	defer end()
	s := &stream{w: w, seq: after, events: h.Events, pieces: pieces, hide: h.Hide}
	err = s.run(r.Context(), r.URL.Query().Get("follow") != "0")
	if err != nil && r.Context().Err() == nil {
		h.Log.DebugContext(r.Context(), "event stream ended", "err", err)
	}
}

// place returns the start of a stream: Last-Event-ID of a reconnecting client, else ?after=, else the end. A number beyond the end
// counts as the end: a client may know it from before a restore.
func (h *handler) place(r *http.Request) (int64, error) {
	// The end is needed in each case: as the default start, and as the limit of a requested one.
	last, err := h.Events.Last(r.Context())
	if err != nil {
		return 0, err
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return last, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, event.NewFault(event.Invalid, "", "%q is not the number of an event", text)
	}
	return min(n, last), nil
}

// stream is the connection of one client.
type stream struct {
	w      http.ResponseWriter
	seq    int64 // newest event written
	events Events
	pieces <-chan event.Piece  // without secrets
	next   *event.Piece        // taken from pieces; it waits for the events before it
	hide   func(string) string // replaces the values of secrets; nil: there are none
}

// run writes until the client goes or the server stops. It takes the wake-up channel before it reads, so a
// commit between reading and waiting is not missed.
func (s *stream) run(ctx context.Context, stay bool) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		wake := s.events.Wake()
		if err := s.catchUp(ctx); err != nil || !stay {
			return err
		}
		if again, err := s.wait(ctx, wake, beat.C); err != nil || !again {
			return err
		}
	}
}

// wait writes pieces and heartbeats until there are events again; false means that the stream is over.
func (s *stream) wait(ctx context.Context, wake <-chan struct{}, beat <-chan time.Time) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-draining(ctx):
			return false, s.catchUp(ctx) // the events of the last commits, before the endpoint closes
		case <-wake:
			return true, nil
		case p := <-s.pieces:
			// The events before it were committed, but their wake-up may come later.
			if s.next = &p; p.After > s.seq {
				return true, nil
			}
			if err := errors.Join(s.drainPieces(s.seq), s.flush()); err != nil {
				return false, err
			}
		case <-beat:
			if err := s.write(": still here\n\n"); err != nil {
				return false, err
			}
			if err := s.flush(); err != nil {
				return false, err
			}
		}
	}
}

// catchUp writes all stored events and the waiting pieces of text. A piece comes after the events before its step, and before the end of
// its turn.
func (s *stream) catchUp(ctx context.Context) error {
	for {
		batch, err := s.events.After(ctx, s.seq, page)
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		for _, e := range batch {
			if err := s.drainPieces(e.Seq - 1); err != nil {
				return err
			}
			if err := s.frame(strconv.FormatInt(e.Seq, 10), e.Type, e); err != nil {
				return err
			}
			s.seq = e.Seq
		}
		if err := errors.Join(s.drainPieces(s.seq), s.flush()); err != nil {
			return err
		}
		// A short batch is the last one. After a full one there may be more.
		if len(batch) < page {
			return nil
		}
	}
}

// drainPieces writes the pieces of text that are waiting and come before the event after last. It does not wait for more.
func (s *stream) drainPieces(last int64) error {
	for {
		if s.next == nil {
			select {
			case p := <-s.pieces:
				s.next = &p
			default:
				return nil
			}
		}
		if s.next.After > last {
			return nil
		}
		if err := s.piece(*s.next); err != nil {
			return err
		}
		s.next = nil
	}
}

// piece writes a piece of an answer, or of what a command prints.
func (s *stream) piece(p event.Piece) error {
	if p.Output != "" {
		return s.frame("", "tool.output", p)
	}
	return s.frame("", "text.delta", p)
}

// frame writes one event; encoded JSON has no line breaks, so data is always one line. Stored events have an
// id, which a client sends back after a lost connection. Pieces of text have none: they are not stored, and
// cannot be asked for again.
func (s *stream) frame(id, name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if s.hide != nil {
		if body, err = secret.JSON(body, s.hide); err != nil {
			return err
		}
	}
	head := "event: " + name + "\n"
	if id != "" {
		head = "id: " + id + "\n" + head
	}
	return s.write(head + "data: " + string(body) + "\n\n")
}

// write sends text to the client. A client that does not read holds a goroutine, so it is cut off after a
// while.
func (s *stream) write(text string) error {
	if err := writeWithin(s.w, streamTime); err != nil {
		return err
	}
	_, err := s.w.Write([]byte(text))
	return err
}

// flush sends what the HTTP server has buffered.
func (s *stream) flush() error {
	return http.NewResponseController(s.w).Flush()
}
