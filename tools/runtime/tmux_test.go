//go:build unix

package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys/systest"
	"hob/tools"
	"hob/tools/runtime"
)

// multiplexer is the tool tmux with a server of its own, which ends with the test.
func multiplexer(t *testing.T, s *sandbox.Sandbox) (func(map[string]any) (tools.Result, runtime.TmuxOutput), runtime.TmuxDeps) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, state := filepath.Join(home, "ws"), filepath.Join(home, "state")
	for _, dir := range []string{ws, state} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g, err := fsguard.New(fsguard.Config{Workspace: ws, State: state, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	d := runtime.TmuxDeps{
		Guard: g, Sandbox: s, Instance: fmt.Sprintf("test-%d", os.Getpid()),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "SECRET_TOKEN=canary", "HOB_CALL=canary", "SHELL=/bin/false"}, // as the user of a service has it
	}
	tool := runtime.NewTmux(d)
	if missing := tool.(tools.Available).Missing(); missing != "" {
		systest.Missing(t, missing)
	}
	t.Cleanup(func() {
		_ = osexec.CommandContext(context.WithoutCancel(t.Context()), "tmux", "-L", "hob-"+d.Instance, "kill-server").Run()
	})
	return func(args map[string]any) (tools.Result, runtime.TmuxOutput) {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		res := call(t, tool, tools.Call{ID: "t1_1", Name: "tmux", Args: raw, Session: 1, Workdir: ws, Zone: "Asia/Kolkata", Trust: event.Owner})
		out, _ := res.Data.(runtime.TmuxOutput)
		return res, out
	}, d
}

func call(t *testing.T, tool tools.Tool, c tools.Call) tools.Result {
	t.Helper()
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	if err != nil {
		return tools.ErrorResult(err)
	}
	return res
}

