//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// toolRows are the rows about tools. Each job is a whole command, from the start of `hob tool` to its last byte; the anchor is the program
// that people use for the same.
func toolRows() []row {
	return []row{
		{name: "`true` in the sandbox", unit: "ms", anchor: "a bare `bwrap`", goal: 1.5, rounds: 20, open: sandboxed},
		{name: "100 MB of output of a command", unit: "ms", anchor: "`cat` piped to `cat`", goal: 1.5, rounds: 10, open: output},
		{name: "grep in Go's source: a literal", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, "ErrUnexpectedEOF")},
		{name: "the same, folded", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, "(?i)unexpectedeof")},
		{name: "the same, a regex with a literal", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, `func \w+Reader\(`)},
		{name: "the same, a regex without one", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, `[A-Z]{4,}_[0-9]+`)},
		{name: "the same, `return`", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, "return")},
		{name: "the same, one of five literals", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, "Unmarshal|Goexit|bufio|HandlerFunc|Atoi")},
		{name: "the same, one of three, folded", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 20, open: greps(tree, "(?i)unmarshal|goexit|handlerfunc")},
		{name: "grep in a file of 270 MB: a literal", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 10, open: greps(large, "Goexit")},
		{name: "the same file, folded", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 10, open: greps(large, "(?i)goexit")},
		{name: "the same file, a regex", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 10, open: greps(large, `[a-z]+_[0-9]+\b`)},
		{name: "the same file, one of five literals", unit: "ms", anchor: "ripgrep", goal: 1.2, rounds: 10, open: greps(large, "Unmarshal|Goexit|bufio|HandlerFunc|Atoi")},
		{name: "read at line 5,000,000 of that file", unit: "ms", anchor: "`sed -n`", goal: 0.2, rounds: 10, open: reads},
		{name: "edit of a line in 64 MB, durable", unit: "ms", anchor: "`cp`, `sync`, `mv`", goal: 1.5, rounds: 10, open: edits},
		{name: "glob in Go's source", unit: "ms", anchor: "fd", goal: 1, rounds: 20, open: globs},
		{name: "71,000 folders watched, from the start", unit: "ms", anchor: "`inotifywait -r`", goal: 1, rounds: 3, open: watches},
		{name: "anonymous memory that these watches take", unit: "MB", goal: 12, rounds: 1, open: watchMemory},
	}
}

// sandboxed measures `hob tool exec true`, beside a sandbox of the same namespaces that bwrap makes alone.
func sandboxed(ctx context.Context, l *lab) (m measurement, err error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return m, fmt.Errorf("the anchor needs bubblewrap: %w", err)
	}
	c, err := l.converse(ctx, false)
	if err != nil {
		return m, err
	}
	workspace := filepath.Join(c.home, "workspace")
	return measurement{
		beside: took(workspace, bwrap, "--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--cap-drop", "ALL",
			"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", workspace, workspace, "--chdir", workspace, "--", "bash", "-c", "true"),
		job:   took(workspace, l.hob, "--home", c.home, "tool", "exec", "true"),
		close: c.end,
	}, nil
}

// output measures a command that prints a file of 100 MB.
func output(ctx context.Context, l *lab) (m measurement, err error) {
	c, err := l.converse(ctx, false)
	if err != nil {
		return m, err
	}
	workspace := filepath.Join(c.home, "workspace")
	line := strings.Repeat("x", 99) + "\n"
	if err := os.WriteFile(filepath.Join(workspace, "big"), []byte(strings.Repeat(line, 100<<20/len(line))), 0o600); err != nil {
		return m, errors.Join(err, c.end())
	}
	return measurement{
		beside: took(workspace, "bash", "-c", "cat big | cat > /dev/null"), job: took(workspace, l.hob, "--home", c.home, "tool", "exec", "cat big"), close: c.end,
	}, nil
}

// tree is Go's own source tree.
func tree(ctx context.Context, _ *lab) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find Go's source: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src"), nil
}

