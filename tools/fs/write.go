package fs

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/secret"
	"hob/tools"
)

// WriteInput is the input of write.
type WriteInput struct {
	Path       string `json:"path" jsonschema:"file" min:"1"`
	Content    string `json:"content" jsonschema:"the whole new content"`
	OnConflict string `json:"on_conflict,omitempty" jsonschema:"if it is there" enum:"overwrite,error" default:"overwrite"`
}

// WriteOutput is the output of write.
type WriteOutput struct {
	Path    string `json:"path" jsonschema:"where it was written, links resolved"`
	Created bool   `json:"created" jsonschema:"false: it was overwritten"`
	Bytes   int    `json:"bytes" jsonschema:"size"`
	Lines   int    `json:"lines" jsonschema:"number of lines"`
}

// NewWrite builds the tool write, which writes a whole file atomically.
func NewWrite(g *fsguard.Guard, seen *Seen) tools.Tool {
	w := writer{g, seen}
	return tools.NewCheckable[WriteInput, WriteOutput](tools.Spec{
		Name: "write", Group: "fs", Core: true, Positional: "path", Example: "notes.md --content 'buy milk'",
		Description: "Write a whole file. Refuses when it changed since you read it.",
	}, w.intent, w.run, w.probe)
}

// nameIt is the hint for a path that is a folder.
const nameIt = "add a file name"

// writer implements write.
type writer struct {
	guard *fsguard.Guard
	seen  *Seen
}

// intent resolves the path for the permission rules. The canonical bytes include the old content, so that an
// approval is void when it changes.
func (w writer) intent(_ context.Context, call tools.Call, in WriteInput) (tools.Intent, error) {
	if strings.HasSuffix(in.Path, "/") { // otherwise a missing folder would become a file
		return tools.Intent{}, tools.Refuse(tools.Validation, nameIt, "%s is a folder", tools.ShownPath(in.Path))
	}
	p, err := resolve(w.guard, call, in.Path)
	if err != nil {
		return tools.Intent{}, err
	}
	before, old, err := w.before(p)
	if err != nil {
		return tools.Intent{}, tools.RefusePath(w.guard, call, in.Path, err)
	}
	canonical, err := tools.Canonical(struct {
		Tool       string `json:"tool"`
		Path       string `json:"path"`
		Before     string `json:"before"` // an approval covers this content only
		OnConflict string `json:"on_conflict"`
		Content    string `json:"content"`
	}{"write", p.Path, before, in.OnConflict, in.Content})
	i := tools.Intent{
		Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{touched(p, true)},
		Summary: fmt.Sprintf("write %s (%s)", tools.ShownPath(p.Path), sized(int64(len(in.Content)))), Canonical: canonical, Old: old, Keep: p,
	}
	if p.Own {
		i.Scopes = append(i.Scopes, tools.Config)
	}
	return i, err
}

