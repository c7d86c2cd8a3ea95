package config

import (
	"fmt"
	"slices"
	"strings"
)

// prefix starts the names of all variables that hob reads; separator divides section and key.
const (
	prefix    = "HOB_"
	separator = "__"
)

// override sets the values of HOB_SECTION__KEY variables, which win over the file. Names match in any case, with "_" for "-". A variable
// without "__" is not an override.
func override(root *node, env []string) []Problem {
	var problems []Problem
	// The order by name gives the same problems in each run.
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

// almost detects variables like HOB_MODEL_API_KEY, which would be ignored without a message.
// A variable like HOB_HOME begins with no name of a section, so it causes no message.
func almost(name, path string) []Problem {
	section, key, ok := strings.Cut(path, "_")
	if !ok || !slices.Contains(sections(), strings.ToLower(section)) {
		return nil
	}
	return []Problem{{
		File: name, Key: name, Text: "this variable is not read",
		Hint: fmt.Sprintf("put two underscores between section and key: %s%s%s%s", prefix, section, separator, key),
	}}
}

// set stores a value at the place that the parts of a name describe. It returns the reason if it cannot.
func set(root *node, name string, parts []string, value string) string {
	n := root
	for i, part := range parts {
		if part == "" {
			return "a part of this variable's name is missing"
		}
		key := n.named(part)
		if i == len(parts)-1 {
			n.table[key] = &node{leaf: value, env: name}
			return ""
		}
		next := n.table[key]
		if next == nil {
			// The section exists only in the environment. Messages about it name this variable.
			next = newTable()
			next.env = name
			n.table[key] = next
		}
		if next.table == nil {
			return fmt.Sprintf("%s is not a section, so it has no keys to set", strings.ToLower(strings.Join(parts[:i+1], ".")))
		}
		n = next
	}
	return ""
}

// named returns the key that a part of a variable's name means: an existing one, or the part in lower case.
// Names of channels and models may have upper case letters and hyphens, which variables cannot show.
func (n *node) named(part string) string {
	for _, key := range n.names() {
		if strings.EqualFold(strings.ReplaceAll(key, "-", "_"), part) {
			return key
		}
	}
	return strings.ToLower(part)
}
