//go:build unix

package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"hob/tools"
	"hob/tools/runtime"
)

// looked returns what exec's intent says about a command; nothing runs.
func looked(t testing.TB, e tools.Tool, dir, command string) tools.Intent {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	i, err := e.Intent(t.Context(), tools.Call{ID: "t1_1", Args: args, Workdir: dir})
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return i
}

// What is denied does not run. Only a command that stops before it does harm is tried: a test that fails must do none either.
func TestDeniedDoesNotRun(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	args, err := json.Marshal(sh("touch ran; exit; rm -rf /"))
	if err != nil {
		t.Fatal(err)
	}
	if res := b.runRaw(t.Context(), args); res.Code != tools.Denied {
		t.Errorf("want it denied, got %+v", res)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it ran: %v", err)
	}
}

func TestExitCodeAndOutput(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	for _, c := range []struct {
		command string
		code    int
		output  string
	}{
		{"echo hello", 0, "hello\n"},
		{"true", 0, ""},
		{"exit 3", 3, ""},
		{"kill -9 $$", 137, ""},
		{"kill -TERM $$", 143, ""},
		{"no-such-program-here 2>/dev/null", 127, ""},
		{"--version 2>/dev/null", 127, ""}, // 13.5: the shell must not take a command for its option
		{"-c 'echo x' 2>/dev/null", 127, ""},
		{"-x 2>/dev/null", 127, ""},
		{"--help 2>/dev/null", 127, ""},
		{"+x 2>/dev/null", 127, ""},
		{"- 2>/dev/null", 127, ""},
		{"echo a; echo b >&2; echo c; echo d >&2", 0, "a\nb\nc\nd\n"},
		{"cat", 0, ""}, // nothing on stdin
		{"pwd", 0, b.dir + "\n"},
		{`echo "$PWD"`, 0, b.dir + "\n"},
		{"printf 'a\\xffb'", 0, "a\uFFFDb"},
		{"seq 3 | tac", 0, "3\n2\n1\n"},
		{"test -t 0 || test -t 1 || echo none", 0, "none\n"},
		{"(echo x > /dev/tty) 2>/dev/null || echo no terminal", 0, "no terminal\n"},
	} {
		res, out := b.run(t, sh(c.command))
		if res.IsError || code(out) != c.code || c.output != "*" && out.Output != c.output {
			t.Errorf("%q: %+v", c.command, res)
		}
		if !strings.HasPrefix(res.Content, fmt.Sprintf("exit code %d (", c.code)) {
			t.Errorf("%q: content begins with %.40q", c.command, res.Content)
		}
	}
}

func TestEnvironmentIsAllowListed(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	t.Setenv("HOB_TEST_SECRET", "canary")
	_, out := b.run(t, map[string]any{"command": "env", "env": map[string]string{"MINE": "1"}})
	if strings.Contains(out.Output, "canary") {
		t.Errorf("a secret was handed on:\n%s", out.Output)
	}
	for _, want := range []string{"TERM=dumb\n", "MINE=1\n", "TZ=Europe/Berlin\n", "HOME=" + b.home + "\n", "LC_TIME=C\n", "LANG=C.UTF-8\n", "HOB_CALL=test/t1_1/"} {
		if !strings.Contains("\n"+out.Output, "\n"+want) {
			t.Errorf("%q is not in:\n%s", want, out.Output)
		}
	}
}

func TestBadInput(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	if err := os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.state, filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args map[string]any
		code tools.Code
		text string
	}{
		{map[string]any{"command": ""}, tools.Validation, "command: must not be empty"},
		{map[string]any{"command": "a\x00b"}, tools.Validation, "NUL"},
		{map[string]any{"command": strings.Repeat("x", 1<<17)}, tools.Validation, "longer than 128 KB"},
		{map[string]any{"command": "ls", "env": map[string]string{"A=B": "x"}}, tools.Validation, "env.A=B"},
		{map[string]any{"command": "ls", "env": map[string]string{"HOB_CALL": "x"}}, tools.Validation, "reserved for hob"},
		{map[string]any{"command": "ls", "workdir": "nowhere"}, tools.NotFound, "there is no folder"},
		{map[string]any{"command": "ls", "workdir": "file"}, tools.Validation, "not a folder"},
		{map[string]any{"command": "ls", "workdir": "../state"}, tools.Denied, "hob's own state"},
		{map[string]any{"command": "ls", "workdir": "link"}, tools.Denied, "hob's own state"},
		{map[string]any{"command": "ls", "host": "nas"}, tools.Validation, "there is no host"},
		{map[string]any{"command": "ls", "daemon": true}, tools.Validation, "daemon: unknown"},
	} {
		res, _ := b.run(t, c.args)
		if res.Code != c.code || !strings.Contains(res.Content, c.text) {
			t.Errorf("%.60v: %.200q, want %s", c.args, res.Content, c.text)
		}
	}
	res, _ := b.run(t, map[string]any{"command": strings.Repeat("#", 1<<17-1)}) // the longest there can be
	if res.IsError {
		t.Error(res.Content[:100])
	}
}

