//go:build unix

package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/fsguard"
	"hob/tools/runtime"
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

func ample() runtime.KeyLimits { return runtime.KeyLimits{Entries: 10_000, Time: time.Minute} }

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
		found, whole := runtime.KeysBelow(g, dir, ample())
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

// A search ends at its limits and says so; the well-known places are found all the same.
func TestBelowEndsAtItsLimits(t *testing.T) {
	var files []string
	for n := range 600 { // more than a batch
		files = append(files, fmt.Sprintf("many/%d", n))
	}
	home, g := world(t, append(files, ".ssh/id_rsa", "flat/x", "deep/er/.env")...)
	for _, c := range []struct {
		dir   string
		most  runtime.KeyLimits
		want  string
		whole bool
	}{
		{"", ample(), ".ssh deep/er/.env", true},
		{"", runtime.KeyLimits{Entries: 5, Time: time.Minute}, ".ssh", false},
		{"", runtime.KeyLimits{Entries: 10_000}, ".ssh", false},
		{"many", runtime.KeyLimits{Entries: 600, Time: time.Minute}, "", true},
		{"many", runtime.KeyLimits{Entries: 499, Time: time.Minute}, "", false},
		{"deep", runtime.KeyLimits{Entries: 2, Time: time.Minute}, "deep/er/.env", true},
		{"deep", runtime.KeyLimits{Entries: 1, Time: time.Minute}, "deep/er/.env", false},
	} {
		found, whole := runtime.KeysBelow(g, filepath.Join(home, c.dir), c.most)
		for i := range found {
			found[i] = strings.TrimPrefix(found[i], home+"/")
		}
		if strings.Join(found, " ") != c.want || whole != c.whole {
			t.Errorf("%q within %+v: %v %v", c.dir, c.most, found, whole)
		}
	}
}

// The path guard also knows each of the well-known places.
func TestPlaces(t *testing.T) {
	home, g := world(t)
	for _, place := range runtime.KeyPlaces() {
		path := filepath.Join(home, place)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if p, err := g.Resolve("", path); err != nil || p.Area != fsguard.Sensitive {
			t.Errorf("%s: %v %v", place, p.Area, err)
		}
	}
	if found, whole := runtime.KeysBelow(g, home, ample()); !whole || len(found) != len(runtime.KeyPlaces()) {
		t.Errorf("%v %v", found, whole)
	}
	if found := runtime.KnownKeys(g, home+"/.config"); len(found) != 10 {
		t.Errorf("%v", found)
	}
}
