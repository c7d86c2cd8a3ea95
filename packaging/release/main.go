// Command release builds everything that a user can install into one folder: archives, packages for Linux, contexts for a container image,
// a Homebrew formula, software bills of materials and checksums. The same commit, built by the same version of Go, always gives the same
// bytes. It signs nothing and uploads nothing.
//
// Run it in the root of the repository: go run ./packaging/release
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// allTargets are the systems that a release is for.
const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

// release is one run.
type release struct {
	out     string    // the folder that the user gets
	work    string    // what is made on the way
	url     string    // where the files will be downloaded from, "" if that is not known
	version string    // as in the names of files: without the v, and valid in every package format
	named   bool      // the version comes from the command line, so the sources need no history
	epoch   time.Time // the time of every file in every archive
	targets []target
}

// target is one system, and the program that was built for it.
type target struct{ os, arch, binary string }

func (t target) String() string { return t.os + "_" + t.arch }

// name is the name of a file of the release, such as hob_1.2.3_linux_amd64.tar.gz.
func (r *release) name(t target, suffix string) string {
	return filepath.Join(r.out, "hob_"+r.version+"_"+t.String()+suffix)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	// os.Exit runs no deferred function.
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run reads the flags and makes the release. The folder appears under its name only when it is whole.
func run(ctx context.Context) (err error) {
	out := flag.String("out", "dist", "make the release in this folder, which must not exist yet")
	targets := flag.String("targets", allTargets, "build for these systems only")
	r := release{}
	flag.StringVar(&r.url, "url", "", "the address that the files will be downloaded from; without it there is no Homebrew formula")
	flag.StringVar(&r.version, "version", "", "name the files after this version, for sources without git; SOURCE_DATE_EPOCH is their time (default: the tag or the commit)")
	flag.Parse()
	if r.targets, err = parseTargets(*targets); err != nil {
		return err
	}
	if _, err := os.Lstat(*out); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s exists already: remove it, or name another folder with -out", *out)
	}
	if r.work, err = os.MkdirTemp("", "hob-release-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	r.out = *out + ".part"
	defer func() { err = errors.Join(err, os.RemoveAll(r.work), os.RemoveAll(r.out)) }()
	if err := os.RemoveAll(r.out); err != nil { // of a run that was killed
		return fmt.Errorf("clear %s: %w", r.out, err)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // other people may read a release
		return fmt.Errorf("make %s: %w", r.out, err)
	}
	if err := r.make(ctx); err != nil {
		return err
	}
	if err := os.Rename(r.out, *out); err != nil {
		return fmt.Errorf("name the folder: %w", err)
	}
	fmt.Printf("hob %s is in %s\n", r.version, *out)
	return nil
}

// make makes the files in the order in which they need each other.
func (r *release) make(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"look at the sources", r.sources},
		{"build the programs", r.programs},
		{"make man pages and completions", r.documents},
		{"collect licences", r.licences},
		{"pack archives", r.archives},
		{"make packages for Linux", r.packages},
		{"pack container contexts", r.containers},
		{"write bills of materials", r.materials},
		{"write the Homebrew formula", r.formula},
		{"write checksums", r.checksums},
	}
	for _, s := range steps {
		fmt.Println(s.name)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// parseTargets reads a list such as "linux/amd64,darwin/arm64".
func parseTargets(list string) ([]target, error) {
	var all []target
	for _, name := range strings.Split(list, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || !strings.Contains(","+allTargets+",", ","+name+",") {
			return nil, fmt.Errorf("there is no target %q: the targets are %s", name, allTargets)
		}
		all = append(all, target{os: system, arch: arch})
	}
	return all, nil
}

// sources finds the time of the release. What is not committed would not come out the same again, so it is refused.
func (r *release) sources(ctx context.Context) error {
	r.named = r.version != ""
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if !r.named {
		dirty, err := r.output(ctx, "git", "status", "--porcelain")
		if err != nil {
			return fmt.Errorf("%w (a release is made in a git checkout; elsewhere, set -version)", err)
		}
		if dirty != "" {
			return errors.New("there are changes that are not committed: commit or remove them, and try again\n" + dirty)
		}
		if seconds == "" {
			if seconds, err = r.output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
				return err
			}
		}
	}
	seconds = cmp.Or(seconds, "0")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q: set it to the seconds since 1970, or unset it", seconds)
	}
	r.epoch = time.Unix(n, 0).UTC()
	return nil
}

// output runs a program and returns what it prints, without the last line break. More variables go before those of this process.
func (r *release) output(ctx context.Context, name string, args ...string) (string, error) {
	return r.with(ctx, nil, name, args...)
}

// with is output with more variables.
func (r *release) with(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the programs and their arguments are in this package
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.epoch.Unix(), 10), "TZ=UTC", "LC_ALL=C", "GOFLAGS=-trimpath", "GOWORK=off", "CGO_ENABLED=0")
	cmd.Env = append(cmd.Env, env...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, problems.String())
	}
	return strings.TrimRight(string(out), "\n"), nil
}
