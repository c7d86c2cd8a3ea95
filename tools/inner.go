package tools

import "encoding/json"

// Catalog is the name of the tool that leads to all others. A call of it with action "call" is judged and run as the inner call,
// by whoever dispatches calls.
const Catalog = "tool"

// Inner is the call that valid arguments of Catalog stand for; false: they search or describe.
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
