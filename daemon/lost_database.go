package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/text"
)

// LostDatabase returns an error if a home that was used before has no database, or an empty one. It opens no database.
// hob doctor calls it. A start makes the same check with lost, when the store finds no database.
func LostDatabase(home string) error {
	o := Options{Home: home}
	info, err := os.Lstat(o.database())
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > 0 {
		return nil //nolint:nilerr // the error of opening the database is more precise
	}
	what := "is missing"
	if err == nil {
		what = "is empty"
	}
	return o.lost(what)
}

// lost returns an error with a hint if a home that was used before lacks its database; nil: this is a first start. An interrupted first start
// leaves at most a log in which hob was never ready.
func (o Options) lost(what string) error {
	// A start leaves a token and a log, so they show that this home was used. Backups show the same.
	var signs []string
	if exists(filepath.Join(o.state(), "token")) {
		signs = append(signs, "its token")
	}
	if o.everReady() {
		signs = append(signs, "its log")
	}
	copies, err := sqlite.ListBackups(sqlite.BackupFolder(o.state()))
	if err != nil {
		return err
	}
	// Restores and migrations of earlier versions left the database as it was before them; both can be restored like a backup.
	for _, kept := range []string{".before-restore", ".before-migration"} {
		if info, err := os.Lstat(o.database() + kept); err == nil {
			copies = append(copies, sqlite.BackupFile{Path: o.database() + kept, Made: info.ModTime().UTC()})
		}
	}
	if len(copies) > 0 {
		signs = append(signs, fmt.Sprintf("%d of its backups", len(copies)))
	}
	// Nothing was here: this is a first start, and a new database is right.
	if len(signs) == 0 {
		return nil
	}
	hint := "there is no backup; hob up --new-database begins with an empty one"
	if len(copies) > 0 {
		newest := sqlite.Newest(copies)
		hint = fmt.Sprintf("hob backup restore %s (of %s); or hob up --new-database, which begins with an empty one", newest.Path, text.InZone(newest.Made, time.Local, false))
	}
	return event.NewFault(event.Clash, hint, "the database %s %s, and this home was used before: there is %s", o.database(), what, strings.Join(signs, ", "))
}

// everReady reports whether a log of the home says that hob was ready.
func (o Options) everReady() bool {
	logs, err := os.ReadDir(filepath.Join(o.state(), "log"))
	if err != nil {
		return false
	}
	for _, l := range logs {
		text, err := os.ReadFile(filepath.Join(o.state(), "log", l.Name()))
		if err != nil {
			continue
		}
		// The line is what ready logs. The words are compared without decoding JSON: a log may have many lines.
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte(`"msg":"ready"`)) && bytes.Contains(line, []byte(`"epoch":`)) {
				return true
			}
		}
	}
	return false
}
