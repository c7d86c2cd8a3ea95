package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/text"
)

// CatalogTool is the name of the tool that finds and calls the tools that a request to the model does not
// contain. The dispatcher treats a call of it with action "call" as the inner call, for the permission
// rules as well as for the run.
const CatalogTool = "tool"

// Called returns what a call runs: the tool and the arguments of the inner call if it is one of CatalogTool, else its own.
func Called(tool string, args json.RawMessage) (string, json.RawMessage) {
	if name, inner, ok := Inner(args); ok && tool == CatalogTool {
		return name, inner
	}
	return tool, args
}

// Inner returns the inner call in valid arguments of CatalogTool; ok is false for a search or a
// description.
func Inner(args json.RawMessage) (name string, inner json.RawMessage, ok bool) {
	var in struct {
		Action    string          `json:"action"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(args, &in); err != nil || in.Action != "call" || in.Name == "" || in.Name == CatalogTool {
		return "", nil, false
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	return in.Name, in.Arguments, true
}

// mostFound limits the tools in the answer to a search. An empty query lists all tools.
const mostFound = 12

// Characters of the descriptions in a list of all tools.
const (
	listWidth  = 1800 // for all together
	leastWidth = 12   // minimum for one; less would say nothing
)

// foundWidth limits the description of a tool in the answer to a search, in characters. hob's own are shorter; those of MCP servers need not be.
const foundWidth = 300

// CatalogInput is the input of the tool.
type CatalogInput struct {
	Action    string         `json:"action" jsonschema:"what to do" enum:"search,describe,call"`
	Query     string         `json:"query,omitempty" jsonschema:"search: words; empty lists all"`
	Server    string         `json:"server,omitempty" jsonschema:"only of this MCP server"`
	Name      string         `json:"name,omitempty" jsonschema:"describe, call: the tool"`
	Arguments map[string]any `json:"arguments,omitempty" jsonschema:"call: its arguments"`
}

// CatalogOutput is the output of the tool.
type CatalogOutput struct {
	Tools []CatalogEntry `json:"tools" jsonschema:"what was found, best first"`
}

// CatalogEntry is one tool.
type CatalogEntry struct {
	Name        string          `json:"name" jsonschema:"its name"`
	Group       string          `json:"group" jsonschema:"what kind of tool it is"`
	Description string          `json:"description" jsonschema:"what it does"`
	Parameters  json.RawMessage `json:"parameters,omitempty" jsonschema:"JSON Schema of its arguments"`
}

// NewCatalog builds the tool that leads to all others. A request to the model contains the core tools only, so that it stays short
// and its prefix never changes. The model searches for other tools, has them described and calls them through this one; the
// dispatcher replaces such a call by the inner call.
//
// specs are the tools that it leads to, in a fixed order. core are the tools
// that most requests contain; it only describes those.
func NewCatalog(specs []Spec, core ...Spec) Tool {
	c := catalog{specs, core}
	return New[CatalogInput, CatalogOutput](Spec{
		Name: CatalogTool, Group: "catalog", Core: true, ReadOnly: true, Positional: "action", Example: "search --query calendar",
		Description: "More tools exist: search for one by task, describe it, call it.",
	}, c.intent, c.run)
}

// catalog implements the tool.
type catalog struct{ specs, core []Spec }

// intent needs no scopes: a search or description reads only the list of tools, and a call has its
// own intent.
func (c catalog) intent(_ context.Context, _ Call, in CatalogInput) (Intent, error) {
	switch {
	case in.Action != "search" && in.Name == "":
		return Intent{}, Refuse(Validation, "action search finds names", "tool %s: name: missing", in.Action)
	case in.Name == CatalogTool:
		return Intent{}, Refuse(Validation, "name the tool that you mean", "tool: it cannot call itself")
	}
	return Intent{Effect: Read, Summary: strings.TrimSpace("tool " + in.Action + " " + in.Query + in.Name)}, nil
}

// run answers a search or a description.
func (c catalog) run(_ context.Context, call Call, in CatalogInput, _ Intent) (Result, error) {
	switch in.Action {
	case "describe":
		return c.describe(in)
	case "call": // the dispatcher has replaced every call of a known tool by the inner call
		return Fail(NotFound, c.nearest(in.Name), "there is no tool named %q", in.Name), nil
	}
	if call.Few {
		c.specs = slices.Concat(c.specs, c.core)
	}
	return c.search(in)
}

// describe returns the full description of one tool.
func (c catalog) describe(in CatalogInput) (Result, error) {
	for _, s := range slices.Concat(c.specs, c.core) {
		if s.Name == in.Name {
			text := fmt.Sprintf("%s: %s\nparameters: %s", s.Name, s.Description, s.Parameters)
			return Result{Content: text, Data: CatalogOutput{[]CatalogEntry{{s.Name, s.Group, s.Description, s.Parameters}}}}, nil
		}
	}
	return Fail(NotFound, c.nearest(in.Name), "there is no tool named %q", in.Name), nil
}

// nearest suggests similar names.
func (c catalog) nearest(name string) string {
	var names []string
	for _, s := range c.specs {
		names = append(names, s.Name)
	}
	if near := Nearest(name, names, 3); len(near) > 0 {
		return text.DidYouMean(near)
	}
	return "action search finds names"
}

// search lists the tools that fit a query, or all of them.
func (c catalog) search(in CatalogInput) (Result, error) {
	words := terms(in.Query)
	list := c.rank(in.Server, words)
	more, width := 0, foundWidth
	if len(words) == 0 { // an empty query lists all, with shorter descriptions the more there are
		width = listWidth / max(len(list), 1)
	} else {
		more = max(len(list)-mostFound, 0)
	}
	list = list[:len(list)-more]
	data := CatalogOutput{Tools: []CatalogEntry{}}
	var b strings.Builder
	for _, s := range list {
		b.WriteString(line(s, width))
		data.Tools = append(data.Tools, CatalogEntry{Name: s.Name, Group: s.Group, Description: s.Description})
	}
	switch {
	case len(list) == 0:
		b.WriteString("no tool fits; an empty query lists all")
	case more > 0:
		fmt.Fprintf(&b, "(%d more; narrow the query)", more)
	default:
		b.WriteString("(describe one for its parameters)")
	}
	return Result{Content: b.String(), Data: data}, nil
}

// line formats a tool with at most width characters of its description, or with none if there are
// too few.
func line(s Spec, width int) string {
	about := []rune(s.Description)
	switch {
	case len(about) <= width:
		return s.Name + ": " + s.Description + "\n"
	case width < leastWidth:
		return s.Name + "\n"
	}
	return s.Name + ": " + strings.TrimRight(string(about[:width-1]), " ") + "…\n"
}

// terms splits a query into words.
func terms(query string) []string {
	return strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return r == ' ' || r == ',' || r == '_' || r == '-' || r == '.' })
}

// rank sorts the tools, of one server or of all, by how much of the query occurs in their names,
// groups and descriptions. It drops those with no match.
func (c catalog) rank(server string, words []string) []Spec {
	type scored struct {
		spec  Spec
		score int
	}
	var list []scored
	for _, s := range c.specs {
		if server != "" && !strings.HasPrefix(s.Name, server+"__") {
			continue
		}
		score := 0
		for _, w := range words {
			switch w = stem(w); {
			case strings.Contains(strings.ToLower(s.Name), w):
				score += 4
			case strings.Contains(strings.ToLower(s.Group), w):
				score += 2
			case strings.Contains(strings.ToLower(s.Description), w) || strings.Contains(strings.ToLower(string(s.Parameters)), w):
				score++
			}
		}
		if score > 0 || len(words) == 0 {
			list = append(list, scored{s, score})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	specs := make([]Spec, len(list))
	for i, s := range list {
		specs[i] = s.spec
	}
	return specs
}

// stem removes the ending of a plural.
func stem(w string) string {
	if len(w) > 3 {
		return strings.TrimSuffix(w, "s")
	}
	return w
}
