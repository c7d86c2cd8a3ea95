package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// KeyText writes a dotted key, with quotes where TOML requires them.
// A bare key has only ASCII letters, digits, - and _ (TOML 1.0, "Keys").
func KeyText(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = p
		if p == "" || strings.ContainsFunc(p, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			parts[i] = Quote(p)
		}
	}
	return strings.Join(parts, ".")
}

// Quote writes a basic string (TOML 1.0, "String").
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TOML writes a value in TOML on one line: texts, numbers, booleans, and lists and tables of them.
// A table is written inline, without its nil values: TOML has no null.
func TOML(v any) string {
	switch v := v.(type) {
	case string:
		return Quote(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = Quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = TOML(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] != nil {
				parts = append(parts, KeyText([]string{name})+" = "+TOML(v[name]))
			}
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case float64:
		// A whole float has no point here. The decoder accepts an integer where a float is wanted.
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
