package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"hob/daemon/sys"
)

// Limits of a schema, which a server wrote.
const (
	maxSchema   = 64 << 10  // bytes
	maxNesting  = 100       // of its JSON
	maxRefs     = 16        // references that are followed one after the other
	maxUnrolled = 20_000    // objects, each counted as often as a reference leads to it
	maxPatterns = 256 << 10 // of all regular expressions: about the instructions that they compile to
)

// badSchema says why a schema is not used; "": it is good. A schema never makes hob fetch anything.
func badSchema(raw json.RawMessage) string {
	if len(raw) > maxSchema {
		return fmt.Sprintf("more than %d KB", maxSchema>>10)
	}
	var whole any
	if err := json.Unmarshal(raw, &whole); err != nil {
		return "no JSON Schema"
	}
	if !flatter(whole, maxNesting) { // before the package for schemas reads it, whose time grows with the square of the depth
		return "too deep"
	}
	if patterns(whole) > maxPatterns {
		return "its patterns are too large"
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return "no JSON Schema"
	}
	root, ok := whole.(map[string]any)
	if s.Type != "object" || !ok {
		return "not an object"
	}
	u := unroller{root: root, left: maxUnrolled}
	delete(root, "$id") // the name of the whole
	if err := u.walk(root, 0, 0, 0); err != nil {
		return err.Error()
	}
	if _, err := s.Resolve(nil); err != nil {
		return "a JSON Schema that cannot be resolved here"
	}
	return ""
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

// unroller finds the schemas that no validator could use. It protects from nothing: hob's own check of arguments follows no references, and
// results are compared with a copy that has none (see comparer).
type unroller struct {
	root map[string]any
	left int
}

// walk visits what is below a value. nested counts the JSON around it, refs the references on the way, and same those of them since the
// validator has gone down in the value that it compares: such a loop would never end.
func (u *unroller) walk(value any, nested, refs, same int) error {
	if nested > maxNesting {
		return errors.New("too deep")
	}
	if u.left--; u.left < 0 {
		return errors.New("it refers to itself in too many ways")
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if err := u.walk(one, nested+1, refs, same); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if err := u.keyword(key, v[key], nested, refs, same); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyword visits the value of a keyword.
func (u *unroller) keyword(key string, value any, nested, refs, same int) error {
	text, isText := value.(string)
	switch key {
	case "$dynamicRef", "$recursiveRef", "$id":
		if isText {
			return fmt.Errorf("%s, which hob does not follow", key)
		}
	case "$ref":
		if isText {
			return u.follow(text, refs+1, same+1)
		}
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		if key == "properties" || key == "patternProperties" {
			same = 0
		}
		if all, ok := value.(map[string]any); ok { // its keys are names
			for _, name := range sortedKeys(all) {
				if err := u.walk(all[name], nested+2, refs, same); err != nil {
					return err
				}
			}
			return nil
		}
	case "additionalProperties", "items", "prefixItems", "additionalItems", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		same = 0
	}
	return u.walk(value, nested+1, refs, same)
}

// follow visits what a reference leads to.
func (u *unroller) follow(ref string, refs, same int) error {
	if same >= maxRefs {
		return errors.New("a loop of references")
	}
	if refs >= maxRefs {
		return nil // it goes down with each round, as the value does
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return errors.New("a JSON Schema that cannot be resolved here")
	}
	var target any = u.root
	for _, key := range slices.Collect(strings.SplitSeq(pointer, "/"))[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		in, _ := target.(map[string]any)
		if target, ok = in[key]; !ok {
			return errors.New("a JSON Schema that cannot be resolved here")
		}
	}
	return u.walk(target, 0, refs, same)
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
