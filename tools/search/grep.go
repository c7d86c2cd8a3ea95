package search

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"hob/daemon/glob"
	"hob/daemon/walk"
	"hob/tools"
	"hob/tools/search/pattern"
)

// The values of output_mode.
const (
	modeContent = "content"
	modeFiles   = "files_with_matches"
	modeCount   = "count"
)

// GrepInput is the input of grep.
// The tags are the schema that the model sees. Context raises Before and After to at least its own value.
type GrepInput struct {
	Pattern    string `json:"pattern" jsonschema:"RE2 regex"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder" default:"." min:"1"`
	Include    string `json:"include,omitempty" jsonschema:"*.go, src/**"`
	OutputMode string `json:"output_mode,omitempty" jsonschema:"what to list" enum:"content,files_with_matches,count" default:"content"`
	Before     int    `json:"before,omitempty" jsonschema:"lines before" min:"0" max:"100"`
	After      int    `json:"after,omitempty" jsonschema:"lines after" min:"0" max:"100"`
	Context    int    `json:"context,omitempty" jsonschema:"before and after" min:"0" max:"100"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"A is a"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema:"match over lines"`
	Type       string `json:"type,omitempty" jsonschema:"go, py, js …"`
	HeadLimit  int    `json:"head_limit,omitempty" jsonschema:"at most; 0: a page" default:"250" min:"0" max:"5000"`
	Offset     int    `json:"offset,omitempty" jsonschema:"results to skip" min:"0" max:"1000000"`
}

// NewGrep builds the tool grep, which finds the lines that a regular expression matches.
func NewGrep(d Deps) tools.Tool {
	g := grepper{d, &keptOpen{}}
	return tools.New[GrepInput, GrepOutput](tools.Spec{
		Name: "grep", Group: "search", Core: true, SelfPaging: true, ReadOnly: true, Positional: "pattern", Example: `"func main" --include "*.go"`,
		Description: "Search files for a regex. Skips ignored, hidden and binary ones.",
	}, g.intent, g.run)
}

// grepper implements grep.
// kept lives as long as the tool, because its files must never be closed.
type grepper struct {
	Deps
	kept *keptOpen
}

// intent resolves the start of the search for the permission rules, and checks the pattern early.
func (g grepper) intent(_ context.Context, call tools.Call, in GrepInput) (tools.Intent, error) {
	// A wrong pattern is refused before anybody is asked for approval.
	if _, err := newQuery(in); err != nil {
		return tools.Intent{}, err
	}
	p, err := resolve(g.Guard, call, in.Path)
	if err != nil {
		return tools.Intent{}, err
	}
	return readIntent("grep", in.Pattern, p)
}

// query is the compiled input of grep.
type query struct {
	GrepInput
	pattern *pattern.Pattern
	kind    *glob.Pattern // nil: all
	include *glob.Pattern // nil: all
	exclude bool          // include names the files to leave out
}

// newQuery compiles and checks the input.
func newQuery(in GrepInput) (*query, error) {
	q := &query{GrepInput: in}
	var err error
	q.pattern, err = pattern.Compile(in.Pattern, pattern.Options{IgnoreCase: in.IgnoreCase, Multiline: in.Multiline})
	switch {
	case errors.Is(err, pattern.ErrLineBreak):
		return nil, tools.Refuse(tools.Validation, "set multiline", "pattern: %v", err)
	case err != nil:
		return nil, tools.Refuse(tools.Validation, `RE2 syntax: no look-around, no back-references; \( is a parenthesis, \Q…\E plain text`, "pattern: %v", err)
	}
	if in.Type != "" {
		if q.kind, err = ofKind(in.Type); err != nil {
			return nil, err
		}
	}
	if in.Include == "" {
		return q, nil
	}
	pattern, exclude := strings.CutPrefix(in.Include, "!")
	// !(a|b) is a pattern of its own, not an exclusion.
	if exclude && strings.HasPrefix(pattern, "(") {
		pattern, exclude = in.Include, false
	}
	q.exclude = exclude
	if q.include, err = glob.New(strings.TrimPrefix(pattern, "/")); err != nil {
		return nil, tools.Refuse(tools.Validation, "such as *.go or src/**/*.{ts,tsx}", "include: %v", err)
	}
	return q, nil
}

// takes reports whether to search a file, given its path below the start and its path as results
// show it.
func (q *query) takes(below, named string) bool {
	name := path.Base(below)
	if q.kind != nil && !q.kind.Path(name) {
		return false
	}
	if q.include == nil {
		return true
	}
	// A pattern of one component matches the name in any folder.
	hit := q.include.Single() && q.include.Path(name) || q.include.Path(below) || q.include.Path(named)
	return hit != q.exclude
}

// run searches the tree with one worker per processor.
func (g grepper) run(ctx context.Context, call tools.Call, in GrepInput, intent tools.Intent) (tools.Result, error) {
	q, err := newQuery(in)
	if err != nil {
		return tools.Result{}, err
	}
	start, err := intended(g.Guard, call, in.Path, intent)
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
	if q.HeadLimit == 0 {
		q.HeadLimit = maxContent / len("a:1:\n") // as many as fit on a page
	}
	// The skipped results are collected too: only their order by path says which ones they are.
	r := &grepRun{
		query: q, filter: s, names: names, ctx: ctx, kept: g.kept,
		found: collector{need: in.Offset + q.HeadLimit, content: in.OutputMode == modeContent},
	}
	// A scanner has buffers of its own, so each worker needs one.
	for range walk.Workers() {
		r.scanners = append(r.scanners, &scanner{
			pattern: q.pattern, searcher: q.pattern.Searcher(), mode: in.OutputMode, whole: in.Multiline, keep: in.Offset + q.HeadLimit,
		})
	}
	if err := r.search(); err != nil {
		return tools.Result{}, tools.RefusePath(g.Guard, call, in.Path, err)
	}
	return r.result()
}

