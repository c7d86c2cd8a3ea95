//go:build unix

package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hob/tools/runtime"
)

// TestLiveOutput: who looks on sees the newest whole lines of a command that still runs, without what a terminal would act on.
func TestLiveOutput(t *testing.T) {
	for name, c := range map[string]struct{ prints, shown string }{
		"lines":     {`printf 'one\ntwo'`, "one\ntwo"},
		"sequences": {`printf 'a\033[2Jb\033]0;title\007c\xff\n10%%\r20%%'`, "abc\uFFFD\n20%"},
		"much":      {`seq 100000 199999`, "199999\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, runtime.Limits{})
			gate := filepath.Join(b.dir, "gate")
			if err := syscall.Mkfifo(gate, 0o600); err != nil {
				t.Fatal(err)
			}
			var open sync.Once
			var last string
			b.call.Live = func(output string) {
				last = output
				// The command waits for the gate, so it still runs.
				if strings.HasSuffix(output, c.shown) {
					open.Do(func() {
						if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
							t.Error(err)
						}
					})
				}
			}
			res, out := b.run(t, sh(c.prints+"; read x < gate"))
			if res.IsError || code(out) != 0 || !strings.HasSuffix(last, c.shown) {
				t.Errorf("%q was shown, and the end is %+v", last, res)
			}
			if len(last) > 4<<10 || name == "much" && !strings.HasPrefix(last, "199") {
				t.Errorf("%d bytes were shown: %.40q", len(last), last)
			}
		})
	}
}
