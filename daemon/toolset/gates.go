package toolset

import (
	"context"
	"strings"

	"hob/config"
	"hob/daemon/sandbox"
	"hob/daemon/triggers/gates"
)

// Gates completes an evaluator of gates: gates see what the tools see under the config in force.
func (b *Deps) Gates(now func() (Set, *config.Snapshot), p gates.Evaluator) *gates.Evaluator {
	p.Setting = func() gates.Setting {
		kit, c := now()
		return gates.Setting{Guard: kit.Guard, Sandbox: kit.Sandbox, Networks: c.Tools.Web.Prefixes(), Open: func(ctx context.Context) *sandbox.Sandbox {
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
