//go:build linux

package main_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/api/client"
)

// BenchmarkCommands is each command that only looks, as a process of its own that asks a running daemon over its socket. Every one is to
// BenchmarkCommands within 100 ms while the daemon is idle.
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
