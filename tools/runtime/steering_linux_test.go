package runtime_test

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// canary is a library that writes a file when what loads it can see hob's state.
const canary = `#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void x(void) {
  if (!access("%[1]s/token", F_OK)) close(open("%[2]s", O_CREAT|O_WRONLY, 0600));
}
unsigned la_version(unsigned v) { return v; }
`

// lures are variables that steer loaders and interpreters, all of them to a canary.
func (b *bench) lures(t *testing.T, loot string) map[string]string {
	t.Helper()
	script := b.put(t, "lure/script", fmt.Sprintf("test -e %s/token && touch %s\n", b.state, loot))
	module := fmt.Sprintf("import os\nif os.path.exists('%s/token'): open('%s', 'w')\n", b.state, loot)
	b.put(t, "lure/sitecustomize.py", module)
	for _, name := range []string{"bwrap", "ssh", "setsid", "env", "sh", "bash", "less", "vi"} {
		if err := os.Chmod(b.put(t, "lure/bin/"+name, "#!/bin/sh\n. "+script+"\nexec /usr/bin/"+name+` "$@"`+"\n"), 0o700); err != nil { // #nosec G302 -- a program
			t.Fatal(err)
		}
	}
	lib := filepath.Join(b.dir, "lure", "lure.so")
	if gcc, err := osexec.LookPath("gcc"); err == nil {
		source := b.put(t, "lure/lure.c", fmt.Sprintf(canary, b.state, loot))
		if out, err := osexec.CommandContext(t.Context(), gcc, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	} else {
		t.Log("no gcc: what a loader would do is not tried, only what it is given is looked at")
	}
	dir := filepath.Dir(lib)
	return map[string]string{
		"LD_PRELOAD": lib, "LD_AUDIT": lib, "LD_LIBRARY_PATH": dir, "LD_DEBUG": "libs", "LD_SHOW_AUXV": "1", "LD_BIND_NOW": "1", "DYLD_INSERT_LIBRARIES": lib,
		"GLIBC_TUNABLES": "glibc.malloc.check=3", "GCONV_PATH": dir, "PATH": dir + "/bin:/usr/bin:/bin", "BASH_ENV": script, "ENV": script, "IFS": "x", "SHELLOPTS": "xtrace",
		"PROMPT_COMMAND": ". " + script, "PYTHONPATH": dir, "PYTHONSTARTUP": dir + "/sitecustomize.py", "PERL5OPT": "-I" + dir, "NODE_OPTIONS": "--require " + script,
		"RUBYOPT": "-I" + dir, "GIT_SSH_COMMAND": script, "EDITOR": dir + "/bin/vi", "PAGER": dir + "/bin/less", "LOCPATH": dir, "HOB_ENTER": "7", "BASH_FUNC_test%%": "() { :; }",
	}
}

// S1: what steers a loader or an interpreter stays inside: in the foreground, in a terminal and in the background, in a turn of the
// owner's and in one of a job that has read foreign text, whether a command must be confined or should be.
func TestS1NoVariableOfACommandIsOutside(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Auto, sandbox.Require} {
		b := sandboxed(t, false, func(d *runtime.ExecDeps) {
			d.Sandbox = sandbox.New(t.Context(), sandbox.Config{Mode: mode, Home: d.Guard.Home(), State: filepath.Join(d.Guard.Home(), "state"), Self: self(t)})
		})
		b.put(t, "../state/token", "token")
		loot := filepath.Join(b.home, "loot")
		env := b.lures(t, loot)
		delete(env, "BASH_FUNC_test%%") // is refused by its name
		if out, err := osexec.CommandContext(t.Context(), "sh", filepath.Join(b.dir, "lure", "script")).CombinedOutput(); err != nil || os.Remove(loot) != nil {
			t.Fatalf("the canary does not work outside: %v: %s", err, out)
		}
		for name := range env {
			if name != "HOB_ENTER" && name != "DYLD_INSERT_LIBRARIES" && !runtime.Steering(name) {
				t.Errorf("%s is not known to steer", name)
			}
		}
		for _, tainted := range []bool{false, true} {
			b.call.Tainted = tainted
			if err := os.MkdirAll(b.call.Scratch, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, way := range []string{"plain", "pty", "background"} {
				args := map[string]any{"command": `echo "<$LD_PRELOAD|$BASH_ENV|$HOB_ENTER>"`, "env": env, way: true}
				delete(args, "plain")
				res, out := b.run(t, args)
				text := out.Output
				if way == "background" {
					text = b.report(t).Text
				}
				if want := "<" + env["LD_PRELOAD"] + "|" + env["BASH_ENV"] + "|7>"; !strings.Contains(text, want) {
					t.Errorf("%s, %s, tainted %v: the command does not have its own variables: %+v %q", mode, way, tainted, res, text)
				}
				if _, err := os.Lstat(loot); err == nil {
					t.Fatalf("%s, %s, tainted %v: something outside obeyed a variable of the command", mode, way, tainted)
				}
			}
		}
		b.call.Tainted = false
		b.call.ID = "steered_" + string(mode) // commands of other tests run beside this one
		b.outside(t, env)
	}
}

// outside looks at what runs outside for a command: of its environment, its command line and its variables' values there is nothing.
func (b *bench) outside(t *testing.T, env map[string]string) {
	t.Helper()
	_, out := b.run(t, map[string]any{"command": "echo ready; sleep 100", "env": env, "background": true})
	id := out.ProcessID
	b.poll(t, id)
	ours, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range list {
		text, err := os.ReadFile(dir + "/environ")
		if ns, linking := os.Readlink(dir + "/ns/pid"); err != nil || linking != nil || ns != ours || !bytes.Contains(text, []byte(runtime.CallMark+"=test/"+b.call.ID+"/")) || dir == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		found++
		for pair := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
			if name, _, _ := strings.Cut(pair, "="); !slices.Contains([]string{"LANG", "PATH", "PWD", "HOB_ENTER", "GOMAXPROCS", "GOGC", runtime.CallMark}, name) {
				t.Errorf("a process outside has %s", pair)
			}
		}
		if line, err := os.ReadFile(dir + "/cmdline"); err != nil || bytes.Contains(line, []byte("sleep 100")) {
			t.Errorf("a process outside has the command in its command line: %q %v", line, err)
		}
	}
	if found == 0 {
		t.Error("no process outside was found: nothing was looked at")
	}
	b.handle(t, map[string]any{"action": "kill", "process_id": id})
}

