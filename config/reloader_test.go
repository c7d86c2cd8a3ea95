package config_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/config"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReload(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "config.toml"), filepath.Join(dir, "last.toml")
	l, err := config.Open(path, kept, []string{"HOB_TURN__MAX_STEPS=9"})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		doc     string
		problem string
		changed bool
		fault   string
		mode    string
	}{
		{doc: "[guard]\nmode = \"open\"\n", changed: true, mode: "open"},
		{doc: "[guard]\nmode = \"open\"\n", mode: "open"},
		{doc: "[guard]\nmode = \"op", fault: ":2:", mode: "open"},
		{doc: "[guard]\nmode = \"op", fault: ":2:", mode: "open"},
		{doc: "[guard]\nmode = \"open\"\n", mode: "open"},
		{doc: "[guard]\nmode = \"ope\"\n", changed: true, problem: "mode: want one of", mode: "ask"},
		{doc: "[guard]\nmode = \"ope\"\n", problem: "mode: want one of", mode: "ask"},
		{doc: "", fault: "is empty", problem: "mode: want one of", mode: "ask"},
	}
	for i, step := range steps {
		write(t, path, step.doc, 0o600)
		problems, changed, err := l.Reload()
		if changed != step.changed {
			t.Errorf("step %d: changed %v", i, changed)
		}
		if (err == nil) != (step.fault == "") || err != nil && !strings.Contains(err.Error(), step.fault) {
			t.Errorf("step %d: error %v", i, err)
		}
		if fmt.Sprint(len(problems) > 0) != fmt.Sprint(step.problem != "") || len(problems) > 0 && !strings.Contains(problems[0].String(), step.problem) {
			t.Errorf("step %d: problems %v", i, problems)
		}
		same, why := l.Problems()
		if len(same) != len(problems) || (why == nil) != (err == nil) {
			t.Errorf("step %d: Problems gives %v, %v", i, same, why)
		}
		if s := l.Current(); s.Guard.Mode != step.mode || s.Turn.MaxSteps != 9 {
			t.Errorf("step %d: in force %+v", i, s)
		}
	}
}

func TestStartWithABrokenFileRunsOnTheLastGoodOne(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "config.toml"), filepath.Join(dir, "last.toml")
	write(t, path, "[owner]\nname = \"Sam\"\n", 0o644)
	if _, err := config.Open(path, kept, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	write(t, path, "[owner\n", 0o600)
	write(t, kept+".new", "half", 0o600)
	l, err := config.Open(path, kept, nil)
	if err == nil || !strings.Contains(err.Error(), "config.toml:1:") {
		t.Errorf("got %v", err)
	}
	if l.Current().Owner.Name != "Sam" {
		t.Errorf("in force: %+v", l.Current().Owner)
	}
	if _, err := os.Stat(kept + ".new"); err == nil {
		t.Error("what a crash left behind is still there")
	}
	wake, stop := l.Changes()
	defer stop()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, changed, err := l.Reload(); err != nil || !changed || l.Current().Owner.Name != "" {
		t.Errorf("removed: %v, %v, %+v", changed, err, l.Current().Owner)
	}
	<-wake
	if _, err := os.Stat(kept); err == nil {
		t.Error("the copy of a removed file should be gone")
	}
}

// V5: a file without content where one with content was in use is the trace of a power cut, not a wish for the defaults.
func TestAnEmptyFileIsAMistakeWhereAGoodOneWas(t *testing.T) {
	for _, empty := range []string{"", "\n", " \t\r\n\n"} {
		dir := t.TempDir()
		path, kept := filepath.Join(dir, "config.toml"), filepath.Join(dir, "last.toml")
		write(t, path, "[owner]\nname = \"Sam\"\n", 0o600)
		running, err := config.Open(path, kept, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, empty, 0o600)
		if _, _, err := running.Reload(); err == nil || !strings.Contains(err.Error(), "remove the file") || running.Current().Owner.Name != "Sam" {
			t.Errorf("reload of %q: %v, %+v", empty, err, running.Current().Owner)
		}
		again, err := config.Open(path, kept, nil)
		if err == nil || !again.FromCopy() || again.Current().Owner.Name != "Sam" {
			t.Errorf("start with %q: %v, %+v", empty, err, again.Current().Owner)
		}
		if again, err = config.Open(path, kept, nil); err == nil || again.Current().Owner.Name != "Sam" {
			t.Errorf("the next start with %q: %v, %+v", empty, err, again.Current().Owner)
		}
		// A home that never had a config may have an empty one.
		if fresh, err := config.Open(path, filepath.Join(dir, "none.toml"), nil); err != nil || fresh.Current().Owner.Name != "" {
			t.Errorf("a fresh home with %q: %v", empty, err)
		}
	}
}

func TestWriteFileNeverMakesAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	before := []byte("[owner]\nname = \"Sam\"\n")
	write(t, path, string(before), 0o600)
	l, err := config.Open(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := config.WriteFile(path, before, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Reload(); err != nil || l.Current().Owner.Name != "" {
		t.Errorf("the last key is taken out: %v, %+v", err, l.Current().Owner)
	}
}

func TestStartWithABrokenFileAndNoCopyRunsOnTheDefaults(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "config.toml"), filepath.Join(dir, "last.toml")
	write(t, path, "[owner\n", 0o600)
	for _, copied := range []string{"", "[broken\n"} {
		write(t, kept, copied, 0o600)
		l, err := config.Open(path, kept, nil)
		if err == nil || l.Current().Guard.Mode != "ask" {
			t.Errorf("%q: %v, %+v", copied, err, l.Current())
		}
	}
}

