package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestWatchOnATerminal: it draws over what was there without clearing the screen first, and Ctrl-C ends it well.
func TestWatchOnATerminal(t *testing.T) {
	home, _ := started(t)
	cmd, screen, _ := onTerminal(t.Context(), t, "status", "--home", home, "--watch")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for b := make([]byte, 4096); strings.Count(shown, "\x1b[J") < 2; {
		n, err := screen.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(b[:n])
	}
	if _, err := screen.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	frames := strings.SplitAfter(shown, "\x1b[J")
	for _, frame := range frames[:2] {
		if !strings.HasPrefix(frame, "\x1b[Hhob is ") || !strings.Contains(frame, "\x1b[K\r\nmodel      builtin\x1b[K\r\n") || strings.Contains(frame, "\x1b[2J") {
			t.Errorf("a frame: %q", frame)
		}
	}
}

// TestWatchOffATerminal: a line, or a document, for each change and for nothing else; a signal ends it well.
func TestWatchOffATerminal(t *testing.T) {
	for _, flag := range []string{"--quiet", "--json"} {
		home, _ := started(t)
		cmd := exec.CommandContext(t.Context(), "hob", "status", "--home", home, "--watch", flag)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(out)
		next := func(words ...string) {
			t.Helper()
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range words {
				if !strings.Contains(line, word) {
					t.Errorf("%s: %q has no %q in it", flag, line, word)
				}
			}
		}
		no, one := []string{" · ok · idle · ", " · 1 job"}, []string{" · 2 jobs, next late Fri 2 Jan 2099 03:04"}
		if flag == "--json" {
			no, one = []string{`{"state":"ok",`, `"jobs":1`}, []string{`{"state":"ok",`, `"next_job":"late"`}
		}
		next(no...)
		if said, err := exec.CommandContext(t.Context(), "hob", "cron", "add", "--home", home, "--name", "late", "--at", "2099-01-02 03:04", "hello").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		next(one...)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: interrupted: %v", flag, err)
		}
	}
}
