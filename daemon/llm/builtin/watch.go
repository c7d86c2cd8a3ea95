package builtin

import (
	"encoding/json"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// The file watch tool, and the catalog tool that reaches it when the request does not include it.
const (
	toolWatch   = "watch"
	toolCatalog = "tool"
)

// watches parses "watch PATH: PROMPT" and all commands about existing watches.
func watches(text string) (plan, bool) {
	for _, c := range []struct{ word, action string }{{"pause", "pause"}, {"resume", "resume"}, {"delete", "remove"}, {"remove", "remove"}, {"cancel", "remove"}, {"stop", "remove"}} {
		// Without the word "watch", the rule jobs takes the text, and again tries a watch if no job has the name.
		for _, words := range [][]string{{c.word, "watch"}, {c.word, "the", "watch"}, {c.word, "my", "watch"}} {
			rest, ok := after(text, words...)
			if name := jobName(rest); ok && name != "" {
				return call(toolWatch, "action", c.action, "name", name), true
			}
		}
	}
	rest, ok := after(text, "watch")
	if !ok {
		return plan{}, false
	}
	// The path ends at the first colon before white space, because a Windows path has a colon of its own.
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		if rest[i] != ':' || i+1 < len(rest) && !spaceAt(rest, i+1) {
			continue
		}
		path, prompt := filePath(rest[:i]), strings.TrimSpace(rest[i+1:])
		switch {
		case !strings.ContainsAny(path, "./~*\\"):
			return plan{}, false // "watch this: …"
		case prompt == "":
			return plan{say: "What shall I do then? Write it after the colon, for example: watch " + path + ": say: it has changed"}, true
		}
		return call(toolWatch, "action", "add", "paths", []string{path}, "prompt", action(prompt)), true
	}
	return plan{}, false
}

// reach returns the call for a plan, through the catalog if necessary. It returns false when the tool is not available.
func (s *state) reach(p plan) (llm.Call, bool) {
	if deferred(p.tool) && !s.tools[p.tool] {
		p = call(toolCatalog, "action", "call", "name", p.tool, "arguments", p.args)
	}
	return llm.Call{Name: p.tool, Args: p.args}, p.tool != "" && s.tools[p.tool]
}

// deferred reports whether a tool may be missing from the request and still be reachable through the catalog tool.
func deferred(tool string) bool { return tool == toolWatch || tool == toolForget || tool == toolTasks }

// reachable reports whether the tool of a plan can be called, directly or through the catalog.
func (s *state) reachable(p plan) bool {
	_, ok := s.reach(p)
	return ok
}

// reached returns the call inside a catalog call; other calls are returned unchanged.
func reached(c llm.Call) llm.Call {
	var in struct {
		Action    string          `json:"action"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if c.Name != toolCatalog || json.Unmarshal(c.Args, &in) != nil || in.Action != "call" {
		return c
	}
	return llm.Call{ID: c.ID, Name: in.Name, Args: in.Arguments}
}

// named are the arguments that pause, resume or remove a job or a watch.
type named struct {
	Action string `json:"action"`
	Name   string `json:"name"`
}

// again returns a second call, for a watch, when no job has the name: people say "pause papers" for both.
func (s *state) again(msg llm.Message) (llm.Call, bool) {
	c, asked := s.missed(msg)
	if !asked {
		return llm.Call{}, false
	}
	return s.reach(call(toolWatch, "action", c.Action, "name", c.Name))
}

// missed returns the arguments of a call about a job that does not exist. It returns false for any other message.
func (s *state) missed(msg llm.Message) (n named, ok bool) {
	c := s.calls[msg.CallID]
	if msg.Role != llm.ToolRole || !msg.IsError || c.Name != toolCron || json.Unmarshal(c.Args, &n) != nil {
		return n, false
	}
	gone := strings.HasPrefix(event.TextOf(msg.Parts), "NOT_FOUND: there is no job ")
	return n, gone && (n.Action == "pause" || n.Action == "resume" || n.Action == "remove")
}

// looked reports whether a watch with the same name was tried, too.
func (s *state) looked(n named) bool {
	for _, c := range s.calls {
		var w named
		if c = reached(c); c.Name == toolWatch && json.Unmarshal(c.Args, &w) == nil && w == n {
			return true
		}
	}
	return false
}

// nowhere returns a name that belongs to no job and no watch, after both were tried. It returns false for any other message.
func (s *state) nowhere(msg llm.Message) (string, bool) {
	var n named
	c := reached(s.calls[msg.CallID])
	if msg.Role != llm.ToolRole || !msg.IsError || c.Name != toolWatch || json.Unmarshal(c.Args, &n) != nil || !strings.HasPrefix(event.TextOf(msg.Parts), "NOT_FOUND: there is no watch ") {
		return "", false
	}
	// The name counts as unknown only if the same action was tried on a job before.
	for _, c := range s.calls {
		var j named
		if c.Name == toolCron && json.Unmarshal(c.Args, &j) == nil && j == n {
			return n.Name, true
		}
	}
	return "", false
}
