package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// TestSynonymsNameCommands finds each command that a synonym proposes, and no command that a synonym would hide.
func TestSynonymsNameCommands(t *testing.T) {
	root := main.NewRoot(cli.New(), nil)
	for word, command := range cli.Synonyms() {
		// hob tool takes the name of a tool, which is no command of its own.
		if c, rest, err := root.Find(strings.Fields(command)); err != nil || len(rest) > 0 && !(c.Name() == "tool" && rest[0] == "exec") {
			t.Errorf("%s proposes hob %s, which is not there", word, command)
		}
		if word == "run" && command == "up" {
			t.Error("run is for a command, as in the chat")
		}
		if c, _, err := root.Find([]string{word}); err == nil && c != root {
			t.Errorf("%s is a command", word)
		}
	}
}

// TestBashHelp: the help of the script for bash asks for no package, because the script needs none.
func TestBashHelp(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "hob", "completion", "bash", "--help").CombinedOutput()
	if text := string(out); err != nil || strings.Contains(text, "package") || strings.Contains(text, "/etc/") || !strings.Contains(text, "~/.bashrc") {
		t.Errorf("%v, %s", err, out)
	}
}

// TestBashCompletionAlone completes in a bash that has nothing but hob's script, also a word with a colon in it.
func TestBashCompletionAlone(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	for typed, want := range map[string]string{"hob chann": "channels", "hob help cron r": "rm", "hob service install --us": "--user"} {
		script := `source <(hob completion bash)
COMP_LINE="$TYPED" COMP_POINT=${#TYPED} COMP_TYPE=9
read -ra COMP_WORDS <<<"$COMP_LINE"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
__start_hob
printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.CommandContext(context.Background(), bash, "--norc", "--noprofile", "-c", script)
		cmd.Env = append(os.Environ(), "TYPED="+typed, "HOB_HOME="+filepath.Join(t.TempDir(), "h"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "command not found") {
			t.Errorf("%q: %v, %s", typed, err, out)
		}
	}
}
