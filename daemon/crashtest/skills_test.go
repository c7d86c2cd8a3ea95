//go:build linux

package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// versioned is what every file of a version of the skill says.
var versioned = regexp.MustCompile(`VERSION \d+`)

// putSkill writes a version of the skill into a folder.
func putSkill(t *testing.T, dir string, version int) {
	t.Helper()
	mark := fmt.Sprintf("VERSION %d", version)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"SKILL.md":          "---\nname: lamp\ndescription: Trims the lamp. " + mark + "\n---\nTrim it. " + mark + "\n",
		"scripts/trim.sh":   "echo " + mark + "\n",
		"references/oil.md": mark + "\n", "assets/wick.txt": mark + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// wholeSkill reads a folder: "" if it does not hold the four files of one version.
func wholeSkill(dir string) string {
	found := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path) // #nosec G122 -- hob is dead
		found[versioned.FindString(string(text))]++
		return err
	})
	if err != nil || len(found) != 1 {
		return ""
	}
	for v, n := range found {
		if n == 4 {
			return v
		}
	}
	return ""
}

// skillRig is a home in which one skill is added, changed and accepted while hob is killed.
type skillRig struct {
	*harness
	folder string
	bad    []string
	used   string // the version that was in use before the kill
}

// looks checks what a dead hob has left: every copy with a name that is a hash is one version, and each skill in use has its copy.
func (r *skillRig) looks(when string, after bool) {
	r.t.Helper()
	b := r.readRecords()
	copies := filepath.Join(r.home, "state", "skills")
	entries, err := os.ReadDir(copies)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	rows := b.rows("SELECT hash FROM skills WHERE state = 'trusted'")
	if len(rows) > 1 {
		r.bad = append(r.bad, fmt.Sprintf("%s: %d copies are in use", when, len(rows)))
	}
	for _, row := range rows {
		if wholeSkill(filepath.Join(copies, row[0])) == "" {
			r.bad = append(r.bad, fmt.Sprintf("%s: the copy in use is not whole", when))
		}
	}
	for _, e := range entries {
		whole := wholeSkill(filepath.Join(copies, e.Name())) != ""
		temporary := strings.HasSuffix(e.Name(), ".tmp")
		switch {
		case !temporary && !whole:
			r.bad = append(r.bad, fmt.Sprintf("%s: the copy %s is a mixture", when, e.Name()))
		case after && (temporary || !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == e.Name() })):
			r.bad = append(r.bad, fmt.Sprintf("%s: nobody uses %s", when, e.Name()))
		}
	}
	if _, err := os.Stat(r.folder); err == nil && wholeSkill(r.folder) == "" {
		r.bad = append(r.bad, when+": the folder in the workspace is a mixture")
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(r.folder), ".*.tmp")); err != nil || after && len(left) > 0 {
		r.bad = append(r.bad, fmt.Sprintf("%s: left behind: %q (%v)", when, left, err))
	}
}

