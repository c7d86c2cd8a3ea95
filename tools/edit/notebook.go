package edit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/edit/notebook"
)

// NotebookInput is the input of notebook_edit.
type NotebookInput struct {
	Path      string `json:"path" jsonschema:"a .ipynb file" min:"1"`
	NewSource string `json:"new_source" jsonschema:"the cell's whole new source; ignored by delete"`
	CellID    string `json:"cell_id,omitempty" jsonschema:"the cell's id, or its number from 0; insert: the new cell comes after it, without one at the beginning"`
	CellType  string `json:"cell_type,omitempty" jsonschema:"type of the cell; left out: as it is, and code for a new one" enum:"code,markdown,raw"`
	Mode      string `json:"mode,omitempty" jsonschema:"what to do" enum:"replace,insert,delete" default:"replace"`
}

// NotebookOutput is the output of notebook_edit.
type NotebookOutput struct {
	Path   string `json:"path" jsonschema:"file, links resolved"`
	Mode   string `json:"mode" jsonschema:"what was done"`
	CellID string `json:"cell_id,omitempty" jsonschema:"the cell's id; empty when it has none"`
	Number int    `json:"number" jsonschema:"the cell's number, from 0"`
	Cells  int    `json:"cells" jsonschema:"number of cells now"`
	Diff   string `json:"diff" jsonschema:"unified diff of the file; cut when it is long"`
}

// NewNotebook builds the tool notebook_edit, which changes one cell of a Jupyter notebook.
func NewNotebook(d Deps) tools.Tool {
	n := notebookEditor{d}
	return tools.NewCheckable[NotebookInput, NotebookOutput](tools.Spec{
		Name: "notebook_edit", Group: "fs", Positional: "path", Example: "plot.ipynb --cell_id 3 --new_source 'print(1)'",
		Description: "Replace, insert or delete one cell of a Jupyter notebook. The rest of the file keeps its bytes.",
	}, n.intent, n.run, n.probe)
}

// notebookEditor implements notebook_edit.
type notebookEditor struct{ Deps }

// intent resolves the notebook for the permission rules. It does not look for the cell.
func (n notebookEditor) intent(_ context.Context, call tools.Call, in NotebookInput) (tools.Intent, error) {
	if in.CellID == "" && in.Mode != string(notebook.Insert) {
		return tools.Intent{}, tools.Refuse(tools.Validation, "read shows the cells", "notebook_edit: cell_id: missing (a string); only insert goes without")
	}
	say := func(paths []string) string {
		if in.CellID == "" {
			return "insert a first cell into " + tools.ShownPath(paths[0])
		}
		return fmt.Sprintf("%s cell %s of %s", in.Mode, tools.ShownPath(in.CellID), tools.ShownPath(paths[0]))
	}
	return n.intentFor(call, "notebook_edit", in, []pathArg{{path: in.Path, read: true}}, say)
}

// run changes the cell and writes the notebook.
func (n notebookEditor) run(ctx context.Context, call tools.Call, in NotebookInput, intent tools.Intent) (tools.Result, error) {
	s := n.changeSet(call, intent)
	f, err := s.existing(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	e := notebook.Edit{Mode: notebook.Mode(in.Mode), Cell: in.CellID, Type: in.CellType, Source: in.NewSource, ID: sys.RandomIDs().Code(8)}
	now, at, err := notebook.Apply(f.now, e)
	if err != nil {
		return tools.Result{}, n.unfit(in, f, err)
	}
	before, err := notebook.Cells(f.now)
	if err != nil {
		return tools.Result{}, n.unfit(in, f, err)
	}
	after, err := notebook.Cells(now)
	if err != nil {
		return tools.Result{}, fmt.Errorf("look at the changed notebook: %w", err)
	}
	f.now = now
	_, diff, err := f.change(ctx)
	if err != nil {
		return tools.Result{}, tools.RefusePath(n.Guard, call, in.Path, err)
	}
	if err := s.commit(ctx, in); err != nil {
		return tools.Result{}, err
	}
	out := NotebookOutput{Path: f.place.Path, Mode: in.Mode, Number: at, Cells: len(after)}
	if e.Mode == notebook.Delete {
		out.CellID = before[at].ID
	} else {
		out.CellID = after[at].ID
	}
	out.Diff = truncateDiff(diff)
	done := map[notebook.Mode]string{notebook.Replace: "replaced", notebook.Insert: "inserted", notebook.Delete: "deleted"}[e.Mode]
	return tools.Result{
		Content: fmt.Sprintf("%s %s of %s, which has %s now\n%s", done, called(out.CellID, at), tools.ShownPath(in.Path), count(out.Cells, "cell"), out.Diff),
		Data:    out,
	}, nil
}

// probe reports whether an interrupted call was carried out.
func (n notebookEditor) probe(_ context.Context, call tools.Call, in NotebookInput, _ tools.Intent) (bool, error) {
	return n.wasApplied(call, in)
}

// called names a cell for people.
func called(id string, at int) string {
	if id == "" {
		return fmt.Sprintf("cell %d", at)
	}
	return fmt.Sprintf("cell %d (%s)", at, id)
}

// unfit refuses a file that is not a notebook, or a cell that does not exist; the hint lists the
// cells.
func (n notebookEditor) unfit(in NotebookInput, f *file, err error) error {
	if !errors.Is(err, notebook.ErrCell) {
		return tools.Refuse(tools.Validation, "edit changes other files", "%s: %v", tools.ShownPath(in.Path), err)
	}
	cells, listing := notebook.Cells(f.now)
	if listing != nil {
		return listing
	}
	var known []string
	for i, c := range cells[:min(len(cells), 30)] {
		first, _, _ := strings.Cut(strings.TrimSpace(c.Source), "\n")
		known = append(known, fmt.Sprintf("%s %s: %.60s", called(c.ID, i), c.Type, first))
	}
	return tools.Refuse(tools.NotFound, strings.Join(known, "\n"), "%s: %v; it has %s", tools.ShownPath(in.Path), err, count(len(cells), "cell"))
}
