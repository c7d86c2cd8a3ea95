//go:build unix

package runtime_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys/systest"
	"hob/tools"
	"hob/tools/runtime"
)

// sandboxed is a bench whose commands run in the sandbox. Where none works, the test is skipped (with CI set, it fails).
func sandboxed(t testing.TB, network bool, change ...func(*runtime.ExecDeps)) *bench {
	t.Helper()
	b := newBench(t, runtime.Limits{}, append([]func(*runtime.ExecDeps){func(d *runtime.ExecDeps) {
		d.Sandbox = sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.Auto, Home: d.Guard.Home(), State: filepath.Join(d.Guard.Home(), "state"), Network: network, Self: self(t)})
		if !d.Sandbox.Works() {
			systest.Missing(t, d.Sandbox.State().Why)
		}
	}}, change...)...)
	b.call.Scratch = fsguard.ScratchOf(b.dir, "main")
	return b
}

// put writes a file of the workspace.
func (b *bench) put(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// meant is what exec's intent says.
func (b *bench) meant(t testing.TB, args map[string]any) tools.Intent {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	call := b.call
	call.Args = raw
	i, err := b.exec.Intent(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestInTheSandbox(t *testing.T) {
	var marked []string
	b := sandboxed(t, false, func(d *runtime.ExecDeps) { d.Marked = func() []string { return marked } })
	b.put(t, "mine", "mine")
	b.put(t, ".scratch/other/x", "scratch")
	b.put(t, "attachments/1/x", "attached")
	b.put(t, "memory/own.md", "own")
	b.put(t, fsguard.ForeignMemory, "somebody's") // without its mark
	b.put(t, "Memory/FOREIGN.md", "somebody's")
	marked = []string{b.put(t, "marked", "marked"), b.put(t, "folder/x", "marked too"), filepath.Join(b.dir, "not there"), "/etc/passwd"}
	for _, c := range []struct {
		name, command, output string
		tainted               bool
		foreign               string
	}{
		{"own files are seen", "cat mine", "mine", false, ""},
		{"own files are written", "echo new > new && cat new", "new\n", false, ""},
		{"scratch is not seen", "cat .scratch/other/x 2>/dev/null; echo $?", "1\n", false, ""},
		{"attachments are not seen", "cat att*/1/x 2>/dev/null; echo $?", "1\n", false, ""},
		{"marked files are not seen", "cat marked folder/x 2>/dev/null; echo $?", "1\n", false, ""},
		{"what is remembered from others is not seen", "cat memory/own.md memory/foreign.md Memory/* 2>/dev/null; echo $?", "own1\n", false, ""},
		{"attachments that are named are", "cat attachments/1/x", "attached", false, "attachments"},
		{"scratch still is not", "cat attachments/1/x .scratch/other/x 2>/dev/null; echo $?", "attached1\n", false, "attachments"},
		{"the state is not seen", "ls ../state 2>/dev/null; echo $?", "2\n", false, ""},
		{"the network is not there", "(echo > /dev/tcp/192.0.2.1/80) 2>&1 | grep -o unreachable | head -1", "unreachable\n", false, ""},
		{"a temporary folder is", `test -z "$TMPDIR" && f=$(mktemp) && echo x > $f && cat $f`, "x\n", false, ""},
		{"a tainted turn sees all", "cat mine marked .scratch/other/x att*/1/x", "minemarkedscratchattached", true, "output of a command that sees foreign files"},
		{"a tainted turn writes nothing", "echo x > mine; touch y; cat mine; ls y", "", true, "output of a command that sees foreign files"},
		{"but scratch", "echo x > .scratch/main/y && cat .scratch/main/y", "x\n", true, "output of a command that sees foreign files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.call.Tainted = c.tainted
			i := b.meant(t, sh(c.command))
			if !i.Sandboxed || i.Foreign != c.foreign || !slices.Equal(i.Scopes, []tools.Scope{tools.Exec}) {
				t.Errorf("%+v", i)
			}
			res, out := b.run(t, sh(c.command))
			if c.output != "" && (res.IsError || out.Output != c.output) || len(res.Changes) > 0 {
				t.Errorf("%+v", res)
			}
		})
	}
	if raw, err := os.ReadFile(filepath.Join(b.dir, "mine")); err != nil || string(raw) != "mine" {
		t.Errorf("a tainted turn wrote: %q %v", raw, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a tainted turn made a file: %v", err)
	}
}

// The working folder may be foreign: then the turn has read foreign text.
func TestForeignFolders(t *testing.T) {
	b := sandboxed(t, false)
	b.put(t, "attachments/1/x", "attached")
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]struct {
		foreign, scopes string
		write           bool
	}{
		"attachments/1": {"attachment: ", "exec", false}, outside: {"outside the roots: ", "exec fs-write", true},
	} {
		args := map[string]any{"command": "touch here; test -e here && echo written", "workdir": folder}
		i := b.meant(t, args)
		var scopes []string
		for _, s := range i.Scopes {
			scopes = append(scopes, string(s))
		}
		if !strings.HasPrefix(i.Foreign, want.foreign) || strings.Join(scopes, " ") != want.scopes || !i.Sandboxed || i.Paths[0].Write != want.write {
			t.Errorf("%s: %+v", folder, i)
		}
		if res, out := b.run(t, args); (out.Output == "written\n") != want.write {
			t.Errorf("%+v", res)
		}
	}
	if i := b.meant(t, map[string]any{"command": "ls", "workdir": "/"}); i.Sandboxed || i.Foreign == "" {
		t.Errorf("the sandbox cannot show the root folder: %+v", i)
	}
}

func TestForeignOutput(t *testing.T) {
	networked := sandboxed(t, true)
	for foreign, i := range map[string]tools.Intent{
		"output of a command with network access": networked.meant(t, sh("ls")),
		"output of a command outside the sandbox": newBench(t, runtime.Limits{}).meant(t, sh("ls")),
	} {
		if i.Foreign != foreign || !slices.Equal(i.Scopes, []tools.Scope{tools.Exec, tools.Net}) || i.Sandboxed != (foreign == "output of a command with network access") {
			t.Errorf("%+v", i)
		}
	}
}

// Where the sandbox has the network, a command sees either that or the scripts of skills.
func TestASkillsScriptHasNoNetwork(t *testing.T) {
	b := sandboxed(t, true)
	b.put(t, "skills/one/scripts/run.sh", "echo the script ran; (echo > /dev/tcp/192.0.2.1/80) 2>&1 | grep -o unreachable | head -1")
	if res, out := b.run(t, sh("bash skills/one/scripts/run.sh")); out.Output != "the script ran\nunreachable\n" {
		t.Errorf("%+v", res)
	}
	if i := b.meant(t, sh("bash skills/one/scripts/run.sh")); slices.Contains(i.Scopes, tools.Net) {
		t.Errorf("what runs a script has the network: %+v", i)
	}
	if res, out := b.run(t, sh("find . -type f; cat s*/one/*/run.sh 2>/dev/null; echo")); strings.TrimSpace(out.Output) != "" {
		t.Errorf("what has the network sees skills: %+v", res)
	}
	if i := b.meant(t, sh("ls s*")); !slices.Contains(i.Scopes, tools.Net) {
		t.Errorf("a command without skills has no network: %+v", i)
	}
}

// S1: a shell that a command in the sandbox may have put on hob's PATH runs nothing.
func TestS1NoPlantedShell(t *testing.T) {
	path := os.Getenv("PATH")
	for _, mode := range []sandbox.Mode{sandbox.Auto, sandbox.Require} {
		var rw string
		b := sandboxed(t, false, func(d *runtime.ExecDeps) {
			rw = filepath.Join(d.Guard.Home(), "rw")
			for _, name := range []string{"bash", "sh"} {
				if err := errors.Join(os.MkdirAll(rw+"/bin", 0o700), os.WriteFile(rw+"/bin/"+name, []byte("#!/bin/sh\necho planted\n"), 0o700)); err != nil { // #nosec G306 -- a program
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", rw+"/bin:"+path)
			d.Sandbox = sandbox.New(t.Context(), sandbox.Config{
				Mode: mode, Home: d.Guard.Home(), State: filepath.Join(d.Guard.Home(), "state"), Self: self(t), Roots: []sandbox.Bind{{Path: rw, Write: true}},
			})
		})
		res, out := b.run(t, sh("echo hello"))
		if out.Output != "hello\n" {
			t.Errorf("%v: %+v", mode, res)
		}
	}
}

// Where commands must be confined and cannot be, none runs, and the hint says how to fix that.
func TestRequireFailsClosed(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no bwrap, no sandbox-exec
	s := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.Require, Home: "/home", State: "/home/state"})
	t.Setenv("PATH", "/usr/bin:/bin")
	b := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) { d.Sandbox = s })
	if s.Works() {
		t.Skip("it is found without a path")
	}
	res, _ := b.run(t, sh("touch ran"))
	if res.Code != tools.ConfigError || res.Hint == "" || res.Hint != s.State().Hint {
		t.Errorf("%+v", res)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it ran: %v", err)
	}
}

