//go:build unix

package runtime_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/daemon/sys/systest"
	"hob/tools"
	"hob/tools/runtime"
)

// sshHost starts a real sshd on a free port of this machine, and returns the command line of an ssh that reaches it as "nas".
func sshHost(t *testing.T) []string {
	t.Helper()
	sshd, keygen := systest.Program(t, "sshd"), systest.Program(t, "ssh-keygen")
	systest.Program(t, "ssh")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"host", "me"} {
		if out, err := osexec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "me.pub"))
	if err != nil {
		t.Fatal(err)
	}
	server := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nPidFile none\nUsePAM no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n", port, dir, dir)
	client := fmt.Sprintf("Host nas\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s/me\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n", port, me.Username, dir)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "authorized"), public, 0o600), os.WriteFile(filepath.Join(dir, "server"), []byte(server), 0o600), os.WriteFile(filepath.Join(dir, "client"), []byte(client), 0o600)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // where sshd wants it
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	cmd := osexec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "server"))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = c.Close()
			return []string{"ssh", "-F", filepath.Join(dir, "client")}
		}
		if t.Context().Err() != nil {
			t.Fatal("sshd does not listen")
		}
	}
}

func TestOnAHost(t *testing.T) {
	ssh := sshHost(t)
	b := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) {
		d.SSH, d.Hosts = ssh, map[string]runtime.Host{"nas": {Address: "nas", Commands: []string{"docker compose", "echo far"}}}
	})
	for _, c := range []struct {
		args   map[string]any
		output string
		code   int
	}{
		{map[string]any{"command": "test -n \"$SSH_CONNECTION\" && echo it\\'s far; exit 3", "host": "nas"}, "it's far\n", 3},
		{map[string]any{"command": "pwd; echo $0", "host": "nas", "workdir": "/usr/bin"}, "/usr/bin\nbash\n", 0},
		{map[string]any{"command": "pwd", "host": "nas", "workdir": "/no such folder"}, "*", 1},
		{map[string]any{"command": "echo \"$A\"", "host": "nas", "env": map[string]string{"A": "a 'b' $c\n\"d\""}}, "a 'b' $c\n\"d\"\n", 0},
		{map[string]any{"command": "echo far away; test -n \"$SSH_CONNECTION\""}, "far away\n", 0},
		{map[string]any{"command": "cat; test ! -t 0", "host": "nas"}, "", 0},
		{map[string]any{"command": "test -t 0 && echo $TERM; stty size", "host": "nas", "pty": true}, "xterm-256color\n40 120\n", 0},
		{map[string]any{"command": "echo $OPENAI_API_KEY$SECRET_TOKEN$HOB_CALL", "host": "nas"}, "\n", 0},
	} {
		i := b.meant(t, c.args)
		if i.Foreign != "output of a command on nas" || i.Sandboxed || fmt.Sprint(i.Scopes, i.Hosts, len(i.Paths)) != "[exec net] [nas] 0" || !strings.HasPrefix(i.Summary, "run on nas: ") {
			t.Errorf("%+v", i)
		}
		res, out := b.run(t, c.args)
		if res.IsError || code(out) != c.code || c.output != "*" && out.Output != c.output || out.Host != "nas" || out.Cwd != "" || len(res.Changes) > 0 {
			t.Errorf("%v: %+v", c.args, res)
		}
	}
}

// What runs on a host ends with the connection: at a kill, and when hob is gone.
func TestNothingIsLeftOnAHost(t *testing.T) {
	ssh := sshHost(t)
	b := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) {
		d.SSH, d.Hosts = ssh, map[string]runtime.Host{"nas": {Address: "nas"}}
	})
	for name, args := range map[string]map[string]any{
		"a command":     {"command": "sleep 1000 & echo pid=$! pid=$$; sleep 1000"},
		"a deaf one":    {"command": "trap '' TERM HUP INT; echo pid=$$; while :; do sleep 1; done"},
		"in a terminal": {"command": "echo pid=$$; sleep 1000", "pty": true},
	} {
		t.Run(name, func(t *testing.T) {
			args["host"], args["background"] = "nas", true
			res, out := b.run(t, args)
			if res.IsError {
				t.Fatal(res.Content)
			}
			text, _ := b.poll(t, out.ProcessID, "filter", "pid=")
			list := pids(t, text)
			if len(list) == 0 {
				t.Fatalf("%q", text)
			}
			b.handle(t, map[string]any{"action": "kill", "process_id": out.ProcessID})
			for _, pid := range list {
				gone(t, pid)
			}
		})
	}
}

// The sandbox of this machine reaches no other: it is not what would spare the owner the question.
func TestWhatAllowsACommandOnAHost(t *testing.T) {
	b := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) { d.Hosts = map[string]runtime.Host{"nas": {Address: "sam@nas"}} })
	// The arguments about the sandbox are refused there: they would be ignored.
	for _, key := range []string{"network", "outside"} {
		call := b.call
		call.Args = []byte(`{"command": "uptime", "host": "nas", "` + key + `": true}`)
		_, err := b.exec.Intent(t.Context(), call)
		if refused := tools.ErrorResult(err); err == nil || refused.Code != tools.Validation || !strings.Contains(refused.Content, "nas") {
			t.Errorf("%s on a host: %v", key, err)
		}
	}
	for host, want := range map[string]string{
		"nas": "/approve CODE always, or --allow exec for a job", "": "a working sandbox ([tools.exec] sandbox), or --allow exec for a job",
	} {
		i := b.meant(t, map[string]any{"command": "uptime", "host": host})
		if d := policy.Decide(policy.Case{Tool: "exec", Intent: i, Asker: event.Owner, Mode: policy.ModeAsk}); d.Verdict != policy.Ask || d.Allow != want {
			t.Errorf("%q: %+v", host, d)
		}
	}
}

// A command goes to a host by the words that it starts with; the longest match wins.
func TestRoutes(t *testing.T) {
	b := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) {
		d.Hosts = map[string]runtime.Host{"nas": {Address: "sam@nas", Commands: []string{"docker  compose", "zfs"}}, "lab": {Address: "lab", Commands: []string{"docker"}}}
	})
	for command, want := range map[string]string{
		"docker compose up": "[sam@nas]", "  docker\tcompose": "[sam@nas]", "docker ps": "[lab]", "docker composed": "[lab]", "dockerd": "[]", "zfs list": "[sam@nas]",
		"echo docker ps": "[]", "cd x && zfs list": "[]", "ls": "[]",
	} {
		if i := b.meant(t, sh(command)); fmt.Sprint(i.Hosts) != want {
			t.Errorf("%q goes to %v, want %s", command, i.Hosts, want)
		}
	}
	if i := b.meant(t, map[string]any{"command": "docker ps", "host": "nas"}); i.Hosts[0] != "sam@nas" {
		t.Errorf("a host that is named: %v", i.Hosts)
	}
	if i := b.meant(t, map[string]any{"command": "rm -rf ~", "host": "nas"}); i.Denied == "" {
		t.Error("the home of a host may be removed")
	}
	if i := b.meant(t, map[string]any{"command": "rm -rf *", "host": "nas", "workdir": "build"}); i.Denied != "" {
		t.Error(i.Denied)
	}
	res, _ := b.run(t, map[string]any{"command": "ls", "host": "nowhere"})
	if res.Code != tools.Validation || !strings.Contains(res.Hint, "lab, nas") {
		t.Errorf("%+v", res)
	}
}
