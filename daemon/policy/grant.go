package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/glob"
	"hob/tools"
)

// Grant allows calls of one tool that match a pattern, until it is revoked.
type Grant struct {
	ID      int64     `json:"id"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"` // the exact pattern of Pattern(intent); "" never matches
	Tainted bool      `json:"tainted"` // it was given to a tainted turn; one that was not holds for untainted turns only
	Created time.Time `json:"created"`
	Uses    int64     `json:"uses"`
}

func granted(c Case) (Grant, bool) {
	want := Pattern(c.Intent)
	for _, g := range c.Grants {
		if want != "" && g.Tool == c.Tool && g.Pattern == want && (g.Tainted || !c.Tainted) {
			return g, true
		}
	}
	return Grant{}, false
}

// Pattern is what "always" would grant for a call: for a shell exactly this command, by the hash of its canonical bytes
// (a summary may be cut), otherwise all addresses, hosts and paths that it touches. Empty when nothing may be granted for good.
func Pattern(i tools.Intent) string {
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
			parts = append(parts, fmt.Sprintf("read from %q", h))
		} else {
			parts = append(parts, fmt.Sprintf("send anything to %q", h))
		}
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

// Right is something that the owner gave to a job, a watch or a hook when he made it: it turns the gate's question about it
// into a yes, and lets the trigger of somebody else's text use the web.
type Right struct {
	Kind string // "exec", "net", "read", "write" or "message"
	To   string // of read and write: the folder or file, absolute, of read also a glob of files; of net: a host, "" for all; of message: the address
}

// ParseRight reads "exec", "net", "net:HOST", "read:PATH", "write:PATH" or "message:ADDRESS". A path begins with / or ~/ and is returned as
// it stands; whoever stores the right makes it absolute.
func ParseRight(s string) (Right, error) {
	kind, to, qualified := strings.Cut(strings.TrimSpace(s), ":")
	r := Right{Kind: kind, To: to}
	switch {
	case kind == "exec" && !qualified, kind == "net" && (!qualified || to != ""):
		return r, nil
	case (kind == "read" || kind == "write") && (strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~/")):
		return r, nil
	case kind == "message" && to != "":
		return r, nil
	default:
		return Right{}, fmt.Errorf("right %q: want exec, net, net:HOST, read:PATH, write:PATH or message:ADDRESS", s)
	}
}

// Rights reads a list of rights with commas between them and returns them as ParseRight reads each. absolute is what a folder's
// path leads to.
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

// RightsOfOthers is Rights for a trigger whose runs begin with somebody else's words, a watch or a webhook: they never get the shell, nor a
// folder of the owner's to write to.
func RightsOfOthers(list string, absolute func(path string) (string, error)) ([]string, error) {
	all, err := Rights(list, absolute)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if kind, _, _ := strings.Cut(r, ":"); kind == "exec" || kind == "write" {
			return nil, fmt.Errorf("right %s: only a job can have it; here the words may be anybody's", r)
		}
	}
	return all, nil
}

// String is the right as ParseRight reads it.
func (r Right) String() string {
	if r.To == "" {
		return r.Kind
	}
	return r.Kind + ":" + r.To
}

// has reports whether the trigger's rights cover all that a call would do in a column.
func has(c Case, col column) bool {
	switch col {
	case read:
		return !slices.ContainsFunc(c.Intent.Paths, func(p tools.Path) bool { return !p.Write && !mayRead(c, p) })
	case shell:
		return right(c, "exec", "") && !slices.ContainsFunc(c.Intent.Paths, func(p tools.Path) bool { return p.Area == tools.Sensitive })
	case web:
		return !c.Intent.Private && right(c, "net", "") || len(c.Intent.Hosts) > 0 && covers(c, "net", c.Intent.Hosts)
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
	default:
		return false
	}
}

func covers(c Case, kind string, all []string) bool {
	return !slices.ContainsFunc(all, func(to string) bool { return !right(c, kind, to) })
}

func right(c Case, kind, to string) bool {
	return slices.ContainsFunc(c.Rights, func(r Right) bool { return r.Kind == kind && r.To == to })
}

// mayRead reports whether a trigger's run may read a place: the workspace, or what a right names. Secrets and other sessions' scratch are no part of it.
func mayRead(c Case, p tools.Path) bool {
	switch p.Area {
	case tools.Workspace:
		return true
	case tools.RootRW, tools.RootRO, tools.Outside:
		return within(c, "read", p.Path) || named(c, p.Path)
	default:
		return false
	}
}

func within(c Case, kind, path string) bool {
	return slices.ContainsFunc(c.Rights, func(r Right) bool { return r.Kind == kind && inside(r.To, path) })
}

// named reports whether a glob of the rights to read names just this path: the folder that it stands in is not opened with it.
func named(c Case, path string) bool {
	slashed := func(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }
	return slices.ContainsFunc(c.Rights, func(r Right) bool {
		if r.Kind != "read" || !strings.ContainsAny(r.To, `*?[{\!`) {
			return false
		}
		glob, err := glob.New(slashed(r.To))
		return err == nil && glob.Path(slashed(path))
	})
}

// inside reports whether path is dir or lies below it. Both are absolute and clean.
func inside(dir, path string) bool {
	return dir != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)))
}
