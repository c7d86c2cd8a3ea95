package memory

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// The drives of context items. The drive defines the form of the paths.
const (
	driveAgent = "agent" // any path
	driveURL   = "url"   // web addresses
	driveDisk  = "disk"  // files
)

// Limits of context items.
const (
	mostOfItem  = 512 << 10 // bytes of a content; a call of the local API must be able to hold it
	mostOfPath  = 2000      // bytes
	mostParts   = 20        // of a path of the drive agent
	mostCompare = 1000      // paths that are compared with a missing one for suggestions
)

// Items reads the context items. The store implements it.
type Items interface {
	// ContextItem returns an item with its content; false if there is none.
	ContextItem(ctx context.Context, drive, path string) (tools.ContextItem, bool, error)
	// ContextItems lists items by drive and path, without their contents. The state of the filter is a drive; "": of all.
	ContextItems(ctx context.Context, f event.Filter) ([]tools.ContextItem, error)
}

// ContextDeps holds the dependencies of the tools for context items.
type ContextDeps struct {
	Items   Items
	Guard   *fsguard.Guard
	Facts   *Facts
	Index   Index
	Fetch   tools.Tool             // web_fetch, for context_refresh
	Allowed func(tool string) bool // whether the config allows a tool: without web_fetch and read, nothing is read again
}

// items implements the tools for context items.
type items struct{ ContextDeps }

// NewContext builds context_write, context_read, context_tree, context_search, context_refresh and context_delete. Their scope is the memory, so only
// the owner may use them.
func NewContext(d ContextDeps) []tools.Tool {
	s := items{d}
	return []tools.Tool{s.newWrite(), s.newRead(), s.newTree(), s.newSearch(), s.newRefresh(), s.newDelete()}
}

// ItemName names a context item.
type ItemName struct {
	Drive string `json:"drive" jsonschema:"agent (free paths), url or disk" enum:"agent,url,disk"`
	Path  string `json:"path" jsonschema:"projects/garden, an address, or a file" min:"1" max:"2000"`
}

func (n ItemName) String() string { return tools.ShownPath(n.Drive + ":" + n.Path) }

// owners refuses other people, and conversations that are not the owner's own. The permission rules deny them anyway, but an error before
// that decision must not reveal which items exist.
func owners(call tools.Call) error {
	if ofOwner(call) {
		return nil
	}
	return tools.Refuse(tools.Denied, "the owner can ask for it in a conversation of his own", "only the owner may use context items")
}

// checked returns the only form in which an item's name is stored. It does not look at the disk, so that an item can be found when its file
// no longer exists.
func (s items) checked(call tools.Call, n ItemName) (ItemName, error) {
	if err := owners(call); err != nil {
		return n, err
	}
	if !utf8.ValidString(n.Path) || strings.ContainsRune(n.Path, utf8.RuneError) {
		return n, tools.Refuse(tools.Validation, "send UTF-8", "path: it is not valid UTF-8")
	}
	if i := strings.IndexFunc(n.Path, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(n.Path[i:])
		return n, tools.Refuse(tools.Validation, "leave it out", "path: it holds a character that nobody sees (%U)", r)
	}
	if err := s.Facts.refused("path", n.Path); err != nil {
		return n, err
	}
	switch n.Drive {
	case driveURL:
		if !strings.Contains(n.Path, "://") {
			n.Path = "https://" + n.Path
		}
		link, _, err := netguard.Canonical(n.Path)
		if err != nil {
			return n, tools.Refuse(tools.Validation, "write it as https://HOST/PATH", "path: %v", err)
		}
		n.Path = link
	case driveDisk:
		n.Path = filepath.ToSlash(fsguard.Named(s.Guard, call.Workdir, n.Path))
	default:
		if err := freePath(n.Path); err != nil {
			return n, err
		}
	}
	if len(n.Path) > mostOfPath {
		return n, tools.Refuse(tools.Validation, "choose a shorter one", "path: it has %d bytes, and %d are the most", len(n.Path), mostOfPath)
	}
	return n, nil
}

