//go:build unix

package main_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"hob/config"
	"hob/daemon/api/client"
	"hob/daemon/sys/systest"
)

const root = "../.."

// blocks returns the fenced blocks of a language in a Markdown file.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, part := range strings.Split(string(text), "```") {
		if body, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			list = append(list, body)
		}
	}
	return list
}

// pages returns the README and the pages of docs and its folders, except the decision records.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md"}
	for _, pattern := range []string{"*.md", "channels/*.md"} {
		list, err := filepath.Glob(filepath.Join(root, "docs", filepath.FromSlash(pattern)))
		if err != nil || len(list) < 5 {
			t.Fatalf("docs: %v, %v", list, err)
		}
		for _, path := range list {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	return names
}

// TestReadmeCommands runs every command of the README, in order, on a fresh home. The set-up commands stand first: the one that
// TestReadmeCommands hob is run as it stands, the one that passes the tests is what .ci/run calls.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	var lines []string
	for _, b := range blocks(t, "README.md", "sh") {
		lines = append(lines, strings.Split(strings.TrimSpace(b), "\n")...)
	}
	if len(lines) < 10 || lines[0] != "go run ./cmd/hob up" || lines[1] != "go test ./..." {
		t.Fatalf("the README begins with %q", lines[:min(2, len(lines))])
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil || !strings.Contains(string(ci), "./...") || !strings.Contains(string(ci), "go test ") {
		t.Fatalf(".ci/run does not call the tests: %v", err)
	}
	home := readmeHome(t)
	stop := foreground(t, home, lines[0])
	defer stop()
	for _, line := range lines[2:] {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(home, "h"), "HOME="+home, "TZ=UTC")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// TestDocsCommands runs every command that the other documents show, page by page, each on a fresh home with a daemon.
func TestDocsCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	shown := 0
	for _, page := range pages(t) {
		var lines []string
		for _, b := range blocks(t, page, "sh") {
			lines = append(lines, strings.Split(strings.TrimSpace(b), "\n")...)
		}
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == "hob up" }) // which runs
		if page == "README.md" || page == chores || len(lines) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "hob mcp add ") }) {
				systest.Program(t, "bwrap")
			}
			home := readmeHome(t)
			defer foreground(t, home, "hob up")()
			for _, line := range lines {
				shown++
				if strings.Contains(line, ` --gate "`) && !systest.Sandbox() {
					t.Logf("not run, because bubblewrap is not installed: %s", line)
					continue
				}
				cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
				cmd.Dir = home
				cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(home, "h"), "HOME="+home, "TZ=UTC")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
			}
		})
	}
	if shown < 5 {
		t.Errorf("the documents show %d commands", shown)
	}
}

// readmeHome is a short path, for a socket, with the note that the README reads and the folders of other programs.
func readmeHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "hob") //nolint:usetesting // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	workspace := filepath.Join(home, "h", "workspace")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "notes.md"), []byte("buy milk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Folders of other programs, for hob import.
	for _, program := range []string{"openclaw", "hermes"} {
		if err := os.CopyFS(filepath.Join(home, "."+program), os.DirFS(filepath.Join("importer", "testdata", program))); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// foreground starts the README's first command and waits for its ready line.
func foreground(t *testing.T, home, line string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+line)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(home, "h"), "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(out)
	first, err := output.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, "hob ready in ") {
		t.Errorf("%s said %q, %v", line, first, err)
	}
	return func() {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		gone(t, home)
		// The signal ends go run at once. hob still writes into its home until it has closed its output.
		if _, err := io.Copy(io.Discard, output); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Logf("%s: %v", line, err) // go run reports the signal
		}
	}
}

// gone waits until no daemon answers for the home.
func gone(t *testing.T, home string) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	end := time.After(15 * time.Second)
	for {
		if _, err := client.Find(context.Background(), filepath.Join(home, "h"), false); err != nil {
			return
		}
		select {
		case <-look.C:
		case <-end:
			t.Error("the daemon did not stop")
			return
		}
	}
}

// TestDocsConfigIsValid reads every config that the documents show.
func TestDocsConfigIsValid(t *testing.T) {
	shown := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page, "toml") {
			shown++
			path := filepath.Join(t.TempDir(), "config.toml")
			err := os.WriteFile(path, []byte(b), 0o600)
			var problems []config.Problem
			if err == nil {
				_, problems, err = config.Load(path, nil)
			}
			if err != nil {
				t.Errorf("%s: %v", page, err)
			}
			for _, p := range problems {
				if !p.Advice {
					t.Errorf("%s: %s", page, p)
				}
			}
		}
	}
	if shown < 3 {
		t.Errorf("the documents show %d configs", shown)
	}
}

// TestDocsLinksLeadSomewhere checks the relative links of the documents.
func TestDocsLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			target, heading, _ := strings.Cut(target, "#")
			if strings.Contains(target, "://") {
				continue
			}
			there := filepath.Join(root, page)
			if target != "" {
				there = filepath.Join(root, filepath.Dir(page), target)
			}
			if _, err := os.Stat(there); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
				continue
			}
			if heading != "" && !slices.Contains(anchors(t, there), heading) {
				t.Errorf("%s links to %s, which has no heading for #%s", page, target, heading)
			}
		}
	}
}

// anchors are the headings of a page as links name them, by the rule of GitHub: lower case, hyphens for spaces, no punctuation.
func anchors(t *testing.T, page string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		list = append(list, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading)))
	}
	return list
}
