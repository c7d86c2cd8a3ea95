package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"hob/daemon"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// checkDatabase reads the whole database if no daemon runs. Otherwise it relies on the status of the daemon.
// gatherFacts has opened the file for that; a daemon's database is never opened from here.
func checkDatabase(_ context.Context, s *facts) Result {
	if s.unanswered() == "" {
		return Result{State: OK, Found: console.Size(s.status.Database.Bytes) + "; hob reads and writes it (each backup reads all of it; stop hob to let doctor do that)"}
	}
	if why := s.unreadable(); why != "" {
		return skipCheck("%s", why)
	}
	// A home that once had a database, and has none now, is worse than a new home: the daemon refuses to start
	// in it.
	lost, isLost := event.AsFault(daemon.LostDatabase(s.home))
	switch {
	case s.idle() && isLost:
		return Result{State: Fail, Found: lost.Text, Repair: lost.Hint}
	case !s.idle():
		return skipCheck("a hob has it open")
	case errors.Is(s.databaseErr, os.ErrNotExist):
		return skipCheck("there is none yet")
	case s.databaseErr != nil && !daemon.IsDamage(s.databaseErr):
		// The check folders has the cause then, and a restore would fail as well.
		if err := daemon.CheckHome(s.home); err != nil {
			return skipCheck("it cannot be checked: %v", err)
		}
		text, hint, _ := client.Explain(s.databaseErr)
		return Result{State: Fail, Found: "it cannot be checked: " + text, Repair: hint}
	case s.databaseErr != nil:
		repair := "hob backup list, then hob backup restore PATH"
		if list, err := daemon.Backups(s.home); err == nil && len(list) > 0 {
			repair = "hob backup restore " + daemon.NewestBackup(list).Path
		}
		return Result{State: Fail, Found: s.databaseErr.Error(), Repair: repair}
	}
	return Result{State: OK, Found: console.Size(s.database.Bytes) + ", whole and sound"}
}

// maxBackupAge is the age above which the newest backup is too old: two nights, plus some hours for a machine that is off at night.
const maxBackupAge = 60 * time.Hour

// checkBackup verifies the newest backup and its age. A backup that cannot be read is no backup, so the newest
// one is read as a whole.
func checkBackup(ctx context.Context, s *facts) (r Result) {
	list, err := daemon.Backups(s.home)
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	// A backup of everything may need a passphrase, and is made by hand: the nightly copies are what is checked. What a restore has replaced is no backup.
	all := len(list)
	list = slices.DeleteFunc(list, func(f daemon.BackupFile) bool { return f.Whole || f.Replaced })
	others := ""
	if n := all - len(list); n > 0 { // hob backup list shows them too
		others = fmt.Sprintf("; others, which are not looked at: %d", n)
	}
	if len(list) == 0 {
		// The first copy is made in the first night. The lock file is made once, with the home.
		if made, err := os.Stat(s.state("hob.lock")); err != nil || s.now().Sub(made.ModTime()) < 24*time.Hour {
			return Result{State: OK, Found: "none of the database yet, which is right for a new home; hob makes one each night" + others}
		}
		return Result{State: Warn, Found: "there is no backup of the database yet; hob makes one each night" + others, Repair: "hob backup create --database"}
	}
	// The list has the newest backup first.
	newest := list[0]
	if _, err := daemon.VerifyBackup(ctx, newest.Path); err != nil {
		r.add(Fail, "hob backup create --database", "the newest backup is not good: %v", err)
	}
	if age := s.now().Sub(newest.Made); age > maxBackupAge {
		state := Fail
		if s.client == nil { // it makes none while it does not run
			state = Warn
		}
		r.add(state, "hob backup create --database", "the newest backup is %d days old", age/(24*time.Hour))
	}
	return r.or("%s of the database, the newest of %s, is whole and sound%s", console.Plural(int64(len(list)), "backup"), s.at(newest.Made), others)
}
