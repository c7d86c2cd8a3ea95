package toolset

import (
	"context"

	"hob/config"
	"hob/daemon/sandbox"
	"hob/daemon/triggers/gates"
)

// Evaluator evaluates the gates of jobs.
type Evaluator = gates.Evaluator

// Gates completes the evaluator of job gates, so that gates run with the same files, sandbox and networks as the tools under the present
// config.
func (b *Deps) Gates(now func() (Set, *config.Snapshot), p gates.Evaluator) *gates.Evaluator {
	p.Setting = func() gates.Setting {
		kit, c := now()
		return gates.Setting{Guard: kit.Guard, Sandbox: kit.Sandbox, Networks: c.Tools.Web.Prefixes(), Open: func(ctx context.Context) *sandbox.Sandbox {
			open := *c
			open.Tools.Exec.Network = true
			return NewSandbox(ctx, b.home(), &open)
		}}
	}
	p.Spawn, p.Registry, p.Marked, p.Environ, p.Instance = b.Spawn, b.Registry, b.Marked, b.Environ, b.Instance
	return &p
}
