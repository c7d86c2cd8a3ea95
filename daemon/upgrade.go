package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// The service manager is told every upgradeTell that an upgrade goes on. It may wait upgradeWait from then on.
const (
	upgradeTell = 20 * time.Second
	upgradeWait = 2 * time.Minute
	upgradeMost = 6 * time.Hour // afterwards the manager's own limit applies again
)

// upgrading logs an upgrade of the database, and keeps the service manager waiting until end is called: a large database takes longer than
// a start may.
func upgrading(u sqlite.Upgrade, clock sys.Clock, log *slog.Logger) (end func()) {
	start := clock.Mono()
	log.Info("upgrading the database", "from", u.From, "to", u.To, "bytes", u.Bytes)
	manager, err := sys.FindServiceManager(os.Getenv, os.Getpid())
	if err != nil {
		log.Warn("the service manager is not understood", "err", err)
	}
	ended := make(chan struct{})
	group := sys.NewGroup(log, nil)
	group.Once("upgrade notices", func() error {
		tick := time.NewTicker(upgradeTell)
		defer tick.Stop()
		for clock.Mono()-start < upgradeMost {
			if err := manager.Starting(upgradeWait, fmt.Sprintf("upgrading the database from schema %d to %d", u.From, u.To)); err != nil {
				log.Warn("the service manager was not told of the upgrade", "err", err)
			}
			select {
			case <-ended:
				return nil
			case <-tick.C:
			}
		}
		return nil
	})
	return func() {
		close(ended)
		group.Wait()
		log.Info("the upgrade of the database ended", "ms", (clock.Mono() - start).Milliseconds())
	}
}

// wayBack returns the newest copy from before an upgrade that this hob can use, "" if there is none or the folder cannot be read.
func wayBack(home string) (path string, made time.Time) {
	path, made, err := sqlite.WayBack(sqlite.BackupFolder(Options{Home: home}.state()), store.Migrations())
	if err != nil {
		return "", made
	}
	return path, made
}

// UpgradeRehearsal says what the first start of this hob would do to the database of a home.
type UpgradeRehearsal struct {
	sqlite.Upgrade
	MS int64 `json:"ms"` // how long the migration and its check took on a copy
}

// RehearseUpgrade migrates and checks a copy of the database, and removes it. database asks a running hob for the copy; nil: none runs.
func RehearseUpgrade(ctx context.Context, home string, database func(ctx context.Context, path string) error) (r UpgradeRehearsal, err error) {
	if err := LostDatabase(home); err != nil {
		return r, err
	}
	none := event.NewFault(event.Missing, "hob up makes it", "the home %s has no database yet: there is nothing to upgrade", home)
	err = withCopy(ctx, home, database, none, func(scratch string) (err error) {
		copied := filepath.Join(scratch, "hob.db")
		if r.Upgrade, err = sqlite.PlanUpgrade(ctx, copied, store.Migrations()); err != nil {
			return startFault(home, err)
		}
		if r.From == r.To {
			return startFault(home, sqlite.CheckCopy(ctx, copied))
		}
		if err := os.Mkdir(filepath.Join(scratch, "new"), 0o700); err != nil {
			return homeFault(home, err)
		}
		clock := sys.RealClock()
		start := clock.Mono()
		o := sqlite.Options{Path: copied, Migrations: store.Migrations(), Now: clock.Wall}
		err = sqlite.Rehearse(ctx, o, filepath.Join(scratch, "new", "hob.db"))
		r.MS = (clock.Mono() - start).Milliseconds()
		return err
	})
	return r, fullDisk(err)
}
