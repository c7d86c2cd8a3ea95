package toolset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/config"
	"hob/daemon/fsguard"
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
		Mode: sandbox.Mode(e.Sandbox), State: h.State, Pinned: h.Pinned, Memory: int64(e.Memory), Network: e.Network, Sockets: e.Sockets, Self: h.Self,
		Mark: runtime.CallMark + "=" + h.Instance + "/probe/0",
	}
	if home, err := os.UserHomeDir(); err == nil { // without a home folder there is nothing to hide
		conf.Home = home
	}
	for _, r := range binds(c, h.Workspace, conf.Home) {
		conf.Binds = append(conf.Binds, sandbox.Bind{Path: r.Path, Write: r.Write, Programs: r.Programs})
	}
	conf.Roots = []sandbox.Bind{{Path: h.Workspace, Write: true}}
	for _, r := range Roots(c.Tools.Roots, conf.Home) {
		conf.Roots = append(conf.Roots, sandbox.Bind{Path: r.Path, Write: r.Write})
	}
	return sandbox.New(ctx, conf)
}

// UsePath makes path the PATH of this process, in which it looks for the programs that it starts, and which it hands on; "" changes nothing.
// It must be called before the tools are made.
func UsePath(path string) error {
	if path == "" {
		return nil
	}
	home, err := os.UserHomeDir()
	dirs := filepath.SplitList(path)
	for i, dir := range dirs {
		below, ok := strings.CutPrefix(dir, "~/")
		if ok && err != nil {
			return fmt.Errorf("tools.exec.path: %w", err)
		}
		if ok {
			dirs[i] = filepath.Join(home, below)
		}
	}
	return os.Setenv("PATH", strings.Join(dirs, string(filepath.ListSeparator)))
}

// binds returns what every sandbox shows besides the workspace and the roots: [tools.exec] binds, and the folders of PATH that are in the owner's
// home, which sandboxes hide. A folder of PATH that another one shows, or that holds the workspace, is left out.
func binds(c *config.Snapshot, workspace, home string) []fsguard.Root {
	list := Roots(c.Tools.Exec.Binds, home)
	shown := append(Roots(c.Tools.Roots, home), list...)
	shown = append(shown, fsguard.Root{Path: workspace})
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		dir = filepath.Clean(dir)
		info, err := os.Stat(dir) // #nosec G703 -- the owner's own PATH
		if home == "" || !inside(home, dir) || inside(dir, home) || err != nil || !info.IsDir() {
			continue
		}
		if !slices.ContainsFunc(shown, func(r fsguard.Root) bool { return inside(r.Path, dir) || inside(dir, r.Path) }) {
			r := fsguard.Root{Path: dir, Programs: true}
			list, shown = append(list, r), append(shown, r)
		}
	}
	return list
}
