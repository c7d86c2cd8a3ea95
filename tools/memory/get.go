package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/daemon/text"
	"hob/tools"
)

// Limits of memory_get.
const (
	mostLines = 1000
	mostShown = 32 << 10 // bytes
	mostWide  = 2000     // bytes per line

	mostAround = 100 // bytes reserved for the note after the lines
)

// GetInput is the input of memory_get.
type GetInput struct {
	Path  string `json:"path" jsonschema:"MEMORY.md or memory/**/*.md" min:"1"`
	From  int    `json:"from,omitempty" jsonschema:"first line, from 1" min:"1" default:"1"`
	Lines int    `json:"lines,omitempty" jsonschema:"default 40" min:"1" max:"1000" default:"40"`
}

// GetOutput is the output of memory_get.
type GetOutput struct {
	Path  string `json:"path" jsonschema:"the file, in the workspace"`
	First int    `json:"first_line" jsonschema:"from 1; 0: the file is empty"`
	Last  int    `json:"last_line" jsonschema:"the last line shown"`
	Total int    `json:"total_lines" jsonschema:"lines in the file"`
	Cut   int    `json:"cut" jsonschema:"lines shown only in part"`
	Text  string `json:"text" jsonschema:"the lines, without numbers"`
}

// NewGet builds the tool memory_get, which reads lines of a memory file. Its paths are relative to
// the workspace, whatever the caller's working folder is.
func NewGet(g *fsguard.Guard) tools.Tool {
	s := getter{store{g}}
	return tools.New[GetInput, GetOutput](tools.Spec{
		Name: "memory_get", Group: "memory", Core: true, ReadOnly: true, SelfPaging: true, Positional: "path", Example: "MEMORY.md --from 1 --lines 20",
		Description: "Read lines of a memory file.",
	}, s.intent, s.run)
}

// getter implements memory_get.
type getter struct{ store }

// place resolves a path and refuses one that is not a memory file.
func (s getter) place(path string) (fsguard.Place, string, error) {
	space := s.guard.Workspace()
	p, err := s.guard.Resolve(space, path)
	if err != nil {
		return p, "", refusal(shown(path), err)
	}
	// Either the given name or the place that it leads to must be a memory file.
	name, ok := s.nameOf(path)
	if !ok {
		name, ok = s.nameOf(p.Path)
	}
	switch {
	case !ok:
		return p, "", tools.Refuse(tools.Validation, "the tool read reads other files", "%s is not a file of the memory: want MEMORY.md or memory/**/*.md", shown(path))
	case p.Area == fsguard.State:
		return p, "", refusal(shown(path), fsguard.ErrState)
	case !p.Exists():
		return p, "", tools.Refuse(tools.NotFound, s.nearby(name), "there is no %s", shown(name))
	}
	return p, name, nil
}

// nearby suggests memory files with similar names.
func (s getter) nearby(name string) string {
	names := slices.DeleteFunc(index.Names(s.guard), func(n string) bool { return n == name })
	if near := tools.Nearest(name, names, 5); len(near) > 0 {
		return text.DidYouMean(near)
	}
	return "memory_search shows what there is"
}

// intent resolves the file for the permission rules.
func (s getter) intent(_ context.Context, _ tools.Call, in GetInput) (tools.Intent, error) {
	p, name, err := s.place(in.Path)
	if err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Path string `json:"path"`
		ID   string `json:"path_id"`
	}{"memory_get", p.Path, p.ID()})
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{tools.PathOf(p, false)},
		Summary: "read " + shown(name), Canonical: canonical, Keep: p,
	}, err
}

// run shows the requested lines with their numbers.
func (s getter) run(_ context.Context, _ tools.Call, in GetInput, intent tools.Intent) (tools.Result, error) {
	p, name, err := s.place(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	if judged, ok := intent.Keep.(fsguard.Place); ok {
		p = judged // the place that the permission rules have seen, even if the path now leads elsewhere
	} else if len(intent.Paths) > 0 && intent.Paths[0].Path != p.Path {
		return tools.Fail(tools.Conflict, "call the tool again", "%s now leads to %s", shown(in.Path), shown(p.Path)), nil
	}
	text, cut, err := s.content(p)
	if err != nil {
		return tools.Result{}, refusal(shown(in.Path), err)
	}
	// Line numbers at the end of the file would be unknown.
	if cut {
		return tools.Fail(tools.Validation, "the tool read reads it; let it become smaller", "%s is larger than %d bytes", shown(name), mostOfFile), nil
	}
	out := GetOutput{Path: name}
	if text == "" {
		return tools.Result{Content: name + " is empty", Data: out}, nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if out.Total = len(lines); in.From > out.Total {
		return tools.Fail(tools.Validation, fmt.Sprintf("its last line is %d", out.Total), "%s has only %s", name, count(out.Total, "line")), nil
	}
	return out.show(lines[in.From-1:], in, "from", 1), nil
}

// show adds the requested lines that fit to the answer. The parameter that continues is named by its name and its number for the first line.
func (p GetOutput) show(lines []string, in GetInput, next string, base int) tools.Result {
	p.First, p.Last = in.From, in.From-1
	var numbered strings.Builder
	var plain []string
	for _, line := range lines[:min(in.Lines, mostLines, len(lines))] {
		if len(line) > mostWide {
			line = strings.ToValidUTF8(line[:mostWide], "") + fmt.Sprintf("… [line cut: %d bytes more]", len(line)-mostWide)
			p.Cut++
		}
		if numbered.Len()+len(line) > mostShown-mostAround {
			break
		}
		p.Last++
		fmt.Fprintf(&numbered, "%6d\t%s\n", p.Last, line)
		plain = append(plain, line)
	}
	p.Text = strings.Join(plain, "\n")
	if p.Last < p.Total {
		fmt.Fprintf(&numbered, "(%d of %s; continue with %s=%d)", p.Last-p.First+1, count(p.Total, "line"), next, p.Last+base)
	} else {
		numbered.WriteString("(end of file)")
	}
	return tools.Result{Content: numbered.String(), Data: p}
}
