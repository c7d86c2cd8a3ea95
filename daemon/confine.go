package daemon

import (
	"context"
	"os"

	"hob/config"
	"hob/daemon/sandbox"
	"hob/daemon/toolset"
	"hob/tools/fs/document"
)

// readFile is the word by which hob's executable is asked to read a document or a picture, in a process of its own.
const readFile = "read-file"

// Enter serves what hob's executable does for another hob: the reading of documents and pictures, which may take down the process
// that does it. A main calls it before anything else and, when asked is true, ends with code. Options.Self names the executable, which also enters
// sandboxes: that begins before main (package daemon/sandbox/entry).
func Enter(args []string) (code int, asked bool) {
	if len(args) > 1 && args[0] == readFile {
		return document.Helper(args[1:], os.Stdin, os.Stdout, os.Stderr), true
	}
	return 0, false
}

// Confinement finds out, by trying, how a hob with this home, executable and config would confine shell commands.
func Confinement(ctx context.Context, home, self string, c *config.Snapshot) sandbox.State {
	o := Options{Home: home}
	return toolset.NewSandbox(ctx, toolset.Home{State: o.state(), Workspace: o.workspace(), Self: self, Instance: o.instance()}, c).State()
}
