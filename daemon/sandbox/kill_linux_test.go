package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/sandbox"
)

// stubborn leaves children in every way that outlives a process group, and then waits. Each child reports its start.
const stubborn = `
setsid bash -c 'trap "" TERM HUP INT; echo there; sleep 600; true' &
(setsid bash -c '(trap "" TERM; echo there; sleep 600; true) & exit' &)
(trap "" TERM HUP; nohup bash -c 'echo there; sleep 600; true' </dev/null 2>/dev/null &)
bash -c '(env -i bash -c "echo there; sleep 600; true" &) & disown -a; exit'
trap "" TERM HUP INT
echo there
sleep 600; true`

// TestNothingIsLeft kills the process that started a sandbox and checks that everything inside ends too. The children hold the ends of a
// pipe; one is found by its environment.
func TestNothingIsLeft(t *testing.T) {
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	for name, victim := range map[string]func(*exec.Cmd) error{
		"the process that started it": func(c *exec.Cmd) error { return c.Process.Kill() },
		"the group":                   func(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) },
		"bubblewrap":                  func(c *exec.Cmd) error { return killChildren(c.Process.Pid) },
	} {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("HOB_MARK=%s-%d", filepath.Base(w.top), time.Now().UnixNano())
			r, out, err := os.Pipe()
			must(t, err)
			c, err := s.Wrap(w.spec(), []string{"bash", "-c", stubborn}, append(slices.Clone(w.env), mark))
			must(t, err)
			parent := exec.CommandContext(t.Context(), self(t), append([]string{"__parent"}, c.Argv...)...)
			parent.Env, parent.ExtraFiles = []string{mark}, c.Files
			parent.Stdout, parent.Stderr = out, out
			parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			must(t, parent.Start())
			must(t, c.Entered())
			if c.Calls != nil {
				served := make(chan error, 1)
				go func() { served <- c.Calls.Serve() }()
				t.Cleanup(func() { must(t, <-served) })
			}
			must(t, c.Close())
			must(t, out.Close())
			must(t, r.SetReadDeadline(time.Now().Add(30*time.Second)))
			five := make([]byte, len("there\n")*5)
			if n, err := io.ReadFull(r, five); err != nil {
				t.Fatalf("they did not start: %v %q", err, five[:n])
			}
			if n := marked(t, mark); n < 6 {
				t.Fatalf("%d processes have the mark, want them all", n)
			}
			must(t, victim(parent))
			if rest, err := io.ReadAll(r); err != nil {
				t.Errorf("somebody still holds the pipe: %v %q", err, rest)
			}
			var end *exec.ExitError
			if err := parent.Wait(); err != nil && !errors.As(err, &end) {
				t.Error(err)
			}
			if n := marked(t, mark); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

// V13: a sandbox that is made when hob is dead already runs no command and ends by itself. bubblewrap's own signal cannot end it, since it
// asks for that only when its child is there.
func TestNothingBeginsWithoutHob(t *testing.T) {
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	c, err := s.Wrap(w.spec(), []string{"touch", w.space + "/begun"}, w.env)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), c.Argv[0])
	c.Prepare(cmd)
	must(t, c.Unread())
	out, err := cmd.CombinedOutput()
	_ = c.Close() // one end is closed already
	if _, begun := os.Stat(w.space + "/begun"); cmd.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), "report to hob") || begun == nil {
		t.Errorf("%v %q, begun: %v", err, out, begun)
	}
}

// startAndWait plays hob: it starts a sandbox and waits for it.
func startAndWait(argv []string) int {
	cmd := exec.CommandContext(testContext(), argv[0], argv[1:]...) // #nosec G702 -- the sandbox under test
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "HOB_ENTER=4")
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "order"), os.NewFile(4, "status")}
	if cmd.Run() != nil {
		return 1
	}
	return 0
}

func killChildren(pid int) error {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		more, err := os.ReadFile(task)
		if err != nil {
			return err
		}
		list = append(append(list, ' '), more...)
	}
	for _, child := range strings.Fields(string(list)) {
		if err := syscall.Kill(number(child), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// marked counts the living processes that have the mark in their environment.
func marked(t *testing.T, mark string) int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	must(t, err)
	n := 0
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(mark)) {
			n++
		}
	}
	return n
}
