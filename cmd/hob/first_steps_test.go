//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// step is a line that is typed, and what is to be seen.
type step struct{ typed, seen string }

// walk reads the console blocks of a page.
func walk(t *testing.T, page string) (steps []step) {
	t.Helper()
	for _, b := range blocks(t, page, "console") {
		for _, line := range strings.Split(strings.TrimSuffix(b, "\n"), "\n") {
			if typed, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, step{typed: typed})
				continue
			}
			if len(steps) == 0 {
				t.Fatalf("%s shows output before anything is typed: %q", page, line)
			}
			steps[len(steps)-1].seen += line + "\n"
		}
	}
	return steps
}

// matches reports whether output is what a page shows: "…" stands for anything, lines among it.
func matches(output, shown string) bool {
	parts := strings.Split(strings.TrimRight(shown, "\n"), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(strings.TrimRight(output, "\n"))
}

// TestFirstSteps replays the walk of docs/first-steps.md on a fresh home.
func TestFirstSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	home := readmeHome(t)
	stop := foreground(t, home, "go run ./cmd/hob up")
	defer stop()
	steps := walk(t, "docs/first-steps.md")
	if len(steps) < 15 {
		t.Fatalf("the walk has %d steps", len(steps))
	}
	for _, s := range steps {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", s.typed)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(home, "h"), "HOME="+home, "TZ=UTC")
		out, err := cmd.CombinedOutput()
		failed := strings.HasPrefix(s.seen, "hob: ")
		if !matches(string(out), s.seen) || (err != nil) != failed {
			t.Errorf("$ %s\n%s(%v)\nwant\n%s", s.typed, out, err, s.seen)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		output, shown string
		want          bool
	}{
		{"a\n", "a\n", true},
		{"a\nb\n", "a\n", false},
		{"a\nb\nc\n", "a\n…\n", true},
		{"x (1)\n", "x (…)\n", true},
		{"x 1\n", "x (…)\n", false},
	} {
		if got := matches(c.output, c.shown); got != c.want {
			t.Errorf("%q as %q: %v", c.output, c.shown, got)
		}
	}
}