// freePath checks a path of the drive agent.
func freePath(path string) error {
	parts := strings.Split(path, "/")
	switch {
	case parts[0] == "":
		return tools.Refuse(tools.Validation, "leave the first / out; the drive disk takes files", "path: those of the drive agent are not absolute")
	case len(parts) > mostParts:
		return tools.Refuse(tools.Validation, "use fewer levels", "path: it has %d parts, and %d are the most", len(parts), mostParts)
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.TrimSpace(part) != part || strings.Contains(part, `\`) {
			return tools.Refuse(tools.Validation, "use names with single slashes between them, such as projects/garden", "path: %q cannot be a part of it", part)
		}
	}
	return nil
}

// find returns an item. If there is none, it refuses with suggestions.
func (s items) find(ctx context.Context, call tools.Call, n ItemName) (tools.ContextItem, error) {
	n, err := s.checked(call, n)
	if err != nil {
		return tools.ContextItem{}, err
	}
	it, found, err := s.Items.ContextItem(ctx, n.Drive, n.Path)
	if err != nil || found {
		return it, err
	}
	near, err := s.near(ctx, call, n)
	if err != nil {
		return it, err
	}
	hint := "context_tree (hob context tree) shows what there is"
	if len(near) > 0 {
		hint = text.ThereAre(near, mostNear)
	}
	return it, tools.Refuse(tools.NotFound, hint, "there is no context item %s", n)
}

// near returns the items that are below a path, and up to five that have a similar path. Names that others may have chosen are shown only to turns
// that have already read foreign text.
func (s items) near(ctx context.Context, call tools.Call, n ItemName) (list []string, err error) {
	all, err := s.Items.ContextItems(ctx, event.Filter{})
	var paths []string
	for _, it := range all {
		switch {
		case it.ForeignName && !call.Tainted:
		case it.Drive == n.Drive && strings.HasPrefix(it.Path, strings.TrimRight(n.Path, "/")+"/") || it.Path == n.Path:
			list = append(list, tools.ShownPath(it.Name()))
		case it.Drive == n.Drive && len(it.Path) < 2*len(n.Path)+100 && len(paths) < mostCompare:
			paths = append(paths, it.Path)
		}
	}
	for _, path := range tools.Nearest(n.Path, paths, mostNear) {
		list = append(list, tools.ShownPath(n.Drive+":"+path))
	}
	return list, err
}

// meant returns the intent of a call.
func meant(effect tools.Effect, tool, summary string, in any) (tools.Intent, error) {
	canonical, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Args any    `json:"args"`
	}{tool, in})
	return tools.Intent{Effect: effect, Scopes: []tools.Scope{tools.MemoryScope}, Summary: summary, Canonical: canonical}, err
}

// foreignItem returns why an item taints its reader; "" if it does not.
func foreignItem(it tools.ContextItem) string {
	if it.Foreign == "" {
		return ""
	}
	return it.Name() + ": " + it.Foreign
}

// ContextReadInput is the input of context_read.
type ContextReadInput struct {
	Drive  string `json:"drive" jsonschema:"agent, url or disk" enum:"agent,url,disk"`
	Path   string `json:"path" jsonschema:"as in context_write" min:"1" max:"2000"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, from 0" min:"0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"lines" min:"1" max:"1000" default:"200"`
}

// ContextReadOutput is the output of context_read.
type ContextReadOutput struct {
	Item  tools.ContextItem `json:"item" jsonschema:"the item, without its text"`
	First int               `json:"first_line" jsonschema:"from 1; 0: the item is empty"`
	Last  int               `json:"last_line" jsonschema:"the last line shown"`
	Total int               `json:"total_lines" jsonschema:"lines in the item"`
	Cut   int               `json:"cut" jsonschema:"lines shown only in part"`
	Text  string            `json:"text" jsonschema:"the lines, without numbers"`
}

func (s items) newRead() tools.Tool {
	return tools.New[ContextReadInput, ContextReadOutput](tools.Spec{
		Name: "context_read", Group: "memory", ReadOnly: true, SelfPaging: true, Positional: "path", Example: "projects/garden --drive agent",
		Description: "Read a context item.",
	}, func(ctx context.Context, call tools.Call, in ContextReadInput) (tools.Intent, error) {
		it, err := s.find(ctx, call, ItemName{in.Drive, in.Path})
		if err != nil {
			return tools.Intent{}, err
		}
		i, err := meant(tools.Read, "context_read", "read the context item "+tools.ShownPath(it.Name()), in)
		i.Foreign = foreignItem(it)
		return i, err
	}, func(ctx context.Context, call tools.Call, in ContextReadInput, _ tools.Intent) (tools.Result, error) {
		it, err := s.find(ctx, call, ItemName{in.Drive, in.Path})
		if err != nil {
			return tools.Result{}, err
		}
		res := shownItem(it, in)
		res.Foreign = foreignItem(it) // it may have changed since the intent
		return res, nil
	})
}

// shownItem formats the requested lines of an item.
func shownItem(it tools.ContextItem, in ContextReadInput) tools.Result {
	lines := strings.Split(strings.TrimSuffix(it.Content, "\n"), "\n")
	empty := it.Content == ""
	it.Content = ""
	out := ContextReadOutput{Item: it}
	if empty {
		return tools.Result{Content: tools.ShownPath(it.Name()) + " is empty", Data: out}
	}
	if out.Total = len(lines); in.Offset >= out.Total {
		return tools.Fail(tools.Validation, "leave offset out", "offset: %s has only %s", tools.ShownPath(it.Name()), count(out.Total, "line"))
	}
	res := GetOutput{Total: out.Total}.show(lines[in.Offset:], GetInput{From: in.Offset + 1, Lines: in.Limit}, "offset", 0)
	if p, ok := res.Data.(GetOutput); ok {
		out.First, out.Last, out.Cut, out.Text = p.First, p.Last, p.Cut, p.Text
	}
	res.Data = out
	return res
}

// ContextTreeInput is the input of context_tree.
type ContextTreeInput struct {
	Drive    string `json:"drive,omitempty" jsonschema:"default all" enum:"agent,url,disk"`
	Path     string `json:"path,omitempty" jsonschema:"only what is below it" max:"2000"`
	MaxDepth int    `json:"max_depth,omitempty" jsonschema:"levels" default:"3" min:"1" max:"20"`
}

// ContextTreeOutput is the output of context_tree.
type ContextTreeOutput struct {
	Items []tools.ContextItem `json:"items" jsonschema:"the items, without their texts"`
}

// mostOfTree is how many lines context_tree shows.
const mostOfTree = 300

func (s items) newTree() tools.Tool {
	return tools.New[ContextTreeInput, ContextTreeOutput](tools.Spec{
		Name: "context_tree", Group: "memory", ReadOnly: true, Positional: "path", Example: "projects --drive agent",
		Description: "List the context items by drive and path.",
	}, func(_ context.Context, call tools.Call, in ContextTreeInput) (tools.Intent, error) {
		if err := owners(call); err != nil {
			return tools.Intent{}, err
		}
		return meant(tools.Read, "context_tree", "list the context items", in)
	}, func(ctx context.Context, _ tools.Call, in ContextTreeInput, _ tools.Intent) (tools.Result, error) {
		list, err := s.below(ctx, in)
		if err != nil {
			return tools.Result{}, err
		}
		res := tools.Result{Content: tree(list, in), Data: ContextTreeOutput{Items: list}}
		if slices.ContainsFunc(list, func(it tools.ContextItem) bool { return it.ForeignName }) {
			res.Foreign = "names of context items that a turn chose after it had read foreign text"
		}
		return res, nil
	})
}

// below lists the items at a path and below it.
func (s items) below(ctx context.Context, in ContextTreeInput) ([]tools.ContextItem, error) {
	all, err := s.Items.ContextItems(ctx, event.Filter{State: in.Drive})
	at := strings.TrimRight(in.Path, "/")
	list := []tools.ContextItem{}
	for _, it := range all {
		if at == "" || it.Path == at || strings.HasPrefix(it.Path, at+"/") {
			list = append(list, it)
		}
	}
	return list, err
}

// tree formats one line for each item. Items that are deeper than max_depth are only counted, at the line of their folder.
func tree(list []tools.ContextItem, in ContextTreeInput) string {
	if len(list) == 0 {
		return "there are no context items here; context_write makes one"
	}
	most := in.MaxDepth
	if at := strings.Trim(in.Path, "/"); at != "" {
		most += strings.Count(at, "/") + 1
	}
	var lines, folders []string
	deeper := map[string]int{}
	for _, it := range list {
		if parts := strings.Split(it.Path, "/"); it.Drive == driveAgent && len(parts) > most {
			folder := it.Drive + ":" + strings.Join(parts[:most], "/") + "/"
			if deeper[folder]++; deeper[folder] == 1 {
				folders = append(folders, folder)
			}
			continue
		}
		line := fmt.Sprintf("%s (%s, %s", tools.ShownPath(it.Name()), count(it.Bytes, "byte"), it.Updated.UTC().Format("2006-01-02"))
		if it.Foreign != "" {
			line += ", foreign"
		}
		lines = append(lines, line+")")
	}
	for _, f := range folders {
		lines = append(lines, fmt.Sprintf("%s (%s)", tools.ShownPath(f), count(deeper[f], "item")))
	}
	if more := len(lines) - mostOfTree; more > 0 {
		lines = append(lines[:mostOfTree], fmt.Sprintf("(%d more: give a drive and a path)", more))
	}
	return strings.Join(lines, "\n")
}

// ContextSearchInput is the input of context_search.
type ContextSearchInput struct {
	Query string `json:"query" jsonschema:"words" min:"1" max:"1000"`
	Drive string `json:"drive,omitempty" jsonschema:"default all" enum:"agent,url,disk"`
	Limit int    `json:"limit,omitempty" jsonschema:"passages" default:"6" min:"1" max:"20"`
}

func (s items) newSearch() tools.Tool {
	return tools.New[ContextSearchInput, SearchOutput](tools.Spec{
		Name: "context_search", Group: "memory", ReadOnly: true, SelfPaging: true, Positional: "query", Example: "tomatoes",
		Description: "Search the context items. The result says what was compared.",
	}, func(_ context.Context, call tools.Call, in ContextSearchInput) (tools.Intent, error) {
		if err := owners(call); err != nil {
			return tools.Intent{}, err
		}
		return meant(tools.Read, "context_search", "search the context items for "+shown(in.Query), in)
	}, func(ctx context.Context, call tools.Call, in ContextSearchInput, _ tools.Intent) (tools.Result, error) {
		found, err := s.Index.Search(ctx, index.Query{
			Text: in.Query, Scope: index.ContextScope, Owner: ofOwner(call), Drive: in.Drive, MaxPassages: in.Limit, MinScore: index.DefaultScore,
		})
		if err != nil {
			return tools.Result{}, refusal("the context items", err)
		}
		out, foreign := findings(found)
		var b strings.Builder
		b.WriteString(count(len(out.Results), "passage") + " in the context items (by " + out.By + ")")
		out.list(&b)
		return tools.Result{Content: b.String(), Data: out, Foreign: foreign}, nil
	})
}
