package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processTree finds the processes that a command started. It knows them by their session or group,
// and by the mark in the environment that each process inherits, even after it has started a
// session of its own and its parent has exited. Only a process that does both, leaves the session
// and clears its environment, escapes. The process namespace of the sandbox has no such gap.
type processTree struct {
	leader    int    // process id of the shell; 0: any
	since     uint64 // start of the shell; older processes do not belong to it
	begun     time.Time
	mark      []byte
	sandboxed bool // the leader is the sandbox. It ends after the processes inside it; if it is ended first, they end with it
}

// processTree returns the tree of a started command. It reads the start time of the shell, which
// excludes older processes with the same group id.
func (r *running) processTree(mark string, sandboxed bool) processTree {
	k := processTree{leader: r.cmd.Process.Pid, begun: r.begun, mark: []byte(mark), sandboxed: sandboxed}
	if s, ok := statOf(k.leader); ok {
		k.since = s.start
	}
	return k
}

// end ends all processes: SIGTERM, then after grace SIGKILL until none is left. left counts the
// processes found besides the shell; stuck counts those that did not end.
func (k processTree) end(grace time.Duration) (left, stuck int) {
	found := k.members()
	left = len(found)
	if left == 0 && !k.leaderRuns() {
		if k.leader > 0 {
			_ = syscall.Kill(-k.leader, syscall.SIGKILL) // reaches processes that the scan of /proc missed
		}
		return 0, 0
	}
	k.send(found, syscall.SIGTERM)
	k.send(found, syscall.SIGCONT)
	step := pollInterval / 32 // processes that the sandbox ends are gone within a millisecond
	for waited := time.Duration(0); waited < grace && k.alive(); step = min(2*step, pollInterval) {
		pause(step)
		waited += step
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
			k.killYounger(p.pid)
		}
		pause(pollInterval)
	}
	if stuck = len(found); k.leaderRuns() {
		stuck++
	}
	return left, stuck
}

// killYounger ends the processes of the tree with a higher id than pid, up to the newest. A process
// that starts its successor and exits is gone before the next scan of /proc, and so is its successor.
// The successor has a higher id, and to look at the few ids that are new takes less time than to start a process.
func (k processTree) killYounger(pid int) {
	for last := pid; ; {
		if pid++; pid > last {
			if last = lastNumber("/proc/loadavg"); pid > last || last-pid > mostRecent {
				return // all were looked at, or the ids started again from the lowest; the next scan finds the others
			}
		}
		if s, ok := statOf(pid); ok && k.owns(s) {
			s.signal(syscall.SIGKILL)
		}
	}
}

// send sends a signal to all processes. While the leader is not reaped, its group id stays
// reserved. A signal to the group therefore also reaches processes that start meanwhile; an error
// means that the group is empty.
func (k processTree) send(found []stat, sig syscall.Signal) {
	if k.leader > 0 && (!k.sandboxed || len(found) == 0) {
		_ = syscall.Kill(-k.leader, sig)
	}
	for _, p := range found {
		p.signal(sig)
	}
}

// signal sends a signal to all processes. SIGKILL also ends the sandbox.
func (k processTree) signal(sig syscall.Signal) error {
	found := k.members()
	k.send(found, sig)
	if sig == syscall.SIGKILL && k.sandboxed {
		_ = syscall.Kill(-k.leader, sig) // an error means that it has ended
	}
	return nil
}

// alive reports whether the shell or any other process is left.
func (k processTree) alive() bool { return k.leaderRuns() || len(k.members()) > 0 }

// leaderRuns reports whether the shell is alive, and not an unreaped zombie.
func (k processTree) leaderRuns() bool {
	s, ok := statOf(k.leader)
	return ok && k.leader > 0 && s.state != 'Z' && s.state != 'X'
}

// scans limits how often a scan is repeated that may have missed a process.
const scans = 3

// members returns the living processes except the leader. A process that ends during a scan of /proc may
// have started another one that the scan did not see, so such a scan is repeated.
func (k processTree) members() []stat {
	if found, ok := k.recent(); ok {
		return found
	}
	for range scans {
		if found, sure := k.scan(); sure || len(found) > 0 {
			return found
		}
	}
	return nil
}

// recent tries each process id after the leader's, up to the newest. For a command that has just started this is far cheaper than to
// read /proc, and complete: a process that starts meanwhile has a higher id, which is tried later. ok is false if there are too many ids.
func (k processTree) recent() (found []stat, ok bool) {
	pid := k.maxOlderPID()
	if pid == 0 {
		return nil, false
	}
	for last := pid; ; {
		if pid++; pid > last {
			if last = lastNumber("/proc/loadavg"); last < k.leader || last-k.leader > mostRecent {
				return nil, false
			}
			if pid > last {
				return found, true
			}
		}
		// /proc has an entry for each thread too, which it does not list.
		if s, ok := statOf(pid); ok && k.owns(s) && leads(pid) {
			found = append(found, s)
		}
	}
}

// leads reports whether an id is that of a process, and not of another thread of it (proc_pid_status(5), Tgid).
func leads(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && bytes.Contains(text, fmt.Appendf(nil, "\nTgid:\t%d\n", pid))
}

