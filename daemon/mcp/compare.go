package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of the comparison of a result with a schema. The package for schemas follows references without a limit, also in a loop, and its time
// grows with the size of the schema times that of the value.
const (
	maxLevels   = 24        // of a schema after its references were replaced
	maxCopied   = 256 << 10 // bytes of it
	nodeCost    = 32        // each schema in it counts as so many bytes more
	maxCompared = 64 << 20  // bytes of it times bytes of the value
)

// errNotCompared is the error of a schema that nothing is compared with.
var errNotCompared = errors.New("nothing can be compared with it")

// comparer copies a schema. The copy has no references: each was replaced by a copy of what it leads to. So the copy is finite, and so is the
// time of a comparison with it.
type comparer struct {
	root  *jsonschema.Schema
	draft bool // draft-07: what is beside a reference does not count
	size  int

	exact int // how many keywords are around it whose meaning would turn if a part below them were left out
}

// comparison returns a schema without references, and its size. An error means that nothing can be compared with it.
func comparison(raw json.RawMessage) (*jsonschema.Resolved, int, error) {
	var whole any
	if err := json.Unmarshal(raw, &whole); err != nil || len(raw) > maxSchema || !flatter(whole, maxNesting) {
		return nil, 0, errNotCompared
	}
	c := comparer{root: &jsonschema.Schema{}}
	if err := json.Unmarshal(raw, c.root); err != nil {
		return nil, 0, err
	}
	version := strings.TrimSuffix(c.root.Schema, "#")
	c.draft = strings.HasSuffix(version, "//json-schema.org/draft-07/schema")
	if !c.draft && version != "" && !strings.HasSuffix(version, "//json-schema.org/draft/2020-12/schema") {
		return nil, 0, errNotCompared
	}
	c.root.ID = "" // the name of the whole
	plain, err := c.copy(c.root, 0)
	if err != nil {
		return nil, 0, err
	}
	if c.draft {
		plain.Schema = "http://json-schema.org/draft-07/schema#"
	}
	resolved, err := plain.Resolve(nil)
	return resolved, c.size, err
}

// copy copies a schema with all that is below it.
func (c *comparer) copy(s *jsonschema.Schema, level int) (*jsonschema.Schema, error) {
	if s == nil || level > maxLevels || s.ID != "" || s.DynamicRef != "" {
		return nil, errNotCompared
	}
	if s.Ref != "" && c.draft {
		return c.copy(c.find(s.Ref), level+1)
	}
	bare := *s
	bare.Schema, bare.Ref, bare.Anchor, bare.DynamicAnchor, bare.Comment, bare.Title, bare.Description = "", "", "", "", "", "", ""
	bare.Defs, bare.Definitions, bare.Default, bare.Examples, bare.Extra, bare.PropertyOrder = nil, nil, nil, nil, nil, nil
	if unread(s.Pattern) { // such as look-ahead: the server checks it
		bare.Pattern = ""
	}
	if bare.Pattern != s.Pattern && c.exact > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(s.PatternProperties)), unread) {
		return nil, errNotCompared
	}
	full := bare
	from, to := reflect.ValueOf(&full).Elem(), reflect.ValueOf(&bare).Elem()
	for i := range from.NumField() { // what is below it: fields of three types
		switch from.Field(i).Interface().(type) {
		case *jsonschema.Schema, []*jsonschema.Schema, map[string]*jsonschema.Schema:
			to.Field(i).SetZero()
		}
	}
	own, err := json.Marshal(bare)
	if err != nil {
		return nil, err
	}
	c.size += len(own) + nodeCost + patternSize(s.Pattern)
	for expr := range s.PatternProperties {
		c.size += len(expr) + patternSize(expr)
	}
	for name := range s.Properties {
		c.size += len(name)
	}
	if c.size > maxCopied {
		return nil, errNotCompared
	}
	for i := range from.NumField() {
		turns := slices.Contains([]string{"Not", "OneOf", "If", "Contains"}, from.Type().Field(i).Name)
		if turns {
			c.exact++
		}
		below, err := c.field(from.Field(i).Interface(), level+1)
		if turns {
			c.exact--
		}
		if err != nil {
			return nil, err
		}
		if below != nil {
			to.Field(i).Set(reflect.ValueOf(below))
		}
	}
	if s.Ref != "" {
		target, err := c.copy(c.find(s.Ref), level+1)
		if err != nil {
			return nil, err
		}
		bare.AllOf = append(bare.AllOf, target)
	}
	return &bare, nil
}

// unread reports whether Go's regular expressions cannot read a pattern.
func unread(expr string) bool {
	_, err := syntax.Parse(expr, syntax.Perl)
	return err != nil
}

// field copies the schemas in a field; nil: it holds none.
func (c *comparer) field(value any, level int) (any, error) {
	switch v := value.(type) {
	case *jsonschema.Schema:
		if v == nil {
			return nil, nil //nolint:nilnil // it holds none
		}
		return c.copy(v, level)
	case []*jsonschema.Schema:
		list := slices.Clone(v)
		for i, one := range v {
			var err error
			if list[i], err = c.copy(one, level); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]*jsonschema.Schema:
		all := maps.Clone(v)
		for name, one := range v {
			var err error
			if all[name], err = c.copy(one, level); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, nil //nolint:nilnil // it holds none
}

// find returns what a reference leads to; nil: it is of a kind that hob does not follow.
func (c *comparer) find(ref string) *jsonschema.Schema {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.ContainsAny(rest, "%~") {
		return nil
	}
	at := c.root
	for rest != "" && at != nil {
		var key, name string
		if key, rest, ok = cutStep(rest); !ok {
			return nil
		}
		switch key {
		case "items":
			at = at.Items
			continue
		case "additionalProperties":
			at = at.AdditionalProperties
			continue
		}
		if name, rest, ok = cutStep(rest); !ok {
			return nil
		}
		switch key {
		case "$defs":
			at = at.Defs[name]
		case "definitions":
			at = at.Definitions[name]
		case "properties":
			at = at.Properties[name]
		default:
			return nil
		}
	}
	return at
}

// cutStep cuts off the first step of a JSON pointer.
func cutStep(pointer string) (step, rest string, ok bool) {
	pointer, ok = strings.CutPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:], ok
	}
	return pointer, "", ok
}
