// Package toolset builds hob's set of tools from the config: the tools, their dependencies, the reasons why some are missing, and the
// owner's hooks around them. It calls no tool and decides nothing about permission.
//
// Each reload of the config builds a new Set from the same Deps; turns that are running keep the old one.
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
	"hob/daemon/memory"
	"hob/daemon/netguard"
	"hob/daemon/sandbox"
	"hob/tools"
	"hob/tools/all"
	"hob/tools/runtime"
	"hob/tools/web"
)

// Deps holds what the tools use during the whole life of the process. Every field except Self and Wrote must be set.
type Deps struct {
	all.Services
	Workspace string // absolute
	Self      string // hob's own executable, for the sandbox; "": nothing can be confined
	Marks     Marks
	Folders   Skills                  // the folders of Services.Skills
	Wrote     func(path, hash string) // called for each file that a tool writes, see fsguard.Config.Wrote; nil: nobody is notified
	Log       *slog.Logger
	Proxy     func(ctx context.Context, host string) (netguard.Proxy, error) // the proxy for MCP servers on the network
	Plugged   Plugged                                                        // Services.MCP; nil: none
	Remembers *memory.Index                                                  // the index of the memory; nil until OpenMemory
}

// NewDeps makes the dependencies of a home. The caller adds the services that the tools use.
func NewDeps(h Home, log *slog.Logger) *Deps {
	return &Deps{Services: all.NewServices(h.State, h.Instance, h.Self), Workspace: h.Workspace, Self: h.Self, Log: log}
}

// Skills knows the folders of skills, and what the owner has accepted of them.
type Skills interface {
	// Foreign says why a path in such a folder counts as foreign; "": it does not.
	Foreign(path string) string
	// Unaccepted lists the files and folders beside the skills in use.
	Unaccepted() []string
	// Views returns the copies that sandboxes show in place of folders, by the path of the folder.
	Views() map[string]string
}

// Marks knows the files that count as foreign text.
type Marks interface {
	// Why says why a path counts as foreign; "": it does not.
	Why(path string) string
}

// Set is the set of tools that the present config allows.
type Set struct {
	Guard   *fsguard.Guard
	Sandbox *sandbox.Sandbox
	Own     func() filled            // the tools for the owner's calls, made at their first use
	Guests  func() filled            // the tools for calls of anyone but the owner: the owner's private files are closed to them
	why     func(tool string) string // why a tool of an MCP server cannot be called; nil: there are none
	core    []string                 // names of core tools; empty: the tools decide themselves
}

// filled are tools that are made.
type filled struct {
	tools.Set
	Missing []Missing // tools whose requirements are missing, or that the config excludes
	rest    bool      // some tools are not core
}

// Missing is a tool that cannot work here, with the reason, for example "tmux is not installed".
type Missing struct {
	Spec tools.Spec
	Why  string
}

// Lacks says why an existing tool cannot work here; "": it can, or there is no such tool.
func (k Set) Lacks(name string) string {
	for _, m := range k.Own().Missing {
		if m.Spec.Name == name {
			return m.Why
		}
	}
	if k.why != nil {
		return k.why(name)
	}
	return ""
}

// forbidden says why the config excludes a tool.
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

func (b *Deps) home() Home { return Home{b.State, b.Workspace, b.Self, b.Instance, b.Folders.Views} }

// Build makes the tools for a config. Its error says which setting is impossible.
func (b *Deps) Build(ctx context.Context, c *config.Snapshot) (Set, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		b.Log.Warn("the owner's home folder is unknown, so ~ cannot be resolved", "err", err)
	}
	k := Set{Sandbox: NewSandbox(ctx, b.home(), c), core: c.Tools.Core}
	files := fsguard.Config{Workspace: b.Workspace, State: b.State, Home: home, Roots: Roots(c.Tools.Roots, home), Binds: binds(c, b.Workspace, home), Marked: b.foreign, Wrote: b.Wrote}
	if k.Guard, err = fsguard.New(files); err != nil {
		return k, fmt.Errorf("tools.roots: %w", err)
	}
	if b.Plugged != nil {
		k.why = b.Plugged.Why
	}
	guests := k
	k.Own = sync.OnceValue(func() filled { return b.fill(k, c, b.plugged()) }) // the lists of MCP servers are long
	k.Guests = sync.OnceValue(func() filled {                                  // most installations have no guests
		var err error
		files.Guest = true
		if guests.Guard, err = fsguard.New(files); err != nil {
			b.Log.Error("nobody but the owner can use tools", "err", err) // impossible: the owner's guard was made the same way
			return filled{}
		}
		return b.fill(guests, c, nil) // MCP servers are the owner's alone
	})
	return k, nil
}

