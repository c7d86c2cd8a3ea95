package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/fsguard"
	"hob/tools"
)

// maxEntries limits the names that ls lists. The result says when there are more.
const maxEntries = 2000

// LsInput is the input of ls.
type LsInput struct {
	Path  string `json:"path" jsonschema:"folder" min:"1"`
	Depth int    `json:"depth,omitempty" jsonschema:"levels" default:"1" min:"1" max:"5"`
	All   bool   `json:"all,omitempty" jsonschema:"hidden ones too"`
}

// LsOutput is the output of ls.
type LsOutput struct {
	Path    string  `json:"path" jsonschema:"the folder, links resolved"`
	Entries []Entry `json:"entries" jsonschema:"what is in it; folders first"`
	Cut     bool    `json:"cut,omitempty" jsonschema:"there is more"`
	foreign string  // why a name in it is foreign text
}

// Entry is a name in a folder.
type Entry struct {
	Path     string    `json:"path" jsonschema:"relative to the folder"`
	Type     string    `json:"type" jsonschema:"folder, file, link, pipe, socket, device"`
	Size     int64     `json:"size,omitempty" jsonschema:"bytes, of a file"`
	Modified time.Time `json:"modified" jsonschema:"last change"`
	Target   string    `json:"target,omitempty" jsonschema:"of a link: where it points"`
	Note     string    `json:"note,omitempty" jsonschema:"why a folder was not listed"`
}

// NewLs builds the tool ls, which lists a folder.
func NewLs(g *fsguard.Guard) tools.Tool {
	l := lister{g}
	return tools.New[LsInput, LsOutput](tools.Spec{
		Name: "ls", Group: "fs", Core: true, ReadOnly: true, Positional: "path", Example: "src --depth 2",
		Description: "List a folder: type, size, time of change.",
	}, l.intent, l.run)
}

// lister implements ls.
type lister struct{ guard *fsguard.Guard }

// intent resolves the folder for the permission rules.
func (l lister) intent(_ context.Context, call tools.Call, in LsInput) (tools.Intent, error) {
	p, err := resolve(l.guard, call, in.Path)
	if err != nil {
		return tools.Intent{}, err
	}
	return readIntent("ls", p)
}

// run lists the folder.
func (l lister) run(ctx context.Context, call tools.Call, in LsInput, intent tools.Intent) (tools.Result, error) {
	p, err := intended(l.guard, call, in.Path, intent)
	if err != nil {
		return tools.Result{}, err
	}
	if p.Exists() && !p.IsDir() {
		return tools.Fail(tools.Validation, "use read", "%s is %s, not a folder", tools.ShownPath(in.Path), fsguard.Kind(p.Info.Mode())), nil
	}
	out := LsOutput{Path: p.Path, Entries: []Entry{}}
	if err := l.fill(ctx, &out, p, "", in); err != nil {
		return tools.Result{}, tools.RefusePath(l.guard, call, in.Path, err)
	}
	return tools.Result{Content: out.table(call.Zone), Data: out, Foreign: out.foreign}, nil
}

// fill adds the entries of a folder, each subfolder followed by its own entries.
func (l lister) fill(ctx context.Context, out *LsOutput, p fsguard.Place, below string, in LsInput) error {
	entries, err := l.names(p, in.All)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Subfolders add to the same list, so the limit covers the whole listing.
		if len(out.Entries) >= maxEntries {
			out.Cut = true
			return nil
		}
		name := e.Path
		if why := l.guard.Foreign(filepath.Join(p.Path, name), p.Area); why != "" { // its name is foreign text too
			out.foreign = why
		}
		e.Path = filepath.ToSlash(filepath.Join(below, name))
		out.Entries = append(out.Entries, e)
		if e.Type != "folder" || in.Depth <= 1 {
			continue
		}
		deeper := in
		deeper.Depth--
		if note := l.descend(ctx, out, p, name, e.Path, deeper); note != "" {
			// The entries below it may have been added meanwhile, so the folder is not always the last one.
			out.Entries[slices.IndexFunc(out.Entries, func(x Entry) bool { return x.Path == e.Path })].Note = note
		}
	}
	return nil
}

