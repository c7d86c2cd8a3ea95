package toolset

import (
	"context"
	"os"

	"hob/config"
	"hob/daemon/sandbox"
)

// NewSandbox makes the sandbox for shell commands under a config. state is hob's own folder and workspace the agent's. self is hob's
// executable; without it ("") nothing can be confined.
func NewSandbox(ctx context.Context, state, workspace, self string, c *config.Snapshot) *sandbox.Sandbox {
	e := c.Tools.Exec
	conf := sandbox.Config{Mode: sandbox.Mode(e.Sandbox), State: state, Memory: int64(e.Memory), Network: e.Network, Self: self}
	if home, err := os.UserHomeDir(); err == nil { // without a home folder there is nothing to hide
		conf.Home = home
	}
	for _, r := range roots(e.Binds, conf.Home) {
		conf.Binds = append(conf.Binds, sandbox.Bind{Path: r.Path, Write: r.Write})
	}
	conf.Roots = []sandbox.Bind{{Path: workspace, Write: true}}
	for _, r := range roots(c.Tools.Roots, conf.Home) {
		conf.Roots = append(conf.Roots, sandbox.Bind{Path: r.Path, Write: r.Write})
	}
	return sandbox.New(ctx, conf)
}
