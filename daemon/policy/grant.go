package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/glob"
	"hob/daemon/netguard"
	"hob/daemon/sys"
	"hob/tools"
)

// Grant allows calls of one tool that match a pattern, until it is revoked. "/approve CODE always" makes one.
type Grant struct {
	ID      int64     `json:"id"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"` // the result of Pattern(intent), compared exactly; "" never matches
	Tainted bool      `json:"tainted"` // given in a tainted turn; other grants hold only for untainted turns
	Created time.Time `json:"created"`
	Uses    int64     `json:"uses"`
}

// granted returns the first grant that covers the call.
func granted(c Case) (Grant, bool) {
	want := Pattern(c.Intent)
	if c.Tainted {
		want = Bound(c.Intent)
	}
	for _, g := range c.Grants {
		if want != "" && g.Tool == c.Tool && g.Pattern == want && (g.Tainted || !c.Tainted) {
			return g, true
		}
	}
	return Grant{}, false
}

// Pattern returns what "always" would grant for a call. For a shell it is exactly this command, with a hash of its canonical bytes
// because a summary may be shortened. For other calls it is all addresses, hosts and paths that the call touches. "" means that nothing
// may be granted permanently, as for calls that the owner confirms one by one.
func Pattern(i tools.Intent) string {
	if i.Confirm != "" {
		return ""
	}
	if slices.Contains(i.Scopes, tools.Exec) {
		sum := sha256.Sum256(i.Canonical)
		return "exactly " + i.Summary + " #" + hex.EncodeToString(sum[:8])
	}
	var parts []string
	for _, a := range i.Addresses {
		parts = append(parts, fmt.Sprintf("to %q", a))
	}
	for _, h := range i.Hosts {
		if i.Effect == tools.Read {
			parts = append(parts, fmt.Sprintf("read from %q and send it anything in addresses", h))
		} else {
			parts = append(parts, fmt.Sprintf("send anything to %q", h))
		}
	}
	if i.Server != "" {
		parts = append(parts, fmt.Sprintf("send anything that hob knows to the MCP server %q", i.Server))
	}
	for _, p := range i.Paths {
		verb := "read"
		if p.Write {
			verb = "write"
		}
		parts = append(parts, fmt.Sprintf("%s %q", verb, p.Path))
	}
	return strings.Join(parts, ", ")
}

// Bound is Pattern for a turn that has read foreign text: "" if the pattern does not say who receives what the call sends, and which thing it
// changes. Such a pattern would also cover calls that the foreign text has chosen.
func Bound(i tools.Intent) string {
	exact := slices.Contains(i.Scopes, tools.Exec)
	if !exact && slices.ContainsFunc(i.Scopes, func(s tools.Scope) bool { return !binds(i, s) }) {
		return ""
	}
	return Pattern(i)
}

// binds reports whether the pattern of a call says who and which in one of its scopes.
func binds(i tools.Intent, s tools.Scope) bool {
	switch columnOf(s) {
	case read, write:
		return slices.ContainsFunc(i.Paths, func(p tools.Path) bool { return p.Write || columnOf(s) == read })
	case web:
		return len(i.Hosts) > 0
	case message, changing:
		return len(i.Addresses) > 0
	case servers:
		return i.Effect == tools.Read
	}
	return columnOf(s) == reading // the request goes to the owner's own account only
}

// Right is a permission that the owner gave to a job, a watch or a webhook when creating it. It turns "ask" into "allow" for its runs,
// and lets a run that foreign text started use the web.
type Right struct {
	Kind string // "exec", "net", "read", "write", "message", "mcp" or "account"
	To   string // read, write: an absolute folder or file, for read also a glob of files; net: a host or host:port, "" for all; message: the address; mcp: the server; account: its name, with ":write" to change it
}

// accountRight matches what follows "account:".
var accountRight = sys.Regexp(`^[a-z][a-z0-9_-]*(:write)?$`)

// ParseRight parses "exec", "net", "net:HOST", "read:PATH", "write:PATH", "message:ADDRESS", "mcp:SERVER", "account:NAME" or
// "account:NAME:write". A path begins with / or ~/ and is returned unchanged; the caller that stores the
// right makes it absolute.
func ParseRight(s string) (Right, error) {
	kind, to, qualified := strings.Cut(strings.TrimSpace(s), ":")
	r := Right{Kind: kind, To: to}
	switch {
	case kind == "exec" && !qualified, kind == "net" && (!qualified || to != ""):
		return r, nil
	case (kind == "read" || kind == "write") && (strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~/")):
		return r, nil
	case (kind == "message" || kind == "mcp") && to != "", kind == "account" && accountRight().MatchString(to):
		return r, nil
	}
	return Right{}, fmt.Errorf("right %q: want exec, net, net:HOST, net:HOST:PORT, read:PATH, write:PATH, message:ADDRESS, mcp:SERVER, account:NAME or account:NAME:write", s)
}

// Rights parses a comma-separated list and returns each right in the form that ParseRight reads. absolute resolves the path of a read or
// write right.
func Rights(list string, absolute func(path string) (string, error)) ([]string, error) {
	var out []string
	for word := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(word) == "" {
			continue
		}
		r, err := ParseRight(word)
		if err != nil {
			return nil, err
		}
		if r.Kind == "read" || r.Kind == "write" {
			if r.To, err = absolute(r.To); err != nil {
				return nil, err
			}
		}
		out = append(out, r.String())
	}
	return out, nil
}

