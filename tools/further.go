package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Checked is implemented by parameters that know more of what is wrong with them than their schema can say: how fields go together, and which
// texts they take. A call that the schema refuses is told these things too, so that all that is wrong with it is said at once.
type Checked interface {
	// Faults are "field: what is wrong with it". The fields that the schema refuses are empty.
	Faults() []string
}

// further are the faults that In itself finds in arguments which have others already. Where a required field is among those it finds none:
// what the others are for is not known then.
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
		return nil // what is wrong with it is among the faults
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
