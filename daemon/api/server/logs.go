package server

import (
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"hob/daemon/event"
	"hob/daemon/logfile"
)

// logs serves GET /v1/logs: the log's lines, each a JSON object, oldest first. ?limit= the newest so many, ?level= and above,
// ?turn= about one turn, ?since= an instant; with follow=1 also what comes.
func (h *handler) logs(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	q, err := logQuery(values)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	head := w.Header()
	head.Set("Content-Type", "application/x-ndjson")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	c := http.NewResponseController(w)
	if err := c.Flush(); err != nil {
		return // nobody listens
	}
	stay := values.Get("follow") == "1"
	err = logfile.Follow(r.Context(), h.Health.LogFile(), q, stay, draining(r.Context()), func(line []byte) error {
		if err := writeWithin(w, streamTime); err != nil {
			return err
		}
		if _, err := w.Write(append(line[:len(line):len(line)], '\n')); err != nil {
			return err
		}
		// A reader who stays sees each line at once; a list is sent in larger pieces.
		if stay {
			return c.Flush()
		}
		return nil
	})
	if err != nil && r.Context().Err() == nil {
		h.Log.DebugContext(r.Context(), "stream of the log ended", "err", err)
	}
}

// logQuery reads the filter. Every wrong value is refused: a misspelt level must not show everything.
func logQuery(values url.Values) (q logfile.Query, err error) {
	wrong := func(key, want string) error {
		return event.NewFault(event.Invalid, "", "%s %q is not %s", key, values.Get(key), want)
	}
	q.Level = slog.LevelDebug
	if values.Has("level") && q.Level.UnmarshalText([]byte(values.Get("level"))) != nil {
		return q, wrong("level", "debug, info, warn or error")
	}
	if values.Has("turn") {
		if q.Turn, err = strconv.ParseInt(values.Get("turn"), 10, 64); err != nil || q.Turn < 1 {
			return q, wrong("turn", "the id of a turn")
		}
	}
	if values.Has("since") {
		if q.Since, err = time.Parse(time.RFC3339Nano, values.Get("since")); err != nil {
			return q, wrong("since", "an instant such as 2026-11-21T09:00:00Z")
		}
	}
	if values.Has("limit") {
		if q.Limit, err = strconv.Atoi(values.Get("limit")); err != nil || q.Limit < 1 {
			return q, wrong("limit", "a number above 0")
		}
	}
	if f := values.Get("follow"); values.Has("follow") && f != "0" && f != "1" {
		return q, wrong("follow", "0 or 1")
	}
	return q, nil
}
