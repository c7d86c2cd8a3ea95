//go:build hobtest && unix

package edit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hob/tools"
	"hob/tools/edit"
)

// killed is a fixture with a patch that was interrupted at a point.
func killed(t *testing.T, point string) fixture {
	t.Helper()
	d := newFixture(t)
	for name, content := range killBefore() {
		d.put(t, name, content)
	}
	dieAt(t, d, point)
	return d
}

// probed says what Probe says of the patch that was cut off.
func (d fixture) probed(t *testing.T) (bool, error) {
	t.Helper()
	return d.patch.(tools.Prober).Probe(t.Context(), killCall(t, d), tools.Intent{})
}

// unknown says that nobody knows whether the patch was done: neither is it taken for done, nor can it be made again blindly.
func (d fixture) unknown(t *testing.T) {
	t.Helper()
	if done, err := d.probed(t); done || !errors.Is(err, edit.ErrHalf) {
		t.Errorf("probe says %v, %v", done, err)
	}
}

// visible is everything in the workspace but temporary files and empty folders.
func (d fixture) visible(t *testing.T) m {
	t.Helper()
	found := d.all(t)
	maps.DeleteFunc(found, func(name, _ string) bool {
		return strings.HasPrefix(filepath.Base(name), ".hob-") || strings.HasSuffix(name, "/")
	})
	return found
}

func (d fixture) journalFile(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.journal, "*.journal"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// A journal that cannot be read is left alone, and said at every start; no file is touched, and the call's outcome is unknown.
func TestRecoverOfACorruptJournal(t *testing.T) {
	for name, spoil := range map[string]func(raw []byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"cut":             func(raw []byte) []byte { return raw[:len(raw)/2] },
		"zeros":           func(raw []byte) []byte { return make([]byte, len(raw)) },
		"null":            func([]byte) []byte { return []byte("null") },
		"another version": func(raw []byte) []byte { return []byte(strings.Replace(string(raw), `"version":1`, `"version":9`, 1)) },
		"a path upwards":  func(raw []byte) []byte { return []byte(strings.ReplaceAll(string(raw), `"name":"f"`, `"name":"../f"`)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := killed(t, "edit.renamed:2")
			before := d.visible(t)
			path := d.journalFile(t)
			raw, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, spoil(raw), 0o600))
			for range 2 {
				if err := edit.Recover(t.Context(), d.journal); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
					t.Errorf("%v", err)
				}
				if got := d.visible(t); !maps.Equal(got, before) {
					t.Errorf("%q\nwant %q", got, before)
				}
				d.unknown(t)
			}
		})
	}
}

// A journal that came with a copy of hob's home (a backup, another machine) finds no folder of its own: it changes nothing there.
func TestRecoverOfAnotherHome(t *testing.T) {
	for name, move := range map[string]func(t *testing.T, d fixture){
		"the workspace is elsewhere": func(t *testing.T, d fixture) { must(t, os.Rename(d.dir, filepath.Join(d.top, "elsewhere"))) },
		"a copy is in its place": func(t *testing.T, d fixture) {
			old := filepath.Join(d.top, "elsewhere")
			must(t, os.Rename(d.dir, old))
			must(t, os.CopyFS(d.dir, os.DirFS(old)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := killed(t, "edit.journal")
			move(t, d)
			before := tree(t, d.top)
			if err := edit.Recover(t.Context(), d.journal); err == nil || !strings.Contains(err.Error(), filepath.Join(d.dir, "f")+":") {
				t.Errorf("%v", err)
			}
			if got := tree(t, d.top); !maps.Equal(got, before) {
				t.Errorf("%q\nwant %q", got, before)
			}
			d.unknown(t)
			must(t, edit.Recover(t.Context(), d.journal))
			d.unknown(t)
		})
	}
}

// tree is every file below a folder but hob's state.
func tree(t *testing.T, top string) m {
	t.Helper()
	found := m{}
	must(t, filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "state" {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path) // #nosec G122 -- nobody races with the test
		found[strings.TrimPrefix(path, top)] = string(raw)
		return err
	}))
	return found
}

