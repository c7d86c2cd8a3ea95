package main_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAddOnAScreen: a question is broken between words and has no signs of Markdown, and a channel that nothing has tried is not called good.
func TestAddOnAScreen(t *testing.T) {
	d := onScreen(t, 60, 20, []string{"NO_COLOR=1"}, "channels", "add", "discord", "--home", t.TempDir())
	d.sees("token (The bot's token: Reset Token under Bot of the\napplication shows it; paste it, or name it by env:NAME,\nfile:PATH, keyring:NAME or cmd:COMMAND; it is not shown):")
	d.types("abc\r")
	d.sees("token: what was given is not a bot token; a token has") // U57
	d.types("MTk4.Cl2FMQ.secret\r")
	d.sees("no hob runs that could try it")
	d.sees("hob channels test discord")
}

// TestAddAsksAtTheTerminal asks for what a section lacks until it is right. A secret that is pasted is not shown, and goes into a file.
func TestAddAsksAtTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		steps [][2]string // a prompt, and what is typed there
		exit  int
	}{
		"answered":    {[][2]string{{"topic (", "my topic\n"}, {"is not a topic", "mine\n"}, {"token (", "tk_12345\n"}}, 0},
		"interrupted": {[][2]string{{"topic (", "mine\n"}, {"token (", "\x03"}}, 1},
		"nothing":     {[][2]string{{"topic (", "\n"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // its end closes the terminal, on which a prompt may never come
			defer cancel()
			cmd, screen, terminal := onTerminal(ctx, t, "channels", "add", "ntfy", "--home", home, "--name", "alerts", "--owner", "--receive=false")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = terminal.Close() // the command has its own, and reading ends with the command
			shown, seen := "", 0
			for _, s := range c.steps {
				for b := make([]byte, 1024); !strings.Contains(shown[seen:], s[0]) || !strings.HasSuffix(shown, ": "); {
					n, err := screen.Read(b)
					if err != nil {
						t.Fatalf("%v while waiting for %q; shown: %q", err, s[0], shown)
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