// RightsOfOthers is Rights for a trigger whose runs begin with foreign text, that is, a watch or a webhook. Such runs never get the shell,
// a folder to write to, an MCP server or an account.
func RightsOfOthers(list string, absolute func(path string) (string, error)) ([]string, error) {
	all, err := Rights(list, absolute)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if kind, _, _ := strings.Cut(r, ":"); slices.Contains([]string{"exec", "write", "mcp", "account"}, kind) {
			return nil, fmt.Errorf("right %s: only a job can have it, because the text that starts this trigger may come from anyone", r)
		}
	}
	return all, nil
}

// String formats the right as ParseRight reads it.
func (r Right) String() string {
	if r.To == "" {
		return r.Kind
	}
	return r.Kind + ":" + r.To
}

// covered reports whether the trigger's rights cover everything that a call would do in a column.
func covered(c Case, col column) bool {
	switch col {
	case read:
		return !slices.ContainsFunc(c.Intent.Paths, func(p tools.Path) bool { return !p.Write && !mayRead(c, p) })
	case shell:
		return hasRight(c, "exec", "") && !slices.ContainsFunc(c.Intent.Paths, func(p tools.Path) bool { return p.Area == tools.Sensitive })
	case web:
		return !c.Intent.Private && hasRight(c, "net", "") || len(c.Intent.Hosts) > 0 && !slices.ContainsFunc(c.Intent.Hosts, func(h string) bool { return !mayReach(c, h) })
	case servers:
		return c.Intent.Server != "" && hasRight(c, "mcp", c.Intent.Server)
	case reading, changing:
		return len(c.Intent.Accounts) > 0 && !slices.ContainsFunc(c.Intent.Accounts, func(name string) bool {
			return !hasRight(c, "account", name+":write") && (col == changing || !hasRight(c, "account", name))
		})
	case message:
		var to []string
		for _, a := range c.Intent.Addresses {
			to = append(to, string(a))
		}
		return len(to) > 0 && covers(c, "message", to)
	case write:
		wrote := false
		for _, p := range c.Intent.Paths {
			wrote = wrote || p.Write
			if p.Write && (p.Area == tools.Sensitive || !within(c, "write", p.Path)) {
				return false
			}
		}
		return wrote
	}
	return false
}

// covers reports whether there is a right for each of all.
func covers(c Case, kind string, all []string) bool {
	return !slices.ContainsFunc(all, func(to string) bool { return !hasRight(c, kind, to) })
}

// hasRight reports whether the trigger has exactly this right. Paths are compared by within instead.
func hasRight(c Case, kind, to string) bool {
	return slices.ContainsFunc(c.Rights, func(r Right) bool { return r.Kind == kind && r.To == to })
}

// mayReach reports whether a right names a host. One without a port opens the usual ports of a private host.
func mayReach(c Case, host string) bool {
	name, port, err := net.SplitHostPort(host)
	usual := err == nil && (port == "80" || port == "443") && netguard.Private(name)
	return hasRight(c, "net", host) || usual && hasRight(c, "net", name)
}

// mayRead reports whether a trigger's run may read a path: in the workspace, or covered by a right. Secrets and the scratch folders of
// other sessions are never covered.
func mayRead(c Case, p tools.Path) bool {
	switch p.Area {
	case tools.Workspace:
		return true
	case tools.RootRW, tools.RootRO, tools.Outside:
		return within(c, "read", p.Path) || matchesGlob(c, p.Path)
	}
	return false
}

// within reports whether a right of a kind names the path or a folder above it.
func within(c Case, kind, path string) bool {
	return slices.ContainsFunc(c.Rights, func(r Right) bool { return r.Kind == kind && inside(r.To, path) })
}

// matchesGlob reports whether a glob in a read right matches this path. The glob opens the matching files only, not their folder.
func matchesGlob(c Case, path string) bool {
	slashed := func(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }
	return slices.ContainsFunc(c.Rights, func(r Right) bool {
		if r.Kind != "read" || !strings.ContainsAny(r.To, `*?[{\!`) {
			return false
		}
		glob, err := glob.New(slashed(r.To))
		return err == nil && glob.Path(slashed(path))
	})
}

// inside reports whether path is dir or below it. Both are absolute and clean.
func inside(dir, path string) bool {
	return dir != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)))
}
