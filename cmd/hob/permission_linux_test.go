package main_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// pair opens a terminal and its other end (pty(7)).
func pair(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return screen, terminal
}

// onTerminal makes a command of hob whose streams are a new terminal; screen is the other end.
func onTerminal(ctx context.Context, t *testing.T, args ...string) (cmd *exec.Cmd, screen, terminal *os.File) {
	t.Helper()
	screen, terminal = pair(t)
	cmd = exec.CommandContext(ctx, "hob", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd, screen, terminal
}

// answered runs a command that asks a question, types keys for an answer, and returns what was shown before it and the exit code.
func answered(t *testing.T, cmd *exec.Cmd, screen *os.File, question, keys string) (shown string, exit int) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 1024); !strings.Contains(shown, question); {
		n, err := screen.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(b[:n])
	}
	if _, err := screen.WriteString(keys); err != nil {
		t.Fatal(err)
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return shown, cmd.ProcessState.ExitCode()
}

// started runs a daemon in a home of its own.
func started(t *testing.T) (home string, c *client.Client) {
	t.Helper()
	home, err := os.MkdirTemp("", "hob")
	if err != nil {
		t.Fatal(err)
	}
	up := exec.CommandContext(t.Context(), "hob", "up", "--home", home, "--no-chat", "--listen", "127.0.0.1:0")
	ready, err := up.StdoutPipe()
	if err == nil {
		err = up.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
		_ = os.RemoveAll(home)
	})
	if _, err := ready.Read(make([]byte, 200)); err != nil { // the ready line
		t.Fatal(err)
	}
	if c, err = client.Find(t.Context(), home, false); err != nil {
		t.Fatal(err)
	}
	return home, c
}

// TestTypedAhead (N40): what was typed before a question was shown answers nothing.
func TestTypedAhead(t *testing.T) {
	home, _ := started(t)
	file := filepath.Join(t.TempDir(), "a.txt")
	for question, args := range map[string][]string{
		"[y/N] ": {"tool", "write", "--home", home, "--path", file, "--content", "milk"},
		"[n]o: ": {"chat", "--home", home, "write " + file + ": milk"},
	} {
		cmd, screen, _ := onTerminal(t.Context(), t, args...)
		if _, err := screen.WriteString("y\nyes\ny"); err != nil {
			t.Fatal(err)
		}
		answered(t, cmd, screen, question, "n\n")
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%v: the file is written", args)
		}
	}
}

// TestNoAtTheTerminal: any answer but yes leaves no open question, also on a terminal that a killed hob has left raw.
func TestNoAtTheTerminal(t *testing.T) {
	home, c := started(t)
	file := filepath.Join(t.TempDir(), "a.txt")
	for _, x := range []struct {
		name, keys string
		raw        bool
		exit       int
	}{
		{"no", "n\n", false, 4},
		{"Ctrl-D", "\x04", false, 4},
		{"Ctrl-C", "\x03", false, 1},
		{"a raw terminal", "n\r", true, 4},
		{"yes", "y\n", false, 0},
	} {
		cmd, screen, terminal := onTerminal(t.Context(), t, "tool", "write", "--home", home, "--path", file, "--content", "milk")
		if x.raw {
			if _, err := term.MakeRaw(int(terminal.Fd())); err != nil {
				t.Fatal(err)
			}
		}
		shown, exit := answered(t, cmd, screen, "[y/N] ", x.keys)
		if !strings.Contains(shown, "lies outside the workspace)") || !strings.Contains(shown, "\n  always allowed by: [tools] roots = ") {
			t.Errorf("%s: it does not say why it asks, and what would allow it: %q", x.name, shown)
		}
		if exit != x.exit {
			t.Errorf("%s: exit code %d, want %d", x.name, exit, x.exit)
		}
		if open, err := client.List(context.Background(), c, api.Questions, client.Filter{State: "open"}); err != nil || len(open) > 0 {
			t.Errorf("%s: left open: %v, %v", x.name, open, err)
		}
		if _, err := os.Stat(file); (err == nil) != (x.exit == 0) {
			t.Errorf("%s: the file: %v", x.name, err)
		}
		if mode, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS); err != nil || mode.Oflag&unix.OPOST == 0 || mode.Lflag&unix.ICANON == 0 {
			t.Errorf("%s: the terminal is left raw: %v", x.name, err)
		}
	}
}
