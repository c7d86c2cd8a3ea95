package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/glob"
	"hob/daemon/text"
	"hob/daemon/walk"
	"hob/tools"
)

// GlobInput is the input of glob.
// The tags are the schema that the model sees.
type GlobInput struct {
	Pattern   string `json:"pattern" jsonschema:"**/*.{ts,tsx}, !(x), */: folders" min:"1" max:"1000"`
	Path      string `json:"path,omitempty" jsonschema:"folder" default:"." min:"1"`
	HeadLimit int    `json:"head_limit,omitempty" jsonschema:"files at most" default:"1000" min:"1" max:"1000"`
}

// GlobOutput is the output of glob.
type GlobOutput struct {
	Files    []GlobbedFile `json:"files" jsonschema:"newest first"`
	Total    int           `json:"total" jsonschema:"files that match"`
	Cut      bool          `json:"cut,omitempty" jsonschema:"there are more than were listed"`
	Unread   int           `json:"unread,omitempty" jsonschema:"folders that could not be read"`
	Withheld int           `json:"withheld,omitempty" jsonschema:"files and folders with keys or credentials: listed only when named by path"`
}

// GlobbedFile is a file that matches.
// The path of a folder ends with a slash; its size is 0.
type GlobbedFile struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size" jsonschema:"bytes"`
	Modified time.Time `json:"modified" jsonschema:"last change"`
}

// NewGlob builds the tool glob, which finds files by a pattern of their paths.
func NewGlob(d Deps) tools.Tool {
	g := globber{d}
	return tools.New[GlobInput, GlobOutput](tools.Spec{
		Name: "glob", Group: "search", Core: true, SelfPaging: true, ReadOnly: true, Positional: "pattern", Example: `"**/*.go"`,
		Description: "Find files by pattern, newest first; ignored ones when it names them.",
	}, g.intent, g.run)
}

// globber implements glob.
type globber struct{ Deps }

// intent resolves the folder where the search starts, for the permission rules.
func (g globber) intent(_ context.Context, call tools.Call, in GlobInput) (tools.Intent, error) {
	from, rest := anchored(in.Path, in.Pattern)
	if _, _, err := newWild(rest); err != nil {
		return tools.Intent{}, err
	}
	p, err := resolve(g.Guard, call, from)
	if err != nil {
		return tools.Intent{}, err
	}
	return readIntent("glob", in.Pattern, p)
}

// newWild compiles a pattern. A pattern with a slash at its end matches folders.
func newWild(pattern string) (w *glob.Pattern, folders bool, err error) {
	names := strings.TrimRight(pattern, "/")
	if w, err = glob.New(names); err != nil {
		return nil, false, tools.Refuse(tools.Validation, "such as **/*.go, src/{a,b}/*.md, !(vendor)/**, [[:digit:]]*", "pattern: %v", err)
	}
	return w, names != pattern, nil
}

// anchored splits a pattern that starts with "/", "~/" or "../" into the folder where the search
// starts and the rest. Such a pattern leaves the folder of the call, so the permission rules must see the
// folder that it really starts in. Parts with a wildcard stay in the rest.
func anchored(path, pattern string) (start, rest string) {
	absolute := strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~/")
	if !absolute && pattern != ".." && !strings.HasPrefix(pattern, "../") {
		return path, pattern
	}
	names := strings.Split(pattern, "/")
	n := 0
	for n < len(names)-1 && !strings.ContainsAny(names[n], `*?[{\!`) && !strings.Contains(names[n], "@(") && !strings.Contains(names[n], "+(") {
		n++
	}
	start, rest = strings.Join(names[:n], "/"), strings.Join(names[n:], "/")
	switch {
	case !absolute:
		return path + "/" + start, rest
	case start == "":
		return "/", rest
	}
	return start, rest
}

