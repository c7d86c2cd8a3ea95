//go:build linux

package runtime_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox"
	"hob/daemon/sys/systest"
	"hob/tools/runtime"
)

// What a process outside the sandbox writes counts as foreign while it still runs, before its end or a poll has marked it.
func TestFilesOfARunningProcess(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	path := func(name string) string { return filepath.Join(b.dir, name) }
	write := func(name string) time.Time {
		t.Helper()
		if err := os.WriteFile(path(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	if err := os.Mkdir(path("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("folder/inner")
	for last, now := write("old"), (unix.Timespec{}); !time.Unix(now.Unix()).After(last); { // the clock of files goes in steps
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			t.Fatal(err)
		}
	}
	res, out := b.run(t, map[string]any{"command": "echo y > new; mv folder moved; echo ready; read -r line", "background": true})
	if res.IsError {
		t.Fatal(res.Content)
	}
	if res, polled := b.handle(t, map[string]any{"action": "poll", "process_id": out.ProcessID, "wait": 60}); polled.Output != "ready\n" {
		t.Fatal(res.Content)
	}
	const why = "written by a command outside the sandbox"
	for name, want := range map[string]string{"new": why, "moved/inner": why, "old": "", "none": ""} {
		if got := b.registry.Foreign(path(name)); got != want {
			t.Errorf("while it runs, %s: %q", name, got)
		}
	}
	b.handle(t, map[string]any{"action": "input", "process_id": out.ProcessID, "input": "\n"})
	marked := map[string]bool{}
	for _, m := range b.report(t).Marks {
		marked[m.Path] = true
	}
	if !marked[path("new")] || !marked[path("moved")] || marked[path("old")] {
		t.Errorf("its end marks %v", marked)
	}
	if res, _ := b.handle(t, map[string]any{"action": "kill", "process_id": out.ProcessID}); res.IsError { // which waits for its very end
		t.Error(res.Content)
	}
	b.end()
	b.group.Wait()
	if got := b.registry.Foreign(path("new")); got != "" {
		t.Errorf("after its end: %q", got)
	}
}

// A command in the sandbox does not see what a process outside of it is writing.
func TestTheSandboxHidesFilesOfARunningProcess(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	s := sandbox.New(t.Context(), sandbox.Config{Home: b.home, State: b.state, Self: self(t)})
	if state := s.State(); !state.Works {
		systest.Missing(t, state.Why)
	}
	sandboxed := *b
	sandboxed.exec = runtime.NewExec(runtime.ExecDeps{
		Guard: b.guard, Artifacts: b.artifactStore, Spawn: b.group, Registry: b.registry, Sandbox: s, Instance: "test", Environ: []string{"PATH=" + os.Getenv("PATH")},
	})
	_, out := b.run(t, map[string]any{"command": "echo canary > new; echo ready; read -r line", "background": true})
	if res, polled := b.handle(t, map[string]any{"action": "poll", "process_id": out.ProcessID, "wait": 60}); polled.Output != "ready\n" {
		t.Fatal(res.Content)
	}
	if res, got := sandboxed.run(t, sh("cat new")); code(got) == 0 || got.Cwd != b.dir {
		t.Errorf("it is seen: %s", res.Content)
	}
	b.end()
	b.report(t)
}
