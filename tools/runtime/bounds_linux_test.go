package runtime_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// S7: what runs in the sandbox has limits of memory, processes and temporary space, and the result says which one it met.
func TestTheSandboxIsBounded(t *testing.T) {
	var s *sandbox.Sandbox
	b := sandboxed(t, false, func(d *runtime.ExecDeps) {
		s = sandbox.New(t.Context(), sandbox.Config{Home: d.Guard.Home(), State: filepath.Join(d.Guard.Home(), "state"), Self: self(t), Memory: 400 << 20})
		d.Sandbox = s
	})
	if bound := s.State().Bound; !strings.Contains(bound, "400 MB of memory and 2000 processes, by a ") {
		t.Errorf("the state says %q", bound)
	}
	for _, c := range []struct{ name, command, want string }{
		{"one that grows", `head -c 1000000000 /dev/zero | tail`, "more than 400 MB of memory, the limit of [tools.exec] memory"},
		{"many that grow", `for i in 1 2 3 4 5 6 7 8; do (x=$(head -c 80000000 /dev/zero | tr '\0' a); sleep 60) & done; wait`, "more than 400 MB of memory"},
		{"many", `for i in $(seq 2300); do sleep 60 & done; wait`, "processes at once"},
	} {
		if c.name == "many" && testing.Short() {
			continue // it takes the system some seconds to start so many
		}
		start := time.Now()
		res, out := b.run(t, map[string]any{"command": c.command})
		if res.IsError || !strings.Contains(res.Content, c.want) || out.ExitCode == nil || *out.ExitCode == 0 || time.Since(start) > 50*time.Second {
			t.Errorf("%s, after %s: %+v", c.name, time.Since(start), res)
		}
	}
	if res, out := b.run(t, sh(`for d in /tmp /var/tmp /dev/shm ~; do head -c 150000000 /dev/zero > $d/x && echo $d took it; rm -f $d/x; done; echo done`)); !strings.HasSuffix(out.Output, "done\n") || strings.Contains(out.Output, "took it") {
		t.Errorf("temporary space has no end: %+v", res)
	}
	if res, out := b.run(t, sh(`head -c 30000000 /dev/zero > /tmp/x && echo fine`)); out.Output != "fine\n" || strings.Contains(res.Content, "limit") {
		t.Errorf("%+v", res)
	}
}
