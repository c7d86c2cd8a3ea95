package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/daemon/secret"
	"hob/daemon/text"
	"hob/tools"
)

// Limits of memory_write.
const (
	mostToChange = 4 << 20 // bytes of a file that is changed
	mostNear     = 5       // bullets that an error names
	mostOfNear   = 100     // bytes of each of them
	mostToShow   = 200     // bytes of the content in an approval
)

// plainHeading is the heading for facts without a subject.
const plainHeading = "Notes"

// WriteInput is the input of memory_write.
type WriteInput struct {
	Content    string `json:"content" jsonschema:"one fact" min:"1" max:"2000"`
	About      string `json:"about,omitempty" jsonschema:"heading" max:"100"`
	Path       string `json:"path,omitempty" jsonschema:"default MEMORY.md" max:"500"`
	Supersedes string `json:"supersedes,omitempty" jsonschema:"text of the old fact" max:"2000"`
}

// WriteOutput is the output of memory_write.
type WriteOutput struct {
	Path       string `json:"path" jsonschema:"the file, in the workspace"`
	Line       int    `json:"line" jsonschema:"the line of the fact, from 1"`
	Written    bool   `json:"written" jsonschema:"false: it was there already"`
	Superseded int    `json:"superseded" jsonschema:"the line that was crossed out, from 1; 0: none"`
}

// Facts holds the dependencies of the tools that change the memory. They live as long as the process.
type Facts struct {
	Redact func(string) string // replaces known secrets; nil: none are known
	// Forget calls remove, which removes a fact from its file. It also removes the traces of the fact elsewhere. nil: only the file is
	// changed.
	Forget func(ctx context.Context, f index.Removal, remove func() error) (index.Traces, error)

	changes sync.Mutex // held while a file is read and replaced
}

// NewWrite builds the tool memory_write, which adds one fact to a memory file. A turn that has read foreign text writes only to
// fsguard.ForeignMemory.
func NewWrite(g *fsguard.Guard, facts *Facts) tools.Tool {
	w := writer{store{g}, facts}
	return tools.NewCheckable[WriteInput, WriteOutput](tools.Spec{
		Name: "memory_write", Group: "memory", Core: true, Positional: "content", Example: `"The plumber is Anna Weiss, 030-1234." --about Home`,
		Description: "Remember a fact in a memory file.",
	}, w.intent, w.run, w.probe)
}

// writer implements memory_write.
type writer struct {
	store
	facts *Facts
}

// order is a checked input: the content and its place.
type order struct {
	name    string // of the file, relative to the workspace
	place   fsguard.Place
	content string // in one line
	about   string
	old     string // the text of the bullet to cross out
	foreign bool   // it may come from foreign text
}

// order checks an input without looking into the file.
func (w writer) order(call tools.Call, in WriteInput) (order, error) {
	o := order{name: cmp.Or(in.Path, index.MainFile), foreign: call.Tainted || call.Limited}
	if o.foreign {
		o.name = fsguard.ForeignMemory
	}
	for _, f := range [][2]string{{"content", in.Content}, {"about", in.About}, {"supersedes", in.Supersedes}} {
		if err := w.facts.refused(f[0], f[1]); err != nil {
			return o, err
		}
	}
	o.content, o.about, o.old = oneLine(in.Content), cmp.Or(strings.Trim(oneLine(in.About), "# "), plainHeading), oneLine(in.Supersedes)
	if o.content == "" || item(o.content+" ") == "" && strings.Trim(o.content, "-*+ ") == "" {
		return o, tools.Refuse(tools.Validation, "say in a sentence what is to be remembered", "content: there is nothing to remember in it")
	}
	if rest := item(o.content); rest != "" {
		o.content = rest // the bullet gets its own mark
	}
	return o, w.resolve(&o)
}

// refused returns why a text cannot be written to the memory.
func (f *Facts) refused(field, text string) error {
	if !utf8.ValidString(text) {
		return tools.Refuse(tools.Validation, "send UTF-8", "%s: the text is not valid UTF-8", field)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return tools.Refuse(tools.Validation, "leave it out", "%s: the text holds a control character (%U)", field, r)
	}
	name := secret.Placeholder(nil, []byte(text))
	if f.Redact != nil && name == "" {
		name = secret.Placeholder([]byte(text), []byte(f.Redact(text)))
	}
	if name != "" {
		return tools.Refuse(tools.Validation, "a secret stays where hob keeps it, and the memory is sent to models: leave it out", "%s: the text holds the secret %s", field, name)
	}
	return nil
}

