package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/importer"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// running starts a hob in a home until the test ends.
func running(t *testing.T, home string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Options{Home: home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.DiscardHandler), Ready: func(daemon.Ready) { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-ended:
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// emptyHome is a folder with a name that is short enough for a socket.
func emptyHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "hob") //nolint:usetesting // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return home
}

// imported runs hob import with its secrets, and returns what became of each item and the exit code.
func imported(t *testing.T, home, dir string, flags ...string) (list []importer.Item, code int) {
	t.Helper()
	code, text := run(t, home, dir, true, flags...)
	var r importer.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r.Items, code
}

// run runs hob import with its secrets and more flags, and returns the exit code and all that it prints.
func run(t *testing.T, home, dir string, inJSON bool, flags ...string) (code int, text string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	a := &cli.App{Home: home, JSON: inJSON, In: os.Stdin, Out: out, Err: out}
	cmd := importer.Command(a)
	cmd.SetArgs(append(flags, "--secrets", "openclaw", dir))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true // as in the root command
	code = a.Exit(cmd.ExecuteContext(t.Context()), inJSON)
	_, err = out.Seek(0, io.SeekStart)
	all, unread := io.ReadAll(out)
	if err := errors.Join(err, unread, out.Close()); err != nil {
		t.Fatal(err)
	}
	return code, string(all)
}

