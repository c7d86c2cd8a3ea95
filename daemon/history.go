package daemon

import (
	"context"
	"strconv"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/store"
	"hob/daemon/toolset"
)

// history reads the conversations for the index of the memory.
func history(turns store.Turns) toolset.HistorySource {
	return func(ctx context.Context, after, turn int64) (toolset.HistoryBatch, error) {
		b, err := turns.History(ctx, after, turn)
		out := toolset.HistoryBatch{Next: b.Next, Last: b.Last}
		for _, it := range b.Items {
			out.Items = append(out.Items, toolset.HistoryItem(it))
		}
		return out, err
	}
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

// forgetSession removes what was said in a session from the index, the database and the files of its artifacts, and names the backups that may still hold it.
func forgetSession(ctx context.Context, d *daemon, name string) (api.Forgotten, error) {
	ids, err := d.store.Sessions.Family(ctx, name)
	if err != nil {
		return api.Forgotten{}, err
	}
	var f store.Forgotten
	err = d.tools.Remembers.ForgetSessions(ctx, ids, func() error {
		f, err = d.store.Sessions.Forget(ctx, name)
		return err
	})
	if err != nil {
		return api.Forgotten{}, err
	}
	out := api.Forgotten{OK: true, Items: f.Items, Files: len(f.Artifacts)}
	if err := d.artifacts.Remove(f.Artifacts); err != nil {
		return out, err
	}
	out.Backups, err = store.BackupsSince(d.opt.state(), f.Since)
	return out, err
}
