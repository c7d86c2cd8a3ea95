package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// UpgradesKept is how many databases of before an upgrade stay in the backup folder.
const UpgradesKept = 3

// Free space that an upgrade leaves, in bytes: as much as the database has and a little more, and never more than the most.
const (
	leastSpare = 8 << 20
	mostSpare  = 64 << 20
)

// Upgrading is the folder of the copy that is being upgraded, next to the database.
const Upgrading = "upgrading"

// Upgrade describes what the newest schema changes in a database.
type Upgrade struct {
	From  int      `json:"from"`            // the schema of the database
	To    int      `json:"to"`              // the newest schema
	Steps []string `json:"steps,omitempty"` // the names of the migrations in between
	Bytes int64    `json:"bytes"`           // of the database
	Needs int64    `json:"needs"`           // bytes of free space that the upgrade needs
	Free  int64    `json:"free"`            // bytes that are free
}

// upgrade brings an older database to the newest schema: it copies the database, migrates and checks the copy, keeps the old one in the
// backup folder, and puts the copy in its place with one rename. A crash at any point leaves the old or the new database. The caller holds
// the lock.
func upgrade(ctx context.Context, o Options) (err error) {
	stage := filepath.Join(filepath.Dir(o.Path), Upgrading)
	// A crash may have left the copy of an earlier try, which takes the room of this one.
	if err := os.RemoveAll(stage); err != nil {
		return fmt.Errorf("sweep an interrupted upgrade: %w", err)
	}
	u, err := PlanUpgrade(ctx, o.Path, o.Migrations)
	if err != nil {
		return err
	}
	if u.Free < u.Needs {
		return event.NewFault(event.Unavailable, "free some space and start again, or use the hob of before", "the database has to be upgraded, and the disk has no room for it: %d MB are free, and it takes %d MB; nothing was changed", u.Free>>20, u.Needs>>20)
	}
	if o.Upgrade != nil {
		defer o.Upgrade(u)()
	}
	backups := BackupFolder(filepath.Dir(o.Path))
	err = replacement{
		name: "upgrade", stage: stage,
		make: func(ready string) error {
			if err := Rehearse(ctx, o, ready); err != nil {
				return fmt.Errorf("upgrade the database: %w", err)
			}
			return nil
		},
		keep: func() error {
			kept := fmt.Sprintf("hob-upgrade-%d-%s.db", u.From, o.Now().UTC().Format("20060102-150405"))
			return putAside(ctx, o.Path, filepath.Join(backups, kept))
		},
	}.of(o.Path)
	if err != nil {
		return err
	}
	return trimUpgrades(backups)
}

// Rehearse copies an idle database to a path in a folder of its own, migrates the copy, and checks it. The database stays as it is, and the
// caller holds its lock or owns it.
func Rehearse(ctx context.Context, o Options, to string) error {
	if err := copyFrom(ctx, o.Path, "rw", to); err != nil {
		return err
	}
	fail.Point("upgrade.copied")
	copied := Options{Path: to, Migrations: o.Migrations, Now: o.Now, Log: o.Log}
	if err := Prepare(ctx, copied, func(*Conn) error { return nil }); err != nil {
		return err
	}
	// The structure and all references again: a migration may have broken them.
	return Examine(ctx, to, o.Migrations, func(*Conn) error { return nil })
}

// PlanUpgrade says what the newest schema would change in an idle database. A newer one is ErrNewer.
func PlanUpgrade(ctx context.Context, path string, migrations fs.FS) (u Upgrade, err error) {
	files, err := fs.ReadDir(migrations, ".")
	if err != nil {
		return u, fmt.Errorf("list migrations: %w", err)
	}
	u.To, u.Bytes = len(files), sizeOf(path)+sizeOf(path+"-wal")
	db, err := open(path, "mode=rw&_pragma=busy_timeout(5000)")
	if err != nil {
		return u, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&u.From); err != nil {
		return u, Plain(fmt.Errorf("read schema version: %w", err))
	}
	if u.From > u.To {
		return u, fmt.Errorf("%w: it has schema %d, this one knows %d", ErrNewer, u.From, u.To)
	}
	for _, f := range files[u.From:] {
		u.Steps = append(u.Steps, f.Name())
	}
	// The copy, and the log of its migration, which may rewrite all of it.
	u.Needs = 2*u.Bytes + min(leastSpare+u.Bytes, mostSpare)
	u.Free, err = sys.DiskFree(filepath.Dir(path))
	return u, err
}

// trimUpgrades removes the oldest databases of before an upgrade.
func trimUpgrades(folder string) error {
	list, err := ListBackups(folder)
	if err != nil {
		return err
	}
	n := 0
	for _, f := range list { // the newest first
		if f.Upgrade == 0 {
			continue
		}
		if n++; n > UpgradesKept {
			if err := RemoveCopy(f.Path); err != nil {
				return fmt.Errorf("remove an old copy of before an upgrade: %w", err)
			}
		}
	}
	return nil
}

// WayBack returns the newest database of before an upgrade that a hob with these migrations can use, "" if there is none.
func WayBack(folder string, migrations fs.FS) (path string, made time.Time, err error) {
	files, err := fs.ReadDir(migrations, ".")
	if err != nil {
		return "", made, fmt.Errorf("list migrations: %w", err)
	}
	list, err := ListBackups(folder)
	for _, f := range list {
		if f.Upgrade > 0 && f.Upgrade <= len(files) {
			return f.Path, f.Made, err
		}
	}
	return "", made, err
}
