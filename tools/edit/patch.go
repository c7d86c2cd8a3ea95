package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/tools"
	"hob/tools/edit/patch"
)

// Patching is what apply_patch takes.
type Patching struct {
	Patch string `json:"patch" jsonschema:"*** Begin Patch … *** End Patch, or a unified diff" min:"1"`
}

// Patched is what apply_patch answers.
type Patched struct {
	Files []Change `json:"files" jsonschema:"what became of each file"`
	Diff  string   `json:"diff" jsonschema:"unified diff; cut when it is long"`
}

// NewPatch makes the tool apply_patch. It agrees with the apply_patch of OpenAI's Codex (github.com/openai/codex,
// codex-rs/apply-patch) on what a patch means, but for this: all files change or none do.
func NewPatch(d Deps) tools.Tool {
	p := patcher{d}
	return tools.NewCheckable[Patching, Patched](tools.Spec{
		Name: "apply_patch", Group: "fs", Core: true, Positional: "patch", Example: `"$(cat fix.diff)"`,
		Description: "Add, update, move and delete files by a patch: all or none.",
	}, p.intent, p.run, p.probe)
}

type patcher struct{ Deps }

func (p patcher) intent(_ context.Context, call tools.Call, in Patching) (tools.Intent, error) {
	sections, err := patch.Parse(in.Patch)
	if err != nil {
		return tools.Intent{}, unfit(err)
	}
	var paths []wish
	for _, s := range sections {
		paths = append(paths, wish{path: s.Path, read: s.Kind == patch.Update})
		if s.Move != "" {
			paths = append(paths, wish{path: s.Move})
		}
	}
	return p.judged(call, "apply_patch", in, paths, summary("patch"))
}

func (p patcher) run(ctx context.Context, call tools.Call, in Patching, intent tools.Intent) (tools.Result, error) {
	sections, err := patch.Parse(in.Patch)
	if err != nil {
		return tools.Result{}, unfit(err)
	}
	s := p.sheet(call, intent)
	var said []string
	for _, sec := range sections {
		line, err := s.section(sec)
		if err != nil {
			return tools.Result{}, err
		}
		said = append(said, line)
	}
	slices.SortStableFunc(said, func(a, b string) int { return strings.IndexByte("AMD", a[0]) - strings.IndexByte("AMD", b[0]) }) // as Codex lists them
	out := Patched{}
	var diffs strings.Builder
	for _, f := range s.order {
		if f.moved || !f.exists && !f.existed {
			continue
		}
		c, diff, err := f.change(ctx)
		if err != nil {
			return tools.Result{}, tools.RefusePath(s.Guard, call, f.given, err)
		}
		out.Files = append(out.Files, c)
		diffs.WriteString(diff)
	}
	if err := s.commit(ctx, in); err != nil {
		return tools.Result{}, err
	}
	out.Diff = cutDiff(diffs.String())
	return tools.Result{Content: "Success. Updated the following files:\n" + strings.Join(said, "\n"), Data: out}, nil
}

func (p patcher) probe(_ context.Context, call tools.Call, in Patching, _ tools.Intent) (bool, error) {
	return p.took(call, in)
}

// section carries one section out on the sheet, and says in a line what it did. A later section sees what an earlier did.
func (s *sheet) section(sec patch.Section) (string, error) {
	switch sec.Kind {
	case patch.Add:
		f, err := s.open(sec.Path)
		if err != nil {
			return "", err
		}
		f.now, f.exists, f.moved = []byte(sec.Content), true, false
		return "A " + tools.ShownPath(sec.Path), nil
	case patch.Delete:
		f, err := s.open(sec.Path)
		if err == nil && !f.exists {
			err = s.absent(sec)
		}
		if err != nil {
			return "", err
		}
		f.now, f.exists = nil, false
		return "D " + tools.ShownPath(sec.Path), nil
	default:
		return s.update(sec)
	}
}

// absent is the error of a section whose file is not there.
func (s *sheet) absent(sec patch.Section) error {
	return tools.Refuse(tools.NotFound, tools.NearPath(s.Guard, s.call, sec.Path), "%s, line %d of the patch: there is no such file", tools.ShownPath(sec.Path), sec.Line)
}

func (s *sheet) update(sec patch.Section) (string, error) {
	f, err := s.open(sec.Path)
	if err == nil && !f.exists {
		err = s.absent(sec)
	}
	if err == nil {
		f, err = s.existing(sec.Path)
	}
	if err != nil {
		return "", err
	}
	if !utf8.Valid(f.now) {
		return "", tools.Refuse(tools.Validation, "edit replaces bytes in such files", "%s is not UTF-8 text", tools.ShownPath(sec.Path))
	}
	text, err := sec.Apply(string(f.now))
	if err != nil {
		return "", unfit(err)
	}
	f.count += len(sec.Hunks)
	if sec.Move == "" {
		f.now = []byte(text)
		return "M " + tools.ShownPath(sec.Path), nil
	}
	to, err := s.open(sec.Move)
	if err != nil {
		return "", err
	}
	if to == f {
		f.now = []byte(text)
		return "M " + tools.ShownPath(sec.Path), nil
	}
	to.now, to.exists, to.moved, to.from, to.count = []byte(text), true, false, sec.Path, f.count
	to.like, to.origin = f.place.Info, f.now
	f.now, f.exists, f.moved = nil, false, true
	return "M " + tools.ShownPath(sec.Move), nil
}

// unfit is the refusal of a patch that cannot be read, or does not fit its files.
func unfit(err error) error {
	e, ok := errors.AsType[*patch.Error](err)
	if !ok {
		return fmt.Errorf("apply patch: %w", err)
	}
	if e.Miss {
		return tools.Refuse(tools.NotFound, e.Hint, "%s", e)
	}
	return tools.Refuse(tools.Validation, e.Hint, "%s", e)
}
