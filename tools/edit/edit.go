// Package edit holds the tools that change parts of files: edit (exact replacements), apply_patch
// and notebook_edit.
//
// All three work the same way. The intent resolves the paths and records what each file contains.
// The run loads the files into a changeSet, which refuses files that changed since the intent or
// since the session last read them. It changes them in memory and commits them through
// commitFiles: either all files of a call change or none, even if hob is killed in between. Line
// endings, byte order marks and permission bits stay as they are.
//
// The tools reach files only through the path guard, and never decide about permission.
package edit

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/edit/patch"
)

// Deps holds the dependencies of the tools.
type Deps struct {
	Guard   *fsguard.Guard
	Seen    Seen
	Journal string // a folder in hob's state; created when needed
}

// Seen remembers how each file looked when a session last read or wrote it.
type Seen interface {
	// Changed reports whether a file differs from what the session last saw. It returns false if
	// the session never saw it.
	Changed(g *fsguard.Guard, session int64, p fsguard.Place) (bool, error)
	// Wrote records what the session has just written. For a file over 4 MB data may be only its
	// beginning, at least 4 MB + 1 byte.
	Wrote(session int64, path string, info iofs.FileInfo, data []byte)
	// Forget drops what the session knows about a removed file.
	Forget(session int64, path string)
}

// Replacement is one entry in the list of edit.
type Replacement struct {
	Path       string `json:"path" jsonschema:"file" min:"1"`
	OldText    string `json:"old_text" jsonschema:"text to find" min:"1"`
	NewText    string `json:"new_text" jsonschema:"text to put there"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"everywhere"`
}

// EditInput is the input of edit: either one replacement or a list.
type EditInput struct {
	Path       string        `json:"path,omitempty" jsonschema:"file"`
	OldText    string        `json:"old_text,omitempty" jsonschema:"text that stands exactly once"`
	NewText    *string       `json:"new_text,omitempty" jsonschema:"text to put there"`
	ReplaceAll bool          `json:"replace_all,omitempty" jsonschema:"everywhere"`
	Edits      []Replacement `json:"edits,omitempty" jsonschema:"several; all or none" max:"500"`
}

// EditOutput is the output of edit.
type EditOutput struct {
	Files        []Change `json:"files" jsonschema:"the changed files"`
	Replacements int      `json:"replacements" jsonschema:"places changed, in all files"`
	Diff         string   `json:"diff" jsonschema:"unified diff; cut when it is long"`
}

// Change describes what happened to one file.
type Change struct {
	Path         string `json:"path" jsonschema:"file, links resolved"`
	Action       string `json:"action" jsonschema:"added, modified, deleted or moved"`
	From         string `json:"from,omitempty" jsonschema:"of a moved file: where it was"`
	Replacements int    `json:"replacements,omitempty" jsonschema:"places changed"`
	Added        int    `json:"added" jsonschema:"lines that came"`
	Removed      int    `json:"removed" jsonschema:"lines that went"`
}

// NewEdit builds the tool edit: exact replacements in files.
func NewEdit(d Deps) tools.Tool {
	e := editor{d}
	return tools.NewCheckable[EditInput, EditOutput](tools.Spec{
		Name: "edit", Group: "fs", Core: true, Positional: "path", Example: "notes.md --old_text milk --new_text cream",
		Description: "Replace text in files: path, old_text and new_text, or edits. Answers with a diff.",
	}, e.intent, e.run, e.probe)
}

// editor implements edit.
type editor struct{ Deps }

// intent resolves the files of a call for the permission rules.
func (e editor) intent(_ context.Context, call tools.Call, in EditInput) (tools.Intent, error) {
	list, err := in.list()
	if err != nil {
		return tools.Intent{}, err
	}
	var paths []pathArg
	for _, r := range list {
		paths = append(paths, pathArg{path: r.Path, read: true})
	}
	return e.intentFor(call, "edit", in, paths, summary("edit"))
}

// list returns the replacements of either form of input, or refuses an incomplete or mixed one.
func (in EditInput) list() ([]Replacement, error) {
	single := in.Path != "" || in.OldText != "" || in.NewText != nil
	switch {
	case single && len(in.Edits) > 0:
		return nil, tools.Refuse(tools.Validation, "put everything into edits", "edit: edits cannot be combined with path, old_text or new_text")
	case len(in.Edits) > 0:
		return in.Edits, nil
	}
	var missing []string
	if in.Path == "" {
		missing = append(missing, "path: missing (a string)")
	}
	if in.OldText == "" {
		missing = append(missing, "old_text: missing (a string that is not empty)")
	}
	if in.NewText == nil {
		missing = append(missing, "new_text: missing (a string)")
	}
	if len(missing) > 0 {
		return nil, tools.Refuse(tools.Validation, "write makes whole files", "edit: %s", strings.Join(missing, "; "))
	}
	return []Replacement{{in.Path, in.OldText, *in.NewText, in.ReplaceAll}}, nil
}

