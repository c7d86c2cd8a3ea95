package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAddAsksAtTheTerminal asks for what a section lacks until it is right. A secret that is pasted is not shown, and goes into a file.
func TestAddAsksAtTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		steps [][2]string // a prompt, and what is typed there
		exit  int
	}{
		"answered":    {[][2]string{{"topic (", "my topic\n"}, {"is no topic", "mine\n"}, {"token (", "tk_12345\n"}}, 0},
		"interrupted": {[][2]string{{"topic (", "mine\n"}, {"token (", "\x03"}}, 1},
		"nothing":     {[][2]string{{"topic (", "\n"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			screen, terminal := pair(t)
			cmd := exec.CommandContext(t.Context(), "hob", "channels", "add", "ntfy", "--home", home, "--name", "alerts", "--owner", "--receive=false")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			shown, seen := "", 0
			for _, s := range c.steps {
				for b := make([]byte, 1024); !strings.Contains(shown[seen:], s[0]) || !strings.HasSuffix(shown, ": "); {
					n, err := screen.Read(b)
					if err != nil {
						t.Fatal(err)
					}
					shown += string(b[:n])
				}
				seen = len(shown)
				if _, err := screen.WriteString(s[1]); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.exit {
				t.Errorf("exit code %d, want %d", got, c.exit)
			}
			doc, _ := os.ReadFile(filepath.Join(home, "config.toml"))
			kept, _ := os.ReadFile(filepath.Join(home, "secrets", "alerts-token"))
			if c.exit != 0 {
				if len(doc) > 0 || len(kept) > 0 {
					t.Errorf("something was written: %s %s", doc, kept)
				}
				return
			}
			if !strings.Contains(string(doc), "token = \"file:secrets/alerts-token\"\n") || string(kept) != "tk_12345\n" {
				t.Errorf("written: %s, kept: %s", doc, kept)
			}
			rest := make([]byte, 4096)
			n, _ := screen.Read(rest)
			if strings.Contains(shown+string(rest[:n]), "12345") {
				t.Errorf("the secret is shown: %q", shown+string(rest[:n]))
			}
		})
	}
}
