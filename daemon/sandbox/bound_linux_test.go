package sandbox_test

import (
	"strings"
	"testing"

	"hob/daemon/sandbox"
)

// Close names the limit that the kernel's counters report (S7): "memory.events" and "pids.events" of cgroup-v2.html.
func TestLimitsOfAControlGroup(t *testing.T) {
	for _, c := range []struct{ memory, pids, want string }{
		{"low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\noom_group_kill 0\n", "max 0\n", ""},
		{"low 0\nhigh 0\nmax 90\noom 1\noom_kill 4\noom_group_kill 1\n", "max 0\n", "more than 2.0 GB of memory"},
		{"oom_kill 0\n", "max 12\n", "more than 2000 processes and threads"},
	} {
		dir := t.TempDir()
		write(t, dir+"/memory.events", c.memory)
		write(t, dir+"/pids.events", c.pids)
		if got := sandbox.Over(dir, 2<<30); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