// descend lists a subfolder of p, or returns why not. A folder that cannot be read does not stop
// the listing.
func (l lister) descend(ctx context.Context, out *LsOutput, p fsguard.Place, name, path string, in LsInput) string {
	sub, err := l.guard.Resolve(p.Path, name)
	// The permission rules have decided on the parent only. A folder with keys needs a call of its own.
	if err == nil && sub.Area == fsguard.Sensitive && p.Area != fsguard.Sensitive {
		return "not listed: it holds keys or credentials; ask for it by name"
	}
	if err == nil {
		err = l.fill(ctx, out, sub, path, in)
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fsguard.ErrState):
		return "not listed: hob's own state"
	}
	return "not listed: " + tools.PlainPath(err)
}

// names lists the entries of one folder, folders first.
func (l lister) names(p fsguard.Place, all bool) ([]Entry, error) {
	root, err := l.guard.Folder(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only: nothing can be lost
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	list, err := d.ReadDir(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(list))
	for _, e := range list {
		if !all && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if entry, ok := entryOf(root, e); ok {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Path, b.Path))
	})
	return entries, nil
}

// rank sorts folders before everything else.
func rank(e Entry) int {
	if e.Type == "folder" {
		return 1
	}
	return 0
}

// entryOf describes a name; false if it no longer exists.
func entryOf(root *os.Root, e iofs.DirEntry) (Entry, bool) {
	// Lstat describes a link itself; the path guard has not judged its target.
	info, err := root.Lstat(e.Name())
	if err != nil {
		return Entry{}, false
	}
	entry := Entry{Path: e.Name(), Type: typeName(info.Mode()), Modified: info.ModTime()}
	if entry.Type == "file" {
		entry.Size = info.Size()
	}
	if entry.Type == "link" {
		if entry.Target, err = root.Readlink(e.Name()); err != nil {
			entry.Target = "?"
		}
	}
	return entry, true
}

// typeName names a file type as in the results.
func typeName(m iofs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "folder"
	case m&iofs.ModeSymlink != 0:
		return "link"
	case m&iofs.ModeNamedPipe != 0:
		return "pipe"
	case m&iofs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// table formats the listing for the model, with times in the owner's zone.
func (l LsOutput) table(zone string) string {
	loc, err := tools.Zone(zone)
	if err != nil {
		loc = time.UTC
	}
	folders, others := 0, 0
	var b strings.Builder
	for _, e := range l.Entries {
		folders, others = folders+rank(e), others+1-rank(e)
		fmt.Fprintf(&b, "%s  %9s  %s%s\n", e.Modified.In(loc).Format("2006-01-02 15:04"), e.size(), e.name(), e.note())
	}
	head := fmt.Sprintf("%s: %s, %s\n", tools.ShownPath(l.Path), count(folders, "folder"), count(others, "file"))
	if l.Cut {
		b.WriteString("(there is more: list a folder of it, or a smaller depth)\n")
	}
	return strings.TrimRight(head+b.String(), "\n")
}

// size returns the size column: bytes for a file, the type for all others.
func (e Entry) size() string {
	if e.Type == "file" {
		return sized(e.Size)
	}
	return e.Type
}

// name returns the name column, with a slash after a folder and the target after a link.
func (e Entry) name() string {
	switch e.Type {
	case "folder":
		return tools.ShownPath(e.Path) + "/"
	case "link":
		return tools.ShownPath(e.Path) + " -> " + tools.ShownPath(e.Target)
	}
	return tools.ShownPath(e.Path)
}

// note returns why a folder was not listed, in brackets.
func (e Entry) note() string {
	if e.Note == "" {
		return ""
	}
	return "  (" + e.Note + ")"
}
