package walk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// globals returns the owner's global excludes: the file in core.excludesFile of git's config, or git's default path. A repository inside
// another one has the same.
// It does not read the environment, so XDG_CONFIG_HOME and the system's own config have no effect.
func (r RulesReader) globals(above *Rules) (rules, error) {
	if r.Home == "" {
		return nil, nil
	}
	for n := above; n != nil; n = n.above {
		if n.repo {
			return n.global, nil
		}
	}
	// git reads both config files in this order, and the later value wins (git-config(1), FILES).
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

// expand resolves "~/" and relative paths.
func (r RulesReader) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(r.Home, rest)
	}
	return under(r.Home, path)
}

// excludesFile reads core.excludesFile from a file in the format of git-config(1); "": not set.
// The last setting wins. A key may follow its section on the same line. Included files are not read.
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

// unquote parses a value: it drops quotes, a backslash protects a character, and a comment ends the value.
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
