package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"hob/daemon/event"
	"hob/daemon/sys"
)

// What an answer was read from, where that is not what the protocol says, for Answer.Repaired. Other repairs have texts of their own.
const (
	CallsAsText    = "calls that were written as text"
	ThinkingInText = "thinking inside the text"
	TemplateWords  = "words of the chat template in the text"
)

// ReadCalls gives each call the name of the tool that it means and one JSON object as its arguments, where exactly one reading is possible. find
// returns the parameters of the tool with exactly this name, and names lists all tools. unknown holds the names that mean no tool, by the place of
// the call.
func (a *Answer) ReadCalls(find func(name string) (parameters json.RawMessage, ok bool), names func() []string) (unknown map[int]string) {
	names = sync.OnceValue(names)
	unknown = map[int]string{}
	var calls []Call
	for _, c := range a.Calls {
		name := c.Name
		parameters, ok := find(name)
		if !ok {
			if name, ok = ToolName(names(), name); ok {
				parameters, _ = find(name)
			}
		}
		switch {
		case !ok:
			name = storable().ReplaceAllString(c.Name, "_")
			name = cmp.Or(name[:min(len(name), 64)], "unnamed")
		case name != c.Name:
			a.Repaired = append(a.Repaired, fmt.Sprintf("the name %q as %s", event.Shorten(c.Name, 80), name))
		}
		list := []json.RawMessage{c.Args}
		if !bytes.HasPrefix(bytes.TrimSpace(c.Args), []byte("{")) || !json.Valid(c.Args) {
			if objects, how := Arguments(string(c.Args)); objects != nil {
				list = objects
				a.Repaired = append(a.Repaired, "arguments of "+name+": "+how)
			}
		}
		for _, args := range list {
			if !ok {
				unknown[len(calls)] = c.Name
			}
			if inner := unwrapped(args, name, parameters); inner != nil {
				args = inner
				a.Repaired = append(a.Repaired, "arguments of "+name+": an object within an object")
			}
			calls = append(calls, Call{ID: c.ID, Name: name, Args: args})
		}
	}
	a.Calls = calls
	return unknown
}

// unwrapped returns the arguments inside a wrapper object, or nil. The wrapper's keys must not be parameters of the tool. If the tool takes any
// parameter, it must declare the inner ones.
func unwrapped(args json.RawMessage, tool string, parameters json.RawMessage) json.RawMessage {
	var outer, inner map[string]json.RawMessage
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(args, &outer) != nil || json.Unmarshal(parameters, &schema) != nil {
		return nil
	}
	own := func(key string) bool { return schema.Properties[key] != nil }
	if said, _ := json.Marshal(tool); string(outer["name"]) == string(said) && !own("name") {
		delete(outer, "name")
	}
	for key, value := range outer {
		list, _ := Arguments(string(value))
		if len(outer) > 1 || own(key) || len(list) != 1 || key != tool && !slices.Contains([]string{"arguments", "parameters", "input", "args", "params"}, key) {
			return nil
		}
		_ = json.Unmarshal(list[0], &inner) // it is an object
		known := len(inner) > 0
		for key := range inner {
			known = known && own(key)
		}
		if known || string(schema.Additional) == "false" {
			return list[0]
		}
	}
	return nil
}

// storable matches what a tool's name may not hold in a later request (https://platform.openai.com/docs/api-reference/chat/create, tools). Names have at
// most 64 characters.
var storable = sys.Regexp(`[^a-zA-Z0-9_-]`)
