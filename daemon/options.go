// Package daemon is the process. It connects the parts (wire.go), starts them in the order in which data flows and stops them in reverse (run.go), and
// follows the config (reload.go). It makes no decision that a package below it could make.
package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/daemon/toolset"
)

// Options of a daemon.
type Options struct {
	Home    string // the home folder, absolute; made when missing
	Listen  string // host:port, "": what the config says
	Version string
	Self    string // hob's own executable, which serves RunHelper; "" leaves the second layer of the sandbox out
	Log     *slog.Logger
	Ready   func(Ready) // called once, when everything answers

	NewDatabase bool // a home that was used before may begin with an empty database

	// Only tests can set these.
	google   string        // the address of a server in Google's place
	slowCall time.Duration // see agent.Thread.SlowAfter
}

// Ready describes a started daemon.
// Options.Ready gets it once; hob up shows it.
type Ready struct {
	After    time.Duration // since Run was called
	Address  string        // the loopback address
	Model    string        // "builtin", or backend/model
	Channels []string      // names, cli first
	Notes    []string      // what the owner should know: warnings of the config, safe mode, guard.mode = open
}

// ErrRunning is a home that another daemon holds.
var ErrRunning = sqlite.ErrLocked

// earliest is the earliest time that a correct clock can show, because hob did not exist before.
// A start before it fails: a machine without a battery for its clock may boot in 1970, and slots and tokens would be wrong.
func earliest() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// The home has three parts: hob's own state, which tools never enter, the folder where the agent works, and the config.
func (o Options) state() string     { return filepath.Join(o.Home, "state") }
func (o Options) workspace() string { return filepath.Join(o.Home, "workspace") }
func (o Options) config() string    { return filepath.Join(o.Home, "config.toml") }
func (o Options) lock() string      { return filepath.Join(o.state(), "hob.lock") }

// toolHome names the parts of the home that the tools depend on.
func (o Options) toolHome() toolset.Home {
	return toolset.Home{State: o.state(), Workspace: o.workspace(), Self: o.Self, Instance: o.instance()}
}

// prepare makes the folders of the home.
// Only the owner may read them. A folder that exists keeps its mode.
func (o Options) prepare() error {
	for _, dir := range []string{o.Home, o.state(), o.workspace()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return homeFault(o.Home, err)
		}
	}
	return nil
}

// refuseExposed returns a fault if somebody else may change the config or the home. Anybody who can write to them decides
// what hob runs, and can read its keys. A missing home is made first, because it may stand in a folder that everybody may write, such as /tmp.
func (o Options) refuseExposed() (err error) {
	if _, missing := os.Lstat(o.Home); errors.Is(missing, os.ErrNotExist) {
		if err := os.MkdirAll(o.Home, 0o700); err != nil {
			return homeFault(o.Home, err)
		}
		defer func() {
			if err == nil {
				return
			}
			if bad := os.Remove(o.Home); bad != nil {
				err = errors.Join(err, bad)
			}
		}()
	}
	for _, path := range []string{o.Home, o.config(), o.state(), o.workspace()} {
		why, repair, err := sys.Exposed(path)
		if err != nil {
			return homeFault(o.Home, err)
		}
		if why != "" {
			return event.NewFault(event.Clash, repair, "hob does not start, because %s. Anybody who can change its home or its config can control it", why)
		}
	}
	return nil
}

// unprepare removes what prepare has made, and the lock, which the caller holds. A folder with content stays. Windows removes no open file, so there
// everything stays.
func (o Options) unprepare() (err error) {
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, name := range []string{o.lock(), o.state(), o.workspace(), o.Home} {
		if e := os.Remove(name); e != nil && !errors.Is(e, os.ErrNotExist) && !errors.Is(e, os.ErrExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// CheckHome returns a fault for the first file or folder of the home that hob may not write to. Missing ones are no fault: a start makes them.
func CheckHome(home string) error {
	o := Options{Home: home}
	list := []string{o.Home, o.workspace(), o.state(), o.lock(), o.database(), o.database() + "-wal", o.database() + "-shm"}
	for _, name := range []string{"run", "log", "backups", "artifacts", "skills"} {
		list = append(list, filepath.Join(o.state(), name))
	}
	return o.writable(list...)
}

// writable returns a fault for the first path that is there and that hob may not write to.
func (o Options) writable(paths ...string) error {
	for _, path := range paths {
		if err := sys.Writable(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return homeFault(o.Home, err)
		}
	}
	return nil
}

// homeFault turns an error about the home folder into one sentence with a hint. A fault stays as it is.
func homeFault(home string, err error) error {
	if _, ok := event.AsFault(err); ok {
		return err
	}
	f := &event.Fault{Kind: event.Unavailable, Err: err}
	cause, hint := sys.NamedDiskProblem(err)
	switch {
	case errors.Is(err, errNotDir):
		f.Text, f.Hint = "the home "+home+" is not a folder", "choose another with --home"
		// Of the parts of a home, the error names the one that is in the way.
		if bad := (*os.PathError)(nil); errors.As(err, &bad) && bad.Path != home && exists(bad.Path) {
			f.Text, f.Hint = bad.Path+" is not a folder", "move it away, and start hob again"
		}
	case hint != "":
		f.Text, f.Hint = "the home "+home+" cannot be written: "+cause, hint+", or choose another with --home"
	default:
		f.Text, f.Hint = "the home "+home+" cannot be used: "+err.Error(), "choose another with --home"
	}
	return f
}

// startFault turns an error of opening the store into one sentence with a hint.
// It returns ErrLocked as it is, because the command line has its own sentence for it.
func startFault(home string, err error) error {
	var f *event.Fault
	switch {
	case err == nil || errors.Is(err, sqlite.ErrLocked):
		return err
	case errors.Is(err, sqlite.ErrNewer):
		hint := "use the newer hob"
		// An error of looking leaves the hint as it is: the newer hob is the better way.
		if path, made := wayBack(home); path != "" {
			hint += fmt.Sprintf("; or go back to the database from before the upgrade (%s), without what happened since: hob backup restore %s", text.InZone(made, time.Local, false), path)
		}
		return &event.Fault{Kind: event.Clash, Text: err.Error(), Hint: hint, Err: err}
	case errors.Is(err, sqlite.ErrCorrupt):
		return &event.Fault{Kind: event.Clash, Text: "the database of " + home + " is damaged", Hint: "nothing was changed; hob backup list, then hob backup restore PATH", Err: err}
	case errors.As(err, &f):
		return err
	case errors.Is(err, sqlite.ErrNetwork):
		return &event.Fault{Kind: event.Clash, Text: err.Error(), Hint: "choose a home on a local disk with --home: SQLite's locks do not hold over a network", Err: err}
	}
	return homeFault(home, err)
}

// exists does not follow links: a link to a missing file exists.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
