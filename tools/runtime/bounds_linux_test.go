package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// S7: what runs in the sandbox has limits of memory, processes and temporary space, and the result says which one it met.
// Where HOB_BOUND names what keeps the limits, it must be that (.ci/cgroup).
func TestTheSandboxIsBounded(t *testing.T) {
	bounded := func(memory int64) *bench {
		return sandboxed(t, false, func(d *runtime.ExecDeps) {
			d.Sandbox = sandbox.New(t.Context(), sandbox.Config{Home: d.Guard.Home(), State: filepath.Join(d.Guard.Home(), "state"), Self: self(t), Memory: memory})
			want := fmt.Sprintf("%d MB of memory and 2000 processes, by a %s", memory>>20, os.Getenv("HOB_BOUND"))
			if bound := d.Sandbox.State().Bound; !strings.Contains(bound, want) {
				t.Errorf("the state says %q, not %q", bound, want)
			}
		})
	}
	b, roomy := bounded(100<<20), bounded(700<<20)
	for _, c := range []struct {
		name          string
		in            *bench
		command, want string
	}{
		{"one that grows", b, `head -c 1000000000 /dev/zero | tail`, "more than 100 MB of memory, the limit of [tools.exec] memory"},
		{"many that grow", b, `for i in 1 2 3 4 5 6 7 8; do { head -c 20000000 /dev/zero; sleep 60; } | tail -c 20000000 & done; wait`, "more than 100 MB of memory"},
		{"many", roomy, `sh -c 'mkfifo /tmp/f; exec 3<>/tmp/f; for i in $(seq 2300); do read x <&3 & done; wait'`, "processes and threads at once"},
		// T9: threads count, and memory that is in no process's tables.
		{"many threads", roomy, `python3 -c 'import threading as t, time
t.stack_size(65536)
for i in range(2300): t.Thread(target=time.sleep, args=(60,)).start()'`, "processes and threads at once"},
		{"shared and given back", b, `python3 -c 'import mmap, time
m = mmap.mmap(-1, 1 << 28)
for i in range(1 << 8): m.write(b"x" * (1 << 20)); m.madvise(mmap.MADV_DONTNEED)
time.sleep(60)'`, "more than 100 MB of memory"},
	} {
		if strings.HasPrefix(c.name, "many") && c.in == roomy && testing.Short() {
			continue // it takes the system some seconds to start so many
		}
		start := time.Now()
		res, out := c.in.run(t, map[string]any{"command": c.command})
		if res.IsError || !strings.Contains(res.Content, c.want) || out.ExitCode == nil || *out.ExitCode == 0 {
			t.Errorf("%s, after %s: %+v", c.name, time.Since(start), res)
		}
	}
	if res, out := b.run(t, sh(`for d in /tmp /var/tmp /dev/shm ~; do head -c 40000000 /dev/zero > $d/x && echo $d took it; rm -f $d/x; done; echo done`)); !strings.HasSuffix(out.Output, "done\n") || strings.Contains(out.Output, "took it") {
		t.Errorf("temporary space has no end: %+v", res)
	}
	if !strings.Contains(os.Getenv("HOB_BOUND"), "control group") { // T9: what the watcher cannot count
		res, out := b.run(t, sh(`python3 -c 'import os; os.memfd_create("x")' 2>&1 | tail -1; ipcmk -M 1000000 2>&1; ipcmk -M 8000`))
		if !strings.Contains(out.Output, "Function not implemented") || strings.Count(out.Output, "Shared memory id") != 1 {
			t.Errorf("%+v", res)
		}
	}
	if res, out := b.run(t, sh(`head -c 10000000 /dev/zero > /tmp/x && echo fine`)); out.Output != "fine\n" || strings.Contains(res.Content, "limit") {
		t.Errorf("%+v", res)
	}
}
