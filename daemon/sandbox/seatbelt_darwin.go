package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// program has a fixed path on macOS. PATH is not searched.
const program = "/usr/bin/sandbox-exec"

// probeTime limits the probe.
const probeTime = 10 * time.Second

// find runs a shell with a profile. State says what this sandbox lacks compared to bubblewrap: there are no namespaces.
func find(ctx context.Context, c Config) finding {
	if _, err := os.Stat(c.Self); err != nil {
		return finding{state: State{Kind: "none", Why: fmt.Sprintf("hob's own executable, which runs inside, cannot be found: %v", err), Hint: "start hob again"}}
	}
	wrap := func(l layout, argv, env []string) (*Command, error) {
		state, err := resolved(c.State)
		if err != nil {
			return nil, err
		}
		c := c
		c.State = state
		if c.Self, err = resolved(c.Self); err != nil {
			return nil, err
		}
		return handOver([]string{program, "-p", profile(c, l), c.Self}, order(argv, env), l)
	}
	if err := try(ctx, c, wrap); err != nil {
		return finding{state: State{Kind: "none", Why: "sandbox-exec does not work: " + err.Error(), Hint: "hob asks for each command; look at Console for sandboxd"}}
	}
	return finding{own: []string{c.Self}, wrap: wrap, state: State{
		Kind: "sandbox-exec", Works: true, Layers: []string{"file rules", "network rules", "ipc rules"},
		Why: "macOS has no process namespace: a command that leaves its process group is found by hob only while hob runs",
	}}
}

// try runs a shell that must work and must not be able to list hob's state folder.
func try(ctx context.Context, c Config, wrap wrapper) error {
	confined, err := wrap(layout{dir: "/"}, []string{"/bin/sh", "-c", `ls "$1" >/dev/null 2>&1 && exit 3; echo inside`, "sh", c.State}, []string{"PATH=/usr/bin:/bin"})
	if err != nil {
		return err
	}
	defer func() { _ = confined.Close() }() // nobody waits for it
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	confined.Prepare(cmd)
	cmd.Dir, cmd.WaitDelay = "/", time.Second
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

// systemFolders are the folders outside of the views in which hidden paths must be masked.
func systemFolders() []string { return macFolders() }
