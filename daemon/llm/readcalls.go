package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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

// ReadCalls gives each call the name of the tool that it means and one JSON object as its arguments, where exactly one reading is possible. is
// reports whether a tool has exactly this name, and names lists all tools. unknown holds the names that mean no tool, by the place of the call.
func (a *Answer) ReadCalls(is func(name string) bool, names func() []string) (unknown map[int]string) {
	names = sync.OnceValue(names)
	unknown = map[int]string{}
	var calls []Call
	for _, c := range a.Calls {
		name, ok := c.Name, is(c.Name)
		if !ok {
			name, ok = ToolName(names(), name)
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
			calls = append(calls, Call{ID: c.ID, Name: name, Args: args})
		}
	}
	a.Calls = calls
	return unknown
}

// storable matches what a tool's name may not hold in a later request (https://platform.openai.com/docs/api-reference/chat/create, tools). Names have at
// most 64 characters.
var storable = sys.Regexp(`[^a-zA-Z0-9_-]`)
