package daemon_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon"
	"hob/daemon/sys/systest"
)

// The log says which config hob runs on.
func TestLoggedConfig(t *testing.T) {
	home := t.TempDir()
	logged := func() string {
		var b bytes.Buffer
		daemon.OpenConfig(home, slog.New(slog.NewTextHandler(&b, nil)))
		return b.String()
	}
	put(t, "", home, "state", "x")
	write(t, home, "[owner\n")
	if got := logged(); !strings.Contains(got, "hob runs on its defaults") || strings.Contains(got, "last good one") {
		t.Errorf("a first start: %s", got)
	}
	write(t, home, "[owner]\nname = \"Sam\"\n")
	if got := logged(); got != "" {
		t.Errorf("a good config: %s", got)
	}
	undo := systest.ReadOnly(t, filepath.Join(home, "state"))
	if got := logged(); got != "" {
		t.Errorf("read-only: %s", got)
	}
	undo()
	write(t, home, "[owner\n")
	if got := logged(); !strings.Contains(got, "hob runs on the last good one") {
		t.Errorf("with a copy: %s", got)
	}
	write(t, home, "[owner]\nname = \"Sam\"\n")
	put(t, "half", home, "state", "config.good.toml.new")
	undo = systest.ReadOnly(t, filepath.Join(home, "state"))
	if got := logged(); !strings.Contains(got, "the config was read") {
		t.Errorf("a leftover: %s", got)
	}
	undo()
}