// shows asks the running hob which version the model would be given.
func (r *skillRig) shows() string {
	r.t.Helper()
	c, err := r.dial(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	o, err := client.Do(context.Background(), c, api.CallTool, "skill", client.ToolCall{Input: json.RawMessage(`{"action": "read", "name": "lamp"}`)})
	if err != nil {
		r.t.Fatal(err)
	}
	return versioned.FindString(string(o.Result))
}

// dies starts hob so that it dies at a point, and calls ask until that has happened.
func (r *skillRig) dies(point string, ask func(ctx context.Context, c *client.Client) error) {
	r.t.Helper()
	if ask == nil {
		r.dieAt(point)
		return
	}
	r.up("HOB_FAIL=" + point)
	ctx, cancel := context.WithTimeout(context.Background(), reachTime)
	defer cancel()
	c, err := r.dial(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := ask(ctx, c); err == nil {
		r.t.Fatalf("nothing here comes to the point %s", point)
	}
	<-r.proc.gone
	r.died()
}

// TestSkillsUnderKills kills hob while a skill is added, accepted and copied: what is in use is the old or the new version, whole, and
// nothing else is left.
func TestSkillsUnderKills(t *testing.T) {
	t.Parallel()
	bin := binary(t, tested)
	source := filepath.Join(t.TempDir(), "lamp")
	add := func(ctx context.Context, c *client.Client) error {
		_, err := client.Do(ctx, c, api.AddSkill, "", api.SkillSource{From: source})
		return err
	}
	trust := func(ctx context.Context, c *client.Client) error {
		_, err := client.Do(ctx, c, api.TrustSkill, "lamp", api.SkillHash{})
		return err
	}
	type step struct {
		point string
		ask   func(context.Context, *client.Client) error // nil: the owner says yes to the question
	}
	var steps []step
	for n := range 4 {
		steps = append(steps, step{fmt.Sprint("skill.file:", n+1), add})
	}
	steps = append(steps, step{"skill.staged", add}, step{"skill.added", add})
	for _, ask := range []func(context.Context, *client.Client) error{trust, nil} {
		for n := range 4 {
			steps = append(steps, step{fmt.Sprint("skill.file:", n+1), ask})
		}
		for _, p := range []string{"skill.copied", "skill.named", "skill.pinned", "skill.trusted"} {
			steps = append(steps, step{p, ask})
		}
	}
	steps = append(steps, step{"skill.removed", func(ctx context.Context, c *client.Client) error {
		_, err := client.Do(ctx, c, api.RemoveSkill, "lamp", api.None{})
		return err
	}})
	steps = append(steps, step{"skill.found", nil}, step{"skill.asked", nil}, step{"skill.accepted", nil})
	points, _ := named(t)
	for name := range maps.Keys(points) {
		if strings.HasPrefix(name, "skill.") && !slices.ContainsFunc(steps, func(s step) bool { return strings.Split(s.point, ":")[0] == name }) {
			t.Errorf("nobody dies at %s", name)
		}
	}
	r := &skillRig{harness: newHarness(t, options{bin: bin, seed: *seed})}
	r.folder = filepath.Join(r.home, "workspace", "skills", "lamp")
	for n, s := range steps {
		when := fmt.Sprintf("%d, %s", n, s.point)
		old, next := r.used, fmt.Sprintf("VERSION %d", n)
		adds := n < 6
		if adds {
			putSkill(t, source, n)
			if err := os.RemoveAll(r.folder); err != nil {
				t.Fatal(err)
			}
		} else {
			putSkill(t, r.folder, n)
		}
		r.dies(s.point, s.ask)
		r.looks(when, false)
		if adds || s.point == "skill.removed" {
			next = wholeSkill(r.folder) // "" before it has its name, and after it was removed
		}
		r.up()
		if got := r.shows(); got != old && got != next {
			r.bad = append(r.bad, fmt.Sprintf("%s: %q is in use, before it was %q", when, got, old))
		}
		if err := r.settle(); err != nil {
			t.Fatal(err)
		}
		// The owner says yes to every version that comes to the workspace.
		if next != "" && !until(reachTime, func() bool { return r.shows() == next || r.settle() != nil }) {
			r.stop()
			b := r.readRecords()
			r.t.Fatalf("%s: the yes came to nothing: %q %q", when, b.rows("SELECT * FROM skills"), b.rows("SELECT code, state, answer, text FROM questions"))
		}
		r.used = r.shows()
		r.stop()
		r.looks(when+", later", false)
	}
	r.up()
	copies := filepath.Join(r.home, "state", "skills")
	if !until(reachTime, func() bool { list, err := os.ReadDir(copies); return err == nil && len(list) == 1 }) {
		t.Error("what is not in use is not removed at the start")
	}
	r.stop()
	r.looks("at the end", true)
	_, broken := r.check()
	for _, why := range append(r.bad, broken...) {
		t.Error(why)
	}
	t.Logf("%d kills", r.crashes)
}
