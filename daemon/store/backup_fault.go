package store

import (
	"errors"
	"os"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// BackupFault turns an error about a copy into one sentence with a hint. Other errors pass unchanged.
func BackupFault(path string, err error) error {
	f := &event.Fault{Kind: event.Clash, Hint: "hob backup list shows what there is", Err: err}
	switch {
	case err == nil || errors.Is(err, sqlite.ErrLocked):
		return err
	case errors.Is(err, os.ErrNotExist):
		f.Kind, f.Text = event.Missing, "there is no file "+path
	case errors.Is(err, os.ErrPermission):
		f.Kind, f.Text, f.Hint = event.Invalid, path+" cannot be read", "check its owner and rights"
	case errors.Is(err, sqlite.ErrNewer):
		f.Text, f.Hint = path+" cannot be used: "+err.Error(), "use the newer hob"
	case errors.Is(err, sqlite.ErrUnfinished), errors.Is(err, sqlite.ErrForeign), errors.Is(err, sqlite.ErrCorrupt):
		f.Text = path + " cannot be used: " + err.Error()
	default:
		return err
	}
	return f
}
