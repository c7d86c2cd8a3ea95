//go:build unix

package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/sandbox"
	"hob/tools"
	"hob/tools/runtime"
)

// multiplexer is the tool tmux with a server of its own, which ends with the test.
func multiplexer(t *testing.T, s *sandbox.Sandbox) (func(map[string]any) (tools.Result, runtime.Multiplexed), runtime.ExecDeps) {
	t.Helper()
	var d runtime.ExecDeps
	b := newBench(t, runtime.Limits{}, func(given *runtime.ExecDeps) {
		given.Instance, given.Sandbox = fmt.Sprintf("test-%d", os.Getpid()), s
		d = *given
	})
	tool := runtime.NewTmux(runtime.TmuxDeps{Exec: d})
	if missing := tool.(tools.Available).Missing(); missing != "" {
		t.Skip(missing)
	}
	t.Cleanup(func() {
		_ = osexec.CommandContext(context.WithoutCancel(t.Context()), "tmux", "-L", "hob-"+d.Instance, "kill-server").Run()
	})
	return func(args map[string]any) (tools.Result, runtime.Multiplexed) {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		res := b.do(t.Context(), tool, raw)
		out, _ := res.Data.(runtime.Multiplexed)
		return res, out
	}, d
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
	until("abc", map[string]any{"session": "work"})
	do(map[string]any{"action": "send", "session": "work", "command": "echo begu'n'; sleep 1000"})
	until("begun", map[string]any{"session": "work"})
	do(map[string]any{"action": "send", "session": "work", "command": "C-c"})
	do(map[string]any{"action": "send", "session": "work", "command": "echo go'e's on"})
	until("goes on", map[string]any{"session": "work"})
	if res, _ := do(map[string]any{"action": "create", "session": "work"}); res.Code != tools.Conflict {
		t.Errorf("%+v", res)
	}
	if res, _ := do(map[string]any{"action": "create", "session": "work", "window": "two", "command": "echo sec'ond'"}); res.IsError {
		t.Error(res.Content)
	}
	until("second", map[string]any{"session": "work", "window": "two", "pane": "0"})
	if list, err := runtime.TmuxSessions(t.Context(), d); err != nil || len(list) != 1 || !strings.HasPrefix(list[0], "work: 2 windows") {
		t.Errorf("%q %v", list, err)
	}
	if n, err := runtime.KillOrphans(t.Context(), d.Instance); n != 0 || err != nil {
		t.Errorf("%d ended, %v: sessions outlive hob", n, err)
	}
	for _, args := range []map[string]any{{"action": "kill", "session": "work", "window": "two"}, {"action": "kill", "session": "work"}} {
		if res, _ := do(args); res.IsError {
			t.Error(res.Content)
		}
	}
	for _, args := range []map[string]any{{"action": "capture", "session": "work"}, {"action": "kill", "session": "wor"}, {"action": "send", "session": "work", "command": "x"}} {
		if res, _ := do(args); res.Code != tools.NotFound {
			t.Errorf("%v: %+v", args, res)
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
