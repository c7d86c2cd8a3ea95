package daemon

import (
	"context"

	"hob/daemon/api"
	"hob/daemon/store"
)

// forgetSession removes what was said in a session from the database and the files of its artifacts, and names the backups that may still hold it.
func forgetSession(ctx context.Context, d *daemon, name string) (api.Forgotten, error) {
	f, err := d.store.Sessions.Forget(ctx, name)
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