// What a command with network, or one outside the sandbox, wrote is marked.
func TestMarks(t *testing.T) {
	for name, b := range map[string]*bench{"networked": sandboxed(t, true), "outside": newBench(t, runtime.Limits{})} {
		t.Run(name, func(t *testing.T) {
			b.put(t, "old", "old")
			b.put(t, "changed", "old")
			b.put(t, "moved/x", "old")
			b.put(t, ".scratch/x", "")
			if res, _ := b.run(t, sh("sleep 0.05")); len(res.Changes) > 0 && name == "outside" {
				t.Logf("written in the same tick: %v", res.Changes)
			}
			res, _ := b.run(t, sh("echo x >> changed; touch -d 2001-01-01 backdated; mkdir -p a/b many; echo > a/b/new; touch .scratch/y; mv moved there; cd many; touch $(seq 1001)"))
			var got []string
			for _, c := range res.Changes {
				m := c.(tools.Mark)
				got = append(got, strings.TrimPrefix(m.Path, b.dir+"/"))
				if !strings.HasPrefix(m.Why, "written by a command ") {
					t.Errorf("%+v", m)
				}
			}
			if want := []string{"a", "a/b", "a/b/new", "backdated", "changed", "many", "there"}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			b.run(t, sh("sleep 0.05")) // the clock of the file system ticks every few milliseconds
			b.background(t, "echo x > late")
			if r := b.report(t); len(r.Marks) != 1 || r.Marks[0].Path != filepath.Join(b.dir, "late") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// self is the test binary, which is to these sandboxes what hob's executable is to hob's.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATerminalInTheSandbox(t *testing.T) {
	b := sandboxed(t, false)
	res, out := b.run(t, map[string]any{"command": "test -t 0 && tty >/dev/null && (echo own > /dev/tty); stty size", "pty": true})
	if res.IsError || out.Output != "own\n40 120\n" {
		t.Errorf("%+v", res)
	}
	if res, out := b.run(t, map[string]any{"command": "exit 7", "pty": true}); code(out) != 7 || out.Output != "" {
		t.Errorf("%+v", res)
	}
	_, out = b.run(t, map[string]any{"command": "echo ready; sleep 100; echo not", "pty": true, "background": true})
	b.poll(t, out.ProcessID)
	b.handle(t, map[string]any{"action": "input", "process_id": out.ProcessID, "input": "\x03"})
	if r := b.report(t); !strings.Contains(r.Text, "exit code 130") {
		t.Errorf("%q", r.Text)
	}
}

func TestSignalsReachIntoTheSandbox(t *testing.T) {
	b := sandboxed(t, false)
	id := b.background(t, "trap 'echo usr1' USR1; trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done 2>/dev/null")
	b.poll(t, id)
	b.handle(t, map[string]any{"action": "signal", "process_id": id, "signal": "USR1"})
	if text, _ := b.poll(t, id); text != "usr1\n" {
		t.Errorf("%q", text)
	}
	if _, out := b.handle(t, map[string]any{"action": "kill", "process_id": id}); *out.Processes[0].ExitCode != 5 || out.Output != "bye\n" {
		t.Errorf("%+v", out)
	}
}

// A command can neither change a locked workspace file nor put another in its place. Where a second name would let it, hob asks.
func TestLockedWorkspaceFile(t *testing.T) {
	b := sandboxed(t, false)
	const text = "---\nagent-modification: false\n---\nmine\n"
	path := b.put(t, "AGENTS.md", text)
	b.put(t, "free.md", "x")
	for _, command := range []string{
		"echo evil > AGENTS.md", "mv AGENTS.md b", "rm -f AGENTS.md", "echo evil > new && mv -f new AGENTS.md", "ln AGENTS.md c && echo evil > c", "ln -s AGENTS.md l && echo evil > l",
		"mkdir d && mv AGENTS.md d", "chmod 777 AGENTS.md", "cd .. && mv $OLDPWD moved",
	} {
		if i := b.meant(t, map[string]any{"command": command}); !i.Sandboxed || len(i.Paths) != 1 {
			t.Errorf("%s: %+v", command, i)
		}
		b.run(t, map[string]any{"command": command})
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("after %s it holds %q, %v", command, got, err)
		}
	}
	b.run(t, map[string]any{"command": "echo new > free.md"})
	if got, err := os.ReadFile(filepath.Join(b.dir, "free.md")); err != nil || string(got) != "new\n" {
		t.Errorf("another file: %q, %v", got, err)
	}
	if err := os.Link(path, filepath.Join(b.dir, "second.md")); err != nil {
		t.Fatal(err)
	}
	if i := b.meant(t, map[string]any{"command": "echo evil > second.md"}); len(i.Paths) != 2 || i.Paths[1].Path != path || !i.Paths[1].Write {
		t.Errorf("with a second name: %+v", i.Paths)
	}
}

// F3: one sentence in exec's description tells a model where its commands run. It does not wait for the probe, and the probe does not change it.
func TestExecSaysWhereItRuns(t *testing.T) {
	for want, c := range map[string]sandbox.Config{
		" It runs in a sandbox: only the workspace stays, no network.": {Mode: sandbox.Auto},
		" It runs in a sandbox: only the workspace stays.":             {Mode: sandbox.Auto, Network: true},
		" It runs on the machine itself.":                              {Mode: sandbox.Off},
	} {
		c.Home = t.TempDir()
		c.State, c.Self = c.Home+"/state", self(t)
		s := sandbox.New(t.Context(), c)
		for range 2 {
			got := runtime.NewExec(runtime.ExecDeps{Sandbox: s}).Spec().Description
			if !strings.HasSuffix(got, "."+want) || len(got) > 160 {
				t.Errorf("%+v: %q", c, got)
			}
			if state := s.State(); c.Mode != sandbox.Off && !state.Works {
				t.Skip("no sandbox works here: " + state.Why)
			}
		}
	}
}
