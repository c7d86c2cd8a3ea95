package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/sys/systest"
)

// Commands in the sandbox find the programs that the owner's shell finds, also those in the owner's home, and cannot change them. A command that
// runs one has read nothing of others.
func TestCommandsFindTheOwnersPrograms(t *testing.T) {
	systest.Program(t, "bwrap")
	owner := t.TempDir()
	program := func(dir, name string) {
		t.Helper()
		path := filepath.Join(owner, dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("#!/bin/sh\necho it is "+name+"\n"), 0o700)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	program(".local/bin", "tidy-inbox")
	program("bin", "grandma")
	program("tools", "by-key")
	program("elsewhere", "hidden")
	t.Setenv("HOME", owner)
	t.Setenv("PATH", filepath.Join(owner, ".local/bin")+":"+filepath.Join(owner, "bin")+":"+owner+":relative:/usr/local/bin:/usr/bin:/bin")
	home := filepath.Join(owner, ".hob")
	r := start(t, home)
	for command, want := range map[string]string{
		"tidy-inbox": "it is tidy-inbox", "grandma": "it is grandma", "echo x > ~/.local/bin/tidy-inbox || echo refused": "refused", "ls ~/elsewhere || echo none": "none",
	} {
		if out := r.run("exec", `{"command":"`+command+`"}`); !strings.Contains(out.Message, want) {
			t.Errorf("%s: %s", command, out.Message)
		}
	}
	if text := r.say("run tidy-inbox"); !strings.Contains(text, "it is tidy-inbox") {
		t.Errorf("in a turn: %s", text)
	}
	if text := r.say("run grandma; id -u"); strings.Contains(text, "May I") || len(r.asked()) > 0 {
		t.Errorf("the second command asks: %s", text)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	// One key changes it at the next start.
	write(t, home, "[tools.exec]\npath = \"~/tools:/usr/bin:/bin\"\n")
	r = start(t, home)
	for command, want := range map[string]string{"by-key": "it is by-key", "tidy-inbox || echo none": "none"} {
		if out := r.run("exec", `{"command":"`+command+`"}`); !strings.Contains(out.Message, want) {
			t.Errorf("with the key, %s: %s", command, out.Message)
		}
	}
}
