//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/sys/systest"
)

const chores = "docs/chores.md"

// TestChores pastes every recipe of docs/chores.md into one home. Each job that needs no model is run, and ends well. Each command of
// a gate can be run in the sandbox.
func TestChores(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	systest.Program(t, "git")
	page, err := os.ReadFile(filepath.Join(root, chores))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^### `).FindAllString(string(page), -1)); n < 30 {
		t.Errorf("%s has %d recipes", chores, n)
	}
	home := readmeHome(t)
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "h"))
	t.Setenv("TZ", "UTC")
	prepareChores(t, home)
	defer foreground(t, home, "hob up")()
	for _, b := range blocks(t, chores, "sh") {
		for _, line := range strings.Split(strings.TrimSpace(b), "\n") {
			if strings.Contains(line, " --gate ") && !systest.Sandbox() {
				continue // hob refuses a gate that could never run
			}
			if out, err := shell(t, home, line); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	jobs := readJobs(t, home)
	for _, m := range regexp.MustCompile(`(?m)^\[jobs\.([a-z-]+)\]$`).FindAllStringSubmatch(string(page), -1) {
		if !slices.ContainsFunc(jobs, func(j chore) bool { return j.Name == m[1] }) {
			t.Errorf("the job %s of the config is not in the list", m[1])
		}
	}
	for _, j := range jobs {
		if j.Broken != "" {
			t.Errorf("%s is broken: %s", j.Name, j.Broken)
		}
		if systest.Sandbox() {
			tryGate(t, home, j)
			tryJob(t, home, j)
		}
	}
}

// prepareChores makes the folders that the page speaks of, and the config with its sections.
func prepareChores(t *testing.T, home string) {
	t.Helper()
	site := filepath.Join(home, "projects", "site")
	for _, line := range []string{
		"mkdir -p " + site,
		"git -C " + site + " init -q",
		"git -C " + site + " -c user.name=sam -c user.email=sam@example.org commit -q --allow-empty -m first",
	} {
		if out, err := shell(t, home, line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	sections := strings.Join(blocks(t, chores, "toml"), "\n")
	if err := os.WriteFile(filepath.Join(home, "h", "config.toml"), []byte(sections), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell runs a line as somebody who pastes it.
func shell(t *testing.T, home, line string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = home
	out, err := cmd.CombinedOutput()
	return string(out), err
}

type chore struct {
	Name, Prompt, Broken, Gate string
}

func readJobs(t *testing.T, home string) (list []chore) {
	t.Helper()
	out, err := shell(t, home, "hob cron list --json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil || len(list) < 20 {
		t.Fatalf("%d jobs: %v\n%s", len(list), err, out)
	}
	return list
}

// tryGate runs the command of a gate as a command of the shell tool: it may say yes or no, but must exist.
func tryGate(t *testing.T, home string, j chore) {
	t.Helper()
	command := strings.TrimPrefix(j.Gate, "exit:")
	if command == "" || strings.HasPrefix(command, "url:") || strings.HasPrefix(command, "files:") {
		return
	}
	call := "sh -c " + quoted(command) + "; test $? -lt 2 && echo gate $((40 + 2))"
	out, err := shell(t, filepath.Join(home, "h", "workspace"), "hob tool exec "+quoted(call))
	if err != nil || !strings.Contains(out, "gate 42") { // the exit code of hob does not tell that of the command
		t.Errorf("the gate of %s, %s: %v\n%s", j.Name, command, err, out)
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tryJob runs a job that needs no model, and waits until it has run well.
func tryJob(t *testing.T, home string, j chore) {
	t.Helper()
	if !regexp.MustCompile(`^(say:|run |read |find )`).MatchString(j.Prompt) {
		return
	}
	if out, err := shell(t, home, "hob cron run "+j.Name); err != nil {
		t.Errorf("%s: %v\n%s", j.Name, err, out)
		return
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	end := time.After(time.Minute)
	for {
		var runs []struct{ State, Outcome, Reason string }
		out, err := shell(t, home, "hob cron runs "+j.Name+" --json")
		if err == nil {
			err = json.Unmarshal([]byte(out), &runs)
		}
		if err == nil && len(runs) > 0 && runs[0].State == "done" {
			if runs[0].Outcome != "ran" {
				t.Errorf("%s (%s) %s: %s", j.Name, j.Prompt, runs[0].Outcome, runs[0].Reason)
			}
			return
		}
		select {
		case <-look.C:
		case <-end:
			t.Errorf("%s did not end: %v\n%s", j.Name, err, out)
			return
		}
	}
}