func TestUnwritableCopyIsReported(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	write(t, path, "[owner]\nname = \"Sam\"\n", 0o600)
	l, err := config.Open(path, filepath.Join(dir, "none", "last.toml"), nil)
	if err != nil || l.Current().Owner.Name != "Sam" {
		t.Fatal(err)
	}
	if problems, _ := l.Problems(); len(problems) != 1 || !problems[0].Advice || !strings.Contains(problems[0].Text, "could not be written") {
		t.Errorf("problems: %v", problems)
	}
}

// TestReloadUnderLoad rewrites the file a hundred times, each third time only half of it, and expects every reader to see a whole one at every
// moment.
func TestReloadUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	doc := func(n int) string {
		return fmt.Sprintf("[turn]\nmax_steps = %d\n[daemon]\nmax_attempts = %d\n[channels.a]\ntopic = \"%d\"\n", n, n, n)
	}
	write(t, path, doc(1), 0o600)
	l, err := config.Open(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				s := l.Current()
				var c struct{ Topic string }
				if len(s.Channels) != 1 {
					t.Errorf("not a whole one: %+v", s)
					return
				}
				if err := s.Channels[0].Decode(&c); err != nil || s.Turn.MaxSteps != s.Daemon.MaxAttempts || c.Topic != fmt.Sprint(s.Turn.MaxSteps) {
					t.Errorf("torn: %+v, %v, %v", s, c, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := range 100 {
		whole, half := doc(n%7+1), n%3 == 2
		if half {
			whole = whole[:len(whole)-3] // ends inside a text
		}
		write(t, path, whole, 0o600)
		if _, _, err := l.Reload(); (err != nil) != half {
			t.Errorf("rewrite %d: %v", n, err)
		}
	}
	close(done)
	wg.Wait()
	if got, want := l.Current().Turn.MaxSteps, 99%7+1; got != want {
		t.Errorf("at the end %d, want %d", got, want)
	}
}

var quiet = slog.New(slog.DiscardHandler)

// running starts the watcher and gives the wake-ups.
func running(t *testing.T, path string) (*config.Reloader, <-chan struct{}) {
	t.Helper()
	l, err := config.Open(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	wake, stop := l.Changes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, sys.NewFolders(quiet), quiet) }()
	t.Cleanup(func() {
		cancel()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l, wake
}

func TestRunSeesEveryWayOfSaving(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	l, wake := running(t, path)
	expect := func(how, name string) {
		t.Helper()
		for l.Current().Owner.Name != name {
			<-wake // the test's deadline ends it when nothing comes
		}
		t.Logf("%s: seen", how)
	}
	doc := func(name string) string { return "[owner]\nname = \"" + name + "\"\n" }

	write(t, path, doc("a"), 0o600)
	expect("a new file", "a")

	write(t, path, doc("b"), 0o600)
	expect("written in place", "b")

	write(t, path+"~", doc("c"), 0o600)
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
	expect("renamed over", "c")

	write(t, path, "[owner]\nname = \"d", 0o600)
	for _, err := l.Problems(); err == nil; _, err = l.Problems() {
		<-wake
	}
	if l.Current().Owner.Name != "c" {
		t.Errorf("half-written: in force %q", l.Current().Owner.Name)
	}
	write(t, path, doc("d"), 0o600)
	expect("the other half", "d")

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("removed", "")
}

func TestRunFollowsASymlink(t *testing.T) {
	dir, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "config.toml")
	doc := func(name string) string { return "[owner]\nname = \"" + name + "\"\n" }
	write(t, filepath.Join(first, "real.toml"), doc("a"), 0o600)
	write(t, filepath.Join(second, "real.toml"), doc("b"), 0o600)
	if err := os.Symlink(filepath.Join(first, "real.toml"), path); err != nil {
		t.Skip("no symlinks here:", err)
	}
	l, wake := running(t, path)
	expect := func(name string) {
		t.Helper()
		for l.Current().Owner.Name != name {
			<-wake
		}
	}
	// Only a watcher sees the later ones of several changes: the first may be read at the start.
	for _, name := range []string{"c", "d"} {
		write(t, filepath.Join(first, "real.toml"), doc(name), 0o600)
		expect(name)
	}
	if err := os.Symlink(filepath.Join(second, "real.toml"), path+"~"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "e", "f"} {
		if name != "b" {
			write(t, filepath.Join(second, "real.toml"), doc(name), 0o600)
		}
		expect(name)
	}
}

func TestRunWithoutAFolder(t *testing.T) {
	l, err := config.Open(filepath.Join(t.TempDir(), "none", "config.toml"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context(), sys.NewFolders(quiet), quiet); err == nil || !strings.HasPrefix(err.Error(), "watch config: ") {
		t.Errorf("got %v", err)
	}
}

// A writer that does not replace the file by a rename empties it first and may continue slowly. The empty file is no mistake until it has
// stayed empty for a while.
func TestAnEmptiedFileIsNoMistakeAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	doc := func(name string) string { return "[owner]\nname = \"" + name + "\"\n" }
	write(t, path, doc("a"), 0o600)
	l, wake := running(t, path)
	write(t, path, "", 0o600)
	for end := time.After(time.Second); end != nil; { // longer than the watcher waits for quiet
		select {
		case <-wake:
			if _, err := l.Problems(); err != nil {
				t.Fatalf("at once: %v", err)
			}
		case <-end:
			end = nil
		}
	}
	write(t, path, doc("b"), 0o600)
	for l.Current().Owner.Name != "b" {
		<-wake
	}
	write(t, path, "", 0o600)
	for _, err := l.Problems(); err == nil; _, err = l.Problems() {
		<-wake
	}
	if name := l.Current().Owner.Name; name != "b" {
		t.Errorf("of an empty file: owner %q", name)
	}
}
