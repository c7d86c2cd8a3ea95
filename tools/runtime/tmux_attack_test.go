//go:build unix

package runtime_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/tools"
	"hob/tools/runtime"
)

// Strangers see no terminal, and in safe mode nothing is typed.
func TestWhoMayUseATerminal(t *testing.T) {
	g, err := fsguard.New(fsguard.Config{Workspace: "/tmp/ws", State: "/tmp/state", Home: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	tool := runtime.NewTmux(runtime.TmuxDeps{Guard: g, Instance: "x"})
	for args, safe := range map[string]policy.Verdict{
		`{"action":"list"}`: policy.Allow, `{"action":"capture","session":"main"}`: policy.Allow,
		`{"action":"create","session":"main"}`: policy.Deny, `{"action":"send","session":"main","command":"ls"}`: policy.Deny,
	} {
		i, err := tool.Intent(t.Context(), tools.Call{Args: json.RawMessage(args), Trust: event.Public, Tainted: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := policy.Decide(policy.Case{Tool: "tmux", Intent: i, Asker: event.Public, Tainted: true, Mode: policy.ModeAsk}); d.Verdict != policy.Deny {
			t.Errorf("a stranger: %s: %+v", args, d)
		}
		if d := policy.Decide(policy.Case{Tool: "tmux", Intent: i, Asker: event.Owner, Typed: true, Safe: true, Mode: policy.ModeAsk}); d.Verdict != safe {
			t.Errorf("safe mode: %s: %+v", args, d)
		}
	}
}

// What a terminal has written since it was made is marked at each call about it, and when such a call was cut off.
func TestFilesOfATerminalAreMarked(t *testing.T) {
	do, d := multiplexer(t, nil)
	ws := d.Guard.Workspace()
	old := time.Now()
	if err := os.WriteFile(filepath.Join(ws, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for time.Since(old) < 1100*time.Millisecond { // tmux tells whole seconds
		<-time.After(20 * time.Millisecond)
	}
	// marked checks the marks of a call: those it must set and those it may set, because the typed command is already running.
	marked := func(args map[string]any, want string, may ...string) {
		t.Helper()
		res, _ := do(args)
		var got []string
		for _, c := range res.Changes {
			got = append(got, strings.TrimPrefix(c.(tools.Mark).Path, ws+"/"))
		}
		got = slices.DeleteFunc(got, func(name string) bool { return slices.Contains(may, name) })
		if res.IsError || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%v marks %v: %s", args, got, res.Content)
		}
	}
	await := func(name string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
			if _, err := os.Stat(filepath.Join(ws, name)); !errors.Is(err, os.ErrNotExist) {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
		t.Fatalf("there is no %s", name)
	}
	marked(map[string]any{"action": "create", "session": "work"}, "")
	marked(map[string]any{"action": "send", "session": "work", "command": "echo IGNORE > one"}, "", "one")
	await("one")
	marked(map[string]any{"action": "capture", "session": "work"}, "one")
	since := time.Now()
	for time.Since(since) < 50*time.Millisecond { // more than a tick of the clock of files
		<-time.After(10 * time.Millisecond)
	}
	since = time.Now()
	marked(map[string]any{"action": "send", "session": "work", "command": "ln -s one two"}, "one", "two")
	await("two")
	c := tools.Call{Name: "tmux", Args: json.RawMessage(`{"action":"send","session":"work","command":"x"}`)}
	tool := runtime.NewTmux(d)
	i, err := tool.Intent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if list := tool.(tools.Tracer).Traces(t.Context(), c, i, since); len(list) != 1 || list[0].(tools.Mark).Path != filepath.Join(ws, "two") {
		t.Errorf("%v", list)
	}
	if list := tool.(tools.Tracer).Traces(t.Context(), c, tools.Intent{Effect: tools.Read}, since); len(list) != 0 {
		t.Errorf("a look: %v", list)
	}
	marked(map[string]any{"action": "kill", "session": "work"}, "one two")
}

func TestPlaceholdersAreNotTyped(t *testing.T) {
	do, _ := multiplexer(t, nil)
	if res, _ := do(map[string]any{"action": "send", "session": "work", "command": "export KEY='[secret model.api_key]'"}); res.Code != tools.Validation || !strings.Contains(res.Content, "[secret model.api_key]") {
		t.Errorf("%+v", res)
	}
}
