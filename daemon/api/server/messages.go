package server

import (
	"net/http"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// post serves POST /v1/messages: a message of the owner with attachments. It becomes a row of the inbox.
func (h *handler) post(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text    string    `json:"text"`
		Session string    `json:"session"`
		ID      string    `json:"id"`
		Files   []sent    `json:"attachments"`
		Begun   time.Time `json:"begun"`
	}
	if err := decode(r, &in); err != nil {
		h.fail(w, r, err)
		return
	}
	files, err := attached(in.Files)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.accept(w, r, api.Message{Text: in.Text, Session: in.Session, ID: in.ID, Begun: in.Begun, Attachments: files})
}

// postTo is post with the session in the path, and without attachments.
func (h *handler) postTo(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text string `json:"text"`
		ID   string `json:"id"`
	}
	if err := decode(r, &in); err != nil {
		h.fail(w, r, err)
		return
	}
	h.accept(w, r, api.Message{Text: in.Text, Session: r.PathValue("id"), ID: in.ID})
}

// accept commits a message and answers with its receipt: 202 for a new row, 200 for an id that was accepted
// before. So a client that got no answer can repeat the request.
func (h *handler) accept(w http.ResponseWriter, r *http.Request, m api.Message) {
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		h.fail(w, r, event.NewFault(event.Invalid, `send {"text": "…"}`, "the message has no text"))
		return
	}
	receipt, err := h.Messages.Post(r.Context(), m)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	status := http.StatusOK
	if receipt.New {
		status = http.StatusAccepted
	}
	h.reply(w, r, status, receipt)
	fail.Point("inbound.acked")
}

// send queues a message for an address, with its files.
// It serves POST /v1/send. The answer comes after the commit of the row; the pump sends later.
func (h *handler) send(w http.ResponseWriter, r *http.Request) {
	var in struct {
		To    string `json:"to"`
		Text  string `json:"text"`
		Files []sent `json:"attachments"`
	}
	err := decode(r, &in)
	m := api.Outgoing{To: in.To, Text: in.Text}
	if err == nil {
		m.Attachments, err = attached(in.Files)
	}
	switch {
	case err == nil && strings.TrimSpace(m.To) == "":
		err = event.NewFault(event.Invalid, "", `send: "to" is missing`)
	case err == nil && strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0:
		err = event.NewFault(event.Invalid, "", `send: "text" is missing`)
	case err == nil:
		err = fit(m.Attachments)
	}
	var queued api.Sent
	if err == nil {
		queued, err = h.Messages.Send(r.Context(), m)
	}
	h.answer(w, r, queued, err)
}
