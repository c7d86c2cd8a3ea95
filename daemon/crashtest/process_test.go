//go:build linux

package crashtest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/daemon/sys"
)

// process is one run of hob up.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed at the ready line
	gone  chan struct{} // closed when it has ended
	err   error         // of Wait; read it when gone is closed
	said  *tail
	line  string // the ready line
}

// launch starts hob up for a home. env is added to a small environment of its own.
func launch(bin, home string, env ...string) (*process, error) {
	p := &process{ready: make(chan struct{}), gone: make(chan struct{}), said: &tail{}}
	p.cmd = exec.Command(bin, "up", "--no-chat", "--home", home, "--listen", "127.0.0.1:0")
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TZ=UTC", "RIG_TOKEN=" + topicToken, "RIG_HOOK=" + hookSecret,
		"RIG_TELEGRAM=" + telegramToken, "RIG_MATRIX=" + matrixToken, "RIG_SLACK_APP=" + slackApp, "RIG_SLACK_BOT=" + slackBot,
	}, env...)
	p.cmd.Stderr = p.said
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.watch(out)
	return p, nil
}

func (p *process) watch(out io.Reader) {
	in := bufio.NewScanner(out)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "hob ready in ") && p.line == "" {
			p.line = in.Text()
			close(p.ready)
		}
	}
	p.err = p.cmd.Wait()
	close(p.gone)
}

// signal sends a signal; it is no trouble when the process has ended.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// ended waits for the end; false: it lives on.
func (p *process) ended(within time.Duration) bool { return happens(p.gone, within) }

// killed tells whether SIGKILL ended it. Only when gone is closed.
func (p *process) killed() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func happens(c <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// until asks again and again, every few milliseconds, whether something holds. false: not within the time.
func until(within time.Duration, holds func() bool) bool {
	return untilEvery(10*time.Millisecond, within, holds)
}

// untilEvery is until with a pause of one's own choice between two looks.
func untilEvery(pause, within time.Duration, holds func() bool) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !holds() {
		select {
		case <-timer.C:
			return holds()
		case <-tick.C:
		}
	}
	return true
}

// tail keeps the last 128 KB that were written to it: enough for the log of a minute and for the stacks of all goroutines.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - 128<<10; over > 0 {
		t.b = t.b[over:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// children are the living processes that a home's daemon has started, by pid, with their start time.
func children(home string) map[int]string {
	mark := []byte("HOB_CALL=" + sys.Digest(home) + "/")
	list := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return list
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !bytes.Contains(env, mark) {
			continue
		}
		if start := startOf(pid); start != "" {
			list[pid] = start
		}
	}
	return list
}

// startOf tells two processes of one number apart; "" when it is gone, or a zombie.
func startOf(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// run runs one command of hob to its end.
func run(t *testing.T, bin, home string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := exec.Command(bin, append(args, "--home", home)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TZ=UTC", "RIG_TOKEN=" + topicToken}
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code tells
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}
