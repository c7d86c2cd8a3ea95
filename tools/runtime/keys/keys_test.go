//go:build unix

package keys_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/fsguard"
	"hob/tools/runtime/keys"
)

// world is a home with files, and its guard.
func world(t *testing.T, files ...string) (string, *fsguard.Guard) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := fsguard.New(fsguard.Config{Workspace: home + "/hob/ws", State: home + "/hob/state", Home: home, Roots: []fsguard.Root{{Path: home + "/root"}}})
	if err != nil {
		t.Fatal(err)
	}
	return home, g
}

func TestBelow(t *testing.T) {
	home, g := world(t,
		".ssh/id_rsa", ".ssh/config", ".gnupg/x", ".aws/credentials", ".config/gh/hosts.yml", ".config/other/x", ".docker/config.json", "projects/a/.env", "projects/a/main.c",
		"projects/a/id_rsa.pub", "a-secret-plan/x", "hob/ws/.env", "root/.env", "plain",
	)
	if err := os.Symlink(home+"/.ssh/id_rsa", home+"/projects/id_rsa"); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		home:               ".aws .config/gh .docker/config.json .gnupg .ssh a-secret-plan projects/a/.env",
		home + "/projects": "projects/a/.env",
		home + "/plain":    "",
	} {
		found, whole := keys.Below(g, dir)
		var got []string
		for _, path := range found {
			got = append(got, strings.TrimPrefix(path, home+"/"))
			if p, err := g.Resolve("", path); err != nil || p.Area != fsguard.Sensitive {
				t.Errorf("%s is not sensitive: %v %v", path, p.Area, err)
			}
		}
		slices.Sort(got)
		if !whole || strings.Join(got, " ") != want {
			t.Errorf("%s: %v %v", dir, got, whole)
		}
	}
}

// Each place that is known by where it stands is one of fsguard's.
func TestPlaces(t *testing.T) {
	home, g := world(t)
	for _, place := range keys.Places() {
		path := filepath.Join(home, place)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if p, err := g.Resolve("", path); err != nil || p.Area != fsguard.Sensitive {
			t.Errorf("%s: %v %v", place, p.Area, err)
		}
	}
	if found, whole := keys.Below(g, home); !whole || len(found) != len(keys.Places()) {
		t.Errorf("%v %v", found, whole)
	}
	if found := keys.Known(g, home+"/.config"); len(found) != 10 {
		t.Errorf("%v", found)
	}
}
