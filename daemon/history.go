package daemon

import (
	"context"
	"strconv"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/store"
	"hob/daemon/toolset"
)

// contextItems reads the context items for the index of the memory.
func contextItems(items store.ContextItems) toolset.ContextSource {
	return toolset.ContextSource{State: items.ContextState, Revisions: items.ContextRevisions, Item: func(ctx context.Context, revision int64) (toolset.ContextItem, bool, error) {
		it, ok, err := items.ContextRevision(ctx, revision)
		return toolset.ContextItem{Name: it.Name(), Foreign: it.Foreign, At: it.Updated, Text: it.Content}, ok, err
	}}
}

// resultsShown is the default number of results of a search in the conversations, and bytesShown bounds their texts.
const (
	resultsShown = 20
	bytesShown   = 64 << 10
)

// searchHistory searches the conversations for the owner. Links in the text of others are disarmed.
func searchHistory(ctx context.Context, d *daemon, in api.HistoryQuery) (api.HistoryFound, error) {
	out := api.HistoryFound{Results: []api.HistoryHit{}}
	q := toolset.HistoryQuery{Text: in.Query, Scope: "history", Owner: true, MaxPassages: resultsShown, MaxBytes: bytesShown}
	if in.Limit != "" && in.Limit != "0" {
		n, err := strconv.Atoi(in.Limit)
		if err != nil || n < 1 || n > 100 {
			return out, event.NewFault(event.Invalid, "", "limit %q is not a number from 1 to 100", in.Limit)
		}
		q.MaxPassages = n
	}
	if in.Session != "" {
		s, err := d.view.SessionNamed(ctx, in.Session)
		if err != nil {
			return out, err
		}
		q.Session, q.Only = s.ID, true
	}
	found, err := d.tools.Remembers.Search(ctx, q)
	if err != nil {
		return out, err
	}
	out.Notes = found.Notes
	for _, p := range found.Passages {
		h := api.HistoryHit{Session: p.Session, Key: p.Path, Item: p.From, At: p.Time, Sender: p.Sender, Foreign: p.Foreign, Score: p.Score, Text: p.Text}
		if h.Foreign != "" {
			h.Text = netguard.Defang(h.Text)
		}
		out.Results = append(out.Results, h)
	}
	return out, nil
}

// recall returns what finds what the owner told before for the words of his message. The config can turn it off.
func recall(d *daemon) agent.Recall {
	return func(ctx context.Context, words string) []turn.Memory {
		if !d.config().Memory.Recall {
			return nil
		}
		return d.tools.Remembers.Recall(ctx, words)
	}
}
