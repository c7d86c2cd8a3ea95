// Package toolset builds hob's set of tools from the config: the tools, their dependencies, the reasons why some are missing, and the
// owner's hooks around them. It calls no tool and decides nothing about permission.
package toolset

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hob/config"
	"hob/daemon/fsguard"
	"hob/daemon/netguard"
	"hob/daemon/sandbox"
	"hob/tools"
	"hob/tools/all"
	"hob/tools/catalog"
	"hob/tools/runtime"
	"hob/tools/web"
)

// Deps is what the tools work with for the life of the process. Every field but Self and Wrote must be set.
type Deps struct {
	all.Services
	Workspace string // absolute
	Self      string // hob's own executable, for the sandbox; "" leaves its second layer out
	Marks     Marks
	Wrote     func(path, hash string) // is told of each file that a tool writes, as fsguard.Config.Wrote; nil: nobody is
	Log       *slog.Logger
}

// Marks are the files that count as foreign text.
type Marks interface {
	// Why says why a path counts as foreign, "" when it does not.
	Why(path string) string
}

// Set is the tools that one state of the config allows.
type Set struct {
	tools.Set
	Guard   *fsguard.Guard
	Sandbox *sandbox.Sandbox
	Guests  func() tools.Set // for calls of others than the owner: what is for the owner alone is closed to them
	Missing []Missing        // tools that need what is not there, or that the config leaves out
	core    []string         // names; empty: those that say so themselves
}

// Missing is a tool that cannot work here, and why: "tmux is not installed".
type Missing struct {
	Spec tools.Spec
	Why  string
}

// Lacks says why a tool that there is cannot work here, "" when it can or when there is none of that name.
func (k Set) Lacks(name string) string {
	for _, m := range k.Missing {
		if m.Spec.Name == name {
			return m.Why
		}
	}
	return ""
}

// forbidden is why a tool cannot work that the config leaves out.
func forbidden(c *config.Snapshot, name string) string {
	switch {
	case c.Off("tool_hooks"):
		return "[[tool_hooks]] in config.toml has a mistake, so every tool is off"
	case c.Off("tools"):
		return "[tools] in config.toml has a mistake, so every tool is off"
	case c.Off("tools.exec") && (name == "exec" || name == "tmux"):
		return "[tools.exec] in config.toml has a mistake"
	case c.Off("tools.web") && name == "web_search":
		return "[tools.web] in config.toml has a mistake"
	}
	return "[tools] in config.toml does not allow it"
}

// Journal is the folder, in hob's own, that edit.Recover looks through at start.
func Journal(state string) string { return filepath.Join(state, "edits") }

// Kit makes the tools. Its error says what of the config cannot be.
func (b *Deps) Kit(ctx context.Context, c *config.Snapshot) (Set, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		b.Log.Warn("the owner's home folder is not known: ~ leads nowhere", "err", err)
	}
	k := Set{Sandbox: NewSandbox(ctx, b.State, b.Workspace, b.Self, c), core: c.Tools.Core}
	files := fsguard.Config{Workspace: b.Workspace, State: b.State, Home: home, Roots: roots(c.Tools.Roots, home), Marked: b.foreign, Wrote: b.Wrote}
	if k.Guard, err = fsguard.New(files); err != nil {
		return k, fmt.Errorf("tools.roots: %w", err)
	}
	if err := b.fill(&k, c); err != nil {
		return k, err
	}
	guests := k
	k.Guests = sync.OnceValue(func() tools.Set { // most homes have none
		var err error
		files.Guest = true
		if guests.Guard, err = fsguard.New(files); err == nil {
			err = b.fill(&guests, c)
		}
		if err != nil {
			b.Log.Error("nobody but the owner can use tools", "err", err) // cannot be: the owner's were made
			return tools.Set{}
		}
		return guests.Set
	})
	return k, nil
}