// run makes the replacements in order, so that a later one sees the result of an earlier one, and
// then commits them together.
func (e editor) run(ctx context.Context, call tools.Call, in EditInput, intent tools.Intent) (tools.Result, error) {
	list, err := in.list()
	if err != nil {
		return tools.Result{}, err
	}
	// All replacements happen in memory first. Nothing is written if one of them does not fit.
	s := e.changeSet(call, intent)
	defer s.close()
	s.long = true
	total := 0
	for i, r := range list {
		f, err := s.existing(r.Path)
		if err != nil {
			return tools.Result{}, err
		}
		n, err := f.replace(ctx, r)
		if err != nil {
			return tools.Result{}, s.mismatch(err, f, r, i, len(list))
		}
		f.count, total = f.count+n, total+n
	}
	out := EditOutput{Replacements: total}
	var head, diffs strings.Builder
	// A diff that fails must fail the call before the commit, while no file has changed.
	for _, f := range s.order {
		c, diff, err := f.change(ctx)
		if err != nil {
			return tools.Result{}, tools.RefusePath(s.Guard, call, f.given, err)
		}
		out.Files = append(out.Files, c)
		fmt.Fprintf(&head, "edited %s%s: %s, +%d -%d lines\n", tools.ShownPath(f.given), f.called(), count(c.Replacements, "replacement"), c.Added, c.Removed)
		if f.differ != "" {
			fmt.Fprintf(&head, "(its text has %s where old_text has a character that looks the same)\n", f.differ)
		}
		diffs.WriteString(diff)
	}
	if err := s.commit(ctx, in); err != nil {
		return tools.Result{}, err
	}
	out.Diff = truncateDiff(diffs.String())
	return tools.Result{Content: head.String() + out.Diff, Data: out}, nil
}

// called names the encoding of a file that is not UTF-8.
func (f *file) called() string {
	if f.encoding.UTF8() {
		return ""
	}
	return " (" + f.encoding.String() + ")"
}

// probe reports whether an interrupted call was carried out.
func (e editor) probe(_ context.Context, call tools.Call, in EditInput, _ tools.Intent) (bool, error) {
	return e.wasApplied(call, in)
}

// mismatch turns the failure of a replacement into a refusal with a hint for the model.
func (s *changeSet) mismatch(err error, f *file, r Replacement, i, n int) error {
	at := tools.ShownPath(r.Path)
	if n > 1 {
		at = fmt.Sprintf("edit %d of %d, %s", i+1, n, at)
	}
	many, ok := errors.AsType[*ambiguous](err)
	switch {
	case ok && many.alike != "":
		return tools.Refuse(tools.NotFound, "take the characters from the file, and give more of the lines around it",
			"%s: old_text is not in the file; texts with %s that look the same are on lines %s", at, many.alike, numbers(many.lines, many.n))
	case ok:
		return tools.Refuse(tools.Validation, "give more of the lines around it, or set replace_all",
			"%s: old_text occurs %s, on lines %s", at, count(many.n, "time"), numbers(many.lines, many.n))
	case errors.Is(err, errSame):
		return tools.Refuse(tools.Validation, "", "%s: old_text and new_text are the same", at)
	case errors.Is(err, errMany) && !r.ReplaceAll:
		return tools.Refuse(tools.Validation, "give more of the lines around it", "%s: old_text occurs more than %d times", at, maxPlaces)
	case errors.Is(err, errMany):
		return tools.Refuse(tools.Validation, "use exec with sed or a script", "%s: old_text occurs more than %d times", at, maxPlaces)
	case !errors.Is(err, errAbsent):
		return tools.RefusePath(s.Guard, s.call, r.Path, err)
	}
	hint := "read the file again"
	head, err := f.head(headSize)
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, r.Path, err)
	}
	lines := strings.Split(string(flatten(head)), "\n")
	// Models often misquote a line. The most similar lines of the file usually show the mistake.
	if near := patch.Near(lines, strings.Split(r.OldText, "\n")); near != "" {
		hint = "the closest lines:\n" + near
	}
	return tools.Refuse(tools.NotFound, hint, "%s: old_text is not in the file", at)
}

// numbers lists line numbers, with … if there are more than shown.
func numbers(lines []int, n int) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, l)
	}
	if n > len(lines) {
		b.WriteString(" …")
	}
	return b.String()
}
