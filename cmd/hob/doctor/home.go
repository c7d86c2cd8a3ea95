package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/console"
	"hob/daemon/sys"
)

// checkHome checks that only the owner can read the folders of the home. The home of another user is not a
// failure: it is skipped, with the command that would check it.
func checkHome(_ context.Context, s *facts) (r Result) {
	if !s.exists {
		return skipCheck("%s", s.unreadable())
	}
	if s.closedErr != nil {
		uid, _, err := sys.FileOwner(s.home)
		if err != nil {
			return Result{State: Fail, Found: err.Error(), Repair: "look at the rights of the folders above it"}
		}
		// The home of a system service belongs to its user. That is right, and only that user can check it.
		return Result{State: Skip, Found: fmt.Sprintf("%s: %v", s.home, s.closedErr), Repair: fmt.Sprintf("sudo -u '#%d' hob --home %s doctor", uid, cli.Quote(s.home))}
	}
	// Folders that do not exist yet pass (private).
	for _, dir := range []string{s.home, s.state(), s.state("run"), s.state("backups"), s.state("log"), s.state("artifacts")} {
		r.private(dir, 0o700)
	}
	return r.or("%s, closed to others", s.home)
}

// private reports a file or folder with permissions beyond mode, and offers to change them. A missing one is fine.
func (r *Result) private(path string, mode os.FileMode) {
	info, err := os.Lstat(path)
	// Windows has no such permission bits, and os.FileMode only imitates them.
	if errors.Is(err, os.ErrNotExist) || runtime.GOOS == "windows" {
		return
	}
	if err != nil {
		r.add(Fail, "", "%v", err)
		return
	}
	// The permissions of a symbolic link say nothing.
	if info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&^mode == 0 {
		return
	}
	r.add(Fail, fmt.Sprintf("chmod %o %s", mode, cli.Quote(path)), "%s has the rights %#o", path, info.Mode().Perm())
	r.fixes = append(r.fixes, repair{fmt.Sprintf("gave %s the rights %#o", path, mode), func() error { return os.Chmod(path, mode) }})
}

// checkFiles checks the permissions of files that hold keys or conversations.
func checkFiles(_ context.Context, s *facts) (r Result) {
	// The token and the socket give control over hob; the databases hold every conversation.
	list := []string{s.state("token"), s.state("hob.lock"), s.state("run", "hob.sock")}
	// With the index of the memory, and the write-ahead logs of SQLite, which hold rows too.
	list = append(list, s.below("state", "*.db*", "backups/*.db")...)
	for _, path := range list {
		r.private(path, 0o600)
	}
	return r.or("token, socket, database and backups are closed to others")
}

// The free disk space, in bytes, below which the check warns or fails.
const (
	lowDiskSpace = 1 << 30
	noDiskSpace  = 64 << 20
)

// checkDisk reports how much space is left. SQLite needs some for its write-ahead log even to delete rows.
func checkDisk(_ context.Context, s *facts) (r Result) {
	dir := s.home
	for !s.exists { // where it would be made
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := s.free(dir)
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	switch {
	case free < noDiskSpace:
		r.add(Fail, "free some space on the disk of "+dir, "only %s are free", console.Size(free))
	case free < lowDiskSpace:
		r.add(Warn, "free some space on the disk of "+dir, "only %s are free", console.Size(free))
	}
	return r.or("%s are free", console.Size(free))
}

// clockTolerance is how far in the future the database file may be dated before the clock counts as set back.
const clockTolerance = time.Hour

// checkClock reports a clock that cannot be right: before hob was written, or before the database was last
// written. A wrong clock makes jobs run at wrong times, and makes certificates look invalid.
func checkClock(_ context.Context, s *facts) (r Result) {
	now := s.now()
	if now.Year() < 2026 {
		r.add(Fail, "set the clock, or let a time service do it", "the clock shows %s, before hob was written", s.at(now))
	}
	// The zone of the commit does not matter, and a builder's clock may be some minutes fast.
	if s.build.At.After(now.Add(clockTolerance)) {
		r.add(Fail, "set the clock, or let a time service do it", "the clock shows %s, but this hob was built from a commit of %s", s.at(now), s.at(s.build.At))
	}
	if info, err := os.Stat(s.state("hob.db")); err == nil && info.ModTime().After(now.Add(clockTolerance)) {
		r.add(Fail, "set the clock, or let a time service do it", "the clock shows %s, but the database was written at %s", s.at(now), s.at(info.ModTime()))
	}
	// A running daemon knows the name of its zone, which the C library does not tell.
	zone, from := s.status.Zone, "the machine's"
	switch {
	case s.config == nil:
		from = "the one that hob runs with: config.toml cannot be read"
	case s.config.Owner.Timezone != "":
		zone, from = s.config.Owner.Timezone, "the config's"
	}
	if zone == "" { // no hob says which name the machine's has
		return r.or("%s (the machine's zone)", s.at(now))
	}
	here, err := time.LoadLocation(zone)
	if err != nil {
		here = time.Local
		r.add(Fail, `write [owner] timezone = "Europe/Berlin" (or yours) into config.toml`, "there is no time zone %q", zone)
	}
	return r.or("%s, zone %s (%s)", console.InZone(now, here, true), zone, from)
}

// checkLeftovers looks for files of an earlier run. While a daemon runs, such files may be in use, so the check
// is skipped. Temporary files, sockets and folders of a killed process are harmless, but they take room and
// confuse a person who looks.
func checkLeftovers(_ context.Context, s *facts) (r Result) {
	if !s.idle() {
		return skipCheck("hob runs and looks after its files itself")
	}
	list, err := daemon.Leftovers(s.home)
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	list = append(list, s.below("state", "*.tmp")...)
	// A daemon that stops properly removes its address file and its socket.
	for _, path := range []string{s.state("address"), s.state("run", "hob.sock")} {
		if _, err := os.Lstat(path); err == nil {
			list = append(list, path)
		}
	}
	for _, path := range list {
		r.add(Warn, "", "%s is left of an earlier run", path)
		r.fixes = append(r.fixes, repair{"removed " + path, func() error { return os.RemoveAll(path) }})
	}
	return r.or("nothing is left of an earlier run")
}
