package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Checked is implemented by inputs with rules that their schema cannot express, such as
// dependencies between fields. When the schema refuses a call, these rules are checked too, so that
// the model sees all faults at once.
type Checked interface {
	// Faults returns the faults as "field: what is wrong". Fields that the schema has refused are
	// empty.
	Faults() []string
}

// further returns the faults that In itself finds in arguments that already have others. If a
// required field is among the faulty ones it finds none, because the rules may depend on that
// field.
func further[In any](required []string, value map[string]any, faults []fault) (more []fault) {
	var in In
	c, ok := any(&in).(Checked)
	bad := map[string]bool{}
	for _, f := range faults {
		name, _, _ := strings.Cut(f.at, ".")
		name, _, _ = strings.Cut(name, "[")
		bad[name] = true
	}
	if !ok || value == nil || slices.ContainsFunc(required, func(name string) bool { return bad[name] }) {
		return nil
	}
	rest := maps.Clone(value)
	maps.DeleteFunc(rest, func(name string, _ any) bool { return bad[name] })
	raw, err := json.Marshal(rest)
	if err != nil || json.Unmarshal(raw, &in) != nil {
		return nil // the fault is already listed
	}
	for _, text := range c.Faults() {
		at, what, named := strings.Cut(text, ": ")
		switch {
		case !named:
			more = append(more, fault{what: text})
		case !bad[at]:
			more = append(more, fault{at, what})
		}
	}
	return more
}