// S1: outside the sandbox no right to the shell covers what is loaded into every program. A question shows it with its value.
func TestS1LoadersAreAskedForOutside(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	for name, want := range map[string]policy.Verdict{"LD_PRELOAD": policy.Ask, "LD_ANYTHING": policy.Ask, "GLIBC_TUNABLES": policy.Ask, "GCONV_PATH": policy.Ask, "DYLD_INSERT_LIBRARIES": policy.Ask, "HARMLESS": policy.Allow} {
		for tainted, want := range map[bool]policy.Verdict{false: want, true: map[policy.Verdict]policy.Verdict{policy.Ask: policy.Deny, policy.Allow: policy.Allow}[want]} {
			b.call.Tainted = tainted
			i := b.meant(t, map[string]any{"command": "true", "env": map[string]string{name: "/x.so"}})
			d := policy.Decide(policy.Case{Tool: "exec", Intent: i, Asker: event.Owner, Tainted: tainted, Rights: []policy.Right{{Kind: "exec"}, {Kind: "net"}}, Mode: policy.ModeAsk})
			if d.Verdict != want {
				t.Errorf("%s, tainted %v: %s, want %s (%s)", name, tainted, d.Verdict, want, d.Reason)
			}
			if shown := strings.Contains(strings.Join(i.Warnings, "\n"), name+"=/x.so"); shown != (want != policy.Allow) {
				t.Errorf("%s: warnings %q", name, i.Warnings)
			}
		}
	}
}

// S1 once more as a user without rights.
func TestS1AsSomebodyElse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestS1NoVariableOfACommandIsOutside did it")
	}
	binary, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "else")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	copied := filepath.Join(dir, "runtime.test")
	if err := os.WriteFile(copied, binary, 0o755); err != nil { // #nosec G306 -- another user runs it
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // #nosec G302 -- another user's tests write there
		t.Fatal(err)
	}
	cmd := osexec.CommandContext(t.Context(), copied, "-test.run=^TestS1NoVariable", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") && !strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("%v\n%s", err, out)
	}
}
