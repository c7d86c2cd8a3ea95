package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/daemon/text"
	"hob/tools"
)

// ForgetInput is the input of memory_forget.
type ForgetInput struct {
	What string `json:"what" jsonschema:"words of the fact, or PATH:LINE" min:"1" max:"2000"`
}

// ForgetOutput is the output of memory_forget.
type ForgetOutput struct {
	Path string `json:"path" jsonschema:"the file, in the workspace"`
	Line int    `json:"line" jsonschema:"where it was, from 1"`
	Text string `json:"text" jsonschema:"what was removed"`
	index.Traces
}

// NewForget builds the tool memory_forget, which removes one fact from the memory. The owner confirms each call.
func NewForget(g *fsguard.Guard, facts *Facts) tools.Tool {
	f := forgetter{writer{store{g}, facts}}
	return tools.New[ForgetInput, ForgetOutput](tools.Spec{
		Name: "memory_forget", Group: "memory", Positional: "what", Example: `"door code"`,
		Description: "Remove one fact from the memory files. The owner confirms it.",
	}, f.intent, f.run)
}

// forgetter implements memory_forget.
type forgetter struct{ writer }

// fact is a bullet of a memory file, or a line of text outside of all bullets.
type fact struct {
	bullet
	order
}

// at formats the place of a fact.
func (f fact) at() string { return fmt.Sprintf("%s:%d", f.name, f.first+1) }

// facts lists the bullets of a page, and the lines of text outside of them.
func (p *page) facts() []bullet {
	list := slices.Clone(p.bullets)
	for i, line := range p.lines {
		bare := strings.TrimSpace(line)
		covered := slices.ContainsFunc(p.bullets, func(b bullet) bool { return b.first <= i && i <= b.last }) ||
			slices.ContainsFunc(p.heads, func(h head) bool { return h.line == i })
		if bare != "" && !covered && fenceOf(bare) == "" {
			list = append(list, bullet{first: i, last: i, text: bare})
		}
	}
	slices.SortFunc(list, func(a, b bullet) int { return a.first - b.first })
	return list
}

// find searches all memory files for the facts that a text refers to. If there are none, it returns a few similar ones.
func (f forgetter) find(ctx context.Context, what string) (found, near []fact, err error) {
	if name, line, ok := placeOf(what); ok {
		found, err = f.atLine(name, line)
		return found, nil, err
	}
	best := 0 // grade of the best matches so far; worse matches are dropped
	for _, name := range index.Names(f.guard) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		o, p, err := f.open(name)
		if err != nil || p == nil {
			continue //nolint:nilerr // a file that cannot be changed holds nothing that can be removed
		}
		for _, b := range p.facts() {
			switch how := matches(b.text, what); {
			case how > best:
				best, found = how, []fact{{b, o}}
			case how == best && how > 0:
				found = append(found, fact{b, o})
			}
		}
		for _, b := range p.near(what) {
			near = append(near, fact{b, o})
		}
	}
	return found, near, nil
}

// open reads a memory file that may be changed; nil if there is none.
func (f forgetter) open(name string) (order, *page, error) {
	o := order{name: name, foreign: true} // text of others may be removed too
	if err := f.resolve(&o); err != nil {
		return o, nil, err
	}
	if !o.place.Exists() {
		return o, nil, nil
	}
	p, err := f.page(o)
	return o, p, err
}

// placeOf splits PATH:LINE.
func placeOf(what string) (name string, line int, ok bool) {
	name, number, ok := strings.Cut(strings.TrimSpace(what), ":")
	line, err := strconv.Atoi(number)
	return name, line, ok && err == nil && line > 0 && strings.HasSuffix(name, ".md")
}

// atLine returns the fact at a line.
func (f forgetter) atLine(name string, line int) ([]fact, error) {
	o, p, err := f.open(name)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, tools.Refuse(tools.NotFound, getter{f.store}.nearby(name), "there is no %s", shown(name))
	}
	for _, b := range p.facts() {
		if b.first < line && line <= b.last+1 {
			return []fact{{b, o}}, nil
		}
	}
	return nil, tools.Refuse(tools.NotFound, "memory_get shows its lines", "line %d of %s holds no fact", line, o.name)
}

// The grades of a match: none, all words occur, the whole text occurs, equal.
const (
	byWords = 1 + iota
	inside
	equal
)

// matches returns the grade to which a text matches a fact.
func matches(fact, what string) int {
	have, want := same(fact), same(what)
	switch {
	case have == want:
		return equal
	case strings.Contains(have, want):
		return inside
	}
	words := text.Telling(what)
	there := text.Words(fact)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(there, w) }) {
		return 0
	}
	return byWords
}

