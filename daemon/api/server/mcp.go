package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcpserver"
	"hob/daemon/policy"
	"hob/daemon/sys"
	"hob/tools"
)

// mcpActor is the name of calls by MCP in the audit.
const mcpActor = "mcp"

// local is the client of hob mcp serve. Who may open the socket may do all that the owner may, but the calls are chosen by another program's model, which may
// have read anything.
func local() api.Endpoint {
	return api.Endpoint{Name: "hob mcp serve", Trust: event.Owner, Foreign: "the model of another program", CallsPerMinute: localCalls}
}

// mcp serves /mcp.
func (h *clientHandler) mcp(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if err := h.Clients.Serves(r.Context(), v.client); err != nil {
		(&handler{h.Deps}).fail(w, r, err)
		return
	}
	if r.Method == http.MethodGet {
		v.leave() // it only listens, and the number of sessions is bounded
	}
	// A stream that only listens would hold up a stop.
	ctx, cancel := context.WithCancel(r.Context())
	g := sys.NewGroup(h.Log, nil)
	g.Once("mcp request", func() error {
		select {
		case <-draining(ctx):
			cancel()
		case <-ctx.Done():
		}
		return nil
	})
	h.MCP.Serve(w, r.WithContext(ctx), v.client)
	cancel()
	g.Wait()
}

// NewMCP makes the MCP server of the calls. It costs nothing before the first request. open gives the bytes of a picture.
func NewMCP(t Calls, version string, hide func(string) string, open func(context.Context, string) (io.ReadSeekCloser, error), log *slog.Logger) *mcpserver.Server {
	return &mcpserver.Server{Tools: t, Version: version, Hide: hide, Open: open, Log: log}
}

// Offered lists the tools that a client may see: not those that only lead to other tools or end a turn, and for others than the owner only those that the
// permission rules do not deny to them in each case.
func (t Calls) Offered(client api.Endpoint) []tools.Spec {
	return slices.DeleteFunc(slices.Clone(t.Specs()), func(s tools.Spec) bool {
		return s.Terminal || s.Name == tools.CatalogTool || !policy.Offered(client.Trust, s)
	})
}

// CallFor judges and runs one call of a client. A call that needs approval asks the owner; the same call of the same client runs after a yes.
func (t Calls) CallFor(ctx context.Context, client api.Endpoint, name string, args json.RawMessage) (tools.Result, error) {
	end, err := t.Quotas.begin(client, t.Clock.Mono())
	if err != nil {
		return tools.Result{}, err
	}
	defer end()
	key, questions := fmt.Sprintf("%s:%s#%d/mcp", event.Endpoint, client.Name, client.ID), maxQuestions
	if client.ID == 0 {
		key, questions = event.Endpoint+":local/mcp", questions*localFactor
	}
	tainted := client.Trust != event.Owner || client.Foreign != ""
	actor := agent.Actor{Name: mcpActor, Trust: client.Trust, Tainted: tainted, Reply: event.Address(key)}
	call := tools.Call{
		ID: "m" + t.IDs.Code(12), Name: name, Args: args, Key: key, ReplyTo: actor.Reply, Trust: client.Trust, Guest: client.Trust != event.Owner,
		Zone: t.Dispatch.Settings(ctx).Zone, Now: t.Clock.Wall(), Tainted: tainted, Scratch: t.Scratch(key),
	}
	return t.run(ctx, actor, call, func(j agent.Judged) (string, error) {
		sum := sha256.Sum256([]byte(key + "\x00" + client.Session + "\x00" + j.Hash())) // an approval is for this client's call, not for the same call of another
		asked, used, err := t.Store.UseOrAsk(ctx, turn.Question{
			Subject: turn.AboutCall, Tool: name, Text: policy.ApprovalText("May the program "+client.Name, j.Intent, j.Decision), Options: []string{turn.AnswerOnce, turn.AnswerNo},
			ActionHash: hex.EncodeToString(sum[:16]), Until: t.Clock.Wall().Add(approvalOpen), To: event.ToOwner, CallID: key,
		}, questions)
		if err != nil || used {
			return "approved: question " + asked.Code, err
		}
		return "", &api.Approval{Summary: j.Intent.Summary, Reason: j.Decision.Reason, Code: asked.Code, Question: asked.ID}
	})
}
