// Package skills holds the tools about hob's abilities: skill (instructions that the owner has accepted) and capabilities_refresh (a
// summary for the prompt). They read accepted skills and write CAPABILITIES.md. They never accept a skill.
package skills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/text"
	"hob/tools"
)

const group = "skills"

// Skill is a skill that the owner has accepted.
type Skill struct {
	Name        string   `json:"name" jsonschema:"its name"`
	Description string   `json:"description" jsonschema:"when it is of use"`
	Tools       []string `json:"allowed_tools,omitempty" jsonschema:"the only tools that a turn may call after it runs; missing: all"` // nil: all
	Files       []string `json:"files,omitempty" jsonschema:"its files besides SKILL.md"`
}

// Accepted gives the skills as they were when the owner accepted them.
type Accepted interface {
	// Accepted lists them by name.
	Accepted() []Skill
	// Body returns a skill with the text of its SKILL.md after the front matter. The error for an unknown name is ErrUnknown.
	Body(name string) (Skill, string, error)
}

// ErrUnknown is the name of a skill that does not exist or is not accepted.
var ErrUnknown = errors.New("there is no such skill")

// Input is the input of skill.
type Input struct {
	Action string `json:"action" jsonschema:"verb" enum:"list,read,run"`
	Name   string `json:"name,omitempty" jsonschema:"skill" max:"64"`
	Args   string `json:"args,omitempty" jsonschema:"text" max:"8000"`
}

// Output is the output of skill.
type Output struct {
	Skills       []Skill `json:"skills,omitempty" jsonschema:"of list: all; else the one"`
	Instructions string  `json:"instructions,omitempty" jsonschema:"of read and run"`
}

// New builds the tool skill. Only the owner's turns may use it. run narrows the turn to the skill's allowed-tools.
func New(from Accepted) tools.Tool {
	t := skillTool{from}
	return tools.New[Input, Output](tools.Spec{
		Name: "skill", Group: group, Core: true, ReadOnly: true, Positional: "action", Example: "list",
		Description: "The owner's skills: list, read or run one.",
	}, t.intent, t.run)
}

type skillTool struct{ from Accepted }

// intent needs no scopes: a skill gives no rights, and the owner has accepted its text.
func (t skillTool) intent(_ context.Context, call tools.Call, in Input) (tools.Intent, error) {
	if in.Action != "list" && in.Name == "" {
		return tools.Intent{}, tools.Refuse(tools.Validation, "skill with action list shows the names", "name: it is missing")
	}
	if in.Action != "run" && in.Args != "" {
		return tools.Intent{}, tools.Refuse(tools.Validation, "use action run", "args: only run takes arguments")
	}
	raw, err := tools.CanonicalCall("skill", in)
	i := tools.Intent{Effect: tools.Read, Summary: strings.TrimSpace("skill: " + in.Action + " " + in.Name), Canonical: raw}
	if call.Trust != event.Owner {
		i.Denied = "only the owner uses skills"
	}
	return i, err
}

func (t skillTool) run(_ context.Context, call tools.Call, in Input, _ tools.Intent) (tools.Result, error) {
	if call.Trust != event.Owner {
		return tools.Fail(tools.Denied, "", "only the owner uses skills"), nil
	}
	if in.Action == "list" {
		return t.list()
	}
	if in.Action == "run" {
		u, err := Use(t.from, in.Name, in.Args)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Content: u.Text, Data: Output{Skills: []Skill{u.Skill}, Instructions: u.Instructions}, Skill: u.Narrowing()}, nil
	}
	s, body, err := find(t.from, in.Name)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Content: heading(s) + body, Data: Output{Skills: []Skill{s}, Instructions: body}}, nil
}

func (t skillTool) list() (tools.Result, error) {
	all := t.from.Accepted()
	if len(all) == 0 {
		return tools.Result{Content: "there are no skills that the owner has accepted", Data: Output{}}, nil
	}
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Description)
	}
	return tools.Result{Content: strings.TrimSuffix(b.String(), "\n"), Data: Output{Skills: all}}, nil
}

// Used is a skill with arguments in its places.
type Used struct {
	Skill        Skill
	Instructions string // the body with the arguments
	Text         string // Instructions with a heading, for the model
}

// Narrowing names the remaining tools; nil means all.
func (u Used) Narrowing() *event.Skill {
	n := &event.Skill{Name: u.Skill.Name}
	if u.Skill.Tools != nil {
		n.Only = append([]string{}, u.Skill.Tools...)
	}
	return n
}

// Use fills a skill with arguments.
func Use(from Accepted, name, args string) (Used, error) {
	s, body, err := find(from, name)
	if err != nil {
		return Used{}, err
	}
	filled, err := Fill(s.Name, body, args)
	return Used{s, filled, heading(s) + filled}, err
}

// find reads a skill. For an unknown name it suggests the nearest one.
func find(from Accepted, name string) (Skill, string, error) {
	s, body, err := from.Body(name)
	if !errors.Is(err, ErrUnknown) {
		return s, body, err
	}
	var names []string
	for _, one := range from.Accepted() {
		names = append(names, one.Name)
	}
	hint := "skill with action list shows those that the owner has accepted"
	if near := tools.Nearest(name, names, 3); len(near) > 0 {
		hint = text.DidYouMean(near)
	}
	return s, "", tools.Refuse(tools.NotFound, hint, "there is no accepted skill %q", name)
}

// heading says where the files of a skill are, and which tools remain while it runs.
func heading(s Skill) string {
	text := "[skill " + s.Name + "]"
	if len(s.Files) > 0 {
		text += "\nIts files are in skills/" + s.Name + ": " + strings.Join(s.Files[:min(len(s.Files), 30)], ", ")
		if n := len(s.Files) - 30; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		if slices.ContainsFunc(s.Files, func(f string) bool { return strings.HasPrefix(f, "scripts/") }) {
			text += ". Scripts run in the sandbox without network"
		}
		text += "."
	}
	if s.Tools != nil {
		text += "\nWhile it runs, only these tools may be called: " + strings.Join(append(slices.Clone(s.Tools), "skill"), ", ") + "."
	}
	return text + "\n\n"
}
