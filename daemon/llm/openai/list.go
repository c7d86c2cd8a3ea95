package openai

import (
	"context"
	"net/http"
	"slices"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// asker asks one server for its models.
type asker struct{ *wire.Asker }

// newAsker checks the address. It sends nothing.
func newAsker(c llm.Config) (asker, error) {
	ask, err := wire.NewAsker(c)
	if err != nil {
		return asker{}, err
	}
	a := asker{ask}
	a.Sign, a.Hint = sign, a.hint
	return a, nil
}

// sign adds the token, and the account that it belongs to.
func sign(h http.Header, who llm.Credentials) {
	if who.Token != "" {
		h.Set("Authorization", "Bearer "+who.Token)
	}
	if who.Account != "" {
		h.Set("ChatGPT-Account-ID", who.Account)
	}
}

// hint returns this package's advice for a fault, "" for the usual one.
func (a asker) hint(f llm.Fault) string {
	switch account := a.Config.Provider == codex; {
	case f == llm.Auth && account:
		return "sign in to the account again"
	case account && (f == llm.NotFound || f == llm.Malformed || f == llm.BadRequest):
		return "this service documents no list of models; name one that its own client offers"
	case f == llm.Network:
		return startHint(a.Config.Provider)
	default:
		return ""
	}
}

// startHint returns how to start a server of this machine that does not answer.
func startHint(backend string) string {
	return map[string]string{
		lmStudio: "start its server, in LM Studio or with: lms server start", ollama: "start the server: ollama serve",
		compatible: "start the server, or correct base_url",
	}[backend]
}

// List asks a server for the models that produce text, sorted by ID: at most 10,000 models, within 10 s, 16 MB per response. It also asks
// for details in the server's own protocol; without them the list is shorter on facts but valid. Names are safe to show: characters that a
// terminal would interpret are replaced. Errors are those of wire.Asker.
func List(ctx context.Context, c llm.Config) ([]llm.Entry, error) {
	a, err := newAsker(c)
	if err != nil {
		return nil, err
	}
	return a.List(ctx, func(ctx context.Context) (*wire.Collection, error) {
		found, err := a.models(ctx)
		if err != nil {
			return nil, err
		}
		return a.more(ctx, found)
	})
}

// more adds details from the backend's own protocol. Details that the server does not give are left out; an error is a bug in this package.
func (a asker) more(ctx context.Context, c *wire.Collection) (*wire.Collection, error) {
	kind := a.Config.Provider
	if kind == compatible && !slices.ContainsFunc(c.Entries(), func(e llm.Entry) bool { return e.Window > 0 }) {
		kind = a.kind(ctx, c)
	}
	switch kind {
	case lmStudio:
		a.addLMStudio(ctx, c)
	case ollama:
		// First the models on disk, then which of them are loaded, then the newest in detail.
		names := a.addTags(ctx, c)
		a.addRunning(ctx, c)
		return c, a.addShown(ctx, c, names[:min(len(names), maxShown)])
	}
	return c, nil
}

// kind asks a server whose list tells no windows in which protocol of its own it may tell them. The answer of llama.cpp is added at once.
func (a asker) kind(ctx context.Context, c *wire.Collection) string {
	switch {
	case a.addProps(ctx, c):
		return compatible
	case a.isOllama(ctx):
		return ollama
	default:
		return lmStudio
	}
}
