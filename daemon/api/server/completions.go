package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/completions"
	"hob/daemon/event"
)

// headAfter is how long a stream waits with its status line, so that what fails at once gets the status of its error.
const headAfter = 2 * time.Second

// listModels serves GET /v1/models: hob itself.
func (h *clientHandler) listModels(w http.ResponseWriter, r *http.Request) {
	sendValue(w, map[string]any{"object": "list", "data": []completions.ModelRow{completions.TheModel(visitOf(r).client.Created)}})
}

// showModel serves GET /v1/models/NAME.
func (h *clientHandler) showModel(w http.ResponseWriter, r *http.Request) {
	if name := r.PathValue("id"); name != completions.Model {
		sendFailure(w, http.StatusNotFound, completions.Fail(http.StatusNotFound, "there is no model "+name, "the one model is "+completions.Model, "model", "model_not_found"))
		return
	}
	sendValue(w, completions.TheModel(visitOf(r).client.Created))
}

// complete serves POST /v1/chat/completions. The newest message of the user becomes a row of the inbox, and the answer of its turn is the completion.
func (h *clientHandler) complete(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	client := v.client
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.failChat(w, r, event.NewFault(event.Invalid, "", "the request's body could not be read"))
		return
	}
	conv, err := completions.Parse(body)
	r.Body = http.NoBody // an answer may take hours
	if err != nil {
		h.failChat(w, r, err)
		return
	}
	var req api.ChatRequest
	if err = h.Clients.Serves(r.Context(), client); err == nil {
		req, err = h.Chats.Begin(r.Context(), conv.Opening(client))
	}
	if err != nil {
		h.failChat(w, r, err)
		return
	}
	// From here on the request counts as waited for, so that an earlier connection that ends now does not end it.
	h.watching.follow(req.ExtID)
	a := &answering{h: h, w: w, r: r, conv: conv, client: client, req: req}
	defer func() {
		v.leave() // another request of the client need not wait for the grace
		h.left(r, req.ExtID, a.ended)
	}()
	// Following begins before the commit, so that no piece of the answer is lost.
	pieces, end := h.Feed.Follow()
	defer end()
	if err := h.Chats.Accept(r.Context(), conv.Input(client, req), conv.Files); err != nil {
		h.failChat(w, r, err)
		return
	}
	conv.Taken()
	a.conv.Taken()
	v.read()
	a.pieces = pieces
	if err := a.run(r.Context()); err != nil && r.Context().Err() == nil {
		h.Log.DebugContext(r.Context(), "completion ended", "err", err)
	}
}

// left ends a request when the last client that waited for it has gone, and did not come back within graceTime. A server that stops ends no request: its
// turn goes on after the start.
func (h *clientHandler) left(r *http.Request, ext string, answered bool) {
	last := h.watching.leave(ext)
	if !last || answered || r.Context().Err() == nil || stopping(r.Context()) {
		return
	}
	timer := time.NewTimer(graceTime)
	defer timer.Stop()
	select {
	case <-draining(r.Context()):
		return
	case <-timer.C:
	}
	if !h.watching.alone(ext) {
		return
	}
	if err := h.Chats.Abort(context.WithoutCancel(r.Context()), ext); err != nil {
		h.Log.ErrorContext(r.Context(), "end the request of a client that has gone", "err", err)
	}
}

// stopping reports whether the server stops.
func stopping(ctx context.Context) bool {
	select {
	case <-draining(ctx):
		return true
	default:
		return false
	}
}

// answering is a connection that waits for an answer.
type answering struct {
	h      *clientHandler
	w      http.ResponseWriter
	r      *http.Request
	conv   completions.Conversation
	client api.Endpoint
	req    api.ChatRequest
	pieces <-chan event.Piece

	state  api.ChatProgress // as last read
	begun  bool             // the status line of a stream has been sent
	ended  bool             // the turn has ended or waits for a person
	spoken bool             // a piece of the answer too
	growth completions.Growth
}

// run waits for the end of the turn, and passes on what it says meanwhile.
func (a *answering) run(ctx context.Context) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	head := time.NewTimer(headAfter)
	defer head.Stop()
	for {
		wake := a.h.Events.Wake() // before reading, so that no commit in between is missed
		if over, err := a.look(ctx); over || err != nil {
			return err
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return nil
			case <-draining(ctx):
				return a.fail(event.NewFault(event.Unavailable, "send the same messages again: the answer goes on", "hob is stopping"))
			case <-wake:
				again = true
			case p := <-a.pieces:
				if err := a.piece(ctx, p); err != nil {
					return err
				}
			case <-head.C:
				if err := a.comment(); err != nil {
					return err
				}
			case <-beat.C:
				if err := a.comment(); err != nil {
					return err
				}
			}
		}
	}
}

