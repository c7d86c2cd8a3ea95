package tools

import "encoding/json"

// Catalog is the name of the tool that leads to all others. The dispatcher treats a call of it with
// action "call" as the inner call, for the gate as well as for the run.
const Catalog = "tool"

// Inner returns the inner call in valid arguments of Catalog; ok is false for a search or a
// description.
func Inner(args json.RawMessage) (name string, inner json.RawMessage, ok bool) {
	var in struct {
		Action    string          `json:"action"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(args, &in); err != nil || in.Action != "call" || in.Name == "" || in.Name == Catalog {
		return "", nil, false
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	return in.Name, in.Arguments, true
}
