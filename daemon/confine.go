package daemon

import (
	"context"
	"os"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/toolset"
)

// Enter serves what hob's executable does for another hob: reading documents and pictures, which may take down the process that does it. A main calls
// it before anything else and, when asked is true, ends with code. Options.Self names the executable, which also enters sandboxes: that begins before
// main (package daemon/sandbox/entry).
func Enter(args []string) (code int, asked bool) {
	return toolset.Enter(args, os.Stdin, os.Stdout, os.Stderr)
}

// Confinement finds out, by trying, how a hob with this home, executable and config would confine shell commands.
func Confinement(ctx context.Context, home, self string, c *config.Snapshot) api.Sandbox {
	return toolset.NewSandbox(ctx, Options{Home: home, Self: self}.toolHome(), c).State()
}
