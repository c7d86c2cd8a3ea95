//go:build hobtest

package fail

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var hits = struct {
	sync.Mutex
	n map[string]int
}{n: map[string]int{}}

// Point kills the process with SIGKILL if HOB_FAIL names this point: "name", or "name:n" for its nth call.
func Point(name string) {
	want, nth, _ := strings.Cut(os.Getenv("HOB_FAIL"), ":")
	if want != name {
		return
	}
	n, err := strconv.Atoi(nth)
	if err != nil {
		n = 1
	}
	hits.Lock()
	defer hits.Unlock()
	hits.n[name]++
	if hits.n[name] == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// Broken reports whether HOB_BREAK switches on the named deliberate fault.
func Broken(name string) bool { return os.Getenv("HOB_BREAK") == name }
