package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"hob/daemon/sys"
	"hob/daemon/text"
)

// commandTime is the time limit of a command.
const commandTime = 10 * time.Second

// command runs a line from the owner's config with the shell and returns its output. The command runs in its own process group, which is
// killed as a whole at the end. It gets hob's environment without the HOB_ variables, because key agents and password stores need theirs.
func command(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("no answer within %v", commandTime))
	defer cancel()
	cmd := shell(ctx, line)
	var out, notes limited
	cmd.Stdout, cmd.Stderr = &out, &notes
	cmd.Env = sys.Environ()
	// A child that keeps the pipes open after the kill would otherwise block Run for ever.
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	err := cmd.Run()
	// Background processes of the line must not outlive it.
	endGroup(cmd)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("cmd: %s: %w", word(line), context.Cause(ctx))
	case out.cut:
		return "", fmt.Errorf("cmd: %s: more than %d KB of output is too long for a secret", word(line), maxValue>>10)
	case errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("cmd: %s: it left a process behind that keeps its output open", word(line))
	case err != nil:
		return "", fmt.Errorf("cmd: %s: %w%s", word(line), err, firstLine(notes.String()))
	}
	return out.String(), nil
}

// word returns the name of a command. Its arguments may hold more than a log should.
func word(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return name
}

// firstLine returns the first line of an error output, shortened to 200 characters.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if s == "" {
		return ""
	}
	return ": " + text.Shorten(s, 200)
}

// limited keeps the first maxValue bytes.
type limited struct {
	kept bytes.Buffer // not embedded: its ReadFrom would bypass Write
	cut  bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := maxValue - l.kept.Len()
	l.cut = l.cut || len(p) > room
	l.kept.Write(p[:min(len(p), room)])
	// The rest is read and dropped: an error here would end the command with a broken pipe.
	return len(p), nil
}

func (l *limited) String() string { return l.kept.String() }