// What became a link since is not followed: neither a file, nor a folder that would be taken back.
func TestRecoverFollowsNoLinks(t *testing.T) {
	for _, c := range []struct{ point, name, target string }{
		{"edit.journal", "f", "file"},
		{"edit.journal", "g", "file"},
		{"edit.journal", "i", "file"},
		{"edit.journal", "i", "nothing"},
		{"edit.staged:1", "x", "folder"},
		{"edit.staged:1", "x/y", "folder/y"},
	} {
		t.Run(c.point+" "+c.name+" to "+c.target, func(t *testing.T) {
			d := killed(t, c.point)
			out := filepath.Join(d.top, "out")
			must(t, os.MkdirAll(filepath.Join(out, "folder", "y"), 0o700))
			must(t, os.WriteFile(filepath.Join(out, "file"), []byte(abc), 0o600))
			link := filepath.Join(d.dir, c.name)
			must(t, os.RemoveAll(link))
			must(t, os.Symlink(filepath.Join(out, c.target), link))
			if err := edit.Recover(t.Context(), d.journal); (err == nil) != (c.point != "edit.journal") {
				t.Errorf("%v", err)
			}
			if target, err := os.Readlink(link); err != nil || target != filepath.Join(out, c.target) {
				t.Errorf("the link is gone: %v", err)
			}
			if got := tree(t, out); !maps.Equal(got, m{"/file": abc}) {
				t.Errorf("%q", got)
			}
			if _, err := os.Stat(filepath.Join(out, "folder", "y")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Two daemons that recover at once (the lock of the database lets only one start) do no harm to each other's work.
func TestTwoRecoverAtOnce(t *testing.T) {
	for range 10 {
		d := killed(t, "edit.renamed:1")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := edit.Recover(t.Context(), d.journal); err != nil {
					t.Logf("one of them: %v", err)
				}
			})
		}
		wg.Wait()
		must(t, edit.Recover(t.Context(), d.journal))
		if got := d.visible(t); !maps.Equal(got, killAfter()) && !maps.Equal(got, halfway()) {
			t.Fatalf("%q", got)
		}
	}
}

// halfway is what a recovery leaves that was disturbed: all new content is there, and nothing was removed.
func halfway() m {
	all := killBefore()
	maps.Copy(all, killAfter())
	return all
}

// A recovery that is killed itself, at any point, is ended by the next one.
func TestAKilledRecovery(t *testing.T) {
	for _, point := range []string{"edit.forward:1", "edit.forward:3", "edit.forward:5", "edit.recovered", "edit.cleared:3"} {
		t.Run(point, func(t *testing.T) {
			d := killed(t, "edit.journal")
			die(t, d, point, "TestKilledRecoveryChild")
			must(t, edit.Recover(t.Context(), d.journal))
			if got := d.all(t); !maps.Equal(got, killAfter()) {
				t.Errorf("%q", got)
			}
			if done, err := d.probed(t); err != nil || !done {
				t.Errorf("probe says %v, %v", done, err)
			}
		})
	}
}

// TestKilledRecoveryChild is the process that dies.
func TestKilledRecoveryChild(t *testing.T) {
	top := os.Getenv(topOfChild)
	if top == "" {
		t.Skip("the tests of killed recoveries run it")
	}
	t.Errorf("it lives: %v", edit.Recover(t.Context(), fixtureIn(t, top).journal))
}

// When somebody changed a file before the recovery, the outcome is unknown, also when the recovery was killed after it saw that
// and the next one finds nothing to do.
func TestAHalfRecoveryIsNotTakenForAWholeOne(t *testing.T) {
	for _, point := range []string{"", "edit.recovered", "edit.cleared:2"} { // the second step is f: nothing is left of it then
		t.Run(point, func(t *testing.T) {
			d := killed(t, "edit.journal")
			d.put(t, "f", "his\n")
			if point != "" {
				die(t, d, point, "TestKilledRecoveryChild")
			}
			err := edit.Recover(t.Context(), d.journal)
			t.Logf("%v", err)
			must(t, edit.Recover(t.Context(), d.journal))
			d.unknown(t)
			want := halfway()
			want["f"] = "his\n"
			if got := d.all(t); !maps.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
}

// A recovery that is cancelled says so and leaves the rest to the next one.
func TestACancelledRecovery(t *testing.T) {
	d := killed(t, "edit.journal")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := edit.Recover(ctx, d.journal); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := d.visible(t); !maps.Equal(got, killBefore()) {
		t.Errorf("%q", got)
	}
	must(t, edit.Recover(t.Context(), d.journal))
	if got := d.all(t); !maps.Equal(got, killAfter()) {
		t.Errorf("%q", got)
	}
}

// Several jobs are recovered, each by its own journal, although one of them is corrupt.
func TestOneCorruptJournalDoesNotStopTheOthers(t *testing.T) {
	d := killed(t, "edit.journal")
	for n := range 3 {
		must(t, os.WriteFile(filepath.Join(d.journal, fmt.Sprintf("%d.journal", n)), []byte("{"), 0o600))
	}
	if err := edit.Recover(t.Context(), d.journal); err == nil || strings.Count(err.Error(), ".journal:") != 3 {
		t.Errorf("%v", err)
	}
	if got := d.all(t); !maps.Equal(got, killAfter()) {
		t.Errorf("%q", got)
	}
}
