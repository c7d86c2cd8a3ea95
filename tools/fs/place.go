// Package fs holds the tools that read and write files. They go through fsguard, so that what was judged is
// what is opened; they decide nothing about permission and never follow a link that fsguard did not.
package fs

import (
	"fmt"

	"hob/daemon/fsguard"
	"hob/tools"
)

// judge resolves the path of a call. What cannot be a path, and hob's own state, is refused right here.
func judge(g *fsguard.Guard, call tools.Call, path string) (fsguard.Place, error) {
	p, err := g.Resolve(call.Workdir, path)
	if err != nil {
		return p, tools.RefusePath(g, call, path, err)
	}
	return p, nil
}

// intended returns what Intent judged; a call that comes back without it (after a restart) is judged anew
// and must lead to the same path.
func intended(g *fsguard.Guard, call tools.Call, path string, intent tools.Intent) (fsguard.Place, error) {
	if p, ok := intent.Keep.(fsguard.Place); ok {
		return p, nil
	}
	p, err := judge(g, call, path)
	if err != nil {
		return p, err
	}
	if len(intent.Paths) > 0 && intent.Paths[0].Path != p.Path {
		return p, tools.Refuse(tools.Conflict, "call the tool again", "%s now leads to %s, not to %s", path, p.Path, intent.Paths[0].Path)
	}
	return p, nil
}

func touched(p fsguard.Place, write bool) tools.Path { return tools.PathOf(p, write) }

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sized writes a number of bytes for people.
func sized(n int64) string {
	const unit = 1024
	if n < unit {
		return count(int(n), "byte")
	}
	f, i := float64(n)/unit, 0
	for ; f >= unit && i < 4; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.1f %cB", f, "KMGTP"[i])
}
