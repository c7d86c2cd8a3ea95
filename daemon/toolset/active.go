package toolset

import (
	"context"
	"errors"
	"sync/atomic"

	"hob/config"
	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/runtime"
)

// Active is the set of tools that the config in force allows. It begins empty, so that services can look tools up before the first set is built from them.
// Replace swaps in a new set whole; calls that run keep the set that they began with. It is safe for concurrent use.
type Active struct{ now atomic.Pointer[inForce] }

type inForce struct {
	set   Set
	hooks []ToolHook
}

// NewActive returns an Active without tools.
func NewActive() *Active {
	l := &Active{}
	no := func() filled { return filled{} }
	l.now.Store(&inForce{set: Set{Own: no, Guests: no}})
	return l
}

// Replace puts a set and the hooks of its config into force. A mistake among the hooks denies every tool; the hooks of before stay, for calls that were
// judged before.
func (l *Active) Replace(s Set, c *config.Snapshot) {
	next := &inForce{set: s}
	for _, h := range c.ToolHooks {
		next.hooks = append(next.hooks, ToolHook(h))
	}
	if c.Off("tool_hooks") {
		next.hooks = l.Hooks()
	}
	l.now.Store(next)
}

// Set returns the set in force.
func (l *Active) Set() Set { return l.now.Load().set }

// Hooks returns the owner's commands around tool calls.
func (l *Active) Hooks() []ToolHook { return l.now.Load().hooks }

// Guard returns the guard over the files that the tools may touch; nil before the first set.
func (l *Active) Guard() *fsguard.Guard { return l.Set().Guard }

// Sum hashes a file or a folder, and opens nothing of hob's own.
func (l *Active) Sum(path string) (string, error) {
	g := l.Guard()
	if g == nil {
		return "", errors.New("there are no tools yet")
	}
	return fsguard.Sum(g, path)
}

// Find finds a tool by its name.
func (l *Active) Find(name string) (tools.Tool, bool) { return l.Set().Own().Find(name) }

// Has reports whether there is a tool of that name.
func (l *Active) Has(name string) bool {
	_, ok := l.Find(name)
	return ok
}

// Nearest lists names of tools that are like a wrong one.
func (l *Active) Nearest(name string) []string { return l.Set().Own().Nearest(name) }

// Specs lists the tools.
func (l *Active) Specs() []tools.Spec { return l.Set().Own().Specs() }

// Core lists the tools whose descriptions every request contains.
func (l *Active) Core() []tools.Spec { return l.Set().Core() }

// Lacks says why an existing tool cannot work here, see Set.Lacks.
func (l *Active) Lacks(name string) string { return l.Set().Lacks(name) }

// Guests returns the same tools for calls of anyone but the owner.
func (l *Active) Guests() Guests { return Guests{l} }

// Guests finds the tools that are confined for others than the owner. Their descriptions are those of the owner's tools.
type Guests struct{ live *Active }

// Find finds a tool by its name.
func (g Guests) Find(name string) (tools.Tool, bool) { return g.live.Set().Guests().Find(name) }

// Nearest lists names of tools that are like a wrong one.
func (g Guests) Nearest(name string) []string { return g.live.Nearest(name) }

// Specs lists the tools.
func (g Guests) Specs() []tools.Spec { return g.live.Specs() }

// Core lists the tools whose descriptions every request contains.
func (g Guests) Core() []tools.Spec { return g.live.Core() }

// Hooks runs the owner's commands around the calls of the tools in force. A hook is not confined and may read foreign files, so record marks the files
// that it writes as foreign.
func (b *Deps) Hooks(l *Active, record func(ctx context.Context, changes ...tools.Change) error) *ToolHooks {
	return &ToolHooks{
		List: l.Hooks, Dir: b.Workspace, Environ: runtime.HandedOn(b.Environ), Log: b.Log,
		Begins: func(ctx context.Context) (ended func() error) {
			return b.Registry.Outside(l.Set().Guard, "written by a hook, which sees foreign files", func(marks []tools.Change) error {
				return record(ctx, marks...)
			})
		},
	}
}
