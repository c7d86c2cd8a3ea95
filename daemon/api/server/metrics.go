package server

import (
	"bytes"
	"net/http"
)

// metricsType is the media type of Prometheus' text format (prometheus.io/docs/instrumenting/exposition_formats).
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// metrics serves GET /metrics.
func (h *handler) metrics(w http.ResponseWriter, r *http.Request) {
	text, err := h.Health.Metrics(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, metricsType, bytes.TrimSuffix(text, []byte("\n")))
}

// health serves GET /healthz, for watchdogs: 200 while everything makes progress, else 503, with the state of
// each part.
func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	ok, components := h.Health.Health(r.Context())
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	h.reply(w, r, status, map[string]any{"ok": ok, "components": components})
}
