package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"hob/daemon/text"
)

// Limits of arguments.
const (
	maxDepth  = 64 // levels of nesting
	maxFaults = 20 // faults listed
)

// Validate checks the arguments of a call before any other code uses them. If they are wrong it
// returns one VALIDATION_ERROR result that lists every fault, and false. Names are case-sensitive;
// unknown and repeated names are faults. It accepts three common slips of models: a number or
// boolean as a string ("5", "true"), 5.0 as a whole number, and null for a parameter that is left
// out.
func Validate(t Tool, args json.RawMessage) (Result, bool) {
	s, err := schemaOf(t)
	if err != nil {
		return ErrorResult(err), false
	}
	if value, faults := inspect(s, args); len(faults) > 0 {
		if c, ok := t.(interface {
			further(map[string]any, []fault) []fault
		}); ok {
			faults = append(faults, c.further(value, faults)...)
		}
		return faultResult(t.Spec().Name, s, faults), false
	}
	return Result{}, true
}

// Normal returns valid arguments of a tool in the form that its schema requires, without the slips that Validate accepts.
func Normal(t Tool, args json.RawMessage) (json.RawMessage, error) {
	s, err := schemaOf(t)
	if err != nil {
		return nil, err
	}
	value, faults := inspect(s, args)
	if len(faults) > 0 {
		return nil, &refusal{res: faultResult(t.Spec().Name, s, faults)}
	}
	return json.Marshal(value)
}

// schemaOf returns the schema of a tool.
func schemaOf(t Tool) (*jsonschema.Schema, error) {
	if p, ok := t.(interface{ parameters() *jsonschema.Schema }); ok {
		return p.parameters(), nil
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(t.Spec().Parameters, s); err != nil {
		return nil, fmt.Errorf("read the parameters of %s: %w", t.Spec().Name, err)
	}
	return s, nil
}

// fault is one fault: the field and what is wrong.
type fault struct{ at, what string }

// String returns the fault as "field: what is wrong".
func (f fault) String() string {
	if f.at == "" {
		return f.what
	}
	return f.at + ": " + f.what
}

// faultResult lists the faults, with the names of all parameters as a hint.
func faultResult(tool string, s *jsonschema.Schema, faults []fault) Result {
	hint := "the parameters are: " + parameterList(s)
	if len(s.Properties) == 0 {
		hint = tool + " takes no parameters"
	}
	if len(faults) == 1 {
		return Fail(Validation, hint, "%s: %s", tool, faults[0])
	}
	var b strings.Builder
	for _, f := range faults[:min(len(faults), maxFaults)] {
		b.WriteString("\n- " + f.String())
	}
	if more := len(faults) - maxFaults; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return Fail(Validation, hint, "%s: %d things are wrong with the arguments:%s", tool, len(faults), b.String())
}

// parameterList lists all parameters for the hint.
func parameterList(s *jsonschema.Schema) string {
	names := propertyNames(s)
	for i, n := range names {
		if slices.Contains(s.Required, n) {
			names[i] = n + " (required)"
		}
	}
	return strings.Join(names, ", ")
}

// propertyNames returns the names in the order of the struct, or sorted for a schema from
// elsewhere.
func propertyNames(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return slices.Clone(s.PropertyOrder)
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// inspect parses args. It returns the normalised value and all faults.
func inspect(s *jsonschema.Schema, args json.RawMessage) (map[string]any, []fault) {
	if len(bytes.TrimSpace(args)) == 0 || string(bytes.TrimSpace(args)) == "null" {
		args = json.RawMessage("{}")
	}
	p := parser{dec: json.NewDecoder(bytes.NewReader(args))}
	p.dec.UseNumber()
	v, err := p.value("", 0)
	if err == nil {
		if _, more := p.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is text after the JSON object")
		}
	}
	if err != nil {
		return nil, []fault{{what: "the arguments are not valid JSON: " + plainJSONError(err)}}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, []fault{{what: "want a JSON object, got " + describe(v)}}
	}
	c := checker{faults: p.faults}
	clean, _ := c.object("", s, object).(map[string]any)
	return clean, c.faults
}

// plainJSONError describes a syntax error without Go's own terms.
func plainJSONError(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "they end too early"
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%v at byte %d", e, e.Offset)
	}
	return err.Error()
}

