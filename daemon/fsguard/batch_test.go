package fsguard_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/fsguard"
)

// A batch says of each path what the guard says, also when it has seen all folders before. It looks again at files and links.
func TestBatch(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
	for _, dir := range []string{"home/.ssh", "home/hob/state", "home/hob/workspace/attachments/1", "home/hob/workspace/.scratch", "home/hob/workspace/memory", "root/a/b", "root/.env", "strange", "elsewhere"} {
		err = errors.Join(err, os.MkdirAll(at(dir), 0o700))
	}
	for _, file := range []string{"home/.ssh/known_hosts", "home/hob/config.toml", "home/hob/state/hob.db", "home/hob/workspace/attachments/1/a", "home/hob/workspace/memory/foreign.md", "root/a/b/c", "root/a/x.pem", "strange/f", "elsewhere/g"} {
		err = errors.Join(err, os.WriteFile(at(file), nil, 0o600))
	}
	for name, target := range map[string]string{"root/keys": "../home/.ssh", "root/up": "a/b/..", "root/state": "../home/hob/state", "root/file": "a/b/c", "root/lost": "nothing/here", "root/loop": "loop"} {
		err = errors.Join(err, os.Symlink(filepath.FromSlash(target), at(name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{
		Workspace: at("home/hob/workspace"), State: at("home/hob/state"), Home: at("home"), Roots: []fsguard.Root{{Path: at("root")}, {Path: at("strange"), Foreign: true}},
		Marked: func(path string) string { return map[string]string{at("root/a/b/c"): "marked"}[path] },
	})
	if err != nil {
		t.Fatal(err)
	}
	same := func(b *fsguard.Batch, path string) fsguard.Place {
		t.Helper()
		want, wantErr := g.Resolve("", path)
		got, err := b.Resolve("", path)
		if (err == nil) != (wantErr == nil) || got.Path != want.Path || got.Area != want.Area || got.Foreign != want.Foreign || got.Own != want.Own || got.Dangle != want.Dangle || got.ID() != want.ID() {
			t.Errorf("%s: %+v, %v, want %+v, %v", path, got, err, want, wantErr)
		}
		return got
	}
	b := fsguard.NewBatch(g)
	for range 2 {
		for _, path := range []string{
			"root", "root/a", "root/a/b", "root/a/b/c", "root/a/b/none", "root/a/b/c/below", "root/a/x.pem", "root/.env", "root/keys", "root/keys/known_hosts", "root/up/b", "root/up/..", "root/state", "root/state/hob.db", "root/file",
			"root/lost", "root/lost/x", "root/loop", "rootless", "home", "home/.ssh", "home/hob", "home/hob/config.toml", "home/hob/state", "home/hob/workspace", "home/hob/workspace/attachments/1/a", "home/hob/workspace/.scratch/x",
			"home/hob/workspace/memory/foreign.md", "home/hob/workspace/new", "strange/f", "elsewhere/g", "/", "~/.ssh", "root//a/./b/../b",
		} {
			if path[0] != '/' && path[0] != '~' {
				path = at(path)
			}
			same(b, path)
		}
	}
	// A file that becomes a link to a key is seen by the batch that has seen the file.
	if err := errors.Join(os.Remove(at("root/a/b/c")), os.Symlink(at("home/.ssh/known_hosts"), at("root/a/b/c"))); err != nil {
		t.Fatal(err)
	}
	if p := same(b, at("root/a/b/c")); p.Area != fsguard.Sensitive {
		t.Errorf("%+v", p)
	}
	// The next batch sees a folder that came or went.
	if err := errors.Join(os.Remove(at("root/up")), os.Rename(at("root/a"), at("root/z")), os.Mkdir(at("root/up"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"root/a", "root/a/b/c", "root/z/b", "root/up", "root/up/b"} {
		same(fsguard.NewBatch(g), at(path))
	}
}