// large makes a file of 270 MB out of Go's source, once for all rows.
func large(ctx context.Context, l *lab) (path string, err error) {
	path = filepath.Join(l.dir, "large")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	from, err := tree(ctx, l)
	if err != nil {
		return "", err
	}
	f, err := os.Create(path) // #nosec G304 -- a folder of its own
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var text []byte
	for _, part := range []string{"cmd/compile/internal", "net", "runtime", "go"} {
		err := filepath.WalkDir(filepath.Join(from, part), func(at string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || filepath.Ext(at) != ".go" {
				return err
			}
			file, err := os.ReadFile(at)      // #nosec G304 G122 -- Go's own source
			if bytes.IndexByte(file, 0) < 0 { // a search of a binary file ends early
				text = append(text, file...)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	for left := 270_000_000; left > 0; left -= len(text) {
		if _, err := f.Write(text[:min(left, len(text))]); err != nil {
			return "", err
		}
	}
	return path, nil
}

// greps counts the lines that match in a file or folder.
func greps(where func(context.Context, *lab) (string, error), pattern string) func(context.Context, *lab) (measurement, error) {
	return func(ctx context.Context, l *lab) (m measurement, err error) {
		path, err := where(ctx, l)
		if err != nil {
			return m, err
		}
		return l.search(ctx, path, []string{"grep", pattern, "--path", path, "--output-mode", "count"}, []string{"rg", "-c", pattern, path})
	}
}

// reads reads a page in the middle of the large file.
func reads(ctx context.Context, l *lab) (m measurement, err error) {
	path, err := large(ctx, l)
	if err != nil {
		return m, err
	}
	return l.search(ctx, path, []string{"read", path, "--offset", "5000000", "--limit", "100"}, []string{"sed", "-n", "5000001,5000100p", path})
}

// edits changes a line of a file of 64 MB there and back.
func edits(ctx context.Context, l *lab) (m measurement, err error) {
	c, err := l.converse(ctx, false)
	if err != nil {
		return m, err
	}
	workspace := filepath.Join(c.home, "workspace")
	half := strings.Repeat("a line of a file\n", 32_000_000/len("a line of a file\n"))
	if err := os.WriteFile(filepath.Join(workspace, "big"), []byte(half+"the one line\n"+half), 0o600); err != nil {
		return m, errors.Join(err, c.end())
	}
	texts := []string{"the one line", "the other line"}
	return measurement{beside: took(workspace, "bash", "-c", "cp big copy && sync copy && mv copy big2 && sync ."), job: func(ctx context.Context) (float64, error) {
		v, err := took(workspace, l.hob, "--home", c.home, "tool", "edit", "big", "--old-text", texts[0], "--new-text", texts[1])(ctx)
		slices.Reverse(texts)
		return v, err
	}, close: c.end}, nil
}

// globs looks for the tests in Go's source.
func globs(ctx context.Context, l *lab) (m measurement, err error) {
	path, err := tree(ctx, l)
	if err != nil {
		return m, err
	}
	fd := "fd"
	if _, err := exec.LookPath(fd); err != nil {
		fd = "fdfind" // as Debian calls it
	}
	return l.search(ctx, path, []string{"glob", "**/*_test.go", "--path", path}, []string{fd, "-s", "-t", "f", "-g", "*_test.go", path})
}

// search measures a tool that reads path, beside another program.
func (l *lab) search(ctx context.Context, path string, job, beside []string) (m measurement, err error) {
	home, err := l.home(fmt.Sprintf("[tools]\nroots = [%q]\n", path+":ro"))
	if err != nil {
		return m, err
	}
	d, err := l.start(ctx, home)
	if err != nil {
		return m, err
	}
	return measurement{
		beside: took(l.dir, beside[0], beside[1:]...), job: took(filepath.Join(home, "workspace"), l.hob, append([]string{"--home", home, "tool"}, job...)...), close: d.stop,
	}, nil
}

// watches measures from the start of hob until each folder of a tree is watched: until the daemon has that many inotify watches, which the
// kernel lists (proc_pid_fdinfo(5)). Reading that list slows the watching down, so it begins when hob's CPU time stands still.
func watches(_ context.Context, l *lab) (m measurement, err error) {
	dir, home, err := l.folders()
	if err != nil {
		return m, err
	}
	return measurement{beside: inotifywait(dir), job: func(ctx context.Context) (float64, error) {
		d, err := l.start(ctx, home)
		if err != nil {
			return 0, err
		}
		v, err := d.watching(ctx, 71_000)
		return v, errors.Join(err, d.stop())
	}}, nil
}

// folders makes a tree of 71,000 folders, once, and a home that watches it.
func (l *lab) folders() (dir, home string, err error) {
	dir = filepath.Join(l.dir, "folders")
	for i := range 71_000 {
		if err := os.MkdirAll(filepath.Join(dir, strconv.Itoa(i/1000), strconv.Itoa(i/50), strconv.Itoa(i)), 0o700); err != nil {
			return "", "", err
		}
	}
	home, err = l.home(fmt.Sprintf("[watches.tree]\npaths = [%q]\nprompt = \"say: changed\"\n", dir))
	return dir, home, err
}

// watchMemory measures the anonymous memory of a daemon that watches the folders, less that of one that watches nothing. Both have rested.
func watchMemory(_ context.Context, l *lab) (m measurement, err error) {
	_, home, err := l.folders()
	if err != nil {
		return m, err
	}
	plain, err := l.home("")
	return measurement{job: func(ctx context.Context) (v float64, err error) {
		for _, daemon := range []struct {
			home string
			sign float64
		}{{plain, -1}, {home, 1}} {
			d, err := l.start(ctx, daemon.home)
			if err != nil {
				return 0, err
			}
			pause(ctx, 20*time.Second)
			kb, err := d.status("RssAnon")
			if err := errors.Join(err, d.stop()); err != nil {
				return 0, err
			}
			v += daemon.sign * kb / 1024
		}
		return v, nil
	}}, err
}

// inotifywait measures until it says that all folders are watched.
func inotifywait(dir string) sample {
	return func(ctx context.Context) (float64, error) {
		cmd := exec.CommandContext(ctx, "inotifywait", "-r", "-m", "-e", "create,modify,delete,move", dir) // #nosec G204 -- a folder of its own
		out, err := cmd.StderrPipe()
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, fmt.Errorf("the anchor needs inotify-tools: %w", err)
		}
		for s := bufio.NewScanner(out); s.Scan() && !strings.Contains(s.Text(), "established"); {
		}
		v := ms(time.Since(began))
		err = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return v, err
	}
}

// still is how long hob must use no CPU time before it counts as idle.
const still = 150 * time.Millisecond

// watching waits until the daemon is idle and watches so many folders, and returns the time in ms from its start to its last work.
func (d *daemon) watching(ctx context.Context, folders int) (float64, error) {
	used, last := time.Duration(-1), time.Now()
	for time.Since(d.began) < time.Minute {
		now, err := d.cpu()
		if err != nil {
			return 0, err
		}
		if now-used > time.Millisecond {
			used, last = now, time.Now()
		}
		if time.Since(last) > still {
			n, err := d.watched()
			if err != nil || n >= folders {
				return ms(last.Sub(d.began)), err
			}
			last = time.Now()
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return 0, fmt.Errorf("%d folders are not watched within a minute", folders)
}

// watched counts the inotify watches of the daemon.
func (d *daemon) watched() (n int, err error) {
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", d.cmd.Process.Pid))
	for _, path := range list {
		text, reading := os.ReadFile(path) // #nosec G304 -- of the kernel's file system
		if errors.Is(reading, os.ErrNotExist) || errors.Is(reading, unix.ENOENT) {
			continue // it was closed
		}
		n, err = n+strings.Count(string(text), "inotify wd:"), errors.Join(err, reading)
	}
	return n, err
}
