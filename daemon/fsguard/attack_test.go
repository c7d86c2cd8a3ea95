package fsguard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/fsguard"
)

func TestOwnThreads(t *testing.T) {
	home := t.TempDir()
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(home, "ws"), State: filepath.Join(home, "state"), Home: home})
	if err != nil {
		t.Fatal(err)
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, e := range tasks {
		for _, name := range []string{"mem", "environ", "cmdline"} {
			p, err := g.Resolve("", fmt.Sprintf("/proc/%s/%s", e.Name(), name))
			if err != nil || p.Area != fsguard.State {
				t.Errorf("%s %s %v (pid %d) exists=%v", p.Path, p.Area, err, os.Getpid(), p.Exists())
				break
			}
		}
	}
}
