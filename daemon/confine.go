package daemon

import (
	"context"

	"hob/config"
	"hob/daemon/sandbox"
	"hob/daemon/toolbox"
)

// Enter serves the sandbox's second layer: hob's executable, called inside a box, confines itself and becomes the command. A main
// calls it before anything else and, when asked is true, ends with code. Options.Self names the executable.
func Enter(args []string) (code int, asked bool) { return sandbox.Enter(args) }

// Confinement finds out, by trying, how a hob with this home, executable and config would confine shell commands.
func Confinement(ctx context.Context, home, self string, c *config.Snapshot) sandbox.State {
	return toolbox.Box(ctx, Options{Home: home}.state(), self, c).State()
}
