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

	"golang.org/x/sys/unix"
)

// kin tells the processes that a command started: by session or group, and by the mark that each inherits in
// its environment, also when it made a session of its own and its parent is gone. Only what both leaves the
// session and wipes its environment escapes; the sandbox's process namespace has no such hole.
type kin struct {
	leader int    // pid of the shell; 0: any
	since  uint64 // start of the shell: what is older is no kin
	begun  time.Time
	mark   []byte
	spare  bool // the leader is the sandbox: it ends with what is in it, and takes all with it when it is ended first
}

func (r *running) kin(mark string, boxed bool) kin {
	k := kin{leader: r.cmd.Process.Pid, begun: r.begun, mark: []byte(mark), spare: boxed}
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
	step := settle / 32 // what the sandbox has ended is gone within a millisecond
	for waited := time.Duration(0); waited < grace && k.alive(); step = min(2*step, settle) {
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
	sure = true
	older := k.older()
	for _, name := range processes() {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= older || pid == k.leader || pid == os.Getpid() {
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

// The kernel hands out the numbers of processes in a circle (pid_namespaces(7)) of 32,768 or more. In so short a time nothing starts that many.
const (
	young  = 250 * time.Millisecond
	circle = 32768
)

// older is a number up to which no process can be kin, 0 when that is not known: looking at a process costs the kernel more than all
// else that hob does around a short command.
func (k kin) older() int {
	if k.leader == 0 || time.Since(k.begun) > young || lastNumber("/proc/sys/kernel/pid_max") < circle || lastNumber("/proc/loadavg") < k.leader {
		return 0 // the circle may have closed
	}
	return k.leader
}

// lastNumber is the number at the end of a file of /proc, -1 when there is none. In loadavg it is the newest process (proc_loadavg(5)).
func lastNumber(path string) int {
	var buf [128]byte
	n, err := peek(path, buf[:])
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

// processes are the names in /proc, those of processes among them; none where there is no /proc.
func processes() []string {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1) // of an error what was read before it
	_ = dir.Close()                  // only looked through
	return names
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
	pid, parent, group, session int
	state                       byte
	start                       uint64 // ticks since boot
	loading                     bool   // it has no environment yet: an exec is under way
}

func statOf(pid int) (stat, bool) {
	var buf [1024]byte // a line has at most 52 numbers and a name of 64 characters
	n, err := peek("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return stat{}, false
	}
	text := string(buf[:n])
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may hold anything
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

// peek reads the beginning of a file of /proc with three calls of the system. os.ReadFile makes eight, and after each command as many
// files are looked at as there are processes.
func peek(path string, buf []byte) (int, error) {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, err
	}
	n, err := again(func() (int, error) { return unix.Read(fd, buf) })
	return n, errors.Join(err, unix.Close(fd))
}

// again repeats a call of the system that a signal has broken off.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
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
	left, stuck := kin{mark: []byte(CallMark + "=" + instance + "/")}.end(800 * time.Millisecond)
	if stuck > 0 {
		return left, fmt.Errorf("end what an earlier run started: %d of %d are still there", stuck, left)
	}
	return left, nil
}
