package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/text"
	"hob/tools"
	"hob/tools/edit/patch"
)

// PatchInput is the input of apply_patch.
type PatchInput struct {
	Patch string `json:"patch" jsonschema:"*** Begin Patch … *** End Patch, or a unified diff" min:"1"`
}

// PatchOutput is the output of apply_patch.
type PatchOutput struct {
	Files []Change `json:"files" jsonschema:"what became of each file"`
	Diff  string   `json:"diff" jsonschema:"unified diff; cut when it is long"`
}

// NewPatch builds the tool apply_patch. It reads patches like the apply_patch of OpenAI's Codex
// (github.com/openai/codex, codex-rs/apply-patch), with one difference: either all files change or
// none.
func NewPatch(d Deps) tools.Tool {
	p := patcher{d}
	return tools.NewCheckable[PatchInput, PatchOutput](tools.Spec{
		Name: "apply_patch", Group: "fs", Core: true, Positional: "patch", Example: `"$(cat fix.diff)"`,
		Description: "Add, update, move and delete files by a patch: all or none.",
	}, p.intent, p.run, p.probe)
}

// patcher implements apply_patch.
type patcher struct{ Deps }

// intent resolves the files that the patch names for the permission rules.
func (p patcher) intent(_ context.Context, call tools.Call, in PatchInput) (tools.Intent, error) {
	sections, err := patch.Parse(in.Patch)
	if err != nil {
		return tools.Intent{}, unfit(err)
	}
	var paths []pathArg
	for _, s := range sections {
		paths = append(paths, pathArg{path: s.Path, read: s.Kind == patch.Update})
		if s.Move != "" {
			paths = append(paths, pathArg{path: s.Move})
		}
	}
	return p.intentFor(call, "apply_patch", in, paths, summary("patch"))
}

// run applies the sections in order and then commits all files together.
func (p patcher) run(ctx context.Context, call tools.Call, in PatchInput, intent tools.Intent) (tools.Result, error) {
	sections, err := patch.Parse(in.Patch)
	if err != nil {
		return tools.Result{}, unfit(err)
	}
	s := p.changeSet(call, intent)
	var done []string
	for _, sec := range sections {
		line, err := s.section(sec)
		if err != nil {
			return tools.Result{}, err
		}
		done = append(done, line)
	}
	slices.SortStableFunc(done, func(a, b string) int { return strings.IndexByte("AMD", a[0]) - strings.IndexByte("AMD", b[0]) }) // the order of Codex
	out := PatchOutput{}
	var diffs strings.Builder
	for _, f := range s.order {
		// The old name of a moved file appears with its new one; a file that was added and deleted
		// again has not changed.
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
	out.Diff = truncateDiff(diffs.String())
	return tools.Result{Content: "Success. Updated the following files:\n" + strings.Join(done, "\n"), Data: out}, nil
}

// probe reports whether an interrupted call was carried out.
func (p patcher) probe(_ context.Context, call tools.Call, in PatchInput, _ tools.Intent) (bool, error) {
	return p.wasApplied(call, in)
}

// section applies one section of the patch in memory, and describes it in one line. A later section
// sees the result of an earlier one.
func (s *changeSet) section(sec patch.Section) (string, error) {
	switch sec.Kind {
	case patch.Add:
		f, err := s.open(sec.Path)
		if err != nil {
			return "", err
		}
		f.now, f.exists, f.moved, f.encoding = []byte(sec.Content), true, false, text.Encoding{}
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
	}
	return s.update(sec)
}

// absent is the error of a section whose file does not exist.
func (s *changeSet) absent(sec patch.Section) error {
	return tools.Refuse(tools.NotFound, tools.NearPath(s.Guard, s.call, sec.Path), "%s, line %d of the patch: there is no such file", tools.ShownPath(sec.Path), sec.Line)
}

// update applies the hunks of a section to its file, and moves the file if the section says so.
func (s *changeSet) update(sec patch.Section) (string, error) {
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
	now, err := sec.Apply(string(f.now))
	if err != nil {
		return "", unfit(err)
	}
	f.count += len(sec.Hunks)
	if sec.Move == "" {
		f.now = []byte(now)
		return "M " + tools.ShownPath(sec.Path) + f.called(), nil
	}
	to, err := s.open(sec.Move)
	if err != nil {
		return "", err
	}
	if to == f {
		f.now = []byte(now)
		return "M " + tools.ShownPath(sec.Path), nil
	}
	// A move is a new file with the permissions of the old one, and a removal.
	to.now, to.exists, to.moved, to.from, to.count = []byte(now), true, false, sec.Path, f.count
	to.like, to.origin, to.encoding = f.place.Info, f.now, f.encoding
	f.now, f.exists, f.moved = nil, false, true
	return "M " + tools.ShownPath(sec.Move), nil
}

// unfit refuses a patch that cannot be parsed, or does not fit its files.
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
