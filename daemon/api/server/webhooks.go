package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// webhookPath is the path to which strangers may post, followed by the name of a webhook. Guard lets requests with this prefix pass, and New routes
// all of them to the webhooks and to nothing else.
const webhookPath = "/hooks/"

// toWebhook reports whether a request is for a webhook.
func toWebhook(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, webhookPath) }

// Webhooks receives the requests to webhooks.
type Webhooks interface {
	// Admit counts a request to a webhook, before its body is read. It returns how many bytes the body may have, or an api.WebhookReply with a status
	// for a request that ends here: the webhook does not exist, or its rate limit is reached.
	Admit(ctx context.Context, name string) (limit int64, no api.WebhookReply, err error)
	// Receive checks a delivery and commits it before it returns.
	Receive(ctx context.Context, d api.WebhookRequest) (api.WebhookReply, error)
}

// hook serves POST /hooks/NAME.
func (h *handler) hook(w http.ResponseWriter, r *http.Request) {
	if err := readWithin(w, bodyTime); err != nil { // also limits the rest of a refused request
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		p := api.NewProblem(http.StatusMethodNotAllowed, "a webhook does not take "+r.Method, "it takes POST")
		p.Kind = event.Invalid
		sendProblem(w, p)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, webhookPath)
	// The rate limit comes before the body, so that strangers cannot make hob read much.
	limit, no, err := h.Webhooks.Admit(r.Context(), name)
	if err != nil || no.Status != 0 {
		h.tell(w, r, no, err)
		return
	}
	body, ok := arrived(w, r, limit)
	if !ok {
		return
	}
	reply, err := h.Webhooks.Receive(r.Context(), api.WebhookRequest{Name: name, Header: r.Header, Body: body})
	h.tell(w, r, reply, err)
	fail.Point("inbound.acked")
}

// tell answers the sender of a webhook.
func (h *handler) tell(w http.ResponseWriter, r *http.Request, reply api.WebhookReply, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	// Whole seconds, rounded up: a sender that returns too early would be refused again.
	if reply.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((reply.Retry+time.Second-1)/time.Second)))
	}
	if reply.Status < http.StatusBadRequest {
		h.reply(w, r, reply.Status, reply.Doc)
		return
	}
	sendProblem(w, api.NewProblem(reply.Status, reply.Detail, reply.Hint))
}
