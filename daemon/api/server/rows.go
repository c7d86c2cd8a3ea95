package server

import (
	"net/http"
	"net/url"
	"strconv"

	"hob/daemon/event"
)

// maxRows is the most rows that one list returns.
const maxRows = 1000

func (h *handler) list(resource string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := filter(r.URL.Query())
		if err != nil {
			h.fail(w, r, err)
			return
		}
		rows, err := h.Rows.List(r.Context(), resource, f)
		h.answer(w, r, rows, err)
	}
}

func (h *handler) show(resource string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		row, err := h.Rows.Show(r.Context(), resource, r.PathValue("id"))
		h.answer(w, r, row, err)
	}
}

// showOne shows a thing that exists once.
func (h *handler) showOne(resource string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		row, err := h.Rows.Show(r.Context(), resource, "")
		h.answer(w, r, row, err)
	}
}

func filter(q url.Values) (event.Filter, error) {
	f := event.Filter{State: q.Get("state"), Name: q.Get("name")}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxRows {
			return f, event.NewFault(event.Invalid, "", "limit %q is not a number from 1 to %d", q.Get("limit"), maxRows)
		}
		f.Limit = n
	}
	return f, nil
}

func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	ok, components := h.Health.Health(r.Context())
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	h.reply(w, r, status, map[string]any{"ok": ok, "components": components})
}