// intent finds the fact. If there is not exactly one, the call changes nothing and only lists the candidates.
func (f forgetter) intent(ctx context.Context, _ tools.Call, in ForgetInput) (tools.Intent, error) {
	found, _, err := f.find(ctx, in.What)
	if err != nil {
		return tools.Intent{}, err
	}
	if len(found) != 1 {
		return f.readIntent("find in the memory: "+shown(in.What), struct {
			Tool string `json:"tool"`
			What string `json:"what"`
		}{"memory_forget", in.What})
	}
	one := found[0]
	canonical, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Path string `json:"path"`
		Text string `json:"text"`
	}{"memory_forget", one.place.Path, one.text})
	return tools.Intent{
		Effect: tools.Once, Scopes: []tools.Scope{tools.MemoryScope, tools.FSWrite}, Paths: []tools.Path{tools.PathOf(one.place, true)},
		Summary: fmt.Sprintf("forget %s: %s", one.at(), cut(one.text, mostToShow)), Canonical: canonical, Keep: one,
		Confirm: "it cannot be brought back; what was said in conversations stays there, and backups that hold it stay as they are",
	}, err
}

// run removes the fact that the intent found.
func (f forgetter) run(ctx context.Context, call tools.Call, in ForgetInput, intent tools.Intent) (tools.Result, error) {
	f.facts.changes.Lock()
	defer f.facts.changes.Unlock()
	one, ok := intent.Keep.(fact)
	if !ok {
		return f.unclear(ctx, in)
	}
	o, p, err := f.open(one.name)
	if err != nil {
		return tools.Result{}, err
	}
	var at []bullet
	if p != nil && o.place.Path == one.place.Path {
		at = slices.DeleteFunc(p.facts(), func(b bullet) bool { return b.text != one.text })
	}
	// The lines may have moved since the intent. Two facts with the same text are the same fact.
	if len(at) == 0 {
		return tools.Fail(tools.Conflict, "call the tool again", "%s has changed: nothing was removed", one.at()), nil
	}
	b := at[0]
	for _, c := range at {
		if c.first == one.first {
			b = c
		}
	}
	p.lines = slices.Delete(p.lines, b.first, b.last+1)
	remove := func() error {
		if _, err := f.guard.WriteFile(o.place, []byte(p.text()), 0o600); err != nil {
			return refusal(o.name, err)
		}
		return nil
	}
	out := ForgetOutput{Path: o.name, Line: b.first + 1, Text: b.text}
	if f.facts.Forget == nil {
		err = remove()
	} else {
		out.Traces, err = f.facts.Forget(ctx, b.removal(call.Turn), remove)
	}
	if err != nil {
		return tools.Result{}, err
	}
	res := tools.Result{Content: out.said(), Data: out}
	if o.place.Foreign != "" {
		res.Foreign = o.name + ": " + o.place.Foreign
	}
	return res, nil
}

// removal describes the fact of a bullet for the removal of its traces.
func (b bullet) removal(turn int64) index.Removal {
	r := index.Removal{Fact: text.FactOf(b.text), Turn: turn}
	if day, err := time.Parse(time.DateOnly, b.date); err == nil {
		r.Since = day.Add(-24 * time.Hour) // the date is that of the owner's time zone
	}
	return r
}

// said describes the removal, and where the fact is still stored.
func (out ForgetOutput) said() string {
	text := fmt.Sprintf("forgotten: %s (line %d of %s)", cut(out.Text, mostToShow), out.Line, out.Path)
	if out.Said > 0 {
		text += fmt.Sprintf("\n%s in conversations tell it: no search and no summary has them any more; hob sessions rm removes a conversation for good", count(out.Said, "passage"))
	}
	for _, b := range out.Backups {
		text += "\nthis backup may still hold it: " + b
	}
	if out.Backups != nil && len(out.Backups) == 0 {
		text += "\nno backup in hob's folder holds it"
	}
	return text
}

// unclear lists the facts that a text may refer to.
func (f forgetter) unclear(ctx context.Context, in ForgetInput) (tools.Result, error) {
	found, near, err := f.find(ctx, in.What)
	if err != nil {
		return tools.Result{}, err
	}
	says, code, list := fmt.Sprintf("%s of the memory have that: nothing was removed", count(len(found), "fact")), tools.Conflict, found
	if len(found) == 0 {
		says, code, list = "the memory has nothing about that: nothing was removed", tools.NotFound, near
	}
	if len(found) == 1 {
		return tools.Fail(tools.Conflict, "call the tool again", "the memory has changed: nothing was removed"), nil
	}
	var b strings.Builder
	foreign := ""
	for _, one := range list[:min(len(list), mostNear)] {
		fmt.Fprintf(&b, "\n  %s: %s", one.at(), cut(one.text, mostOfNear))
		if one.place.Foreign != "" {
			foreign = one.name + ": " + one.place.Foreign
		}
	}
	hint := "memory_search shows what there is"
	if len(list) > 0 {
		hint = "name one by its file and line: forget " + list[0].at()
	}
	res := tools.Fail(code, hint, "%s%s", says, b.String())
	res.Foreign = foreign
	return res, nil
}
