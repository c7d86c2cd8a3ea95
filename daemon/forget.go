package daemon

import (
	"context"

	"hob/daemon/api"
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
