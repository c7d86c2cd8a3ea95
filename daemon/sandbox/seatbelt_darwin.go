package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// program is where macOS has it; a PATH is not asked.
const program = "/usr/bin/sandbox-exec"

// probeTime bounds the probe.
const probeTime = 10 * time.Second

// find runs a shell in a profile. What bubblewrap does and this cannot is said in State: there are no namespaces.
func find(ctx context.Context, c Config) (State, func(layout, []string) ([]string, error)) {
	argv := func(l layout, argv []string) ([]string, error) {
		state, err := resolved(c.State)
		if err != nil {
			return nil, err
		}
		c := c
		c.State = state
		return append([]string{program, "-p", profile(c, l)}, argv...), nil
	}
	if err := try(ctx, c, argv); err != nil {
		return State{Kind: "none", Why: "sandbox-exec does not work: " + err.Error(), Hint: "hob asks for each command; look at Console for sandboxd"}, nil
	}
	return State{
		Kind: "sandbox-exec", Works: true, Layers: []string{"file rules", "network rules", "ipc rules"},
		Why: "macOS has no process namespace: a command that leaves its process group is found by hob only while hob runs",
	}, argv
}

// try wants a shell that runs and cannot list hob's state.
func try(ctx context.Context, c Config, wrap func(layout, []string) ([]string, error)) error {
	argv, err := wrap(layout{dir: "/"}, []string{"/bin/sh", "-c", `ls "$1" >/dev/null 2>&1 && exit 3; echo inside`, "sh", c.State})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- hob's own words
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"PATH=/usr/bin:/bin"}, "/", time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	if string(out) != "inside\n" {
		return fmt.Errorf("the trial said %q", out)
	}
	return nil
}

// systemFolders are masked where they hold what is hidden.
func systemFolders() []string { return macFolders() }

// Enter serves Linux only: asked is always false.
func Enter([]string) (code int, asked bool) { return 0, false }
