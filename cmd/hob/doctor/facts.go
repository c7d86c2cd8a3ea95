package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/sys"
	"hob/packaging/service"
)

// Build says what this program is.
type Build struct {
	Version string
	At      time.Time // of its commit; zero: not known
}

// world is the machine. Tests have another one.
type world struct {
	now     func() time.Time
	free    func(dir string) (int64, error)
	owner   func(path string) (uid int, mine bool, err error) // the user id of a file's owner, and whether that is the caller
	lookup  func(ctx context.Context, host string) error
	env     func(name string) string
	machine func() (service.Machine, error)
	proc    string // the folder of proc(5)
}

// facts is what several checks need. It is gathered once, so that all checks judge the same moment.
type facts struct {
	home      string
	named     bool  // set by --home or $HOB_HOME
	exists    bool  // the home exists
	closedErr error // why the caller may not read the home
	build     Build

	world

	client      *client.Client // nil: no daemon answers
	clientErr   error          // why client is nil
	status      api.Status
	took        time.Duration // time that the status request took
	statusErr   error         // why there is no status
	database    daemon.BackupReport
	databaseErr error // of opening the database; daemon.ErrRunning while a daemon holds it

	config    *config.Snapshot // nil: config.toml cannot be read
	problems  []config.Problem
	configErr error
}

// at formats an instant in the owner's zone.
func (s *facts) at(t time.Time) string {
	zone := s.status.Zone
	if s.config != nil && s.config.Owner.Timezone != "" {
		zone = s.config.Owner.Timezone
	}
	return console.InZone(t, cli.ZoneOrLocal(zone), t.Second() != 0)
}

// gatherFacts asks the daemon for its status, or reads the database and the config itself if no daemon runs. Only a missing home path is an
// error; every other failure is a fact that a check reports.
func gatherFacts(ctx context.Context, a *cli.App, build Build) (*facts, error) {
	s := &facts{build: build, world: realWorld()}
	var err error
	if s.home, s.named, err = a.HomeDir(); err != nil {
		return nil, err
	}
	if err := cli.CheckHome(s.home); err != nil {
		return nil, err
	}
	// If the system-wide daemon answers, its home is checked instead of the caller's.
	if s.client, s.clientErr = a.Client(ctx); s.client != nil && s.client.System {
		s.home = client.SystemHome
	}
	s.checkAccess()
	if s.client != nil {
		// checkDaemon warns if the answer takes longer than slowStatus.
		start := time.Now()
		limited, stop := context.WithTimeout(ctx, checkTime)
		s.status, s.statusErr = client.Show(limited, s.client, api.ShowStatus, "")
		stop()
		s.took = time.Since(start)
	}
	// Nothing below the home may be read, so database and config stay unknown.
	if s.closedErr != nil {
		return s, nil
	}
	if s.client == nil && s.exists {
		s.database, s.databaseErr = daemon.CheckDatabase(ctx, s.home)
	}
	// Load applies the environment of this terminal, which a service does not have.
	s.config, s.problems, s.configErr = config.Load(filepath.Join(s.home, "config.toml"), os.Environ())
	if s.config == nil {
		return s, nil
	}
	// The checks start programs of the service manager by their names. What they look up for gates is in the whole PATH.
	path, env := s.env("PATH"), s.env
	s.env = func(name string) string {
		if name == "PATH" {
			return path
		}
		return env(name)
	}
	return s, os.Setenv("PATH", daemon.SafePath(ctx, s.home, s.config))
}

// realWorld is this machine.
func realWorld() world {
	return world{
		now: time.Now, free: sys.DiskFree, owner: sys.FileOwner, env: os.Getenv, machine: service.Here, proc: "/proc",
		lookup: func(ctx context.Context, host string) error {
			_, err := net.DefaultResolver.LookupHost(ctx, host)
			return err
		},
	}
}

// checkAccess finds out whether the caller may read the home. A home of another user is left alone even by root: opening the database
// would create files that belong to root.
func (s *facts) checkAccess() {
	_, mine, err := sys.FileOwner(s.home)
	s.exists = !errors.Is(err, os.ErrNotExist)
	switch {
	case !s.exists:
	case err != nil:
		s.closedErr = err
	case !mine:
		s.closedErr = errors.New("it belongs to another user")
	default:
		// Reading the folder is the test, because it also needs the permissions of the folders above.
		_, s.closedErr = os.ReadDir(s.home)
	}
}

// state returns a path below the state folder.
func (s *facts) state(parts ...string) string {
	return filepath.Join(append([]string{s.home, "state"}, parts...)...)
}

// below lists what the patterns match in a folder of the home, with their whole paths.
func (s *facts) below(folder string, patterns ...string) (list []string) {
	root := filepath.Join(s.home, folder)
	for _, pattern := range patterns {
		names, _ := fs.Glob(os.DirFS(root), pattern) // the only error is that of a pattern that is none
		for _, name := range names {
			list = append(list, filepath.Join(root, filepath.FromSlash(name)))
		}
	}
	return list
}

// idle reports whether no daemon runs in this home: none answers, and the lock is free.
func (s *facts) idle() bool {
	return s.client == nil && s.closedErr == nil && !errors.Is(s.clientErr, client.ErrClosed) && !errors.Is(s.databaseErr, daemon.ErrRunning)
}

// unreadable says why a check cannot read the home; "": it can.
func (s *facts) unreadable() string {
	switch {
	case !s.exists:
		return "there is no home yet: hob up makes " + s.home
	case s.closedErr != nil:
		return "the home is closed to you"
	}
	return ""
}

// unanswered says that a check cannot ask the daemon; "": it can.
func (s *facts) unanswered() string {
	if s.client == nil || s.statusErr != nil {
		return "hob does not answer"
	}
	return ""
}