// grepRun is one run of grep. It implements walk.Visitor.
type grepRun struct {
	*query
	filter   *filter
	names    naming
	ctx      context.Context //nolint:containedctx // lives for one run
	scanners []*scanner
	kept     *keptOpen
	found    collector
	binary   bool // the named file is binary
}

// search searches the one named file, or the tree below the named folder.
func (r *grepRun) search() error {
	start := r.filter.start
	if !start.IsDir() {
		f, err := r.filter.guard.Open(start)
		if err != nil {
			return err
		}
		var h hit
		if h, r.binary, err = r.scanners[0].file(r.ctx, f, start.Info.Size(), true); err == nil && h.count > 0 {
			r.found.add(h)
		}
		return errors.Join(err, f.Close())
	}
	root, err := r.filter.guard.Folder(start)
	if err != nil {
		return err
	}
	return errors.Join(walk.Walk(r.ctx, root, r), root.Close())
}

// Folder drops hidden and ignored entries, and files of other types.
func (r *grepRun) Folder(d *walk.Dir, entries []walk.Entry) []walk.Entry {
	if r.filter.forbidden(d) {
		return nil
	}
	above := r.filter.top
	if d.Above != nil {
		above, _ = d.Above.Keep.(*walk.Rules)
	}
	node := r.filter.node(d, entries, above)
	// The subfolders read the rules from Keep.
	d.Keep = node
	dir := r.filter.below(d.Path)
	kept := entries[:0]
	for _, e := range entries {
		// The path guard is asked last, because it is the slowest check.
		switch {
		case e.Kind == walk.Other || e.Name[0] == '.':
		case node.Verdict(dir, e.Name, e.Kind == walk.Folder) == walk.Ignored:
		case e.Kind == walk.File && (r.kind != nil || r.include != nil) && !r.takes(d.Child(e.Name), r.names.of(d.Child(e.Name))):
		case r.filter.suspicious(e.Name) && r.filter.secret(d.Child(e.Name)):
		default:
			kept = append(kept, e)
		}
	}
	return kept
}

// File searches a file.
func (r *grepRun) File(worker int, d *walk.Dir, e walk.Entry) {
	if err := r.file(worker, d, e); err != nil {
		r.filter.failed(r.ctx, err)
	}
}

// file searches a file and adds its matches.
func (r *grepRun) file(worker int, d *walk.Dir, e walk.Entry) error {
	f, size, err := r.open(d, e)
	if err != nil || f == nil {
		return err
	}
	below := d.Child(e.Name)
	h, _, err := r.scanners[worker].file(r.ctx, f, size, r.found.wants(below))
	if err == nil && h.count > 0 {
		h.path = below
		r.found.add(h)
	}
	return errors.Join(err, f.Close())
}

// open opens a file; nil if the file is one of hob's own under another name. A suspect file goes
// through the path guard, which checks before it opens. A file that still turns out to be hob's
// own, because somebody swapped it in at that moment, stays open (see keptOpen).
func (r *grepRun) open(d *walk.Dir, e walk.Entry) (f source, size int64, err error) {
	_, careful := r.filter.own.inodes[e.Inode]
	if e.Inode == 0 && !careful { // the listing has no inode: ask
		info, err := d.Stat(e.Name)
		if err != nil {
			return nil, 0, err
		}
		e.Inode, careful = info.Inode, info.Links > 1
	}
	// Several names, or an inode of the state folder: ask the path guard before opening.
	if careful || r.kept.some() {
		return r.filter.open(d.Child(e.Name))
	}
	o, err := d.Open(e.Name)
	if err != nil {
		return nil, 0, err
	}
	_, own := r.filter.own.inodes[o.Inode]
	if own || o.Links > 1 || o.Inode != e.Inode { // otherwise it is the listed file, which was not hob's own
		if hobs, err := r.kept.caught(r.filter.own, o, o.Device, o.Inode); hobs {
			return nil, 0, err
		}
	}
	return o, o.Size, nil
}

// Failed counts a folder that cannot be read.
func (r *grepRun) Failed(_ string, err error) { r.filter.failed(r.ctx, err) }

// page returns the requested results.
func (r *grepRun) page() []hit {
	slices.SortFunc(r.found.hits, func(a, b hit) int { return cmp.Compare(a.path, b.path) })
	skip, left := r.Offset, r.HeadLimit
	var page []hit
	// skip counts results, so it may end inside a file.
	for _, h := range r.found.hits {
		n := r.found.results(h)
		if n <= skip {
			skip -= n
			continue
		}
		if r.found.content {
			h.lines = h.lines[skip:min(len(h.lines), skip+left)]
		}
		skip = 0
		page = append(page, h)
		if left -= r.found.results(h); left <= 0 {
			break
		}
	}
	return page
}