func TestIntent(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	i := looked(t, b.exec, b.dir, "df -h")
	if i.Effect != tools.Once || i.Sandboxed || i.Summary != "run: df -h" || len(i.Paths) != 1 || i.Paths[0].Path != b.dir {
		t.Errorf("%+v", i)
	}
	same := looked(t, b.exec, b.dir, "df -h")
	other := looked(t, b.exec, b.dir, "df -i")
	if !bytes.Equal(i.Canonical, same.Canonical) || bytes.Equal(i.Canonical, other.Canonical) {
		t.Errorf("%s %s %s", i.Canonical, same.Canonical, other.Canonical)
	}
	if err := os.Rename(b.dir, b.dir+".old"); err != nil { // its inode stays taken
		t.Fatal(err)
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if swapped := looked(t, b.exec, b.dir, "df -h"); bytes.Equal(i.Canonical, swapped.Canonical) {
		t.Error("another folder under the same name has the same canonical bytes")
	}
}

func TestASwappedFolderIsNotUsed(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	call := tools.Call{ID: "t1_1", Args: json.RawMessage(`{"command": "touch here"}`), Workdir: b.dir}
	intent, err := b.exec.Intent(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.Rename(b.dir, b.dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, b.dir); err != nil {
		t.Fatal(err)
	}
	res, err := b.exec.Run(t.Context(), call, intent)
	if err != nil || res.Code != tools.Conflict {
		t.Errorf("%v %+v", err, res)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "here")); err == nil {
		t.Error("the command ran in the folder that was put there")
	}
}

// Every way in which a command can leave something behind; each prints the pids that must be gone.
func leavers() map[string]string {
	return map[string]string{
		"background child":                 "sleep 1000 >/dev/null 2>&1 & echo pid=$!",
		"background child with the pipe":   "sleep 1000 & echo pid=$!",
		"nohup":                            "nohup sleep 1000 >/dev/null 2>&1 & echo pid=$!",
		"deaf child":                       "(trap '' TERM HUP INT; echo pid=$BASHPID; while :; do sleep 1000; done) & sleep 0.1",
		"own group":                        "set -m; sleep 1000 >/dev/null 2>&1 & echo pid=$!",
		"setsid child":                     "setsid sh -c 'echo pid=$$; exec sleep 1000' & sleep 0.2",
		"setsid child without the pipe":    "setsid sh -c 'echo $$ > p; exec sleep 1000 </dev/null >/dev/null 2>&1' & until test -s p; do :; done; echo pid=$(cat p)",
		"daemon":                           "setsid sh -c 'trap \"\" HUP TERM; (sleep 1000; sleep 1000) </dev/null >/dev/null 2>&1 & echo $! > p'; until test -s p; do :; done; echo pid=$(cat p)",
		"stopped child":                    "sleep 1000 & echo pid=$!; kill -STOP $!",
		"many":                             "for i in $(seq 100); do sleep 1000 & echo pid=$!; done",
		"cleared environment, same sesion": "env -i sleep 1000 & echo pid=$!",
	}
}

func TestNothingOutlivesTheCommand(t *testing.T) {
	for name, command := range leavers() {
		if goruntime.GOOS != "linux" && strings.Contains(command, "setsid") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := newBench(t, runtime.Limits{Grace: 50 * time.Millisecond})
			res, out := b.run(t, sh(command))
			list := pids(t, out.Output)
			if res.IsError || code(out) != 0 || len(list) == 0 {
				t.Fatalf("%+v", res)
			}
			if !strings.Contains(res.Content, "left running") {
				t.Errorf("the result does not say that something was ended: %.200s", res.Content)
			}
			for _, pid := range list {
				gone(t, pid)
			}
		})
	}
}

