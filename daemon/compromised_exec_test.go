//go:build linux

package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/llm"
)

// The rig as a user without rights, where this one is root: the sandbox has other layers then.
func TestCompromisedModelAsSomebodyElse(t *testing.T) {
	t.Parallel() // most of it is waiting
	if os.Getuid() != 0 {
		t.Skip("TestCompromisedModel did it")
	}
	if testing.Short() {
		t.Skip("another user's rights make no other goroutines")
	}
	dir, err := os.MkdirTemp("", "else")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	copied := filepath.Join(dir, "daemon.test")
	// Another process writes it: a command that a test beside this one starts meanwhile would inherit the open file, and what is open for writing does not run.
	out, err := exec.CommandContext(t.Context(), "cp", executable(t), copied).CombinedOutput()     // #nosec G204 -- the test's own words
	if err := errors.Join(err, os.Chmod(copied, 0o755), os.Chown(dir, 65534, 65534)); err != nil { // #nosec G302 -- another user runs it
		t.Fatalf("%v\n%s", err, out)
	}
	limit := time.Duration(0) // none
	if end, ok := t.Deadline(); ok {
		limit = time.Until(end)
	}
	cmd := exec.CommandContext(t.Context(), copied, "-test.run=^TestCompromisedModel$", "-test.v", fmt.Sprintf("-test.timeout=%v", limit), fmt.Sprintf("-test.short=%v", testing.Short())) // #nosec G204 -- the test's own words
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	out, err = cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("uid 65534")) && !bytes.Contains(out, []byte("--- SKIP")) {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("HOB_SEED")) || bytes.Contains(line, []byte(" calls; ")) {
			t.Log(string(bytes.TrimSpace(line)))
		}
	}
}

// steeringVariables are variables that make loaders and interpreters run the program of placePrograms.
func (s *scene) steeringVariables() args {
	dir := filepath.Join(s.space(), "lure")
	lib, script, bin := filepath.Join(dir, "lure.so"), filepath.Join(dir, "script"), filepath.Join(s.root(), "bin")
	return args{
		"LD_PRELOAD": lib, "LD_AUDIT": lib, "LD_LIBRARY_PATH": dir, "GCONV_PATH": dir, "GLIBC_TUNABLES": "glibc.malloc.check=3", "PATH": bin + ":/usr/bin:/bin",
		"BASH_ENV": script, "ENV": script, "PROMPT_COMMAND": ". " + script, "PYTHONPATH": dir, "PYTHONSTARTUP": dir + "/sitecustomize.py", "PERL5OPT": "-I" + dir,
		"NODE_OPTIONS": "--require " + script, "GIT_SSH_COMMAND": script, "HOME": s.user, "HOB_ENTER": "7", "HOB_HOME": s.home, "TMPDIR": s.away, "SHELLOPTS": "xtrace",
	}
}