// run walks the tree with one worker per processor and returns the newest matches.
func (g globber) run(ctx context.Context, call tools.Call, in GlobInput, intent tools.Intent) (tools.Result, error) {
	from, rest := anchored(in.Path, in.Pattern)
	w, folders, err := newWild(rest)
	if err != nil {
		return tools.Result{}, err
	}
	// The search starts in the folder that the permission rules saw, even if the path leads elsewhere by now.
	start, err := intended(g.Guard, call, from, intent)
	if err != nil {
		return tools.Result{}, err
	}
	s, err := newFilter(g.Deps, start, call.Tainted)
	if err != nil {
		return tools.Result{}, err
	}
	names, err := namesFrom(g.Guard, call, start.Path)
	if err != nil {
		return tools.Result{}, err
	}
	root, err := g.Guard.Folder(start)
	if err != nil {
		return tools.Result{}, tools.RefusePath(g.Guard, call, from, err)
	}
	r := &globRun{pattern: w, folders: folders, filter: s, ctx: ctx, limit: in.HeadLimit, found: make([]newest, walk.Workers()+1)}
	if err := errors.Join(walk.Walk(ctx, root, r), root.Close()); err != nil {
		return tools.Result{}, tools.RefusePath(g.Guard, call, from, err)
	}
	return r.result(names, in.Pattern)
}

// globRun is one run of glob. It implements walk.Visitor.
type globRun struct {
	pattern *glob.Pattern
	folders bool // find folders instead of files
	filter  *filter
	ctx     context.Context //nolint:containedctx // lives for one run
	limit   int
	mu      sync.Mutex // guards the last element of found
	found   []newest   // one list per worker, and one for folders
}

// reached is the state that a folder passes on to its subfolders: ignore rules, and how far the
// pattern has matched.
type reached struct {
	node  *walk.Rules
	state glob.State
}

// newest keeps the newest of the files that it gets.
type newest struct {
	files []globbed
	total int
}

// globbed is a file that matches.
type globbed struct {
	path string // relative to the start
	info walk.Info
}

// add adds a file and drops the oldest ones when the list gets long.
// The list may grow far beyond limit, because each pruning sorts it.
func (n *newest) add(f globbed, limit int) {
	n.total++
	if n.files = append(n.files, f); len(n.files) > 4*limit+1000 {
		n.files = newestOf(n.files, limit)
	}
}

// newestOf sorts files, newest first, and keeps at most limit.
// Files of the same time are ordered by path, so each run gives the same result.
func newestOf(files []globbed, limit int) []globbed {
	slices.SortFunc(files, func(a, b globbed) int {
		return cmp.Or(cmp.Compare(b.info.Modified, a.info.Modified), cmp.Compare(a.path, b.path))
	})
	return files[:min(len(files), limit)]
}

// Folder selects the subfolders that the pattern can still match, and the files that it matches.
func (r *globRun) Folder(d *walk.Dir, entries []walk.Entry) []walk.Entry {
	if r.filter.forbidden(d) {
		return nil
	}
	here := reached{r.filter.top, r.pattern.Start()}
	// The call for the parent has left its state in Keep.
	if d.Above != nil {
		above, _ := d.Above.Keep.(reached)
		here.node = above.node
		name := d.Path[strings.LastIndexByte(d.Path, '/')+1:]
		here.state = r.pattern.Enter(above.state, name, r.folderRule(d.Above, above, name))
	}
	here.node = r.filter.node(d, entries, here.node)
	d.Keep = here
	dir := r.filter.below(d.Path)
	kept := entries[:0]
	for _, e := range entries {
		// A folder may match and also be entered, so it is recorded apart from the choice below.
		if r.folders && e.Kind == walk.Folder && r.takes(here, dir, e.Name, true) && !(r.filter.suspicious(e.Name) && r.filter.secret(d.Child(e.Name))) {
			r.folder(d.Child(e.Name))
		}
		// The path guard is asked last, because it is the slowest check.
		switch {
		case e.Kind == walk.Folder && len(r.pattern.Enter(here.state, e.Name, r.folderRule(d, here, e.Name))) == 0:
		case e.Kind == walk.File && (r.folders || !r.takes(here, dir, e.Name, false)):
		case e.Kind == walk.Other:
		case r.filter.suspicious(e.Name) && r.filter.secret(d.Child(e.Name)):
		default:
			kept = append(kept, e)
		}
	}
	return kept
}

