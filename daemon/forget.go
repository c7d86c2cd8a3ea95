package daemon

import (
	"context"

	"hob/daemon/api"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/toolset"
)

// forgetSession removes the texts of a session from the database, from the index and from its artifacts, and names the backups that may
// still contain them. After a kill, the next start removes the rest: the origin of the index has changed, and artifacts without a row are
// removed.
func forgetSession(ctx context.Context, d *daemon, name string) (api.Forgotten, error) {
	var f store.Forgotten
	err := d.tools.Remembers.Forget(ctx, func() (toolset.MemoryGone, error) {
		var err error
		f, err = d.store.Sessions.Forget(ctx, name)
		return toolset.MemoryGone{Sessions: f.Sessions}, err
	})
	if err != nil {
		return api.Forgotten{}, err
	}
	fail.Point("session.forgotten")
	out := api.Forgotten{OK: true, Items: f.Items, Files: len(f.Artifacts)}
	if err := d.artifacts.Remove(f.Artifacts); err != nil {
		return out, err
	}
	out.Backups, err = sqlite.BackupsSince(d.opt.state(), f.Since)
	return out, err
}

// forgetFact removes what was made of a fact, around its removal from a file of the memory: summaries, prompts and rows of the index. The database comes first, so that
// after a kill in between the index is made anew from what is left; and again afterwards, because a request may have taken the fact from the file meanwhile.
func forgetFact(d *daemon) func(context.Context, toolset.MemoryRemoval, func() error) (toolset.MemoryTraces, error) {
	return func(ctx context.Context, r toolset.MemoryRemoval, remove func() error) (out toolset.MemoryTraces, err error) {
		err = d.tools.Remembers.Forget(ctx, func() (toolset.MemoryGone, error) {
			gone := toolset.MemoryGone{Files: true}
			for _, then := range []func() error{remove, func() error { return nil }} {
				f, err := d.store.Sessions.ForgetFact(ctx, r.Fact, r.Turn)
				if err == nil {
					err = then()
				}
				if err != nil {
					return gone, err
				}
				gone.Items, out.Summaries = append(gone.Items, f.Marked...), out.Summaries+f.Summaries
			}
			out.Said = len(gone.Items)
			return gone, nil
		})
		if err != nil {
			return out, err
		}
		out.Backups, err = sqlite.BackupsSince(d.opt.state(), r.Since)
		return out, err
	}
}