// look reads how far the turn has come. When it is over, it answers.
func (a *answering) look(ctx context.Context) (over bool, err error) {
	if a.state, err = a.h.Chats.Progress(ctx, a.req.ExtID); err != nil {
		return true, a.fail(err)
	}
	a.ended = true
	switch s := a.state; {
	case s.State == "done":
		return true, a.answer(ctx, s.Text)
	case s.State == "waiting" && s.Waits:
		notice := completions.Waiting(s)
		if err := a.h.Chats.Told(ctx, a.req.ExtID, notice); err != nil {
			return true, a.fail(err)
		}
		return true, a.answer(ctx, notice)
	case s.State == "failed", s.State == "stopped", s.State == "dead", s.State == "" && s.Inbox != "queued" && s.Inbox != "held":
		return true, a.fail(a.unfinished())
	}
	a.ended = false
	return false, nil
}

// unfinished is the error of a turn that did not end with an answer. Only the owner learns why: a reason may name his files, servers and limits.
func (a *answering) unfinished() error {
	what := map[string]string{"stopped": "was stopped", "failed": "failed", "dead": "was given up"}[a.state.State]
	what = cmp.Or(what, "was not taken")
	hint := "the owner can look at it: hob turns list"
	if a.client.Trust == event.Owner && a.state.Why != "" {
		hint = a.state.Why
	}
	if a.state.State == "failed" && a.state.Silent {
		return &unanswered{event.NewFault(event.Clash, hint, "no model answers"), http.StatusBadGateway}
	}
	return &unanswered{event.NewFault(event.Clash, hint, "hob could not finish this: it %s", what), http.StatusInternalServerError}
}

// unanswered is the failure of a turn, which is the server's and not the request's.
type unanswered struct {
	*event.Fault
	status int
}

// Unwrap returns the fault, so that its text is told.
func (u *unanswered) Unwrap() error { return u.Fault }

// piece passes a live piece of the answer on.
func (a *answering) piece(ctx context.Context, p event.Piece) error {
	if !a.conv.Stream || p.Output != "" || p.Session != a.req.Session {
		return nil
	}
	if a.state.Turn == 0 {
		var err error
		if a.state, err = a.h.Chats.Progress(ctx, a.req.ExtID); err != nil {
			return err
		}
	}
	if p.Turn != a.state.Turn {
		return nil
	}
	return a.say(a.growth.Add(p.Step, p.Offset, p.Text))
}

// answer ends the connection with the answer.
func (a *answering) answer(ctx context.Context, text string) error {
	if a.h.Hide != nil {
		text = a.h.Hide(text) // as the pieces are
	}
	if !a.conv.Stream {
		sendValue(a.w, completions.Whole(a.req, a.state, text))
		return nil
	}
	for waiting := true; waiting; {
		select {
		case p := <-a.pieces:
			if err := a.piece(ctx, p); err != nil {
				return err
			}
		default:
			waiting = false
		}
	}
	if err := a.say(a.growth.End(text)); err != nil {
		return err
	}
	if !a.spoken { // an empty answer has a role too
		if err := a.send(completions.Piece(a.req, "", true)); err != nil {
			return err
		}
	}
	if err := a.send(completions.Last(a.req)); err != nil {
		return err
	}
	if a.conv.Usage {
		if err := a.send(completions.Used(a.req, a.state)); err != nil {
			return err
		}
	}
	return a.write("data: [DONE]\n\n")
}

// say sends a piece of the answer.
func (a *answering) say(text string) error {
	if text == "" {
		return nil
	}
	first := !a.spoken
	a.spoken = true
	return a.send(completions.Piece(a.req, text, first))
}

// fail ends the connection with an error. In a stream that has begun it is an event, and the mark of a proper end is missing.
func (a *answering) fail(err error) error {
	status, f := a.h.failure(a.r, err)
	if u, ok := errors.AsType[*unanswered](err); ok {
		status, f.Error.Type = u.status, "server_error"
	}
	if !a.begun {
		sendFailure(a.w, status, f)
		return nil
	}
	return a.send(f)
}

// comment keeps a quiet stream open. The first one sends the status line.
func (a *answering) comment() error {
	if !a.conv.Stream {
		return nil
	}
	return a.write(": hob is at it\n\n")
}

// send writes a value as an event of the stream (HTML Living Standard, section 9.2).
func (a *answering) send(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.write("data: " + string(body) + "\n\n")
}

// write sends text to the client. One that does not read is cut off after a while.
func (a *answering) write(text string) error {
	if !a.begun {
		a.begun = true
		head := a.w.Header()
		head.Set("Content-Type", "text/event-stream; charset=utf-8")
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		a.w.WriteHeader(http.StatusOK)
	}
	s := stream{w: a.w}
	if err := s.write(text); err != nil {
		return err
	}
	return s.flush()
}