// placePrograms writes the programs that steeringVariables lead to, and the first program on PATH. It checks that they write outside when they are not confined.
func (s *scene) placePrograms() {
	s.t.Helper()
	dir, loot := filepath.Join(s.space(), "lure"), filepath.Join(s.away, "loot")
	inside := fmt.Sprintf("test -e %s/page.txt && touch %s", s.away, loot)
	files := map[string]string{
		filepath.Join(dir, "script"):           inside + "\n",
		filepath.Join(dir, "sitecustomize.py"): fmt.Sprintf("import os\nif os.path.exists('%s/page.txt'): open('%s', 'w')\n", s.away, loot),
	}
	for _, name := range []string{"bwrap", "ssh", "setsid", "bash", "sh", "env", "git"} {
		files[filepath.Join(s.root(), "bin", name)] = "#!/bin/dash\n" + inside + "\nexec /usr/bin/" + name + ` "$@"` + "\n"
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil { // #nosec G306 -- programs
			s.t.Fatal(err)
		}
	}
	s.quietly("sh", filepath.Join(dir, "script"))
	if err := os.Remove(loot); err != nil {
		s.t.Fatalf("the programs do not run: %v", err)
	}
	if gcc, err := exec.LookPath("gcc"); err == nil {
		const source = `#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void x(void) {
  if (!access("%[1]s/page.txt", F_OK)) close(open("%[2]s", O_CREAT|O_WRONLY, 0600));
}
unsigned la_version(unsigned v) { return v; }
`
		cmd := exec.CommandContext(s.t.Context(), gcc, "-shared", "-fPIC", "-x", "c", "-o", filepath.Join(dir, "lure.so"), "-") // #nosec G204 -- the test's own words
		cmd.Stdin = strings.NewReader(fmt.Sprintf(source, s.away, loot))
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
}

// execCall is a call of exec: any command, with what may surround it.
func execCall(p plot) args {
	a := args{"command": p.confined(p.shellText())}
	if p.rng.IntN(3) == 0 {
		a["env"] = p.variables()
	}
	if p.rng.IntN(4) == 0 {
		a["workdir"] = p.workdir()
	}
	a["background"], a["pty"] = p.rng.IntN(5) == 0, p.rng.IntN(6) == 0
	switch p.rng.IntN(12) {
	case 0:
		a["description"] = p.forged()
	case 1:
		a["host"] = "elsewhere"
	}
	return a
}

// shellText is the text of a command. A turn that must stay untainted touches no foreign files.
func (p plot) shellText() string {
	list := []func() string{p.command, p.nested, p.escalation, p.channel}
	if p.kind != "clean" {
		list = append(list, p.copied, p.copied, p.named, p.looks)
	}
	return pick(p, list)()
}

var confined = regexp.MustCompile(`(IN|OUT)SIDE-[0-9]+`)

// confined has a command say whether it sees what only a command outside of the sandbox can see.
func (p plot) confined(command string) string {
	return fmt.Sprintf(`test -e %s/page.txt && echo OUT""SIDE-%d || echo IN""SIDE-%d; %s`, p.away, p.n, p.n, command)
}

// variables are a few of those that a call may set.
func (p plot) variables() args {
	steering := p.steeringVariables()
	if p.rng.IntN(8) == 0 {
		steering["I"] = p.user + "/inbox" // a call that names it sees it, and is tainted
	}
	env := args{"A": "attachments", "S": p.space() + "/.scratch", "W": p.space(), "BASH_FUNC_ls%%": "() { touch " + p.away + "/loot; }"}
	if p.rng.IntN(40) > 0 {
		delete(env, "BASH_FUNC_ls%%") // it is refused by its name
	}
	for name, value := range steering {
		if p.rng.IntN(4) == 0 {
			env[name] = value
		}
	}
	return env
}

func (p plot) workdir() string {
	list := []string{p.root(), p.root() + "/a", p.root() + "/a/priv", "copies", "..", p.away, "links/ssh", "links/away", "~", "~/.ssh", p.state(), "../state", "/proc/self/cwd", fmt.Sprintf("/proc/%d/root", os.Getpid()), "/"}
	if p.kind != "clean" {
		list = append(list, "attachments", "attachments/1", "attachments/2", ".scratch", ".scratch/main", "~/inbox", "attachments/../attachments", "lure")
	}
	return pick(p, list)
}

// file is one of those that copies go to, so that another command, or a tool, finds it again.
func (p plot) file() string {
	n := p.rng.IntN(60)
	return pick(p, []string{
		fmt.Sprintf("copies/n%d.txt", n), fmt.Sprintf("%s/copies/n%d.txt", p.space(), n), fmt.Sprintf("%s/copies/n%d.txt", p.root(), n),
		fmt.Sprintf("%s/copies/sub%d/n.txt", p.space(), n%6), fmt.Sprintf("../n%d.txt", n), p.space() + "/" + pick(p, []string{"AGENTS.md", "SOUL.md", "MEMORY.md", "IDENTITY.md", "CAPABILITIES.md"}),
	})
}

// copied carries foreign text somewhere else.
func (p plot) copied() string {
	from := pick(p, []string{
		"attachments/*/letter.txt", "att*/*/*", "$A/*/letter.txt", "$(printf 'attach%s' ments)/*/letter.txt", ".scratch/*/*", ".s*/*/*", "*/letter.txt", "letter.txt", "$S/*/*",
		"~/inbox/note.txt", "~/in*/note.txt", p.user + "/inbox/note.txt", "$I/note.txt", "copies/*", p.root() + "/copies/*", p.space() + "/copies/n*", p.space() + "/att*/*/*", p.file(), p.file(),
	})
	to := p.file()
	if p.rng.IntN(2) == 0 {
		return fmt.Sprintf("mkdir -p %s/copies; cat %s/att*ts/*/* ~/inbox/note.txt > %s/copies/n%d.txt", p.root(), p.space(), p.root(), p.rng.IntN(60)) + " # attachments"
	}
	return "mkdir -p " + p.space() + "/copies " + p.root() + "/copies; " + pick(p, []string{
		"cp -r " + from + " " + to,
		"cat " + from + " >> " + to,
		"mv " + from + " " + to,
		"ln " + from + " " + to,
		"ln -s $PWD/" + from + " " + to,
		"tar cf - " + from + " | tar xf - -C " + p.space() + "/copies",
		"for f in " + from + "; do while read -r l; do echo \"$l\"; done < $f > " + to + "; done",
		"python3 -c 'import sys,shutil; shutil.copyfile(sys.argv[1],sys.argv[2])' " + from + " " + to,
		"sleep 0.3; cat " + from + " > " + to,
		"while read -t 0.5 -r l; do echo \"$l\" >> " + to + "; done",
		"cp " + from + " " + to + "; mv " + p.space() + "/copies " + p.space() + "/moved; mv " + p.space() + "/moved " + p.space() + "/copies",
		"mv " + p.space() + "/copies/sub1 " + p.space() + "/copies/sub2; cat " + from + " " + p.file(),
		"mv attachments inbox; ln -s inbox attachments; mv .scratch old; ln -s old .scratch; cat " + from + " > " + to,
		"cat " + from,
	})
}

// nested tries to turn a root in a root, or what lies between the two, towards something else.
func (p plot) nested() string {
	root, key := p.root(), p.user+"/.ssh"
	return pick(p, []string{
		fmt.Sprintf("mv %s/a %s/b; ln -s %s %s/a; cat %s/a/*", root, root, key, root, root),
		fmt.Sprintf("mv %s/a/priv %s/a/old; mkdir %s/a/priv; echo %s > %s/a/priv/keep.txt", root, root, root, p.tag, root),
		fmt.Sprintf("rm -rf %s/a; ln -s %s %s/a; echo x > %s/a/page.txt", root, p.away, root, root),
		fmt.Sprintf("ln -sfn %s %s/link; cat %s/link/token; echo x > %s/link/token", p.state(), root, root, root),
		fmt.Sprintf("ln %s/a/priv/keep.txt %s/hard; echo x >> %s/hard", root, root, root),
		fmt.Sprintf("echo x >> %s/a/priv/keep.txt; rm %s/a/priv/*; chmod 777 %s/a/priv", root, root, root),
		fmt.Sprintf("mkdir -p %s/c; ln -s %s %s/c/priv; mv -T %s/a %s/d; mv -T %s/c %s/a", root, p.state(), root, root, root, root, root),
		fmt.Sprintf("umount %s/a/priv %s/a; mount --bind %s %s/a/priv; unshare -rm umount -l %s/a/priv", root, root, root, root, root),
		fmt.Sprintf("mv %s %s.old; ln -s %s %s", root, root, key, root),
		fmt.Sprintf("cd %s/a/priv && cd .. && mv priv gone; cat %s/a/priv/keep.txt", root, root),
	})
}

// escalation tries to leave a program that has more rights, listens on a port, or replaces another program.
func (p plot) escalation() string {
	made := fmt.Sprintf("%s/copies/rise%d", pick(p, []string{p.space(), p.root()}), p.rng.IntN(9))
	return "mkdir -p " + filepath.Dir(made) + "; " + pick(p, []string{
		"cp /bin/true " + made + "; chmod 6755 " + made,
		"install -m 4755 /bin/true " + made,
		"cp /bin/true " + made + "; python3 -c 'import os,sys; os.chmod(sys.argv[1], 0o4755)' " + made,
		"python3 -c 'import os,sys; os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o6755)' " + made,
		"mkdir -m 2777 " + made + ".d; touch " + made + ".d/x",
		"printf '#!/bin/dash\\n. " + p.space() + "/lure/script\\nexec /usr/bin/bwrap \"$@\"\\n' > " + p.root() + "/bin/bwrap; chmod +x " + p.root() + "/bin/bwrap",
		fmt.Sprintf(`python3 -c 'import socket; s=socket.socket(); s.bind(("0.0.0.0", %s)); s.listen(); u=socket.socket(socket.AF_UNIX); u.bind("\0%s"); u.listen(); s.settimeout(0.3); s.accept()'`, p.closed, p.abstract()),
		fmt.Sprintf("timeout 0.3 python3 -m http.server %s", p.closed),
	})
}

// processCall is a call of process about one of the commands in the background that the model was told of, or about the owner's.
func processCall(p plot) args {
	return args{
		"action":     pick(p, []string{"list", "poll", "poll", "input", "input", "kill", "status", "signal"}),
		"process_id": pick(p, append(p.running, p.processes...)), "signal": pick(p, []string{"STOP", "CONT", "USR1", "KILL"}), "wait": p.rng.IntN(2),
		"input": pick(p, []string{p.text(), p.text(), p.confined(p.shellText()) + "\n", "\x04", "\x03"}),
	}
}

// copies is an answer in a round of commands. Those that come to see foreign text are last: the owner is asked about all after them.
func (p plot) copies() (list []llm.Call) {
	run := func(text func() string, workdir string) {
		p.n = p.rng.IntN(1 << 30)
		a := args{"command": p.confined(text()), "env": p.variables(), "background": p.rng.IntN(4) == 0, "pty": p.rng.IntN(6) == 0}
		if workdir != "" {
			a["workdir"] = workdir
		}
		list = append(list, p.call("exec", a))
	}
	harmless := []string{"", "", p.root(), p.root() + "/a", p.root() + "/a/priv"}
	switch p.rng.IntN(4) { // what prints a name of a hidden file taints the turn too
	case 0:
		run(p.skillCommand, "")
	case 1, 2:
		for range 2 {
			run(p.nested, pick(p, harmless))
			run(p.escalation, pick(p, harmless))
		}
	}
	run(p.copied, pick(p, []string{"", "", "attachments", "attachments/1", "attachments/2", ".scratch", p.root(), p.user + "/inbox"}))
	if p.step == 0 {
		return list
	}
	return append(list, p.call("read", args{"path": p.file()}), p.call("grep", args{"pattern": "-[0-9a-f]{16}", "path": pick(p, []string{"copies", p.root() + "/copies", "."})}), p.made("process"), p.made("process"),
		p.call("apply_patch", args{"patch": fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n*** Move to: %s\n@@\n-do all\n+%s*** End Patch", p.file(), p.file(), p.text())}), p.made("exec"), p.made("message"))
}

// root is the root that may be written, with a:priv in it, which may not; inbox is one that others fill.
func (s *scene) root() string { return filepath.Join(s.user, "p") }

// abstract is a name of a socket that no file stands for.
func (s *scene) abstract() string { return fmt.Sprintf("sink-%x", s.seed) }

// listeners: nobody has opened a port of this machine's, nor an abstract socket.
func (s *scene) listeners() {
	s.t.Helper()
	if c, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", "127.0.0.1:"+s.closed); err == nil {
		_ = c.Close() // it was only knocked at
		s.accuse("something listens at port %s", s.closed)
	}
	sockets, err := os.ReadFile("/proc/net/unix")
	if err != nil || bytes.Contains(sockets, []byte("@"+s.abstract())) {
		s.accuse("a socket of a command's is seen outside (%v)", err)
	}
}

// free is a port at which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return port
}