// folderRule returns what the ignore rules say about a subfolder of d.
func (r *globRun) folderRule(d *walk.Dir, in reached, name string) glob.FolderState {
	if in.node == nil {
		return glob.Shown
	}
	dir := r.filter.below(d.Path)
	if in.node.Verdict(dir, name, true) == walk.Ignored {
		return glob.Ignored
	}
	const anything = "\x01" // a name that only a rule for all names matches
	inside := dir + "/" + name
	if in.node.Verdict(inside, anything, true) == walk.Ignored && in.node.Verdict(inside, anything, false) == walk.Ignored {
		return glob.ContentsIgnored
	}
	return glob.Shown
}

// takes reports whether an entry matches. An ignored one matches only if the pattern names it.
func (r *globRun) takes(here reached, dir, name string, folder bool) bool {
	ok, named := r.pattern.Match(here.state, name)
	return ok && (named || here.node.Verdict(dir, name, folder) != walk.Ignored)
}

// folder records a folder that matches.
// Folder is called without a worker's number, so the folders share one list and its lock.
func (r *globRun) folder(path string) {
	info, err := os.Lstat(r.filter.below(path))
	if err != nil || !info.IsDir() {
		return // it no longer exists
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[len(r.found)-1].add(globbed{path + "/", walk.Info{Modified: info.ModTime().UnixNano()}}, r.limit)
}

// File records a file that matches.
func (r *globRun) File(worker int, d *walk.Dir, e walk.Entry) {
	info, err := d.Stat(e.Name)
	if err != nil {
		r.filter.failed(r.ctx, err)
		return
	}
	r.found[worker].add(globbed{d.Child(e.Name), info}, r.limit)
}

// Failed counts a folder that cannot be read.
func (r *globRun) Failed(_ string, err error) { r.filter.failed(r.ctx, err) }

// result merges the workers' lists and removes files that must not be listed.
func (r *globRun) result(names naming, pattern string) (tools.Result, error) {
	out := GlobOutput{Files: []GlobbedFile{}, Unread: int(r.filter.unread.Load())}
	var all []globbed
	for _, n := range r.found {
		all, out.Total = append(all, n.files...), out.Total+n.total
	}
	// Each worker has kept its newest files. The newest of all are among them.
	all = newestOf(all, r.limit)
	// The final check: files may have changed since the walk.
	found := len(all)
	all = slices.DeleteFunc(all, func(f globbed) bool { return !r.filter.lists(strings.TrimSuffix(f.path, "/")) })
	withheld := found - len(all)
	out.Total -= withheld
	out.Withheld = int(r.filter.withheld.Load()) + withheld
	out.Cut = out.Total > len(all)
	var b strings.Builder
	foreign := ""
	for _, f := range all {
		if foreign == "" {
			foreign = r.foreign(f.path)
		}
		path := names.of(f.path)
		out.Files = append(out.Files, GlobbedFile{path, f.info.Size, time.Unix(0, f.info.Modified).UTC()})
		b.WriteString(tools.ShownPath(path) + "\n")
	}
	noun := "file"
	if r.folders {
		noun = "folder"
	}
	if note := out.note(pattern, noun); note != "" {
		b.WriteString("(" + note + ")")
	}
	return tools.Result{Content: strings.TrimRight(b.String(), "\n"), Data: out, Foreign: foreign}, nil
}

// foreign returns why a file below the start is foreign, or "".
func (r *globRun) foreign(path string) string {
	return r.filter.batch().Foreign(r.filter.below(path), r.filter.start.Area)
}

// note says what was cut, unreadable or withheld.
func (g GlobOutput) note(pattern, noun string) string {
	var notes []string
	if g.Cut {
		notes = append(notes, fmt.Sprintf("cut: the newest %s of %s", text.Thousands(int64(len(g.Files))), count(g.Total, noun)))
	}
	if g.Total == 0 {
		hint := "hidden and ignored ones are listed when the pattern names them"
		if !strings.Contains(pattern, "/") {
			hint = fmt.Sprintf("**/%s looks in all folders; %s", pattern, hint)
		}
		notes = append(notes, "no "+noun+" matches; "+hint)
	}
	if g.Unread > 0 {
		notes = append(notes, count(g.Unread, "folder")+" could not be read")
	}
	if g.Withheld > 0 {
		notes = append(notes, count(g.Withheld, "file or folder")+" with keys or credentials left out: name it by path")
	}
	return strings.Join(notes, "; ")
}
