// Package edit holds the tools that change parts of files: edit, apply_patch and notebook_edit. A call changes all of its
// files or none, also when hob is killed half-way; what a file looks like otherwise (line endings, byte order mark,
// permission bits) stays. The tools go through fsguard and decide nothing about permission.
package edit

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/edit/atomic"
	"hob/tools/edit/long"
	"hob/tools/edit/patch"
)

// Deps is what the tools work with.
type Deps struct {
	Guard   *fsguard.Guard
	Seen    Seen
	Journal string // a folder of hob's state, made when needed; no other program writes there
}

// Seen remembers how each file looked when a session last read or wrote it.
type Seen interface {
	// Changed says whether a file looks other than when the session last saw it; false when it never did.
	Changed(g *fsguard.Guard, session int64, p fsguard.Place) (bool, error)
	// Wrote remembers what the session has just written. Of a file over 4 MB data may be only the beginning, at least 4 MB + 1 byte.
	Wrote(session int64, path string, info iofs.FileInfo, data []byte)
	// Forget drops what the session knows of a file that is gone.
	Forget(session int64, path string)
}

// Recover ends what a killed process left half-way in a journal folder. To be called at start, before any turn goes on.
// It does all it can; what it could not, and files that somebody changed since then, its error names.
func Recover(ctx context.Context, journal string) error { return atomic.Recover(ctx, journal) }

// Replacement is one change of edit's list.
type Replacement struct {
	Path       string `json:"path" jsonschema:"file" min:"1"`
	OldText    string `json:"old_text" jsonschema:"text to find" min:"1"`
	NewText    string `json:"new_text" jsonschema:"text to put there"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"everywhere"`
}

// Editing is what edit takes.
type Editing struct {
	Path       string        `json:"path,omitempty" jsonschema:"file"`
	OldText    string        `json:"old_text,omitempty" jsonschema:"text that stands exactly once"`
	NewText    *string       `json:"new_text,omitempty" jsonschema:"text to put there"`
	ReplaceAll bool          `json:"replace_all,omitempty" jsonschema:"everywhere"`
	Edits      []Replacement `json:"edits,omitempty" jsonschema:"instead: several, in order; all or none" max:"500"`
}

// Edited is what edit answers.
type Edited struct {
	Files        []Change `json:"files" jsonschema:"the changed files"`
	Replacements int      `json:"replacements" jsonschema:"places changed, in all files"`
	Diff         string   `json:"diff" jsonschema:"unified diff; cut when it is long"`
}

// Change is what became of one file.
type Change struct {
	Path         string `json:"path" jsonschema:"file, links resolved"`
	Action       string `json:"action" jsonschema:"added, modified, deleted or moved"`
	From         string `json:"from,omitempty" jsonschema:"of a moved file: where it was"`
	Replacements int    `json:"replacements,omitempty" jsonschema:"places changed"`
	Added        int    `json:"added" jsonschema:"lines that came"`
	Removed      int    `json:"removed" jsonschema:"lines that went"`
}

// NewEdit makes the tool edit: exact replacements in files.
func NewEdit(d Deps) tools.Tool {
	e := editor{d}
	return tools.NewCheckable[Editing, Edited](tools.Spec{
		Name: "edit", Group: "fs", Core: true, Positional: "path", Example: "notes.md --old_text milk --new_text cream",
		Description: "Replace text in files: path, old_text and new_text, or edits. Answers with a diff.",
	}, e.intent, e.run, e.probe)
}

type editor struct{ Deps }

func (e editor) intent(_ context.Context, call tools.Call, in Editing) (tools.Intent, error) {
	list, err := in.list()
	if err != nil {
		return tools.Intent{}, err
	}
	var paths []wish
	for _, r := range list {
		paths = append(paths, wish{path: r.Path, read: true})
	}
	return e.judged(call, "edit", in, paths, summary("edit"))
}

// list is the one form of the two.
func (in Editing) list() ([]Replacement, error) {
	single := in.Path != "" || in.OldText != "" || in.NewText != nil
	switch {
	case single && len(in.Edits) > 0:
		return nil, tools.Refuse(tools.Validation, "put everything into edits", "edit: edits stand beside path, old_text or new_text")
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

func (e editor) run(ctx context.Context, call tools.Call, in Editing, intent tools.Intent) (tools.Result, error) {
	list, err := in.list()
	if err != nil {
		return tools.Result{}, err
	}
	s := e.sheet(call, intent)
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
	out := Edited{Replacements: total}
	var head, diffs strings.Builder
	for _, f := range s.order {
		c, diff, err := f.change(ctx)
		if err != nil {
			return tools.Result{}, tools.RefusePath(s.Guard, call, f.given, err)
		}
		out.Files = append(out.Files, c)
		fmt.Fprintf(&head, "edited %s: %s, +%d -%d lines\n", tools.ShownPath(f.given), count(c.Replacements, "replacement"), c.Added, c.Removed)
		diffs.WriteString(diff)
	}
	if err := s.commit(ctx, in); err != nil {
		return tools.Result{}, err
	}
	out.Diff = cutDiff(diffs.String())
	return tools.Result{Content: head.String() + out.Diff, Data: out}, nil
}

func (e editor) probe(_ context.Context, call tools.Call, in Editing, _ tools.Intent) (bool, error) {
	return e.took(call, in)
}

// mismatch is the refusal of a replacement that does not fit.
func (s *sheet) mismatch(err error, f *file, r Replacement, i, n int) error {
	at := tools.ShownPath(r.Path)
	if n > 1 {
		at = fmt.Sprintf("edit %d of %d, %s", i+1, n, at)
	}
	many, ok := errors.AsType[*ambiguous](err)
	switch {
	case ok:
		return tools.Refuse(tools.Validation, "give more of the lines around it, or set replace_all",
			"%s: old_text stands there %s, on lines %s", at, count(many.n, "time"), numbers(many.lines, many.n))
	case errors.Is(err, errSame):
		return tools.Refuse(tools.Validation, "", "%s: old_text and new_text are the same", at)
	case errors.Is(err, long.ErrMany) && !r.ReplaceAll:
		return tools.Refuse(tools.Validation, "give more of the lines around it", "%s: old_text stands there more than %d times", at, maxPlaces)
	case errors.Is(err, long.ErrMany):
		return tools.Refuse(tools.Validation, "use exec with sed or a script", "%s: old_text stands there more than %d times", at, maxPlaces)
	case !errors.Is(err, errAbsent):
		return tools.RefusePath(s.Guard, s.call, r.Path, err)
	}
	hint := "read the file again"
	head, err := f.head(headSize)
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, r.Path, err)
	}
	lines := strings.Split(string(flatten(head)), "\n")
	if near := patch.Near(lines, strings.Split(r.OldText, "\n")); near != "" {
		hint = "the closest lines:\n" + near
	}
	return tools.Refuse(tools.NotFound, hint, "%s: old_text is not in the file", at)
}

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
