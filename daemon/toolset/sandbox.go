package toolset

import (
	"context"
	"os"

	"hob/config"
	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// Home names the parts of an installation that a sandbox depends on.
type Home struct {
	State     string // hob's own folder, absolute
	Workspace string // the agent's folder, absolute
	Self      string // hob's executable; "": nothing can be confined
	Instance  string // marks the processes of this home, see runtime.KillOrphans

	Pinned sandbox.Pinned // the copies of skills that sandboxes show in place of their folders; nil: none
}

// NewSandbox makes the sandbox for shell commands under a config.
func NewSandbox(ctx context.Context, h Home, c *config.Snapshot) *sandbox.Sandbox {
	e := c.Tools.Exec
	conf := sandbox.Config{
		Mode: sandbox.Mode(e.Sandbox), State: h.State, Pinned: h.Pinned, Memory: int64(e.Memory), Network: e.Network, Self: h.Self,
		Mark: runtime.CallMark + "=" + h.Instance + "/probe/0",
	}
	if home, err := os.UserHomeDir(); err == nil { // without a home folder there is nothing to hide
		conf.Home = home
	}
	for _, r := range Roots(e.Binds, conf.Home) {
		conf.Binds = append(conf.Binds, sandbox.Bind{Path: r.Path, Write: r.Write})
	}
	conf.Roots = []sandbox.Bind{{Path: h.Workspace, Write: true}}
	for _, r := range Roots(c.Tools.Roots, conf.Home) {
		conf.Roots = append(conf.Roots, sandbox.Bind{Path: r.Path, Write: r.Write})
	}
	return sandbox.New(ctx, conf)
}