// plugged returns the tools of MCP servers.
func (b *Deps) plugged() []tools.Tool {
	if b.Plugged == nil {
		return nil
	}
	return b.Plugged.Tools()
}

// fill makes the tools of a set that has its guard. plugged are those of MCP servers.
func (b *Deps) fill(k Set, c *config.Snapshot, plugged []tools.Tool) (made filled) {
	var list []tools.Tool
	for _, t := range append(all.All(b.Services, setup(k, c)), plugged...) {
		if !allowed(c.Tools, t.Spec().Name) {
			made.Missing = append(made.Missing, Missing{t.Spec(), forbidden(c, t.Spec().Name)})
			continue
		}
		if a, ok := t.(tools.Available); ok && a.Missing() != "" {
			made.Missing = append(made.Missing, Missing{t.Spec(), a.Missing()})
			continue
		}
		list = append(list, t)
	}
	if allowed(c.Tools, tools.CatalogTool) {
		rest, core := k.parted(list)
		made.rest = len(rest) > 0
		list = append(list, tools.NewCatalog(rest, core...))
	} else {
		made.Missing = append(made.Missing, Missing{tools.NewCatalog(nil).Spec(), forbidden(c, tools.CatalogTool)})
	}
	var err error
	if made.Set, err = tools.NewSet(list...); err != nil {
		b.Log.Error("no tool can be used", "err", err) // impossible: the names of servers and of their tools are checked
	}
	return made
}

// foreign says why a file counts as foreign text: it is marked, a running background process may have written it, or it is
// in a skill that the owner has not accepted.
func (b *Deps) foreign(path string) string {
	return cmp.Or(b.Marks.Why(path), b.Registry.Foreign(path), b.Folders.Foreign(path))
}

// Core lists the tools whose descriptions every request contains, in order. The model reaches the others through the tool "tool".
func (k Set) Core() []tools.Spec {
	own := k.Own()
	return slices.DeleteFunc(own.Specs(), func(s tools.Spec) bool { return !k.carries(s, own.rest) })
}

// mcpGroup is the group of the tools of MCP servers, see package tools/mcp.
const mcpGroup = "mcp"

// carries reports whether every request contains a tool's description. rest: there are some that it does not contain.
func (k Set) carries(s tools.Spec, rest bool) bool {
	switch {
	case len(k.core) == 0:
		return s.Core
	case s.Group == mcpGroup && s.Unfit() != "":
		return false
	case slices.Contains(k.core, "*"):
		return s.Name != tools.CatalogTool || rest // without a rest it would have nothing to offer
	}
	return s.Name == tools.CatalogTool || named(k.core, s.Name)
}

// parted splits the tools into deferred ones and those that every request contains.
func (k Set) parted(list []tools.Tool) (deferred, core []tools.Spec) {
	for _, t := range list {
		if s := t.Spec(); k.carries(s, false) {
			core = append(core, s)
		} else {
			deferred = append(deferred, s)
		}
	}
	return deferred, core
}

// setup translates the config for the tools.
func setup(k Set, c *config.Snapshot) all.Setup {
	w, e := c.Tools.Web, c.Tools.Exec
	s := all.Setup{
		Guard: k.Guard, Sandbox: k.Sandbox, Client: netguard.NewClient(netguard.Config{Allow: w.Prefixes()}), Secrets: map[string]web.Secret{}, Hosts: map[string]runtime.Host{},
		Allowed: func(name string) bool { return allowed(c.Tools, name) },
		Limits:  runtime.Limits{Timeout: e.Timeout, Yield: e.Yield, Life: e.Life, Background: e.Processes},
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

// allowed applies the config's allow and deny lists.
func allowed(c config.Tools, name string) bool {
	return !named(c.Deny, name) && (len(c.Allow) == 0 || named(c.Allow, name))
}

// named reports whether a list of the config contains a tool, by name or by pattern.
func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil // the config has checked the patterns
	})
}

// Roots parses "PATH:ro", "PATH:rw" and "PATH:foreign".
func Roots(list []string, home string) []fsguard.Root {
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
