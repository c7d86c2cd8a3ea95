package daemon

import (
	"context"
	"os"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/toolset"
)

// RunHelper runs hob's executable as a helper of another hob, which has started it to read a document or a picture: such a reader may crash or use all
// memory, so it gets a process of its own. A main calls this before anything else. If asked is true, it exits with code. The executable also sets up
// sandboxes; that happens before main (package daemon/sandbox/entry).
func RunHelper(args []string) (code int, asked bool) {
	return toolset.RunHelper(args, os.Stdin, os.Stdout, os.Stderr)
}

// ProbeSandbox tries how a hob with this home, executable and config would confine shell commands. hob doctor uses it while no hob runs.
// It starts no daemon.
func ProbeSandbox(ctx context.Context, home, self string, c *config.Snapshot) api.Sandbox {
	return toolset.NewSandbox(ctx, Options{Home: home, Self: self}.toolHome(), c).State()
}

// SafePath is PATH without the folders that confined commands may write under a config. A command that starts the programs of this machine by
// their names sets it first.
func SafePath(ctx context.Context, home string, c *config.Snapshot) string {
	return toolset.NewSandbox(ctx, Options{Home: home}.toolHome(), c).Path()
}