// owns reports whether a process runs and belongs to the command.
func (k processTree) owns(s stat) bool {
	if s.start < k.since || s.state == 'Z' || s.state == 'X' || s.pid == os.Getpid() {
		return false
	}
	return k.leader > 0 && (s.session == k.leader || s.group == k.leader) || marked(s, k.mark)
}

// scan reads /proc once, the newest processes first, because the older ones are less likely to end before they are read. sure is
// false if a process ended meanwhile and may have left a child that was not seen.
func (k processTree) scan() (found []stat, sure bool) {
	sure = true
	for _, name := range slices.Backward(processes()) {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == k.leader {
			continue
		}
		s, ok := statOf(pid)
		if !ok || s.start >= k.since && (s.state == 'Z' || s.state == 'X') {
			sure = false
		} else if k.owns(s) {
			found = append(found, s)
		}
	}
	return found, sure
}

// The kernel assigns process ids in a circle (pid_namespaces(7)) of at least 32,768. Within
// recentStart no machine starts that many processes.
const (
	recentStart = 250 * time.Millisecond
	minPIDRange = 32768
	mostRecent  = 100 // ids are tried one by one; each costs about as much as three entries when /proc is listed
)

// maxOlderPID returns a process id: no process up to it belongs to the command. It returns 0 if it
// cannot tell.
func (k processTree) maxOlderPID() int {
	if k.leader == 0 || time.Since(k.begun) > recentStart || lastNumber("/proc/sys/kernel/pid_max") < minPIDRange || lastNumber("/proc/loadavg") < k.leader {
		return 0 // process ids may have wrapped around
	}
	return k.leader
}

// lastNumber returns the number at the end of a file in /proc, or -1. In loadavg it is the newest
// process id (proc_loadavg(5)).
func lastNumber(path string) int {
	var buf [128]byte
	n, err := readProc(path, buf[:])
	if err != nil {
		return -1
	}
	words := strings.Fields(string(buf[:n]))
	if len(words) == 0 {
		return -1
	}
	number, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return -1
	}
	return number
}

// processes lists the entries of /proc, including those that are not processes. It is empty if
// there is no /proc.
func processes() []string {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1) // on an error, use the names read so far
	_ = dir.Close()                  // read only
	return names
}

// marked reports whether the environment of a process has a variable that starts with mark. During
// an exec a process has no environment for a moment; marked waits for its end.
func marked(s stat, mark []byte) bool {
	empty, step := 0, pollInterval/100
	for range killRounds {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.pid))
		if err != nil {
			return false // it is gone, or belongs to another user
		}
		if len(env) > 0 {
			return bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...))
		}
		now, ok := statOf(s.pid)
		if !ok || now.start != s.start {
			return false
		}
		if now.loading {
			pause(step)
			step = min(2*step, pollInterval/5)
		} else if empty++; empty == 2 { // its environment is really empty
			return false
		}
	}
	return false
}

// stat is a part of /proc/PID/stat (proc_pid_stat(5)).
type stat struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64 // ticks since boot
	loading                     bool   // an exec is in progress: it has no environment yet
}

// statOf reads the state of a process; ok is false if it is gone.
func statOf(pid int) (stat, bool) {
	var buf [1024]byte // a line has at most 52 numbers and a name of 64 characters
	n, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return stat{}, false
	}
	text := string(buf[:n])
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the process name before this may contain any character
	if len(fields) < 20 {
		return stat{}, false
	}
	s := stat{pid: pid, state: fields[0][0]}
	s.loading = len(fields) > 48 && fields[48] == "0" // env_end
	var errs [4]error
	s.group, errs[0] = strconv.Atoi(fields[2])
	s.session, errs[1] = strconv.Atoi(fields[3])
	s.parent, errs[3] = strconv.Atoi(fields[1])
	s.start, errs[2] = strconv.ParseUint(fields[19], 10, 64)
	return s, errors.Join(errs[:]...) == nil
}

// readProc reads the beginning of a file in /proc with three system calls. os.ReadFile needs eight,
// and after each command hob reads one such file per process.
func readProc(path string, buf []byte) (int, error) {
	fd, err := retryEINTR(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, err
	}
	n, err := retryEINTR(func() (int, error) { return unix.Read(fd, buf) })
	return n, errors.Join(err, unix.Close(fd))
}

// retryEINTR repeats a system call that a signal has interrupted.
func retryEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// signal sends a signal to exactly this process. It takes the process handle first and then
// compares the start time, so that it cannot hit another process with a reused id.
func (s stat) signal(sig syscall.Signal) {
	p, err := os.FindProcess(s.pid)
	if err != nil {
		return
	}
	if now, ok := statOf(s.pid); ok && now.start == s.start {
		_ = p.Signal(sig) // it may have ended, or belong to another user; the next scan shows it
	}
	_ = p.Release()
}

// pause sleeps for d.
func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// KillOrphans ends the processes that an earlier run of this instance started and left behind when
// it died. It is called at start, before anything else runs, and returns how many there were.
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
	left, stuck := processTree{mark: []byte(CallMark + "=" + instance + "/")}.end(800 * time.Millisecond)
	if stuck > 0 {
		return left, fmt.Errorf("end processes of an earlier run: %d of %d are still there", stuck, left)
	}
	return left, nil
}
