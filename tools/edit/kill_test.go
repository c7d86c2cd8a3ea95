//go:build hobtest && unix

package edit_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/tools"
	"hob/tools/edit"
)

// topOfChild names the folder of the process that dies.
const topOfChild = "HOB_TEST_EDIT_TOP"

func killBefore() m { return m{"f": abc, "g": "g\n", "h": "h\n", "d/k": "k\n"} }
func killAfter() m  { return m{"f": "A\nb\nc\n", "x/y/n": "n\n", "i": "i\n", "d/k": "k\n"} }

func killCall(t *testing.T, d fixture) tools.Call {
	return d.call(t, "t9_2", args{"patch": around(
		"*** Add File: x/y/n\n+n\n*** Update File: f\n@@\n-a\n+A\n*** Delete File: g\n*** Update File: h\n*** Move to: i\n@@\n-h\n+i")})
}

// A kill at any point leaves, after Recover, all of the patch or nothing of it, and Probe says which.
func TestKilledEdits(t *testing.T) {
	points := map[string]bool{"edit.journal": true} // whether all is there afterwards
	for n := 1; n <= 5; n++ {                       // five files: n, f, g, h, i
		points[fmt.Sprintf("edit.staged:%d", n)] = false
		points[fmt.Sprintf("edit.renamed:%d", n)] = true
	}
	for point, all := range points {
		t.Run(point, func(t *testing.T) { killedAt(t, point, all) })
	}
}

func killedAt(t *testing.T, point string, all bool) {
	d := newFixture(t)
	for name, content := range killBefore() {
		d.put(t, name, content)
	}
	dieAt(t, d, point)
	if got := d.all(t); maps.Equal(got, killBefore()) || maps.Equal(got, killAfter()) {
		t.Fatalf("nothing is half done: the point is not where the test thinks: %q", got)
	}
	for range 2 { // a second time it finds nothing to do
		must(t, edit.Recover(t.Context(), d.journal))
		want := killBefore()
		if all {
			want = killAfter()
		}
		if got := d.all(t); !maps.Equal(got, want) {
			t.Fatalf("%q\nwant %q", got, want)
		}
	}
	call := killCall(t, d)
	done, err := d.patch.(tools.Prober).Probe(t.Context(), call, tools.Intent{})
	if err != nil || done != all {
		t.Errorf("probe says %v, %v", done, err)
	}
	entries, err := os.ReadDir(d.journal)
	must(t, err)
	if len(entries) > 1 || len(entries) == 1 && filepath.Ext(entries[0].Name()) != ".done" {
		t.Errorf("left in the journal: %v", entries)
	}
	if !all { // the call can be made again
		intent, err := d.patch.Intent(t.Context(), call)
		must(t, err)
		res, err := d.patch.Run(t.Context(), call, intent)
		if got := d.all(t); err != nil || res.IsError || !maps.Equal(got, killAfter()) {
			t.Errorf("%v %s %q", err, res.Content, got)
		}
	}
}

// dieAt runs the call in a process that dies at a point.
func dieAt(t *testing.T, d fixture, point string) { die(t, d, point, "TestKilledEditChild") }

func die(t *testing.T, d fixture, point, child string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+child+"$") // #nosec G204 G702 -- this very test
	cmd.Env = append(os.Environ(), topOfChild+"="+d.top, "HOB_FAIL="+point)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it did not die there: %v\n%s", err, out)
	}
}

// TestKilledEditChild is the process that dies.
func TestKilledEditChild(t *testing.T) {
	top := os.Getenv(topOfChild)
	if top == "" {
		t.Skip("TestKilledEdits runs it")
	}
	d := fixtureIn(t, top)
	call := killCall(t, d)
	intent, err := d.patch.Intent(t.Context(), call)
	must(t, err)
	res, err := d.patch.Run(t.Context(), call, intent)
	t.Errorf("it lives: %v %s", err, res.Content)
}

// Recovery leaves alone, and names, what somebody changed between the kill and the start. The other files get their new content;
// nothing is removed then, so that nothing is lost.
func TestRecoverLeavesWhatSomebodyChanged(t *testing.T) {
	for _, c := range []struct {
		name, file string
		temper     func(t *testing.T, d fixture)
		want       m
	}{
		{"a file that was to be changed", "f", func(t *testing.T, d fixture) { d.put(t, "f", "his\n") }, m{"f": "his\n", "g": "g\n", "h": "h\n", "x/y/n": "n\n", "i": "i\n", "d/k": "k\n"}},
		{"a file that was to be deleted", "g", func(t *testing.T, d fixture) { d.put(t, "g", "his\n") }, m{"f": "A\nb\nc\n", "g": "his\n", "x/y/n": "n\n", "i": "i\n", "d/k": "k\n"}},
		{"a file that was to be new", "i", func(t *testing.T, d fixture) { d.put(t, "i", "his\n") }, m{"f": "A\nb\nc\n", "g": "g\n", "h": "h\n", "x/y/n": "n\n", "i": "his\n", "d/k": "k\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t)
			for name, content := range killBefore() {
				d.put(t, name, content)
			}
			dieAt(t, d, "edit.journal")
			c.temper(t, d)
			err := edit.Recover(t.Context(), d.journal)
			if err == nil || !strings.Contains(err.Error(), filepath.Join(d.dir, c.file)+":") {
				t.Errorf("%v", err)
			}
			if got := d.all(t); !maps.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
			must(t, edit.Recover(t.Context(), d.journal))
		})
	}
}

// A folder that was swapped for a link after the kill is not followed out of the workspace, and new content that somebody
// tampered with is not published.
func TestRecoverIsNotLedAway(t *testing.T) {
	d := newFixture(t)
	for name, content := range killBefore() {
		d.put(t, name, content)
	}
	dieAt(t, d, "edit.journal")
	out := filepath.Join(d.top, "out")
	must(t, os.Mkdir(out, 0o700))
	staged, err := filepath.Glob(filepath.Join(d.dir, "x", "y", ".hob-*.tmp"))
	if err != nil || len(staged) != 1 {
		t.Fatal(staged, err)
	}
	must(t, os.Link(staged[0], filepath.Join(out, filepath.Base(staged[0])))) // even with the very file in it
	must(t, os.RemoveAll(filepath.Join(d.dir, "x", "y")))
	must(t, os.Symlink(out, filepath.Join(d.dir, "x", "y")))
	temps, err := filepath.Glob(filepath.Join(d.dir, ".hob-*.tmp"))
	must(t, err)
	for _, temp := range temps {
		raw, err := os.ReadFile(temp)
		must(t, err)
		if string(raw) == "i\n" {
			must(t, os.WriteFile(temp, []byte("x\n"), 0o600))
		}
	}
	err = edit.Recover(t.Context(), d.journal)
	if err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(filepath.Join(out, "n")); err == nil {
		t.Error("it renamed in a folder that was swapped")
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "i")); err == nil {
		t.Error("it published what was tampered with")
	}
}