// oneLine joins the lines of a text. A bullet has only one line, so that it cannot begin a heading or a code block.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// resolve finds the file of an order. It accepts only real files of the memory, because a link could lead anywhere.
func (w writer) resolve(o *order) error {
	given := o.name
	name, ok := w.nameOf(given)
	if !ok || !tidy(name) {
		return tools.Refuse(tools.Validation, "leave path out, or name a file such as memory/home.md", "%s is not a file of the memory: want MEMORY.md or memory/*.md", shown(given))
	}
	if o.name = name; strings.EqualFold(name, fsguard.ForeignMemory) && !o.foreign {
		return tools.Refuse(tools.Validation, "leave path out", "%s is only for what comes from others", name)
	}
	p, err := w.guard.Resolve(w.guard.Workspace(), name)
	if err != nil {
		return refusal(name, err)
	}
	if want := filepath.Join(w.guard.Workspace(), filepath.FromSlash(name)); p.Path != want || p.Dangle {
		return tools.Refuse(tools.Denied, "name a real file of the memory", "%s is a link, and leads to %s", name, shown(p.Path))
	}
	switch {
	case p.Area != fsguard.Workspace:
		return tools.Refuse(tools.Denied, "choose another path", "%s is not in the part of the workspace that may be written (%s)", name, p.Area)
	case p.IsDir():
		return tools.Refuse(tools.Validation, "name a file", "%s is a folder", name)
	case p.Foreign != "" && !o.foreign:
		return tools.Refuse(tools.Conflict, "choose another path, or ask the owner: hob trust accept "+p.Path, "%s counts as foreign text (%s), so what is written there would not be believed", name, p.Foreign)
	}
	o.place = p
	return nil
}

// tidy reports whether a name has no hidden parts and no unusual characters.
func tidy(name string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' || r == ':' }
	return path.Clean(name) == name && !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == "" || part[0] == '.' || len(part) > 100 || strings.ContainsFunc(part, odd)
	})
}

// page reads the file of an order; a missing file is an empty page.
func (w writer) page(o order) (*page, error) {
	if !o.place.Exists() {
		return newPage(""), nil
	}
	if size := o.place.Info.Size(); size > mostToChange {
		return nil, tools.Refuse(tools.Validation, "choose another path, such as memory/notes.md", "%s has %d bytes: only files up to %d bytes are changed", o.name, size, mostToChange)
	}
	f, err := w.guard.Open(o.place)
	if err != nil {
		return nil, refusal(o.name, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, mostToChange+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, refusal(o.name, err)
	}
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return nil, tools.Refuse(tools.Validation, "choose another path", "%s is not a text file", o.name)
	}
	return newPage(string(data)), nil
}

// intent checks the input and resolves the file. The canonical bytes contain neither the date nor the content of the file, so an approval
// stays valid when other bullets change.
func (w writer) intent(_ context.Context, call tools.Call, in WriteInput) (tools.Intent, error) {
	o, err := w.order(call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	old := ""
	if o.old != "" {
		p, err := w.page(o)
		if err != nil {
			return tools.Intent{}, err
		}
		b, err := o.superseded(p, call)
		if err != nil {
			return tools.Intent{}, err
		}
		old = b.text
	}
	canonical, err := tools.Canonical(struct {
		Tool       string `json:"tool"`
		Path       string `json:"path"`
		About      string `json:"about"`
		Content    string `json:"content"`
		Supersedes string `json:"supersedes,omitempty"`
	}{"memory_write", o.place.Path, o.about, o.content, old})
	summary := fmt.Sprintf("remember in %s: %s", o.name, cut(o.content, mostToShow))
	if old != "" {
		summary += fmt.Sprintf(" (in place of: %s)", cut(old, mostToShow))
	}
	return tools.Intent{
		Effect: tools.Checkable, Scopes: []tools.Scope{tools.MemoryScope, tools.FSWrite}, Paths: []tools.Path{tools.PathOf(o.place, true)},
		Summary: summary, Canonical: canonical,
	}, err
}

// left returns the bullets that an order could cross out, without the bullet that it writes itself.
func (o order) left(p *page) []bullet {
	return slices.DeleteFunc(p.named(o.old, false), func(b bullet) bool { return same(b.text) == same(o.content) })
}

// superseded finds the bullet that an order crosses out. If an earlier run has crossed it out already, it returns that bullet.
func (o order) superseded(p *page, call tools.Call) (bullet, error) {
	there, written := p.holds(o.content)
	found := o.left(p)
	if done := p.named(o.old, true); written && len(found) == 0 && len(done) > 0 {
		return done[len(done)-1], nil
	}
	if written && len(found) == 0 && strings.Contains(same(there.text), same(o.old)) {
		return there, nil // the text to cross out is the content itself
	}
	// In a turn without foreign text, an error must not quote foreign text.
	shows := o.place.Foreign == "" || call.Tainted
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return bullet{}, tools.Refuse(tools.Conflict, "give the whole text of the one that is meant", "supersedes: %s in %s have that text%s", count(len(found), "bullet"), o.name, listed(found, shows))
	}
	hint := "path names the file of the old bullet; memory_search finds it"
	return bullet{}, tools.Refuse(tools.NotFound, hint, "supersedes: no bullet of %s has the text %q%s", o.name, cut(o.old, mostOfNear), listed(p.near(o.old), shows))
}