// before identifies the content that would be overwritten: its absence, a hash, or time and size of a
// large file. old is the content of a file that is small enough to be compared in a question, and no secret.
func (w writer) before(p fsguard.Place) (id string, old []byte, err error) {
	if !p.Exists() || p.Area == fsguard.State || !p.Info.Mode().IsRegular() {
		return p.Absent(), nil, nil
	}
	// To hash a large file would delay every approval; size and time reveal nearly all changes.
	if p.Info.Size() > hashLimit {
		return fmt.Sprintf("%d bytes of %s", p.Info.Size(), p.Info.ModTime().UTC()), nil, nil
	}
	f, err := w.guard.Open(p)
	// A file that may be replaced but not read is still a valid target.
	if errors.Is(err, iofs.ErrPermission) {
		return "unreadable", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	m, err := markOf(f, p.Info)
	// A question goes to chat apps: it must not carry what may be a secret.
	if err == nil && p.Info.Size() <= comparedLimit && p.Area != fsguard.Sensitive {
		old, err = io.ReadAll(io.NewSectionReader(f, 0, comparedLimit))
	}
	return "sha256:" + hex.EncodeToString(m.hash[:]), old, errors.Join(err, f.Close())
}

// run writes the file, unless that would destroy something.
func (w writer) run(_ context.Context, call tools.Call, in WriteInput, intent tools.Intent) (tools.Result, error) {
	p, err := intended(w.guard, call, in.Path, intent)
	if err != nil {
		return tools.Result{}, err
	}
	if p.IsDir() {
		return tools.Fail(tools.Validation, nameIt, "%s is a folder", tools.ShownPath(in.Path)), nil
	}
	// Check here and not in the intent: an approval may have taken hours.
	if res, stop := w.conflict(call, in, p); stop {
		return res, nil
	}
	data := []byte(in.Content)
	name, err := w.placeholder(p, data)
	if err != nil {
		return tools.Result{}, tools.RefusePath(w.guard, call, in.Path, err)
	}
	if name != "" {
		return tools.Fail(tools.Validation, "it stands for a value that you were not shown: change the rest of the file with edit",
			"%s: the content holds the placeholder %s", tools.ShownPath(in.Path), name), nil
	}
	// NewOnly makes the check and the creation one step, so that no other process can create the file between them.
	var opts []fsguard.Option
	if in.OnConflict == "error" {
		opts = append(opts, fsguard.NewOnly)
	}
	info, err := w.guard.WriteFile(p, data, 0o644, opts...)
	if err != nil {
		return tools.Result{}, tools.RefusePath(w.guard, call, in.Path, err)
	}
	w.seen.Wrote(call.Session, p.Path, info, data)
	return report(in, p, data), nil
}

// maxMarked limits how many bytes of an old file are searched for placeholders of secrets. The rest
// counts as having none.
const maxMarked = 64 << 20

// placeholder returns the name of a placeholder that the new content contains more often than the
// old one, or "". Writing it would replace the secret itself.
func (w writer) placeholder(p fsguard.Place, data []byte) (string, error) {
	if secret.Placeholder(nil, data) == "" {
		return "", nil
	}
	var old []byte
	if p.Exists() {
		f, err := w.guard.Open(p)
		if err != nil {
			return "", err
		}
		old, err = io.ReadAll(io.LimitReader(f, maxMarked))
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return secret.Placeholder(old, data), nil
}

// conflict refuses to overwrite a file if the caller asked for that, or if the file has changed
// since the session last saw it.
func (w writer) conflict(call tools.Call, in WriteInput, p fsguard.Place) (tools.Result, bool) {
	if in.OnConflict == "error" && p.Exists() {
		return tools.Fail(tools.Conflict, "on_conflict: overwrite replaces it", "%s is there already (%s)", tools.ShownPath(in.Path), sized(p.Info.Size())), true
	}
	changed, err := w.seen.Changed(w.guard, call.Session, p)
	switch {
	case err != nil:
		return tools.ErrorResult(tools.RefusePath(w.guard, call, in.Path, err)), true
	case changed && !p.Exists():
		w.seen.Forget(call.Session, p.Path) // refuse only once
		return tools.Fail(tools.Conflict, "ls its folder, then decide", "%s was removed since you last read it", tools.ShownPath(in.Path)), true
	case changed:
		return tools.Fail(tools.Conflict, "read it again, then write", "%s changed since you last read it", tools.ShownPath(in.Path)), true
	}
	return tools.Result{}, false
}

// probe reports whether the file already has the content, and removes the temporary file of an
// interrupted write.
func (w writer) probe(_ context.Context, call tools.Call, in WriteInput, _ tools.Intent) (bool, error) {
	p, err := resolve(w.guard, call, in.Path)
	if err != nil {
		return false, err
	}
	if err := w.guard.Sweep(p); err != nil {
		return false, fmt.Errorf("remove the temporary file of %s: %w", in.Path, err)
	}
	// Compare the sizes first, so that most files need not be read.
	if !p.Exists() || !p.Info.Mode().IsRegular() || p.Info.Size() != int64(len(in.Content)) {
		return false, nil
	}
	f, err := w.guard.Open(p)
	if err != nil {
		return false, err
	}
	same, err := holds(f, []byte(in.Content))
	return same, errors.Join(err, f.Close())
}

// report describes a finished write.
func report(in WriteInput, p fsguard.Place, data []byte) tools.Result {
	out := WriteOutput{Path: p.Path, Created: !p.Exists(), Bytes: len(data), Lines: lineCount(data)}
	verb := "overwritten"
	if out.Created {
		verb = "created"
	}
	return tools.Result{
		Content: fmt.Sprintf("%s %s: %s, %s", verb, tools.ShownPath(in.Path), count(out.Bytes, "byte"), count(out.Lines, "line")),
		Data:    out,
	}
}

// lineCount counts lines; a last line without a line break counts.
func lineCount(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
