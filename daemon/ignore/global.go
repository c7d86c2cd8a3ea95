package ignore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// globals are the owner's excludes: core.excludesFile of git's configuration, or where git looks without it. A repository
// in a repository has the same.
func (r Reader) globals(above *Node) (rules, error) {
	if r.Home == "" {
		return nil, nil
	}
	for n := above; n != nil; n = n.above {
		if n.repo {
			return n.global, nil
		}
	}
	path := filepath.Join(r.Home, ".config", "git", "ignore")
	for _, config := range []string{filepath.Join(r.Home, ".config", "git", "config"), filepath.Join(r.Home, ".gitconfig")} {
		raw, err := r.Read(config)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if named := excludesFile(string(raw)); named != "" {
			path = r.expand(named)
		}
	}
	return r.rules(path)
}

func (r Reader) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(r.Home, rest)
	}
	return under(r.Home, path)
}

// excludesFile reads core.excludesFile out of a file in git-config(1)'s format, "" when it is not there.
func excludesFile(config string) string {
	core, path := false, ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if section, ok := strings.CutPrefix(line, "["); ok {
			name, rest, closed := strings.Cut(section, "]")
			core = closed && strings.EqualFold(strings.TrimSpace(name), "core")
			line = strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if core && ok && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			path = unquote(strings.TrimSpace(value))
		}
	}
	return path
}

// unquote reads a value: quotes are dropped, a backslash protects, a comment ends it.
func unquote(value string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value):
			i++
			b.WriteByte(value[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
