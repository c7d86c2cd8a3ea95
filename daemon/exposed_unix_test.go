//go:build unix

package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon"
)

// opened gives a file or folder rights that are too wide.
func opened(path string, mode os.FileMode) error { return os.Chmod(path, mode) } // #nosec G302 -- what the test is about

// T11: who may write the config or the home decides what hob runs, so hob does not start while somebody else may.
func TestStartRefusesAHomeThatOthersMayChange(t *testing.T) {
	const other = 54321
	root := os.Geteuid() == 0
	tests := []struct {
		name string
		open func(home, outside string) error // changes a home that would start
		says string                           // "": it starts
		root bool                             // needs the right to give files away
	}{
		{name: "as hob makes it", open: func(string, string) error { return nil }},
		{name: "config that everybody may write", open: func(home, _ string) error { return opened(filepath.Join(home, "config.toml"), 0o666) }, says: "everybody may write to"},
		{name: "config that a group may write", open: func(home, _ string) error {
			return errors.Join(opened(home, 0o750), opened(filepath.Join(home, "config.toml"), 0o660))
		}, says: "the group"},
		{name: "config that a group could write, which cannot enter the home", open: func(home, _ string) error {
			return opened(filepath.Join(home, "config.toml"), 0o664)
		}},
		{name: "config that all may read", open: func(home, _ string) error { return opened(filepath.Join(home, "config.toml"), 0o644) }},
		{name: "config of another user", open: func(home, _ string) error { return os.Chown(filepath.Join(home, "config.toml"), other, -1) }, says: "belongs to another user", root: true},
		{name: "link to a file that everybody may write", open: func(home, outside string) error {
			to := filepath.Join(outside, "c.toml")
			return errors.Join(os.WriteFile(to, nil, 0o600), opened(to, 0o666), os.Remove(filepath.Join(home, "config.toml")), os.Symlink(to, filepath.Join(home, "config.toml")))
		}, says: "everybody may write to"},
		{name: "link to a file in a folder that everybody may write", open: func(home, outside string) error {
			to := filepath.Join(outside, "c.toml")
			return errors.Join(os.WriteFile(to, nil, 0o600), opened(outside, 0o777), os.Remove(filepath.Join(home, "config.toml")), os.Symlink(to, filepath.Join(home, "config.toml")))
		}, says: "which holds"},
		{name: "link to a missing file in such a folder", open: func(home, outside string) error {
			return errors.Join(opened(outside, 0o777), os.Remove(filepath.Join(home, "config.toml")), os.Symlink(filepath.Join(outside, "none"), filepath.Join(home, "config.toml")))
		}, says: "everybody may write to"},
		{name: "home that everybody may write", open: func(home, _ string) error { return opened(home, 0o777) }, says: "everybody may write to"},
		{name: "home that everybody may write in a public folder", open: func(home, _ string) error { return opened(home, 0o777|os.ModeSticky) }, says: "everybody may write to"},
		{name: "home of another user", open: func(home, _ string) error { return os.Chown(home, other, -1) }, says: "belongs to another user", root: true},
		{name: "state of another user", open: func(home, _ string) error { return os.Chown(filepath.Join(home, "state"), other, -1) }, says: "belongs to another user", root: true},
		{name: "state linked to an open folder", open: func(home, outside string) error {
			return errors.Join(opened(outside, 0o777), os.Remove(filepath.Join(home, "state")), os.Symlink(outside, filepath.Join(home, "state")))
		}, says: "everybody may write to"},
		{name: "workspace that everybody may write", open: func(home, _ string) error { return opened(filepath.Join(home, "workspace"), 0o777) }, says: "everybody may write to"},
		{name: "new home in a folder that everybody may write", open: func(home, _ string) error {
			return errors.Join(os.RemoveAll(home), opened(filepath.Dir(home), 0o777))
		}, says: "which holds"},
		{name: "folder above that everybody may write", open: func(home, _ string) error { return opened(filepath.Dir(home), 0o777) }, says: "which holds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && !root {
				t.Skip("needs root")
			}
			home, outside := filepath.Join(t.TempDir(), "home"), t.TempDir()
			put(t, "", home, "config.toml")
			for _, dir := range []string{home, filepath.Join(home, "state"), filepath.Join(home, "workspace")} {
				if err := errors.Join(os.MkdirAll(dir, 0o700), opened(dir, 0o700)); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.open(home, outside); err != nil {
				t.Fatal(err)
			}
			if tt.says == "" {
				if err := start(t, home).stop(); err != nil {
					t.Error(err)
				}
				return
			}
			if f := refuses(t, home); !strings.Contains(f.Text, tt.says) || !strings.Contains(f.Hint, "ch") {
				t.Fatalf("want a start that is refused because %q, got %v (%s)", tt.says, f, f.Hint)
			}
			if _, err := os.Stat(filepath.Join(home, "state", "hob.db")); err == nil {
				t.Error("the refused start has made a database")
			}
			if _, err := os.Stat(home); strings.HasPrefix(tt.name, "new") && err == nil {
				t.Error("the refused start has left a home")
			}
		})
	}
}

// hob makes a new home in a folder like /tmp, where everybody may write but nobody can take away what is another's.
func TestANewHomeInAPublicFolder(t *testing.T) {
	public := t.TempDir()
	if err := opened(public, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(public, "a", "home")
	if err := daemon.RefuseExposed(daemon.Options{Home: home}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); err != nil {
		t.Errorf("the home that was judged is not the one that is used: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := false
	err := daemon.Run(ctx, daemon.Options{
		Home: home, Listen: "127.0.0.1:0", Version: "test", Self: executable(t), Log: slog.New(slog.DiscardHandler),
		Ready: func(daemon.Ready) { ready = true; cancel() },
	})
	if err != nil || !ready {
		t.Errorf("ready: %v, %v", ready, err)
	}
}
