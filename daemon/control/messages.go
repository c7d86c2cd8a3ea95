package control

import (
	"net/http"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fail"
)

func (a *api) post(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text    string `json:"text"`
		Session string `json:"session"`
		ID      string `json:"id"`
		Files   []sent `json:"attachments"`
	}
	if err := decode(r, &in); err != nil {
		a.fail(w, r, err)
		return
	}
	files, err := attached(in.Files)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.accept(w, r, in.Text, in.Session, in.ID, files...)
}

// postTo is post with the session in the path, and without attachments.
func (a *api) postTo(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text string `json:"text"`
		ID   string `json:"id"`
	}
	if err := decode(r, &in); err != nil {
		a.fail(w, r, err)
		return
	}
	a.accept(w, r, in.Text, r.PathValue("id"), in.ID)
}

func (a *api) accept(w http.ResponseWriter, r *http.Request, text, session, id string, files ...Attachment) {
	if strings.TrimSpace(text) == "" && len(files) == 0 {
		a.fail(w, r, event.NewFault(event.Invalid, `send {"text": "…"}`, "the message has no text"))
		return
	}
	receipt, err := a.Messages.Post(r.Context(), text, session, id, files...)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	status := http.StatusOK
	if receipt.New {
		status = http.StatusAccepted
	}
	a.reply(w, r, status, receipt)
	fail.Point("inbound.acked")
}