func TestTmux(t *testing.T) {
	do, d := multiplexer(t, nil)
	if res, out := do(map[string]any{"action": "list"}); res.IsError || len(out.Sessions) != 0 {
		t.Errorf("%+v", res)
	}
	if res, _ := do(map[string]any{"action": "create", "session": "work", "command": `echo "${SECRET_TOKEN}a"b"${HOB_CALL}"c`}); res.IsError {
		t.Fatal(res.Content)
	}
	// until waits until a pane shows a line.
	until := func(line string, target map[string]any) {
		t.Helper()
		target["action"] = "capture"
		for t.Context().Err() == nil {
			res, out := do(target)
			if res.IsError {
				t.Fatal(res.Content)
			}
			if slices.Contains(strings.Split(out.Screen, "\n"), line) {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
		t.Fatalf("%q is not shown", line)
	}
	// prompted waits until a shell that was interrupted has its prompt again: it drops what is typed before.
	prompted := func() {
		t.Helper()
		for t.Context().Err() == nil {
			res, out := do(map[string]any{"action": "capture", "session": "work"})
			if res.IsError {
				t.Fatal(res.Content)
			}
			lines := strings.Split(strings.TrimSpace(out.Screen), "\n")
			if last := strings.TrimSpace(lines[len(lines)-1]); strings.HasSuffix(last, "$") || strings.HasSuffix(last, "#") {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	until("abc", map[string]any{"session": "work"})
	do(map[string]any{"action": "send", "session": "work", "command": "echo begu'n'; sleep 1000"})
	until("begun", map[string]any{"session": "work"})
	do(map[string]any{"action": "send", "session": "work", "command": "C-c"})
	prompted()
	do(map[string]any{"action": "send", "session": "work", "command": "echo go'e's on"})
	until("goes on", map[string]any{"session": "work"})
	if res, _ := do(map[string]any{"action": "create", "session": "work"}); res.Code != tools.Conflict {
		t.Errorf("%+v", res)
	}
	if res, _ := do(map[string]any{"action": "create", "session": "work", "window": "two", "command": "echo sec'ond'"}); res.IsError {
		t.Error(res.Content)
	}
	until("second", map[string]any{"session": "work", "window": "two", "pane": "0"})
	saysWhen(t, do, d)
	if n, err := runtime.KillOrphans(t.Context(), d.Instance); n != 0 || err != nil {
		t.Errorf("%d ended, %v: sessions outlive hob", n, err)
	}
	for _, args := range []map[string]any{{"action": "kill", "session": "work", "window": "two"}, {"action": "kill", "session": "work"}} {
		if res, _ := do(args); res.IsError {
			t.Error(res.Content)
		}
	}
	for _, args := range []map[string]any{{"action": "capture", "session": "work"}, {"action": "kill", "session": "wor"}, {"action": "send", "session": "work", "command": "x"}} {
		if res, _ := do(args); res.Code != tools.NotFound || strings.Contains(res.Content, "=") {
			t.Errorf("%v: %+v", args, res)
		}
	}
}

// saysWhen wants the session work, of two windows, listed with a time in the owner's zone, also for other callers.
func saysWhen(t *testing.T, do func(map[string]any) (tools.Result, runtime.TmuxOutput), d runtime.TmuxDeps) {
	t.Helper()
	_, out := do(map[string]any{"action": "list"}) // the call's zone
	d.Zone = "Asia/Tokyo"
	list, err := runtime.TmuxSessions(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for zone, lines := range map[string][]string{"Asia/Kolkata": out.Sessions, d.Zone: list} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		when, ok := strings.CutPrefix(strings.Join(lines, "\n"), "work: 2 windows, since ")
		made, err := time.ParseInLocation("2006-01-02 15:04 MST", when, loc)
		if age := time.Since(made); !ok || err != nil || age < 0 || age > 2*time.Minute || made.Location() != loc {
			t.Errorf("%s: %q %v", zone, lines, err)
		}
	}
}

// An approval names sessions and windows in the owner's terms, not in tmux's syntax.
func TestSummaries(t *testing.T) {
	g, err := fsguard.New(fsguard.Config{Workspace: "/tmp/ws", State: "/tmp/state", Home: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	tool := runtime.NewTmux(runtime.TmuxDeps{Guard: g, Instance: "x"})
	for args, want := range map[string]string{
		`{"action":"list"}`:                                             "tmux list",
		`{"action":"kill","session":"s1"}`:                              "tmux kill s1",
		`{"action":"send","session":"s1","command":"ls"}`:               "tmux send s1: ls",
		`{"action":"send","session":"s1","window":"w","command":"C-c"}`: "tmux send s1 window w: C-c",
		`{"action":"capture","session":"s1","window":"2","pane":"0"}`:   "tmux capture s1 window 2 pane 0",
	} {
		i, err := tool.Intent(t.Context(), tools.Call{Args: json.RawMessage(args), Trust: event.Owner})
		if err != nil || i.Summary != want {
			t.Errorf("%s: %q %v", args, i.Summary, err)
		}
	}
}

func TestTmuxIsCareful(t *testing.T) {
	do, _ := multiplexer(t, sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.Require, Home: "/home", State: "/home/state"}))
	for _, c := range []struct {
		args map[string]any
		code tools.Code
	}{
		{map[string]any{"action": "create", "session": "work"}, tools.Denied},
		{map[string]any{"action": "send", "session": "work", "command": "ls"}, tools.Denied},
		{map[string]any{"action": "kill"}, tools.Validation},
		{map[string]any{"action": "kill", "session": "a:b"}, tools.Validation},
		{map[string]any{"action": "send", "session": "a"}, tools.Validation},
		{map[string]any{"action": "send", "session": "a", "command": "a\nb"}, tools.Validation},
	} {
		if res, _ := do(c.args); res.Code != c.code {
			t.Errorf("%v: %+v", c.args, res)
		}
	}
	open, _ := multiplexer(t, nil)
	if res, _ := open(map[string]any{"action": "send", "session": "work", "command": "rm -rf ~"}); res.Code != tools.Denied {
		t.Errorf("%+v", res)
	}
}
