//go:build unix

package toolset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/event"
	"hob/daemon/toolset"
	"hob/tools"
)

func rig(t *testing.T, log *bytes.Buffer, list ...toolset.ToolHook) *toolset.ToolHooks {
	t.Helper()
	return &toolset.ToolHooks{
		List: func() []toolset.ToolHook { return list }, Dir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH"), "SEEN=yes"},
		Log: slog.New(slog.NewTextHandler(log, nil)), Begins: func(context.Context) func() error { return func() error { return nil } },
	}
}

var call = tools.Call{ID: "t1_1", Name: "exec", Turn: 1, Key: "main", Trust: event.Owner, Tainted: true, Args: json.RawMessage(`{"command":"df"}`)}

func TestBefore(t *testing.T) {
	for name, c := range map[string]struct {
		hook toolset.ToolHook
		want string // in the reason; "": it runs
	}{
		"one that is content":          {toolset.ToolHook{Tools: []string{"exec"}, When: toolset.Before, Command: "true"}, ""},
		"one that refuses":             {toolset.ToolHook{Tools: []string{"exec"}, When: toolset.Before, Command: "echo not on Sundays; exit 3"}, "not on Sundays"},
		"one that refuses in silence":  {toolset.ToolHook{Tools: []string{"exec"}, When: toolset.Before, Command: "exit 3"}, "exit status 3"},
		"one that is not there":        {toolset.ToolHook{Tools: []string{"exec"}, When: toolset.Before, Command: "/no/such/program"}, "/no/such/program"},
		"one for all":                  {toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: "exit 1"}, "refused"},
		"one for some":                 {toolset.ToolHook{Tools: []string{"web_*", "ex?c"}, When: toolset.Before, Command: "exit 1"}, "refused"},
		"one for others":               {toolset.ToolHook{Tools: []string{"read", "exe"}, When: toolset.Before, Command: "exit 1"}, ""},
		"one for afterwards":           {toolset.ToolHook{Tools: []string{"*"}, When: toolset.After, Command: "exit 1"}, ""},
		"it reads the call":            {toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: `grep -q '"command":"df"' || exit 1`}, ""},
		"it sees the trust":            {toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: `grep -q '"tainted":true' || exit 1`}, ""},
		"it has the given environment": {toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: `test "$SEEN" = yes && test -z "$HOME"`}, ""},
		"it says too much":             {toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: "yes | head -c 100000; exit 1"}, "y\ny"},
		"it leaves something running":  {toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: "sleep 30 & exit 0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			got := rig(t, &log, c.hook).Before(t.Context(), call, tools.Intent{Summary: "run: df"})
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(got) > 3000 {
				t.Errorf("%.200q, want %q", got, c.want)
			}
		})
	}
}

// S1: the variables of a call are a hook's to read, not to have.
func TestS1AHookDoesNotGetTheVariablesOfACall(t *testing.T) {
	var log bytes.Buffer
	c := call
	c.Args = json.RawMessage(`{"command":"df","env":{"LD_PRELOAD":"/x.so","LD_AUDIT":"/x.so","GLIBC_TUNABLES":"x","GCONV_PATH":"/x","BASH_ENV":"/x","ENV":"/x","PATH":"/x"}}`)
	hook := toolset.ToolHook{Tools: []string{"exec"}, When: toolset.Before, Command: `env | grep -E '^(LD_|GLIBC|GCONV|BASH_ENV|ENV|PATH=/x)' && exit 1; exit 0`}
	if said := rig(t, &log, hook).Before(t.Context(), c, tools.Intent{}); said != "" {
		t.Error(said)
	}
}

// S1: a shell that a command in the sandbox may have put on hob's PATH runs no hook.
func TestS1AHookRunsNoPlantedShell(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sh"), []byte("#!/bin/sh\necho planted\nexit 1\n"), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	var log bytes.Buffer
	if said := rig(t, &log, toolset.ToolHook{Tools: []string{"exec"}, When: toolset.Before, Command: "true"}).Before(t.Context(), call, tools.Intent{}); said != "" {
		t.Error(said)
	}
}

func TestAfterSeesTheResultAndOnlyLogs(t *testing.T) {
	var log bytes.Buffer
	h := rig(t, &log, toolset.ToolHook{Tools: []string{"*"}, When: toolset.After, Command: "cat > seen; echo oops; exit 1"}, toolset.ToolHook{Tools: []string{"*"}, When: toolset.After, Command: "touch second"})
	h.After(t.Context(), call, tools.Intent{}, tools.Result{Content: "all of it", IsError: true, Code: tools.IO})
	var in toolset.HookedCall
	doc, err := os.ReadFile(filepath.Join(h.Dir, "seen"))
	if err == nil {
		err = json.Unmarshal(doc, &in)
	}
	if err != nil || in.Result == nil || in.Result.Content != "all of it" || in.Result.Error != string(tools.IO) {
		t.Errorf("%s, %v", doc, err)
	}
	if _, err := os.Stat(filepath.Join(h.Dir, "second")); err != nil {
		t.Error("the second hook did not run")
	}
	if !strings.Contains(log.String(), "oops") {
		t.Errorf("the log says %q", log.String())
	}
}

// S3: each run of a hook is announced before it begins and after it has ended, and nothing of it is left then. When its files cannot be
// marked, the call is refused.
func TestWhatAHookWritesIsNoticed(t *testing.T) {
	var log bytes.Buffer
	h := rig(t, &log, toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: "sleep 60 >/dev/null 2>&1 & echo $! > made"})
	var seen []bool
	made := func() {
		_, err := os.Stat(filepath.Join(h.Dir, "made"))
		seen = append(seen, err == nil)
	}
	var fault error
	h.Begins = func(context.Context) func() error {
		made()
		return func() error { made(); return fault }
	}
	if why := h.Before(t.Context(), call, tools.Intent{}); why != "" || !slices.Equal(seen, []bool{false, true}) {
		t.Errorf("%q %v", why, seen)
	}
	raw, err := os.ReadFile(filepath.Join(h.Dir, "made"))
	pid, bad := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		if t.Context().Err() != nil {
			t.Fatal("what it left running still runs")
		}
	}
	fault = errors.New("the disk is full")
	if why := h.Before(t.Context(), call, tools.Intent{}); !strings.Contains(why, "the disk is full") {
		t.Errorf("%q", why)
	}
}

func TestAStoppedTurnStopsItsHook(t *testing.T) {
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	h := rig(t, &log, toolset.ToolHook{Tools: []string{"*"}, When: toolset.Before, Command: "mkfifo gate; read x < gate"})
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(h.Dir, "gate")); err == nil {
				cancel()
				return
			}
		}
	}()
	if got := h.Before(ctx, call, tools.Intent{}); got == "" {
		t.Error("a hook that was cut off has let the call pass")
	}
}

// zombie says that a process has ended and nobody has asked for its end yet.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(raw), ") Z ")
}
