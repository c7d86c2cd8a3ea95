package daemon_test

import (
	"os"
	"path/filepath"
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

// TestByWhatRight follows what addresses are to hob: of the config, paired, with another account, revoked, named by a section, and while the
// channel cannot say.
func TestByWhatRight(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[owner]\naddresses = [\"x:5\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, home)
	is := func(when string, to event.Address, want channels.Right, sure bool) {
		t.Helper()
		if got, err := h.Right(to); got != want || (err == nil) != sure {
			t.Errorf("%s: %s is %q, %v; want %q", when, to, got, err, want)
		}
	}
	b := h.begin("x")
	h.says(h.x, h.by("7", b.Code))
	h.as("A")
	is("paired", "x:7", channels.OwnerRight, true)
	is("paired", "x:5", channels.OwnerRight, true)
	is("paired", "x:8", channels.NoRight, true)
	is("paired", "broken:8", channels.NoRight, false)
	is("paired", "gone:8", channels.NoRight, false)

	h.Host.Replace(map[string]channels.Section{"x": {Kind: "station", Fingerprint: "silent", Channel: station{newPlace(), ""}}})
	is("no account yet", "x:7", channels.OwnerRight, false)
	is("no account yet", "x:5", channels.OwnerRight, true)
	h.as("B")
	is("another account", "x:7", channels.NoRight, true)
	h.as("A")
	is("the account of then", "x:7", channels.OwnerRight, true)

	if err := h.Store.Pairings.Revoke(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	is("revoked", "x:7", channels.NoRight, true)
	x := newPlace()
	x.Known = []string{"7"}
	h.Host.Replace(map[string]channels.Section{"x": {Kind: "place", Fingerprint: "known", Channel: x}})
	is("named", "x:7", channels.NamedRight, true)
}
