package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// ToolSpec is the daemon's description of a tool.
type ToolSpec struct {
	Name        string          `json:"name"`
	Group       string          `json:"group"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema with an object at the root
	Positional  string          `json:"positional"`
	Example     string          `json:"example"`
	Missing     string          `json:"missing,omitempty"` // what the tool needs and does not find on this machine, "" if it can work
}

// inputFlag is the flag for the whole input. A tool may have a field of the same name.
const inputFlag = "input"

// maxInput is the longest input that is read, in bytes: the limit of a request minus room for the rest of it.
const maxInput = 900 << 10

// Mistake is an error in the command line.
type Mistake struct{ Text, Hint string }

// Error is its sentence.
func (m *Mistake) Error() string { return m.Text }

// mistake makes a Mistake.
func mistake(hint, format string, args ...any) error {
	return &Mistake{Text: fmt.Sprintf(format, args...), Hint: hint}
}

// Form turns a tool's schema into flags. Callers may add flags to Set before Parse.
//
// NewForm makes a flag for every property of the schema. Parse converts each value to the JSON type that the schema names and returns the
// input of the call.
type Form struct {
	Set     *pflag.FlagSet
	Approve string // after Parse: the hash of the approved call
	spec    ToolSpec
	fields  []param
	values  map[string]json.RawMessage // by field: the given value
	input   string
}

// param is one property of the schema.
type param struct {
	name     string
	flag     string
	required bool
	schema   struct {
		Type        string          `json:"type"`
		Description string          `json:"description"`
		Enum        []any           `json:"enum"`
		Items       json.RawMessage `json:"items"`
	}
}

// words returns the values that the field, or each element of it, accepts; none means any.
func (p param) words() []string {
	enum := p.schema.Enum
	var items struct {
		Enum []any `json:"enum"`
	}
	if len(enum) == 0 && json.Unmarshal(p.schema.Items, &items) == nil {
		enum = items.Enum
	}
	words := make([]string, len(enum))
	for i, e := range enum {
		words[i] = fmt.Sprint(e)
	}
	if p.schema.Type == "boolean" {
		words = []string{"true", "false"}
	}
	return words
}

// reserved reports whether a flag has a meaning of its own. A field of that name gets "arg-" before it.
func reserved(name string) bool {
	switch name {
	case "home", "json", "quiet", "no-color", inputFlag, "approve", "help":
		return true
	}
	return false
}

// NewForm makes the flags of a tool: one for each field, plus --input and --approve.
func NewForm(spec ToolSpec) (*Form, error) {
	f := &Form{spec: spec, values: map[string]json.RawMessage{}, Set: pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)}
	// Help shows the fields in the order of the schema, and _ and - in a flag mean the same.
	f.Set.SortFlags = false
	f.Set.Usage = func() {}
	f.Set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		return nil, fmt.Errorf("the fields of %s are not understood: %w", spec.Name, err)
	}
	properties, _ := Members(schema.Properties) // a tool may have none
	for _, p := range properties {
		if err := f.add(p, schema.Required); err != nil {
			return nil, err
		}
	}
	usage := "all fields as one JSON object; - reads it from standard input"
	if f.has(inputFlag) {
		usage += "; beside other fields it is the field input"
	}
	f.Set.StringVar(&f.input, inputFlag, "", usage)
	f.Set.StringVar(&f.Approve, "approve", "", "the hash of the call that you approve")
	return f, nil
}

// add makes the flag of one property.
func (f *Form) add(p Member, required []string) error {
	x := param{name: p.Key, flag: strings.ReplaceAll(p.Key, "_", "-")}
	if err := json.Unmarshal(p.Value, &x.schema); err != nil {
		return fmt.Errorf("field %s of %s is not understood: %w", p.Key, f.spec.Name, err)
	}
	if reserved(x.flag) {
		x.flag = "arg-" + x.flag
	}
	for _, r := range required {
		x.required = x.required || r == x.name
	}
	f.fields = append(f.fields, x)
	v := &fieldValue{form: f, param: x}
	flag := f.Set.VarPF(v, x.flag, "", x.usage())
	if x.schema.Type == "boolean" {
		flag.NoOptDefVal = "true"
	}
	return nil
}

// usage is what help says about the flag.
func (p param) usage() string {
	text := p.schema.Description
	if len(p.schema.Enum) > 0 {
		text += " (" + strings.Join(p.words(), ", ") + ")"
	}
	if p.required {
		text += " (required)"
	}
	return strings.TrimSpace(text)
}

// texts reports whether the field is a list of strings, given by repeating its flag.
func (p param) texts() bool {
	var items struct {
		Type string `json:"type"`
	}
	return p.schema.Type == "array" && json.Unmarshal(p.schema.Items, &items) == nil && items.Type == "string"
}

// fieldValue is a pflag.Value that stores a flag's value in the form, as the type that the schema names.
type fieldValue struct {
	form  *Form
	param param
}

// String is what help shows as the default: none.
func (v *fieldValue) String() string { return "" }

// Type returns the word that help shows for the value.
func (v *fieldValue) Type() string {
	switch {
	case v.param.schema.Type == "boolean":
		return "bool" // pflag shows no value for this word
	case v.param.texts():
		return "text …"
	case v.param.schema.Type == "array", v.param.schema.Type == "object":
		return "JSON"
	case v.param.schema.Type == "integer", v.param.schema.Type == "number":
		return "number"
	}
	return "text"
}

// Set implements pflag.Value. ParseFlags has marked texts that look like flags; bare removes the mark.
func (v *fieldValue) Set(text string) error {
	raw, err := v.convert(bare(text))
	if err != nil {
		return err
	}
	v.form.values[v.param.name] = raw
	return nil
}

// convert turns the text into JSON of the type that the schema names. Its errors complete a sentence that begins with the text.
func (v *fieldValue) convert(text string) (json.RawMessage, error) {
	switch v.param.schema.Type {
	case "integer":
		// The text itself becomes the JSON number, so a large one keeps all its digits.
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, errors.New("is not a whole number")
		}
		return json.RawMessage(text), nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, errors.New("is not a number")
		}
		return json.Marshal(n)
	case "boolean":
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("is not true or false")
		}
		return json.Marshal(b)
	case "array", "object":
		return v.compound(text)
	}
	return json.Marshal(text)
}

// compound reads JSON, or appends one text to a list of strings.
func (v *fieldValue) compound(text string) (json.RawMessage, error) {
	if !v.param.texts() || strings.HasPrefix(strings.TrimSpace(text), "[") {
		if !json.Valid([]byte(text)) {
			return nil, errors.New("is not JSON")
		}
		return json.RawMessage(text), nil
	}
	var list []string
	// A repeated flag adds to the list.
	if old := v.form.values[v.param.name]; old != nil {
		if err := json.Unmarshal(old, &list); err != nil {
			return nil, fmt.Errorf("comes after a value in JSON: %w", err)
		}
	}
	return json.Marshal(append(list, text))
}

// Parse reads the arguments after "hob tool", of which the first that is not a flag is the tool's name, and returns the input of the call.
// Other errors than pflag.ErrHelp are *Mistake, or from reading in.
func (f *Form) Parse(args []string, in io.Reader) (json.RawMessage, error) {
	rest, err := ParseFlags(f.Set, args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil, err
	}
	if err != nil {
		return nil, f.explain(err)
	}
	// The name has chosen the form already.
	rest = rest[1:]
	// --input beside other fields is the tool's own field of that name; alone it is the whole input.
	if f.Set.Changed(inputFlag) && f.has(inputFlag) && len(rest)+len(f.values) > 0 {
		if err := f.give(inputFlag, f.input); err != nil {
			return nil, err
		}
	} else if f.input != "" {
		return f.whole(rest, in)
	}
	if len(rest) > 0 && f.spec.Positional == "" {
		return nil, mistake(f.see(), "tool %s takes flags only; %q is too much", f.spec.Name, rest[0])
	}
	if len(rest) > 1 {
		return nil, mistake("quote a text of several words; all but the "+f.spec.Positional+" is given by flags: hob tool show "+f.spec.Name, "tool %s takes one %s; %q is too much", f.spec.Name, f.spec.Positional, rest[1])
	}
	if len(rest) == 1 {
		if err := f.give(f.spec.Positional, rest[0]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(f.values)
}

// has reports whether the tool has a field of that name.
func (f *Form) has(name string) bool {
	return slices.ContainsFunc(f.fields, func(p param) bool { return p.name == name })
}

// give sets a field whose value did not come from its own flag.
func (f *Form) give(name, text string) error {
	if f.values[name] != nil {
		return mistake(f.see(), "%s is given twice", name)
	}
	for _, p := range f.fields {
		if p.name == name {
			v := fieldValue{form: f, param: p}
			if err := v.Set(text); err != nil {
				return mistake(f.see(), "%s %q %v", p.name, CellText(text), err)
			}
		}
	}
	return nil
}

// whole returns the input that --input gives as one JSON object, from the flag or standard input.
func (f *Form) whole(rest []string, in io.Reader) (json.RawMessage, error) {
	if len(rest) > 0 || len(f.values) > 0 {
		return nil, mistake("", "--input is all there is; fields beside it are too much")
	}
	doc := []byte(f.input)
	if f.input == "-" {
		var err error
		if doc, err = io.ReadAll(io.LimitReader(in, maxInput)); err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(doc, &object); err != nil || object == nil {
		return nil, mistake(`for example --input '{"path": "notes.md"}'`, "--input is not a JSON object")
	}
	return doc, nil
}

// explain turns an error of pflag into a Mistake with a suggestion, in the words that other commands have for their flags.
func (f *Form) explain(err error) error {
	var missing *pflag.NotExistError
	var bad *pflag.InvalidValueError
	var none *pflag.ValueRequiredError
	switch {
	case errors.As(err, &missing):
	case errors.As(err, &bad):
		return mistake(f.see(), "--%s %q %v", bad.GetFlag().Name, CellText(bare(bad.GetValue())), bad.Unwrap())
	case errors.As(err, &none):
		return mistake(f.see(), "--%s needs a value", none.GetFlag().Name)
	default:
		return mistake(f.see(), "%v", err)
	}
	var names []string
	f.Set.VisitAll(func(x *pflag.Flag) { names = append(names, x.Name) })
	text := fmt.Sprintf("tool %s has no field %q", f.spec.Name, "--"+missing.GetSpecifiedName())
	if n := Nearest(missing.GetSpecifiedName(), names); n != "" {
		return mistake("", "%s; did you mean %q?", text, "--"+n)
	}
	return mistake(f.see(), "%s", text)
}

// see is the hint of most mistakes.
func (f *Form) see() string { return "see: hob tool show " + f.spec.Name }

// Help returns the description of the tool and its flags.
func (f *Form) Help() string {
	use := "hob tool " + f.spec.Name
	if f.spec.Positional != "" {
		use += " [" + strings.ToUpper(f.spec.Positional) + "]"
	}
	text := f.spec.Description + "\n\nUsage:\n  " + use + " [--field value …|--input JSON|-]\n\nFields:\n" + f.Set.FlagUsages()
	if f.spec.Example != "" {
		text += "\nExample:\n  hob tool " + f.spec.Name + " " + f.spec.Example + "\n"
	}
	return text
}
