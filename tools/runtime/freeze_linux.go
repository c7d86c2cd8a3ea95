package runtime

import (
	"maps"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// freezeLooks bounds the looks at who still runs, a millisecond apart: a process in a system call takes a while to stop.
const freezeLooks = 200

// freeze stops the processes in sandboxes, until wake is called. The process that made a sandbox is not stopped. What had been stopped
// before stays so afterwards.
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

// awake are the processes in sandboxes that run. A sandbox has a first process, to which each falls whose parent ends: so they all
// descend from the one that made it.
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
