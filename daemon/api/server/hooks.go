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

// hookPath is where strangers may post to; behind it stands the name of a webhook. Guard lets through what begins with it, and New leads all of
// that to the webhooks and to nothing else.
const hookPath = "/hooks/"

func toHook(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, hookPath) }

// Hooks receives what others post.
type Hooks interface {
	// Admit counts a request to a webhook, before its body is read. It returns how many bytes the body may have, or an api.HookReply with a status
	// for a request that ends here: there is no such webhook, or it is asked too often.
	Admit(ctx context.Context, name string) (limit int64, no api.HookReply, err error)
	// Receive checks a delivery and commits it before it says that it did.
	Receive(ctx context.Context, d api.HookRequest) (api.HookReply, error)
}

// hook serves POST /hooks/NAME.
func (h *handler) hook(w http.ResponseWriter, r *http.Request) {
	if err := readWithin(w, bodyTime); err != nil { // also what a refused sender still has to say
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		p := api.NewProblem(http.StatusMethodNotAllowed, "a webhook does not take "+r.Method, "it takes POST")
		p.Kind = event.Invalid
		sendProblem(w, p)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, hookPath)
	limit, no, err := h.Hooks.Admit(r.Context(), name)
	if err != nil || no.Status != 0 {
		h.tell(w, r, no, err)
		return
	}
	body, ok := arrived(w, r, limit)
	if !ok {
		return
	}
	reply, err := h.Hooks.Receive(r.Context(), api.HookRequest{Name: name, Header: r.Header, Body: body})
	h.tell(w, r, reply, err)
	fail.Point("inbound.acked")
}

// tell answers the sender of a webhook.
func (h *handler) tell(w http.ResponseWriter, r *http.Request, reply api.HookReply, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if reply.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((reply.Retry+time.Second-1)/time.Second)))
	}
	if reply.Status < http.StatusBadRequest {
		h.reply(w, r, reply.Status, reply.Doc)
		return
	}
	sendProblem(w, api.NewProblem(reply.Status, reply.Detail, reply.Hint))
}
