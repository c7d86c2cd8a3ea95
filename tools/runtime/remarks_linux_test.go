package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/sandbox"
	"hob/tools"
	"hob/tools/runtime"
)

// F3: a result says what the sandbox has swallowed, and only then.
func TestRemarks(t *testing.T) {
	b := sandboxed(t, false)
	b.put(t, "a.txt", "a")
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "old.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const unseen, private, network = "cannot see", "is deleted when it ends", "had no network"
	for command, want := range map[string][]string{
		"cp a.txt /tmp/report.txt && echo saved":            {private},
		"echo hi > ~/note.txt":                              {private},
		"cd /var/tmp; echo hi > note.txt":                   {private},
		"cat " + out + "/old.txt":                           {unseen, private},
		"ls /var/lib || true":                               {unseen},
		"echo 'curl: (6) Could not resolve host: e.com'":    {network},
		"cat a.txt /etc/passwd >/dev/null; ls / /usr .":     nil,
		"cat " + b.dir + "/a.txt":                           nil,
		"mkdir -p sub && touch sub/x && rm -rf sub":         nil,
		"cat ../state/hob.db ../.ssh/id_rsa 2>/dev/null; :": {private}, // nothing leads to these
	} {
		res, _ := b.run(t, sh(command))
		for _, remark := range []string{unseen, private, network} {
			expected := strings.Contains(strings.Join(want, "|"), remark)
			if strings.Contains(res.Content, remark) != expected || res.IsError {
				t.Errorf("%s: %q: want %v: %s", command, remark, expected, res.Content)
			}
		}
	}
	for _, command := range []string{"rm -f " + out + "/old.txt", "cd /; rm -rf " + out, "find " + out + " -name 'o*' -delete 2>/dev/null; true"} {
		res, _ := b.run(t, sh(command))
		if _, err := os.Stat(filepath.Join(out, "old.txt")); err != nil || !res.IsError || !strings.Contains(res.Content, "is still there") || res.Hint == "" {
			t.Errorf("%s: %v, %+v", command, err, res)
		}
	}
	id := b.background(t, "echo hi > /tmp/x; read -r line")
	b.handle(t, map[string]any{"action": "input", "process_id": id, "input": "\n"})
	if r := b.report(t); !strings.Contains(r.Text, private) {
		t.Errorf("in the background: %q", r.Text)
	}
}

// F3: one call can ask for the network or to leave the sandbox. The owner confirms each, nothing covers it, and what comes back is foreign.
func TestACallAsksForMore(t *testing.T) {
	b := sandboxed(t, false)
	const space = "readlink /proc/self/ns/net"
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args      map[string]any
		sandboxed bool
		scopes    int
	}{
		"network": {map[string]any{"command": space, "network": true}, true, 2},
		"outside": {map[string]any{"command": "test -d ../state && echo out > ../seen", "outside": true}, false, 2},
	} {
		i := b.meant(t, c.args)
		if i.Confirm == "" || i.Sandboxed != c.sandboxed || i.Foreign == "" || len(i.Scopes) != c.scopes || i.Denied != "" {
			t.Errorf("%s: %+v", name, i)
		}
		res, out := b.run(t, c.args)
		if code(out) != 0 || res.Foreign == "" || name == "network" && out.Output != own+"\n" {
			t.Errorf("%s: %+v", name, res)
		}
		b.call.Tainted = true
		if i := b.meant(t, c.args); (i.Denied != "") != (name == "outside") || i.Confirm == "" {
			t.Errorf("%s, after foreign text: %+v", name, i)
		}
		b.call.Tainted = false
	}
	if _, err := os.Stat(b.home + "/seen"); err != nil {
		t.Errorf("the command outside wrote nothing: %v", err)
	}
	if d := b.exec.Spec().Description; !strings.Contains(d, "sandbox") || len(d) > 160 {
		t.Errorf("the model is not told of the sandbox, or at length: %q", d)
	}
	if i := b.meant(t, sh(space)); i.Confirm != "" {
		t.Errorf("an ordinary command: %+v", i)
	}
	if i := sandboxed(t, true).meant(t, map[string]any{"command": "true", "network": true}); i.Confirm != "" {
		t.Errorf("the configuration gives the network: %+v", i)
	}
	strict := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) {
		d.Sandbox = sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.Require, Home: d.Guard.Home(), State: d.Guard.Home() + "/state", Self: self(t)})
	})
	if res, _ := strict.run(t, map[string]any{"command": "true", "outside": true}); res.Code != tools.ConfigError {
		t.Errorf("outside a sandbox that is required: %+v", res)
	}
}
