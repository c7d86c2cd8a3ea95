package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp/syntax"
	"slices"
	"strings"

	"hob/daemon/sys"
)

// sentName matches the names of functions that all servers of models take.
var sentName = sys.Regexp(`^[A-Za-z0-9_-]{1,64}$`)

// Unfit says why no request to a model may contain the tool itself; "": one may. Servers of models refuse a whole request because of one such
// tool. It is reached through the tool "tool". Only tools of others are like that.
func (s Spec) Unfit() string {
	if !sentName().MatchString(s.Name) {
		return "its name with the server's has more than 64 characters, or others than letters, digits, _ and -"
	}
	var root map[string]any
	if err := json.Unmarshal(s.Parameters, &root); err != nil || root["type"] != "object" {
		return "its parameters are no object"
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "$ref"} {
		if _, ok := root[key]; ok {
			return fmt.Sprintf("its parameters have %s at the top", key)
		}
	}
	return unread(root, root)
}

// unread says what a schema holds that some servers of models cannot read; "": nothing.
func unread(root map[string]any, value any) (why string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			why = cmp.Or(why, unread(root, one))
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			kind, name := path.Split(ref)
			all, _ := root[strings.Trim(kind, "#/")].(map[string]any)
			if target, _ := all[name].(map[string]any); target == nil || target["$ref"] != nil {
				return "its parameters have a reference to elsewhere, or in a loop"
			}
		}
		if expr, ok := v["pattern"].(string); ok {
			if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
				return "its parameters have a pattern that not everything can read"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			why = cmp.Or(why, unread(root, v[name]))
		}
	}
	return why
}
