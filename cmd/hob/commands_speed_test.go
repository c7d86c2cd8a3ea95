//go:build linux

package main_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/api/client"
)

// BenchmarkCommands is each command that only looks, as a process of its own that asks a running daemon over its socket. Every one takes
// at most 100 ms while the daemon is idle.
func BenchmarkCommands(b *testing.B) {
	bin, home := release(b), filepath.Join(b.TempDir(), "h")
	r := start(b, bin, home)
	defer r.end(b)
	c, err := client.Find(context.Background(), home, false)
	if err != nil {
		b.Fatal(err)
	}
	for range 20 {
		answer(b, c)
	}
	if out, err := exec.CommandContext(b.Context(), bin, "--home", home, "cron", "add", "--name", "tea", "--every", "1h", "say: tea?").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, line := range []string{
		"", "help", "version", "status", "cron list", "cron show tea", "cron next tea", "cron runs tea", "turns list", "turns show last", "turns why last",
		"why last", "inbox list", "inbox show last", "outbox list", "outbox show last", "sessions list", "sessions show main", "approvals list", "grants list",
		"budget show", "audit", "logs", "tool list", "tool show read", "model list --configured", "config get", "safe-mode", "backup list", "__complete turns show ''",
	} {
		b.Run(strings.ReplaceAll("hob "+line, " ", "_"), func(b *testing.B) {
			var took []time.Duration
			args := append([]string{"--home", home}, strings.Fields(line)...)
			for b.Loop() {
				begin := time.Now()
				if out, err := exec.CommandContext(b.Context(), bin, args...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				took = append(took, time.Since(begin))
			}
			b.ReportMetric(median(took), "median-ms")
		})
	}
}

// release builds the binary that is measured.
func release(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "hob")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, root+"/cmd/hob")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// measured is a daemon in a process of its own.
type measured struct{ *exec.Cmd }

func start(b *testing.B, bin, home string) measured {
	b.Helper()
	r := measured{Cmd: exec.CommandContext(b.Context(), bin, "up", "--no-chat", "--home", home, "--listen", "127.0.0.1:0")}
	out, err := r.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Start(); err != nil {
		b.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatalf("%q: %v", line, err)
	}
	return r
}

func (r measured) end(b *testing.B) {
	b.Helper()
	if err := r.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		b.Fatal(err)
	}
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}

var errAnswered = errors.New("answered")

// answer posts a message and follows the events until its turn is finished.
func answer(b *testing.B, c *client.Client) {
	b.Helper()
	receipt, err := c.Post(b.Context(), client.Message{Text: "say hello"})
	if err != nil {
		b.Fatal(err)
	}
	err = c.Follow(b.Context(), receipt.Event, true, func(f client.Frame) error {
		if f.Event != nil && f.Event.Type == "turn.finished" {
			return errAnswered
		}
		return nil
	})
	if !errors.Is(err, errAnswered) {
		b.Fatal(err)
	}
}