// parser reads JSON token by token, because Unmarshal hides repeated names (the last one wins).
type parser struct {
	dec    *json.Decoder
	faults []fault
}

// value reads one value at a path.
func (p *parser) value(at string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return p.object(at, depth)
	case json.Delim('['):
		return p.array(at, depth)
	}
	return tok, nil
}

// object reads an object and records repeated names.
func (p *parser) object(at string, depth int) (any, error) {
	out := map[string]any{}
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := tok.(string)
		if _, twice := out[name]; twice {
			p.faults = append(p.faults, fault{join(at, name), "given twice"})
		}
		if out[name], err = p.value(join(at, name), depth+1); err != nil {
			return nil, err
		}
	}
	_, err := p.dec.Token()
	return out, err
}

// array reads a list.
func (p *parser) array(at string, depth int) (any, error) {
	out := []any{}
	for p.dec.More() {
		v, err := p.value(fmt.Sprintf("%s[%d]", at, len(out)), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := p.dec.Token()
	return out, err
}

// checker compares a value with a schema. It collects the faults and returns the value in the form
// that the schema requires.
type checker struct{ faults []fault }

// fault records a fault. The check goes on, so that one result lists all faults.
func (c *checker) fault(at, format string, args ...any) {
	c.faults = append(c.faults, fault{at, fmt.Sprintf(format, args...)})
}

// value checks one value at a path.
func (c *checker) value(at string, s *jsonschema.Schema, v any) any {
	if s == nil || v == nil && takesNull(s) {
		return v
	}
	kind := typeOf(s)
	switch kind {
	case "object":
		if m, ok := v.(map[string]any); ok {
			return c.object(at, s, m)
		}
	case "array":
		if l, ok := v.([]any); ok {
			return c.array(at, s, l)
		}
	case "string":
		if t, ok := v.(string); ok {
			c.text(at, s, t)
			return t
		}
	case "integer", "number":
		if n, ok := numberOf(kind, v); ok {
			c.number(at, s, n)
			return n
		}
	case "boolean":
		if b, ok := boolOf(v); ok {
			return b
		}
	default:
		return v
	}
	c.fault(at, "want %s, got %s", wanted(s), describe(v))
	return v
}

// typeOf returns the only type that a schema allows besides null; "": it allows several, or any.
func typeOf(s *jsonschema.Schema) string {
	rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(rest) == 1 {
		return rest[0]
	}
	return s.Type
}

// takesNull reports whether a schema from elsewhere says that a value may be null: by its type, by an alternative, or as OpenAPI 3.0 does.
func takesNull(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	return s.Type == "null" || slices.Contains(s.Types, "null") || s.Extra["nullable"] == true || slices.ContainsFunc(slices.Concat(s.AnyOf, s.OneOf), takesNull)
}

// object checks the members of an object, and that none is missing.
func (c *checker) object(at string, s *jsonschema.Schema, m map[string]any) any {
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		prop, known := s.Properties[name]
		switch {
		case !known && closed(s):
			c.unknown(at, s, name)
		case !known:
			out[name] = c.value(join(at, name), s.AdditionalProperties, m[name])
		case m[name] != nil || takesNull(prop):
			out[name] = c.value(join(at, name), prop, m[name])
		}
	}
	for _, name := range s.Required {
		if v, given := m[name]; v == nil && !(given && takesNull(s.Properties[name])) {
			c.fault(join(at, name), "missing (%s)", wanted(s.Properties[name]))
		}
	}
	return out
}

// closed reports whether a schema allows no additional names. jsonschema-go represents
// additionalProperties: false as {not: {}}.
func closed(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
}

// unknown records an unknown name with a suggestion.
func (c *checker) unknown(at string, s *jsonschema.Schema, name string) {
	if near := Nearest(name, propertyNames(s), 1); len(near) > 0 {
		c.fault(join(at, name), "unknown; did you mean %s?", near[0])
		return
	}
	c.fault(join(at, name), "unknown")
}

// array checks the length of a list and each item.
func (c *checker) array(at string, s *jsonschema.Schema, l []any) any {
	if s.MinItems != nil && len(l) < *s.MinItems {
		c.fault(at, "want at least %d, got %d", *s.MinItems, len(l))
	}
	if s.MaxItems != nil && len(l) > *s.MaxItems {
		c.fault(at, "want at most %d, got %d", *s.MaxItems, len(l))
	}
	out := make([]any, len(l))
	for i, v := range l {
		out[i] = c.value(fmt.Sprintf("%s[%d]", at, i), s.Items, v)
	}
	return out
}

// text checks a string against the allowed values and lengths. Lengths count runes.
func (c *checker) text(at string, s *jsonschema.Schema, t string) {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(t)) {
		c.fault(at, "want one of %s, got %q", enumList(s), short(t))
	}
	n := utf8.RuneCountInString(t)
	if s.MinLength != nil && n < *s.MinLength {
		if n == 0 {
			c.fault(at, "must not be empty")
		} else {
			c.fault(at, "want at least %d characters, got %d", *s.MinLength, n)
		}
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		c.fault(at, "want at most %d characters, got %d", *s.MaxLength, n)
	}
}