// fill makes the tools of a kit that has its guard.
func (b *Deps) fill(k *Set, c *config.Snapshot) (err error) {
	var list []tools.Tool
	k.Missing = nil
	for _, t := range all.All(b.Services, setup(*k, c)) {
		if !allowed(c.Tools, t.Spec().Name) {
			k.Missing = append(k.Missing, Missing{t.Spec(), forbidden(c, t.Spec().Name)})
			continue
		}
		if a, ok := t.(tools.Available); ok && a.Missing() != "" {
			k.Missing = append(k.Missing, Missing{t.Spec(), a.Missing()})
			continue
		}
		list = append(list, t)
	}
	if allowed(c.Tools, tools.Catalog) {
		rest, core := k.parted(list)
		list = append(list, catalog.New(rest, core...))
	} else {
		k.Missing = append(k.Missing, Missing{catalog.New(nil).Spec(), forbidden(c, tools.Catalog)})
	}
	k.Set, err = tools.NewSet(list...)
	return err
}

// foreign says why a file counts as foreign text: it is marked, or a process that still runs may have written it.
func (b *Deps) foreign(path string) string {
	return cmp.Or(b.Marks.Why(path), b.Registry.Foreign(path))
}

// Core lists the descriptions of the tools that each request carries, in order; the others are reached through the tool "tool".
func (k Set) Core() []tools.Spec {
	return slices.DeleteFunc(k.Specs(), func(s tools.Spec) bool { return !k.carries(s) })
}

func (k Set) carries(s tools.Spec) bool {
	switch {
	case len(k.core) == 0:
		return s.Core
	case slices.Contains(k.core, "*"):
		return s.Name != tools.Catalog // there is nothing that it would lead to
	default:
		return s.Name == tools.Catalog || named(k.core, s.Name)
	}
}

// parted lists the descriptions of the tools that no request carries, and of those that each does.
func (k Set) parted(list []tools.Tool) (deferred, core []tools.Spec) {
	for _, t := range list {
		if s := t.Spec(); k.carries(s) {
			core = append(core, s)
		} else {
			deferred = append(deferred, s)
		}
	}
	return deferred, core
}

// setup is what the config says of the tools.
func setup(k Set, c *config.Snapshot) all.Setup {
	w, e := c.Tools.Web, c.Tools.Exec
	s := all.Setup{
		Guard: k.Guard, Sandbox: k.Sandbox, Client: netguard.NewClient(netguard.Config{Allow: w.Prefixes()}), Secrets: map[string]web.Secret{}, Hosts: map[string]runtime.Host{},
		Limits: runtime.Limits{Timeout: e.Timeout, Yield: e.Yield, Life: e.Life, Background: e.Processes},
	}
	for name, one := range e.Hosts {
		s.Hosts[name] = runtime.Host(one)
	}
	s.Search.Engine, s.Search.URL, s.Search.Key = w.Search, w.SearchURL, w.SearchKey
	for name, one := range w.Secrets {
		s.Secrets[name] = web.Secret{Value: one.Secret, Hosts: one.Hosts}
	}
	return s
}

func allowed(c config.Tools, name string) bool {
	return !named(c.Deny, name) && (len(c.Allow) == 0 || named(c.Allow, name))
}

// named reports whether a list of the config has a tool: by its name, or by a pattern over names.
func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil // the config has looked at the patterns
	})
}

// roots reads "PATH:ro", "PATH:rw" and "PATH:foreign".
func roots(list []string, home string) []fsguard.Root {
	var out []fsguard.Root
	for _, s := range list {
		path, write := strings.CutSuffix(s, ":rw")
		path, foreign := strings.CutSuffix(strings.TrimSuffix(path, ":ro"), ":foreign")
		if path == "~" || strings.HasPrefix(path, "~/") {
			path = filepath.Join(home, path[1:])
		}
		out = append(out, fsguard.Root{Path: path, Write: write, Foreign: foreign})
	}
	return out
}