// near returns the valid facts that have most words in common with a text.
func (p *page) near(what string) []bullet {
	words := text.Telling(what)
	hits := map[int]int{}
	list := p.facts()
	for _, b := range list {
		have := text.Words(b.text)
		for _, w := range words {
			if slices.Contains(have, w) && !b.struck {
				hits[b.first]++
			}
		}
	}
	list = slices.DeleteFunc(list, func(b bullet) bool { return hits[b.first] == 0 })
	slices.SortStableFunc(list, func(a, b bullet) int { return cmp.Compare(hits[b.first], hits[a.first]) })
	return list
}

// listed names the first bullets of a list for an error.
func listed(list []bullet, shows bool) string {
	if !shows || len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("; there is")
	for _, l := range list[:min(mostNear, len(list))] {
		fmt.Fprintf(&b, "\n  line %d: %s", l.first+1, cut(l.text, mostOfNear))
	}
	return b.String()
}

// cut shortens a text to at most n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// run writes the bullet, unless the file has it already.
func (w writer) run(_ context.Context, call tools.Call, in WriteInput, intent tools.Intent) (tools.Result, error) {
	w.facts.changes.Lock()
	defer w.facts.changes.Unlock()
	o, err := w.order(call, in)
	if err != nil {
		return tools.Result{}, err
	}
	if len(intent.Paths) > 0 && intent.Paths[0].Path != o.place.Path {
		return tools.Fail(tools.Conflict, "call the tool again", "%s now leads to %s", o.name, shown(o.place.Path)), nil
	}
	p, err := w.page(o)
	if err != nil {
		return tools.Result{}, err
	}
	if p.fenced {
		return tools.Fail(tools.Validation, "close it with edit, or choose another path", "%s ends inside a code block", o.name), nil
	}
	zone, err := tools.Zone(call.Zone)
	if err != nil {
		return tools.Result{}, err
	}
	out, date := WriteOutput{Path: o.name}, call.Now.In(zone).Format("2006-01-02")
	if o.old != "" {
		old, err := o.superseded(p, call)
		if err != nil {
			return tools.Result{}, err
		}
		if !old.struck && same(old.text) != same(o.content) {
			p.strike(old, date)
			out.Superseded = old.first + 1
		}
	}
	if there, ok := p.holds(o.content); ok {
		out.Line = there.first + 1
	} else {
		at, lines := p.add(o.about, fmt.Sprintf("- %s: %s (%s)", date, o.content, origin(call, o.foreign)))
		out.Line, out.Written = at+lines, true
		// The inserted lines may have moved the crossed out bullet.
		if out.Superseded > at {
			out.Superseded += lines
		}
	}
	if !out.Written && out.Superseded == 0 {
		return tools.Result{Content: fmt.Sprintf("%s has that already (line %d): nothing was written", o.name, out.Line), Data: out}, nil
	}
	if _, err := w.guard.WriteFile(o.place, []byte(p.text()), 0o600); err != nil {
		return tools.Result{}, refusal(o.name, err)
	}
	return tools.Result{Content: out.said(o), Data: out}, nil
}

// said describes the written fact.
func (out WriteOutput) said(o order) string {
	text := fmt.Sprintf("remembered in %s below %q (line %d)", o.name, o.about, out.Line)
	if !out.Written {
		text = fmt.Sprintf("%s has that already (line %d)", o.name, out.Line)
	}
	if out.Superseded > 0 {
		text += fmt.Sprintf("; line %d is crossed out", out.Superseded)
	}
	if o.foreign {
		text += "; it is kept apart, because it may come from others: no prompt holds it, and only memory_search finds it"
	}
	return text
}

// probe reports whether an interrupted run took effect: the file contains the content, and the old bullet is crossed out.
func (w writer) probe(_ context.Context, call tools.Call, in WriteInput, _ tools.Intent) (bool, error) {
	o, err := w.order(call, in)
	if err != nil {
		return false, err
	}
	if err := w.guard.Sweep(o.place); err != nil {
		return false, fmt.Errorf("remove the temporary file of %s: %w", o.name, err)
	}
	p, err := w.page(o)
	if err != nil {
		return false, err
	}
	_, there := p.holds(o.content)
	return there && (o.old == "" || len(o.left(p)) == 0), nil
}

// origin says who told hob a fact, when, and in which conversation.
func origin(call tools.Call, foreign bool) string {
	from := "from the command line"
	if call.Turn != 0 {
		key := strings.Map(func(r rune) rune {
			if strings.ContainsRune("()~\n", r) || !unicode.IsPrint(r) {
				return '_'
			}
			return r
		}, call.Key)
		from = fmt.Sprintf("from %s, turn %d", key, call.Turn)
	}
	if foreign {
		return "foreign, " + from
	}
	return from
}