// number checks a number against its bounds.
func (c *checker) number(at string, s *jsonschema.Schema, n json.Number) {
	f, err := n.Float64()
	if err != nil {
		c.fault(at, "%s is too large", n)
		return
	}
	if s.Minimum != nil && f < *s.Minimum {
		c.fault(at, "want at least %v, got %s", *s.Minimum, n)
	}
	if s.Maximum != nil && f > *s.Maximum {
		c.fault(at, "want at most %v, got %s", *s.Maximum, n)
	}
}

// numberOf accepts a JSON number, or a string with one. For an integer it returns plain digits.
func numberOf(kind string, v any) (json.Number, bool) {
	n, ok := v.(json.Number)
	if t, isText := v.(string); isText {
		t = strings.TrimSpace(t)
		n, ok = json.Number(t), looksNumeric(t) && json.Valid([]byte(t))
	}
	if !ok || kind == "number" {
		return n, ok
	}
	if _, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return n, true
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return n, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}

// looksNumeric excludes strings such as "true" that are valid JSON but not numbers.
func looksNumeric(t string) bool {
	return t != "" && (t[0] == '-' || t[0] >= '0' && t[0] <= '9')
}

// boolOf accepts a boolean, or a string with one.
func boolOf(v any) (bool, bool) {
	switch v {
	case true, "true":
		return true, true
	case false, "false":
		return false, true
	}
	return false, false
}

// wanted describes in words what a schema requires.
func wanted(s *jsonschema.Schema) string {
	if s == nil {
		return "a value"
	}
	switch kind := typeOf(s); {
	case len(s.Enum) > 0:
		return "one of " + enumList(s)
	case kind == "integer":
		return "a whole number"
	case kind == "array":
		return "a list"
	case kind == "object":
		return "an object"
	case kind == "":
		return "a value"
	default:
		return "a " + kind
	}
}

// enumList lists the allowed values.
func enumList(s *jsonschema.Schema) string {
	words := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}

// describe describes a given value in words.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %q", short(v))
	case json.Number:
		return "the number " + short(v.String())
	case bool:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

// short cuts a value for a message.
func short(s string) string { return text.Shorten(s, 40) }

// join appends a name to the path of a field.
func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
