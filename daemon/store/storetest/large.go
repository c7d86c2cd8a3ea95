package storetest

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/scheduler"
)

//go:embed large.sql
var large string

// FillLarge puts a large database into a state folder that has none: as many turns as asked for, as many messages in and out, twice as many
// items, a job for each ten turns, and the rows that go with them. Nothing in it is due or open. It takes about a minute for a million turns.
func FillLarge(ctx context.Context, dir string, turns int, now time.Time) (err error) {
	path := filepath.Join(dir, "hob.db")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("fill %s: %w", path, os.ErrExist)
	}
	migrations := store.Migrations()
	d, err := sqlite.Open(ctx, sqlite.Options{Path: path, Migrations: migrations, Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)&_pragma=cache_size(-200000)&_pragma=temp_store(MEMORY)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1) // the temporary tables are those of one connection
	defer func() { err = errors.Join(err, db.Close()) }()
	const years = 3 * 365 * 24 * time.Hour
	gap := years.Microseconds() / int64(turns)
	job, err := sqlite.Doc(scheduler.Job{
		Trigger: scheduler.Trigger{Name: "NAME", Prompt: "say what is on the list for today", Deliver: event.ToOwner, Trust: event.Owner, Typed: true, Origin: "run-time", Created: now.Add(-years)},
		Spec:    "cron 0 HOUR * * *", Zone: "Etc/UTC", Session: "isolated", Missed: scheduler.MissedOnce, Overlap: scheduler.OverlapFold,
	})
	if err != nil {
		return err
	}
	args := []any{sql.Named("turns", turns), sql.Named("start", now.UnixMicro()-gap*int64(turns)), sql.Named("gap", gap), sql.Named("job", job)}
	for _, statement := range append(strings.Split(large, ";\n"), "PRAGMA wal_checkpoint(TRUNCATE)") {
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			return fmt.Errorf("%.300s: %w", statement, err)
		}
	}
	return nil
}
