package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/tools/runtime"
)

// swap exchanges the folder r/a and a link to hob's home until its process is ended.
func swap() int {
	for n := 0; ; n++ {
		if err := unix.Renameat2(unix.AT_FDCWD, "r/a", unix.AT_FDCWD, "r/x", unix.RENAME_EXCHANGE); err != nil {
			fmt.Println(err)
			return 1
		}
		if n == 0 {
			fmt.Println("swapping")
		}
		end := time.Now().Add(time.Duration(1+n%7) * time.Millisecond)
		for time.Now().Before(end) { // an attacker does not wait nicely
			goruntime.Gosched()
		}
	}
}

// S2: a command that runs swaps a folder which the next sandboxes have to show for a link to hob's home. None of them shows anything of
// that home, and none fails to start. HOB_SANDBOXES is how many are started.
func TestS2SwappedWhileItIsMounted(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("HOB_SANDBOXES"))
	if err != nil {
		n = 40
	}
	var marked []string
	b := sandboxed(t, false, func(d *runtime.ExecDeps) { d.Marked = func() []string { return marked } })
	b.put(t, "../state/token", "CANARY")
	b.put(t, "../config.toml", "CANARY")
	mark := b.put(t, "r/a/notes.md", "foreign")
	if err := os.Symlink("../..", filepath.Join(b.dir, "r", "x")); err != nil {
		t.Fatal(err)
	}
	id := b.background(t, "/run/hob/hob __swap")
	if text, _ := b.poll(t, id); text != "swapping\n" {
		t.Fatalf("%q", text)
	}
	marked = []string{mark}
	shown, broken := 0, 0
	for range n {
		res, out := b.run(t, sh("cat ../state/token r/a/state/token r/a/config.toml; ls .. r/a r/x; echo ran"))
		if strings.Contains(out.Output, "CANARY") || strings.Contains(out.Output, "state\n") || strings.Contains(out.Output, "config.toml\n") {
			shown++
			t.Errorf("hob's home is seen: %s", out.Output)
		}
		if !strings.HasSuffix(out.Output, "ran\n") {
			broken++
			t.Errorf("%s", res.Content)
		}
	}
	t.Logf("%d sandboxes: %d showed hob's home, %d did not start", n, shown, broken)
	if _, out := b.handle(t, map[string]any{"action": "list"}); len(out.Processes) != 1 || out.Processes[0].State != "running" {
		t.Errorf("the swapping ended: %+v", out)
	}
	b.handle(t, map[string]any{"action": "kill", "process_id": id})
}
