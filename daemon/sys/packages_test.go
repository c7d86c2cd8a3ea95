package sys_test

import (
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/sys"
)

// A hint names the package manager that this system has.
func TestPackageCommand(t *testing.T) {
	for manager, want := range map[string][2]string{
		"apt": {"sudo apt install x", "sudo apt remove x"}, "dnf": {"sudo dnf install x", "sudo dnf remove x"}, "apk": {"sudo apk add x", "sudo apk del x"},
		"none": {"sudo apt install x", "sudo apt remove x"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manager), []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		if got := [2]string{sys.PackageCommand("x", false), sys.PackageCommand("x", true)}; got != want {
			t.Errorf("%s: %q, want %q", manager, got, want)
		}
	}
}