func TestStopEndsEverything(t *testing.T) {
	for name, command := range leavers() {
		if goruntime.GOOS != "linux" && strings.Contains(command, "setsid") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := newBench(t, runtime.Limits{Grace: 50 * time.Millisecond})
			ready := filepath.Join(b.dir, "ready")
			if err := syscall.Mkfifo(ready, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				_, _ = os.ReadFile(ready) // until the command has come so far, and has written: who closes before that ends it
			}()
			res, out := b.runIn(ctx, t, sh(command+"; echo > ready; sleep 1000"))
			list := pids(t, out.Output)
			if res.Code != tools.Cancelled || len(list) == 0 {
				t.Fatalf("%+v", res)
			}
			for _, pid := range list {
				gone(t, pid)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	b := newBench(t, runtime.Limits{Least: 300 * time.Millisecond, Grace: 50 * time.Millisecond})
	res, out := b.run(t, map[string]any{"command": "echo started pid=$$; trap '' TERM; while :; do sleep 1000; done", "timeout": 0})
	if res.Code != tools.Timeout || !out.TimedOut || !strings.Contains(res.Content, "ended\n(timeout raised to 300ms)\nstarted pid=") {
		t.Fatalf("%+v", res)
	}
	if hint := "\nhint: " + res.Hint; res.Hint == "" || strings.Count(res.Content, res.Hint) != 1 || !strings.HasSuffix(res.Content, hint) {
		t.Errorf("the hint is not the end, where it is taken off: %q", res.Content)
	}
	for _, pid := range pids(t, out.Output) {
		gone(t, pid)
	}
}

func TestTheTimeoutIsKeptInItsBounds(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	for timeout, want := range map[int]string{0: "timeout raised to 10 s", 5: "timeout raised to 10 s", -3: "timeout raised to 10 s", 100_000: "timeout lowered to 24h0m", 1 << 30: "timeout lowered to 24h0m", 60: ""} {
		res, _ := b.run(t, map[string]any{"command": "true", "timeout": timeout})
		if res.IsError || strings.Contains(res.Content, "timeout") != (want != "") || !strings.Contains(res.Content, want) {
			t.Errorf("%d: %s", timeout, res.Content)
		}
	}
}

func TestLongOutputIsCutAndShelved(t *testing.T) {
	b := newBench(t, runtime.Limits{Keep: 1000, ArtifactBytes: 50_000})
	for _, c := range []struct {
		name, command string
		cut           bool
		stored        int
	}{
		{"just fits", "head -c 1000 /dev/zero | tr '\\0' x", false, 0},
		{"one too many", "head -c 1001 /dev/zero | tr '\\0' x", true, 1001},
		{"characters count, not bytes", "printf 'ä%.0s' $(seq 1000)", false, 0},
		{"shelf just full", "head -c 50000 /dev/zero | tr '\\0' x", true, 50_000},
		{"shelf too small", "seq 100000", true, 50_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.artifactStore.kept = nil
			res, out := b.run(t, sh(c.command))
			if res.IsError || out.Truncated != c.cut {
				t.Fatalf("truncated %v: %.300s", out.Truncated, res.Content)
			}
			if !utf8.ValidString(out.Output) || utf8.RuneCountInString(out.Output) > 1000+60 {
				t.Errorf("%d characters", utf8.RuneCountInString(out.Output))
			}
			if !c.cut {
				return
			}
			if out.Artifact != "a1" || len(b.artifactStore.kept[0]) != c.stored || !strings.Contains(res.Content, "result_read a1") {
				t.Errorf("artifact %q of %d bytes; %.200s", out.Artifact, len(b.artifactStore.kept[0]), res.Content)
			}
		})
	}
	_, out := b.run(t, sh("seq 100000"))
	if !strings.HasPrefix(out.Output, "1\n2\n3\n") || !strings.HasSuffix(out.Output, "\n99999\n100000\n") || !strings.Contains(out.Output, "of output cut here") {
		t.Errorf("head or tail is wrong: %.40q … %q", out.Output, out.Output[len(out.Output)-40:])
	}
	b.artifactStore.err = errors.New("disk full")
	if res, _ := b.run(t, sh("seq 10000")); res.IsError || !strings.Contains(res.Content, "could not be kept: disk full") {
		t.Errorf("%.300s", res.Content)
	}
}

func TestHugeOutputTakesBoundedMemory(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	// The last bytes before the limit arrive one by one: the buffer must not be reallocated for each.
	res, out := b.run(t, sh("echo first; head -c 10475000 /dev/zero | tr '\\0' 'a'; for i in $(seq 40); do echo a; sleep 0.002; done; head -c 90000000 /dev/zero | tr '\\0' 'a'; echo; echo last"))
	goruntime.ReadMemStats(&after)
	if res.IsError || !strings.HasPrefix(out.Output, "first\naaa") || !strings.HasSuffix(out.Output, "aaa\nlast\n") {
		t.Fatalf("%.100s", res.Content)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 60<<20 {
		t.Errorf("100 MB of output took %d MB of memory, in sum over time", used>>20)
	}
	if len(b.artifactStore.kept[0]) != 10<<20 {
		t.Errorf("%d bytes stored", len(b.artifactStore.kept[0]))
	}
}

func TestOrphansOfAnEarlierRunAreEnded(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("only /proc shows the environment of a process")
	}
	instance := fmt.Sprintf("orphans-test-%d", os.Getpid())
	mine := startMarked(t, "HOB_CALL="+instance+"/t9_1/x")
	other := startMarked(t, "HOB_CALL="+instance+"-2/t9_1/x")
	n, err := runtime.KillOrphans(t.Context(), instance)
	if err != nil || n != 1 {
		t.Errorf("%d ended, %v", n, err)
	}
	gone(t, mine.Pid)
	if zombie(other.Pid) || syscall.Kill(other.Pid, 0) != nil {
		t.Error("another instance's process was ended")
	}
	if _, err := runtime.KillOrphans(t.Context(), ""); err == nil {
		t.Error("an empty instance would end everybody's")
	}
}

func startMarked(t *testing.T, env string) *os.Process {
	t.Helper()
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Env: []string{env}, Files: []*os.File{nil, nil, nil}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		_, _ = p.Wait()
	})
	return p
}
