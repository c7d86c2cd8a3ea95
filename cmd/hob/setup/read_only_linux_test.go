package setup_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon/sys/systest"
)

// A config that cannot be written says why, and what to do.
func TestSaveInAReadOnlyHome(t *testing.T) {
	home := t.TempDir()
	systest.ReadOnly(t, home)
	err := setup.Save(filepath.Join(home, "config.toml"), nil, []byte("x = 1\n"))
	var p *cli.Problem
	if !errors.As(err, &p) || !strings.Contains(p.Text, "config.toml cannot be written: ") || p.Hint == "" {
		t.Errorf("%v, %+v", err, p)
	}
}
