//go:build linux

// Command bench measures hob from outside: it builds the release binary, runs it in processes of its own, and prints the table of
// docs/benchmarks.md. Each job takes turns with its anchor, and the table has the medians of both.
//
// A row is added in rows.go. The program fails on no figure; run it on a quiet machine, because its own load counts too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// options are the flags.
// Without flags the program builds hob and measures all rows, each with its own number of rounds.
type options struct {
	hob       string
	published string
	only      *regexp.Regexp
	rounds    int
	write     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	// os.Exit runs no deferred function.
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run reads the flags and measures in a temporary folder. It must start in the root of the repository, because the paths of
// the program and of the published table are relative.
func run(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.hob, "hob", "", "measure this binary instead of building one")
	flag.StringVar(&o.published, "published", "docs/benchmarks.md", "compare with the table in this file")
	flag.IntVar(&o.rounds, "rounds", 0, "rounds of each row instead of its own number")
	flag.BoolVar(&o.write, "write", false, "put each measured row into the published table at once")
	only := flag.String("only", "", "measure only the rows whose name matches this regular expression")
	flag.Parse()
	if o.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	dir, err := os.MkdirTemp("", "hob-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	if o.hob == "" {
		if o.hob, err = build(ctx, dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%s, load %s\n", o.hob, load())
	return measureAll(ctx, &lab{hob: o.hob, dir: dir}, o)
}

// build makes the binary that users get.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "hob")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/hob") // #nosec G204 -- a folder of its own
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hob: %w\n%s", err, out)
	}
	return path, nil
}

// load is the number of processes that want to run, over the last minute.
// It is printed so that a reader can recognise figures from a busy machine (proc_loadavg(5)).
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
