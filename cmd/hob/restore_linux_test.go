package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// On a terminal a restore says what will be lost, and asks; anything but a yes changes nothing.
func TestRestoreAsks(t *testing.T) {
	_, c := started(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if _, err := client.Do(t.Context(), c, api.CreateBackup, "", api.BackupPath{Path: copied}); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, typed := range []string{"n\n", "\n", "yes\n"} {
		screen, terminal := pair(t)
		cmd := exec.CommandContext(t.Context(), "hob", "--home", home, "backup", "restore", copied)
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, &out, terminal
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := ""
		for b := make([]byte, 1024); !strings.Contains(said, "[y/N] "); {
			n, err := screen.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			said += string(b[:n])
		}
		if !strings.Contains(said, "this puts the copy "+copied) || !strings.Contains(said, "there is no database yet, so nothing is lost") {
			t.Errorf("%q: it asks %q", typed, said)
		}
		if _, err := screen.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		_, missing := os.Stat(filepath.Join(home, "state", "hob.db"))
		if askYesNo := typed == "yes\n"; askYesNo != (err == nil) || askYesNo == errors.Is(missing, os.ErrNotExist) || askYesNo != strings.Contains(out.String(), "restored "+copied) {
			t.Errorf("%q: %v, %v, it says %q", typed, err, missing, out.String())
		}
	}
}
