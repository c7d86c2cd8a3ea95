package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// After a restore hob forgets what happened since, tells the owner once what it holds, and goes on.
func TestRestoredHobTellsItsOwner(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	r.say("say before")
	made, err := client.Do(t.Context(), r.client, api.CreateBackup, "", api.BackupPath{})
	if err != nil || made.Turns != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	r.say("say after")
	if _, _, err := daemon.RestoreBackup(t.Context(), home, made.Path); err == nil {
		t.Fatal("the database of a running hob was replaced")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := daemon.RestoreBackup(t.Context(), home, made.Path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r = start(t, home)
		told := func() (n int) {
			rows, err := client.List(t.Context(), r.client, api.Outbox, event.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if strings.HasPrefix(row.Body, "My database was restored from a backup of ") {
					n++
				}
				if row.Body == "after" {
					t.Error("it still knows what it said after the backup")
				}
			}
			return n
		}
		r.until("the owner is told", func() bool { return told() > 0 })
		if said := r.say("say on"); said != "on" || told() != 1 {
			t.Errorf("it says %q, and told %d times", said, told())
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// V9: a file in the place of the folder for copies is named, and not "something inside hob".
func TestAFileInThePlaceOfTheBackups(t *testing.T) {
	r := start(t, t.TempDir())
	folder := filepath.Join(r.home, "state", "backups")
	if err := errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := client.Do(t.Context(), r.client, api.CreateBackup, "", api.BackupPath{})
	if err == nil || !strings.Contains(err.Error(), "the folder for copies cannot be made") {
		t.Errorf("%v", err)
	}
}
