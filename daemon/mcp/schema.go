package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"hob/daemon/netguard"
	"hob/daemon/sys"
)

// Limits of a schema, which a server wrote.
const (
	maxSchema   = 64 << 10  // bytes
	maxNesting  = 100       // of its JSON
	maxPatterns = 256 << 10 // of all regular expressions: about the instructions that they compile to
)

// usable returns a schema as hob uses it, or says why it does not. A schema of parameters or of results is that of an object in any case. It never
// makes hob fetch anything.
func usable(raw json.RawMessage) (schema json.RawMessage, problem string) {
	if len(raw) > maxSchema {
		return raw, fmt.Sprintf("more than %d KB", maxSchema>>10)
	}
	whole := decoded(raw)
	if !flatter(whole, maxNesting) { // before the package for schemas reads it, whose time grows with the square of the depth
		return raw, "too deep"
	}
	if patterns(whole) > maxPatterns {
		return raw, "its patterns are too large"
	}
	root, ok := whole.(map[string]any)
	if _, isFlag := whole.(bool); isFlag || whole == nil {
		root, ok = map[string]any{}, true
	}
	types, several := root["type"].([]any)
	switch {
	case !ok:
		return raw, "no JSON Schema"
	case root["type"] == "object" && json.Unmarshal(raw, new(jsonschema.Schema)) == nil:
		return raw, ""
	case root["type"] != nil && root["type"] != "object" && (!several || !slices.Contains(types, any("object"))):
		return raw, "not an object"
	}
	root, _ = checkable(root).(map[string]any)
	root["type"] = "object"
	return encoded(root), ""
}

// flatter reports whether JSON has no more than so many levels.
func flatter(value any, levels int) bool {
	if levels < 0 {
		return false
	}
	switch v := value.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !flatter(one, levels-1) })
	case map[string]any:
		for _, one := range v {
			if !flatter(one, levels-1) {
				return false
			}
		}
	}
	return true
}

// patterns sums up the sizes of the regular expressions in a schema. Keys count in capitals too: the package for schemas reads them so.
func patterns(value any) (size int) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			size += patterns(one)
		}
	case map[string]any:
		for key, one := range v {
			text, _ := one.(string)
			all, _ := one.(map[string]any)
			switch {
			case strings.EqualFold(key, "pattern"):
				size += patternSize(text)
			case strings.EqualFold(key, "patternProperties"):
				for expr := range all {
					size += patternSize(expr)
				}
			}
			size += patterns(one)
		}
	}
	return size
}

// repeats matches the counts of a regular expression.
var repeats = sys.Regexp(`\{(\d*),?(\d*)\}`)

// patternSize is about the number of instructions of a compiled regular expression: a count repeats what is before it, at most 1000 times.
func patternSize(expr string) int {
	times := 1
	for _, m := range repeats().FindAllStringSubmatch(expr, -1) {
		for _, digits := range m[1:] {
			if n, err := strconv.Atoi(digits); err == nil && n > 1 {
				times = min(times*min(n, 1000), 1000)
			}
		}
	}
	return len(expr) * times
}

// checkable is a schema of which only what hob can read is left. What it drops, the server checks: keywords whose value does not have the form
// of 2020-12. Two forms of older drafts are translated. hob's check of arguments follows no references and compiles no patterns, so these stay.
func checkable(value any) any {
	m, ok := value.(map[string]any)
	if !ok {
		return value == nil || value != false
	}
	out, needed := map[string]any{}, []any{}
	for key, v := range m {
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			all, ok := v.(map[string]any)
			if !ok {
				continue
			}
			below := map[string]any{}
			for name, one := range all {
				below[name] = checkable(one)
				if p, _ := one.(map[string]any); key == "properties" && p["required"] == true { // draft-03
					needed = append(needed, name)
				}
			}
			out[key] = below
		case "allOf", "anyOf", "oneOf", "prefixItems", "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames",
			"contains", "contentSchema", "not", "if", "then", "else":
			if list, ok := v.([]any); ok {
				below := make([]any, len(list))
				for i, one := range list {
					below[i] = checkable(one)
				}
				v = below
			} else if v != nil {
				v = checkable(v)
			}
			out[key] = v
		case "exclusiveMinimum", "exclusiveMaximum": // draft-04 has true, beside the bound
			if bound := "m" + key[len("exclusiveM"):]; v == true && m[bound] != nil {
				v = m[bound]
			}
			out[key] = v
		default:
			out[key] = v
		}
		if raw := encoded(map[string]any{key: out[key]}); json.Unmarshal(raw, new(jsonschema.Schema)) != nil {
			delete(out, key)
		}
	}
	if len(needed) > 0 {
		slices.SortFunc(needed, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		out["required"] = needed
	}
	return out
}

// sortedKeys makes the reason the same each time: it is part of what the owner accepts.
func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// spoken is the text of a schema, without the escapes that could hide a character of it.
func spoken(raw json.RawMessage) string {
	var b strings.Builder
	var add func(value any)
	add = func(value any) {
		switch v := value.(type) {
		case string:
			b.WriteString(v)
		case []any:
			for _, one := range v {
				add(one)
			}
		case map[string]any:
			for _, key := range sortedKeys(v) {
				b.WriteString(key)
				add(v[key])
			}
		}
	}
	var whole any
	if json.Unmarshal(raw, &whole) == nil {
		add(whole)
	}
	return b.String()
}

// Characters that belong to others, in emoji and in scripts of India.
const (
	joiner       = '\u200d'
	emojiVariant = '\ufe0f'
)

// invisible finds a character that could hide an instruction from the owner who reads a description. Line breaks, tabs and the like are not such,
// nor is one joiner or variant after a character that takes it.
func invisible(s string) (found rune, ok bool) {
	last := ' '
	for _, c := range s {
		switch {
		case !netguard.Invisible(c), strings.ContainsRune("\n\t\r\u00a0", c):
		case c == joiner && last >= utf8.RuneSelf && (last == emojiVariant || !netguard.Invisible(last)):
		case c == emojiVariant && (strings.ContainsRune("#*0123456789", last) || last >= utf8.RuneSelf && !netguard.Invisible(last) && !unicode.IsLetter(last)):
		default:
			return c, true
		}
		last = c
	}
	return 0, false
}
