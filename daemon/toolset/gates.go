package toolset

import (
	"context"
	"strings"

	"hob/config"
	"hob/daemon/probe"
	"hob/daemon/sandbox"
)

// Gates makes the probe by which gates look at the world that the tools work in, as the config in force makes it. p has what is not the
// tools'.
func (b *Deps) Gates(now func() (Set, *config.Snapshot), p probe.Probe) *probe.Probe {
	p.Setting = func() probe.Setting {
		kit, c := now()
		return probe.Setting{Guard: kit.Guard, Sandbox: kit.Sandbox, Networks: c.Tools.Web.Prefixes(), Open: func(ctx context.Context) *sandbox.Sandbox {
			open := *c
			open.Tools.Exec.Network = true
			return NewSandbox(ctx, b.State, b.Workspace, b.Self, &open)
		}}
	}
	helpless := p.Helpless
	p.Helpless = func(prompt string) bool { return !strings.HasPrefix(prompt, "say:") && helpless(prompt) }
	p.Spawn, p.Registry, p.Marked, p.Environ, p.Instance = b.Spawn, b.Registry, b.Marked, b.Environ, b.Instance
	return &p
}
