package builtin

import (
	"encoding/json"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// The tool of file watches, and the one that leads to it where a request does not carry it.
const (
	toolWatch   = "watch"
	toolCatalog = "tool"
)

// watches reads "watch PATH: PROMPT" and everything about watches that exist.
func watches(text string) (plan, bool) {
	if is(text, "watches", "list watches", "list my watches", "show watches") {
		return call(toolWatch, "action", "list"), true
	}
	for _, c := range []struct{ word, action string }{{"pause", "pause"}, {"resume", "resume"}, {"delete", "remove"}, {"remove", "remove"}} {
		for _, words := range [][]string{{c.word, "watch"}, {c.word, "the", "watch"}} {
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
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		if rest[i] != ':' || i+1 < len(rest) && !spaceAt(rest, i+1) {
			continue
		}
		path, prompt := filePath(rest[:i]), strings.TrimSpace(rest[i+1:])
		switch {
		case !strings.ContainsAny(path, "./~*\\"):
			return plan{}, false // "watch this: …"
		case prompt == "":
			return plan{say: "What shall I do then? Write it behind the colon, for example: watch " + path + ": say: it has changed"}, true
		}
		return call(toolWatch, "action", "add", "paths", []string{path}, "prompt", action(prompt)), true
	}
	return plan{}, false
}

// reach makes a plan's call in the way in which its tool can be reached here; false: it cannot.
func (s *state) reach(p plan) (llm.Call, bool) {
	if p.tool == toolWatch && !s.tools[toolWatch] {
		p = call(toolCatalog, "action", "call", "name", p.tool, "arguments", p.args)
	}
	return llm.Call{Name: p.tool, Args: p.args}, p.tool != "" && s.tools[p.tool]
}

func (s *state) reachable(p plan) bool {
	_, ok := s.reach(p)
	return ok
}

// reached is the call that one through the catalog stands for.
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

// named is what pauses, resumes or removes a job or a watch.
type named struct {
	Action string `json:"action"`
	Name   string `json:"name"`
}

// again is the call that looks among the watches for what was no job: people say "pause papers" of both.
func (s *state) again(msg llm.Message) (llm.Call, bool) {
	c, asked := s.missed(msg)
	if !asked {
		return llm.Call{}, false
	}
	return s.reach(call(toolWatch, "action", c.Action, "name", c.Name))
}

// missed is what a job was asked for that there is not; false: the message tells of something else.
func (s *state) missed(msg llm.Message) (n named, ok bool) {
	c := s.calls[msg.CallID]
	if msg.Role != llm.ToolRole || !msg.IsError || c.Name != toolCron || json.Unmarshal(c.Args, &n) != nil {
		return n, false
	}
	gone := strings.HasPrefix(event.TextOf(msg.Parts), "NOT_FOUND: there is no job ")
	return n, gone && (n.Action == "pause" || n.Action == "resume" || n.Action == "remove")
}

// looked reports whether the watches were asked, too, for the job that there was not.
func (s *state) looked(n named) bool {
	for _, c := range s.calls {
		var w named
		if c = reached(c); c.Name == toolWatch && json.Unmarshal(c.Args, &w) == nil && w == n {
			return true
		}
	}
	return false
}

// nowhere is the name that was asked for among the jobs and then among the watches, and that neither has; false: the message tells of something else.
func (s *state) nowhere(msg llm.Message) (string, bool) {
	var n named
	c := reached(s.calls[msg.CallID])
	if msg.Role != llm.ToolRole || !msg.IsError || c.Name != toolWatch || json.Unmarshal(c.Args, &n) != nil || !strings.HasPrefix(event.TextOf(msg.Parts), "NOT_FOUND: there is no watch ") {
		return "", false
	}
	for _, c := range s.calls {
		var j named
		if c.Name == toolCron && json.Unmarshal(c.Args, &j) == nil && j == n {
			return n.Name, true
		}
	}
	return "", false
}