// jobs are the jobs of a running hob, as JSON without the times that pass.
func jobs(t *testing.T, home string) string {
	t.Helper()
	c, err := client.Find(t.Context(), home, false)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.List(t.Context(), c, api.Jobs, event.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The database of OpenClaw is imported a second time: nothing is imported, and no file, job or skill is another one.
func TestClawDatabaseTwice(t *testing.T) {
	dir, home := clawHome(t, clawLater), emptyHome(t)
	running(t, home)
	made := map[string]string{} // what the first import has imported, by its source
	list, code := imported(t, home, dir)
	if code != 0 {
		t.Errorf("exit code %d: %v", code, list)
	}
	for _, it := range list {
		if it.State == "imported" {
			made[it.Kind+" "+it.From] = it.To
		}
	}
	for _, want := range []string{"job Weekly", "job Often", "file workspace/AGENTS.md", "skill skills/tidy", "secret state/openclaw.sqlite/profiles.openai:default.key"} {
		if made[want] == "" {
			t.Errorf("%s is not imported: %v", want, made)
		}
	}
	own := func() string {
		return jobs(t, home) + files(t, filepath.Join(home, "workspace")) + files(t, filepath.Join(home, "secrets")) + files(t, dir)
	}
	before := own()
	if !strings.Contains(before, `"Review the week."`) || !strings.Contains(before, "profiles-openai-default-key ") {
		t.Errorf("a job or a secret is missing: %s", before)
	}
	list, code = imported(t, home, dir)
	if code != 0 {
		t.Errorf("the second time the exit code is %d: %v", code, list)
	}
	for _, it := range list {
		key := it.Kind + " " + it.From
		if to, ok := made[key]; ok && (it.State != "already" || it.To != to) || !ok && it.State == "imported" {
			t.Errorf("the second time %s is %s -> %s (%s), and was -> %s", key, it.State, it.To, it.Why, to)
		}
	}
	if after := own(); after != before {
		t.Errorf("the second import changed something:\n%s\n%s", before, after)
	}
}

// A dry run says of each thing what the import after it says, whatever hob has already, and changes nothing.
func TestDryRunSaysWhatTheImportSays(t *testing.T) {
	dir, home := clawHome(t, clawLater), emptyHome(t)
	running(t, home)
	put := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	skill := func(text string) string { return "---\nname: twin\ndescription: One of two.\n---\n" + text }
	const other = `{"profiles": {"lmstudio:default": {"key": "example-other"}}}`
	// Two things of the other program have the same name in hob.
	put(filepath.Join(dir, "skills", "twin", "SKILL.md"), skill("one"))
	put(filepath.Join(dir, "workspace", "skills", "twin", "SKILL.md"), skill("two"))
	put(filepath.Join(dir, "agents", "second", "agent", "auth-profiles.json"), other)
	for _, step := range []struct {
		name   string
		change func()
		states []string // some item has each
	}{
		{"an empty home", func() { put(filepath.Join(home, "workspace", "SOUL.md"), "Mine.") }, []string{"imported", "kept", "left"}},
		{"all is there", func() {}, []string{"already", "kept", "left"}},
		{"the other program has changed", func() {
			put(filepath.Join(dir, "workspace", "USER.md"), "Another.")
			put(filepath.Join(dir, "skills", "tidy", "SKILL.md"), "---\nname: tidy\ndescription: Another.\n---\nDo.")
			if err := os.Remove(filepath.Join(dir, "state", "openclaw.sqlite")); err != nil {
				t.Fatal(err)
			}
			put(filepath.Join(dir, "cron", "jobs.json"), `{"jobs": [{"name": "Weekly", "schedule": {"kind": "every", "everyMs": 60000}, "payload": {"kind": "agentTurn", "message": "Another."}},
				{"name": "Often", "schedule": {"kind": "every", "everyMs": 60000}, "payload": {"kind": "agentTurn", "message": "Look."}}]}`)
		}, []string{"already", "kept", "left"}},
	} {
		step.change()
		before := jobs(t, home) + files(t, filepath.Join(home, "workspace"))
		dry, _ := imported(t, home, dir, "--dry-run")
		if after := jobs(t, home) + files(t, filepath.Join(home, "workspace")); after != before {
			t.Errorf("%s: the dry run changed something:\n%s\n%s", step.name, before, after)
		}
		real, _ := imported(t, home, dir)
		found := map[string]bool{}
		for i, it := range real {
			found[it.State] = true
			if i < len(dry) && !reflect.DeepEqual(dry[i], it) {
				t.Errorf("%s: the dry run says\n%+v, and the import\n%+v", step.name, dry[i], it)
			}
		}
		for _, state := range step.states {
			if !found[state] {
				t.Errorf("%s: nothing is %s", step.name, state)
			}
		}
		if len(dry) != len(real) {
			t.Errorf("%s: %d and %d items", step.name, len(dry), len(real))
		}
	}
}

// A dry run without a running hob looks at the files, and says that it did not look at the rest, if there is a rest.
func TestDryRunWithoutDaemon(t *testing.T) {
	home := emptyHome(t)
	if err := errors.Join(os.Mkdir(filepath.Join(home, "workspace"), 0o700), os.WriteFile(filepath.Join(home, "workspace", "SOUL.md"), []byte("Mine."), 0o600)); err != nil {
		t.Fatal(err)
	}
	const note = "hob is not running, so skills and jobs were not checked or compared with yours"
	code, text := run(t, home, "testdata/openclaw", false, "--dry-run")
	if code != 0 || !strings.Contains(text, "changed:\n  file    workspace/SOUL.md (compare the two") || !strings.Contains(text, "\n"+note) {
		t.Errorf("%d: %s", code, text)
	}
	if _, text = run(t, home, "testdata/openclaw", true, "--dry-run"); !strings.Contains(text, `"unchecked":"`+note) {
		t.Error(text)
	}
	if _, text = run(t, filepath.Join(home, "none"), "testdata/openclaw", false, "--dry-run"); !strings.Contains(text, "\n"+note) || strings.Contains(text, "kept") {
		t.Errorf("without a home: %s", text)
	}
	if _, text = run(t, home, "testdata/openclaw/workspace", false, "--dry-run"); strings.Contains(text, note) {
		t.Errorf("without skills and jobs: %s", text)
	}
}

// Of several skills with one name, a dry run without a running hob says what the import says.
func TestDryRunWithoutDaemonOfTwins(t *testing.T) {
	skill := func(name string) string { return "---\nname: " + name + "\ndescription: One of two.\n---\nDo." }
	dir := t.TempDir()
	for path, text := range map[string]string{
		"openclaw.json":                "{}",
		"skills/other/SKILL.md":        skill("other"),
		"skills/sub/other/SKILL.md":    skill("other") + " Differently.",
		"skills/same/SKILL.md":         skill("same"),
		"skills/sub/same/SKILL.md":     skill("same"),
		"skills/sub/same/.note":        "not a part of the skill",
		"skills/more/SKILL.md":         skill("more"),
		"skills/sub/more/SKILL.md":     skill("more"),
		"skills/sub/more/scripts/x.sh": "true",
		"skills/runs/SKILL.md":         skill("runs"),
		"skills/runs/x.sh":             "true",
		"skills/sub/runs/SKILL.md":     skill("runs"),
		"skills/sub/runs/x.sh":         "true",
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "skills", "runs", "x.sh"), 0o700); err != nil { // #nosec G302 -- a script
		t.Fatal(err)
	}
	home := emptyHome(t)
	dry, _ := imported(t, home, dir, "--dry-run")
	running(t, home)
	real, _ := imported(t, home, dir)
	if !reflect.DeepEqual(dry, real) {
		t.Errorf("the dry run says\n%+v, and the import\n%+v", dry, real)
	}
	states := map[string]string{}
	for _, it := range dry {
		states[it.From] = it.State
	}
	runs := "kept"
	if runtime.GOOS == "windows" { // there are no executable bits there
		runs = "already"
	}
	for from, want := range map[string]string{"skills/other": "imported", "skills/sub/other": "kept", "skills/sub/same": "already", "skills/sub/more": "kept", "skills/sub/runs": runs} {
		if states[from] != want {
			t.Errorf("%s is %s, want %s", from, states[from], want)
		}
	}
}
