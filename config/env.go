package config

import (
	"fmt"
	"slices"
	"strings"
)

// prefix begins the names of all variables that hob reads; "__" stands between section and key.
const (
	prefix    = "HOB_"
	separator = "__"
)

// override sets what HOB_SECTION__KEY variables say over what the file says. The names of sections and keys
// are matched in any case, with "_" for "-". A variable without "__" is not an override.
func override(root *node, env []string) []Problem {
	var problems []Problem
	for _, pair := range slices.Sorted(slices.Values(env)) {
		name, value, _ := strings.Cut(pair, "=")
		path, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if !strings.Contains(path, separator) {
			problems = append(problems, almost(name, path)...)
			continue
		}
		if text := set(root, name, strings.Split(path, separator), value); text != "" {
			problems = append(problems, Problem{File: name, Key: name, Text: text})
		}
	}
	return problems
}

// almost recognises HOB_MODEL_API_KEY, which would be passed over in silence.
func almost(name, path string) []Problem {
	section, key, ok := strings.Cut(path, "_")
	if !ok || !slices.Contains(sections(), strings.ToLower(section)) {
		return nil
	}
	return []Problem{{
		File: name, Key: name, Text: "this variable is not read",
		Hint: fmt.Sprintf("two underscores stand between section and key: %s%s%s%s", prefix, section, separator, key),
	}}
}

// set puts a value at the place that the parts of a name lead to, and says what is in its way.
func set(root *node, name string, parts []string, value string) string {
	n := root
	for i, part := range parts {
		if part == "" {
			return "there is a part missing in the name of this variable"
		}
		key := n.named(part)
		if i == len(parts)-1 {
			n.table[key] = &node{leaf: value, env: name}
			return ""
		}
		next := n.table[key]
		if next == nil {
			next = newTable()
			next.env = name
			n.table[key] = next
		}
		if next.table == nil {
			return fmt.Sprintf("%s is not a section, so that nothing in it can be set", strings.ToLower(strings.Join(parts[:i+1], ".")))
		}
		n = next
	}
	return ""
}

// named finds the key that a part of a variable's name means: one that is there, else the part in lower case.
func (n *node) named(part string) string {
	for _, key := range n.names() {
		if strings.EqualFold(strings.ReplaceAll(key, "-", "_"), part) {
			return key
		}
	}
	return strings.ToLower(part)
}
