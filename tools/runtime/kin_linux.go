package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/tools/runtime/environ"
)

// kin tells the processes that a command started: by session or group, and by the mark that each inherits in
// its environment, also when it made a session of its own and its parent is gone. Only what both leaves the
// session and wipes its environment escapes; the sandbox's process namespace has no such hole.
type kin struct {
	leader int    // pid of the shell; 0: any
	since  uint64 // start of the shell: what is older is no kin
	mark   []byte
	spare  bool // the leader is the sandbox: it ends with what is in it, and takes all with it when it is ended first
}

func (r *running) kin(mark string, boxed bool) kin {
	k := kin{leader: r.cmd.Process.Pid, mark: []byte(mark), spare: boxed}
	if s, ok := statOf(k.leader); ok {
		k.since = s.start
	}
	return k
}

// end ends all kin: TERM, a while, KILL until none is left. It reports how many there were beside the shell,
// and how many did not end.
func (k kin) end(grace time.Duration) (left, stuck int) {
	found := k.members()
	left = len(found)
	if left == 0 && k.leader > 0 && !k.leaderRuns() {
		_ = syscall.Kill(-k.leader, syscall.SIGKILL) // reaches what was missed between two entries of /proc
		return 0, 0
	}
	k.send(found, syscall.SIGTERM)
	k.send(found, syscall.SIGCONT)
	for waited := time.Duration(0); waited < grace && k.alive(); waited += settle {
		pause(settle)
	}
	for range killRounds {
		if found = k.members(); len(found) == 0 && !k.leaderRuns() {
			return left, 0
		}
		if k.leader > 0 {
			_ = syscall.Kill(-k.leader, syscall.SIGKILL)
		}
		for _, p := range found {
			p.signal(syscall.SIGKILL)
		}
		pause(settle)
	}
	if stuck = len(found); k.leaderRuns() {
		stuck++
	}
	return left, stuck
}

// send sends a signal to all kin. The unreaped leader keeps the group's number taken: the group as a whole is reached at once,
// whatever it starts meanwhile; an error means that it is empty.
func (k kin) send(found []stat, sig syscall.Signal) {
	if k.leader > 0 && (!k.spare || len(found) == 0) {
		_ = syscall.Kill(-k.leader, sig)
	}
	for _, p := range found {
		p.signal(sig)
	}
}

// signal sends a signal to all kin; one that ends them takes the sandbox too.
func (k kin) signal(sig syscall.Signal) error {
	found := k.members()
	k.send(found, sig)
	if sig == syscall.SIGKILL && k.spare {
		_ = syscall.Kill(-k.leader, sig) // an error means that it has ended
	}
	return nil
}

func (k kin) alive() bool { return k.leaderRuns() || len(k.members()) > 0 }

func (k kin) leaderRuns() bool {
	s, ok := statOf(k.leader)
	return ok && k.leader > 0 && s.state != 'Z' && s.state != 'X'
}

// scans is how often a look is repeated that may have missed somebody.
const scans = 3

// members are the living kin but the leader. A process that ended while it was looked for may have started
// another one behind the looker's back: then the look is repeated.
func (k kin) members() []stat {
	for range scans {
		if found, sure := k.scan(); sure || len(found) > 0 {
			return found
		}
	}
	return nil
}

func (k kin) scan() (found []stat, sure bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, true
	}
	sure = true
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == k.leader || pid == os.Getpid() {
			continue
		}
		s, ok := statOf(pid)
		if !ok || s.start < k.since {
			sure = sure && ok
			continue
		}
		if s.state == 'Z' || s.state == 'X' {
			sure = false
			continue
		}
		if k.leader > 0 && (s.session == k.leader || s.group == k.leader) || marked(s, k.mark) {
			found = append(found, s)
		}
	}
	return found, sure
}

// marked says whether a process has a variable of its environment that begins with mark. In the midst of an
// exec a process has no environment for a moment; that is waited for.
func marked(s stat, mark []byte) bool {
	empty := 0
	for range killRounds {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.pid))
		if err != nil {
			return false // gone, or another user's
		}
		if len(env) > 0 {
			return bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...))
		}
		now, ok := statOf(s.pid)
		if !ok || now.start != s.start {
			return false
		}
		if now.loading {
			pause(settle / 5)
		} else if empty++; empty == 2 { // it has really none
			return false
		}
	}
	return false
}

// stat is the part of /proc/PID/stat that is used here (proc_pid_stat(5)).
type stat struct {
	pid, group, session int
	state               byte
	start               uint64 // ticks since boot
	loading             bool   // it has no environment yet: an exec is under way
}

func statOf(pid int) (stat, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may hold anything
	if len(fields) < 20 {
		return stat{}, false
	}
	s := stat{pid: pid, state: fields[0][0]}
	s.loading = len(fields) > 48 && fields[48] == "0" // env_end
	var errs [3]error
	s.group, errs[0] = strconv.Atoi(fields[2])
	s.session, errs[1] = strconv.Atoi(fields[3])
	s.start, errs[2] = strconv.ParseUint(fields[19], 10, 64)
	return s, errors.Join(errs[:]...) == nil
}

// signal sends a signal to the very process that was looked at: the handle is taken first, and then the
// start time compared, so that a reused number is not hit.
func (s stat) signal(sig syscall.Signal) {
	p, err := os.FindProcess(s.pid)
	if err != nil {
		return
	}
	if now, ok := statOf(s.pid); ok && now.start == s.start {
		_ = p.Signal(sig) // it may have ended meanwhile, or be another user's: the next look tells
	}
	_ = p.Release()
}

func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// KillOrphans ends the processes that an earlier run of this instance started and did not live to end.
// It is called at start, before anything is run, and returns how many there were.
func KillOrphans(ctx context.Context, instance string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if instance == "" || strings.Contains(instance, "/") {
		return 0, fmt.Errorf("instance %q: want a name without a slash", instance)
	}
	if _, err := os.Stat("/proc/self/stat"); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	left, stuck := kin{mark: []byte(environ.Mark + "=" + instance + "/")}.end(800 * time.Millisecond)
	if stuck > 0 {
		return left, fmt.Errorf("end what an earlier run started: %d of %d are still there", stuck, left)
	}
	return left, nil
}
