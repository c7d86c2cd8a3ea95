package runtime

import (
	"maps"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// freezeLooks limits the scans for processes that still run, one millisecond apart. A process
// inside a system call takes a while to stop.
const freezeLooks = 200

// freeze sends SIGSTOP to all processes in the given sandboxes until wake is called. It spares the
// process that created each sandbox. Processes that were already stopped stay stopped after wake.
func freeze(list []*running) (wake func()) {
	if len(list) == 0 {
		return func() {}
	}
	stopped := map[int]stat{}
	for range freezeLooks {
		found := awake(list)
		for _, s := range found {
			s.signal(syscall.SIGSTOP)
			stopped[s.pid] = s
		}
		if len(found) == 0 {
			break
		}
		pause(time.Millisecond)
	}
	return func() {
		for _, s := range stopped {
			s.signal(syscall.SIGCONT)
		}
	}
}

// awake returns the running processes in the given sandboxes. Each sandbox has a first process that
// adopts orphans, so every process inside descends from the one that created the sandbox.
func awake(list []*running) []stat {
	var all []stat
	for _, name := range processes() {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := statOf(pid); ok {
				all = append(all, s)
			}
		}
	}
	inside := map[int]bool{}
	for _, r := range list {
		inside[r.cmd.Process.Pid] = true
	}
	makers := maps.Clone(inside)
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if inside[s.parent] && !inside[s.pid] {
				inside[s.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(s stat) bool {
		return !inside[s.pid] || makers[s.pid] || s.state == 'T' || s.state == 't' || s.state == 'Z' || s.state == 'X'
	})
}
