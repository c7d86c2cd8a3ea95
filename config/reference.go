package config

import (
	"fmt"
	"slices"
	"strings"

	"hob/config/schema"
)

// Reference knows every key of the file: config's own, and those of the plug-ins that it was told of.
type Reference struct {
	parts []Part
	model func(Model) (missing, hint string) // nil: nobody knows
}

// NewReference puts the sections of plug-ins beside config's own.
func NewReference(o Owned) Reference {
	var parts []Part
	var kinds []string
	for _, p := range o.Parts {
		if p.Kind != "" {
			kinds = append(kinds, p.Kind)
		}
	}
	for _, p := range core() {
		for i := range p.Keys {
			if p.Keys[i].Name == "backend" {
				p.Keys[i].Words = o.Backends
			}
		}
		parts = append(parts, p)
		if p.Path == "owner" { // what people set up first stands first
			for _, raw := range o.Parts {
				parts = append(parts, raw.withKind(kinds))
			}
		}
	}
	return Reference{parts: parts, model: o.Model}
}

// withKind adds the keys that config reads in every channel.
func (p Part) withKind(kinds []string) Part {
	if p.Kind != "" {
		kind := schema.Key{Type: schema.Text, Note: schema.Note{Name: "kind", Unset: "the section's name", Words: kinds, Example: fmt.Sprintf("%q", p.Kind), Doc: "What kind of channel it is."}}
		p.Keys = slices.Concat([]schema.Key{kind}, p.Keys, proxyOf("as in `[network]`", `"none"`))
	}
	return p
}

// Parts are all sections, in the order in which people read about them.
func (r Reference) Parts() []Part { return slices.Clone(r.parts) }

// fits reports whether a section's path is one of the part's.
func (p Part) fits(path []string) bool {
	own := strings.Split(p.Path, ".")
	if len(own) != len(path) {
		return false
	}
	for i, name := range own {
		if name != path[i] && name != "NAME" {
			return false
		}
	}
	return true
}

// namesOf are the names in a section's path: there are two at most, and the second, which the owner has chosen, may have dots in it.
func namesOf(path string) []string { return strings.SplitN(path, ".", 2) }

// Shown is the path with an example of a name in the place of NAME.
func (p Part) Shown() string { return strings.ReplaceAll(p.Path, "NAME", p.Named) }

// at finds the part of a section; root tells the kinds of its channels.
func (r Reference) at(root *node, path []string) (Part, bool) {
	for _, p := range r.parts {
		if !p.Several && p.fits(path) && (p.Kind == "" || p.Kind == kindOf(root, path)) {
			return p, true
		}
	}
	return Part{}, false
}

// kindOf is what the section of a channel says that it is.
func kindOf(root *node, path []string) string {
	n := root
	for _, name := range path {
		n = n.child(name)
	}
	if k := n.child("kind"); k != nil {
		if s, ok := k.leaf.(string); ok {
			return s
		}
	}
	return path[len(path)-1]
}

// Find looks a key up by its full name; doc, which is TOML, tells the kinds of its channels. The error is Errors, and says what there is instead.
func (r Reference) Find(doc []byte, path []string) (schema.Key, error) {
	root, err := parse("", doc)
	if err != nil {
		return schema.Key{}, err
	}
	_, k, problem := r.find(root, path)
	if problem != nil {
		return schema.Key{}, Errors{*problem}
	}
	return k, nil
}

// find looks a key up by the parts of its full name. The problem says what there is instead.
func (r Reference) find(root *node, path []string) (Part, schema.Key, *Problem) {
	name := strings.Join(path, ".")
	if p, k, ok := r.kind(path); ok {
		return p, k, nil
	}
	for depth := len(path) - 1; depth > 0; depth-- {
		p, ok := r.at(root, path[:depth])
		if !ok {
			continue
		}
		for _, k := range schema.Flat(p.Keys) {
			if k.Name == strings.Join(path[depth:], ".") {
				return p, k, nil
			}
		}
		known := make([]string, len(p.Keys))
		for i, k := range p.Keys {
			known[i] = k.Name
		}
		return p, schema.Key{}, &Problem{Key: name, Text: fmt.Sprintf("there is no key %q in [%s]", strings.Join(path[depth:], "."), strings.Join(path[:depth], ".")), Hint: nearest(path[depth], known)}
	}
	return Part{}, schema.Key{}, r.noSection(root, path)
}

// kind is the key that says what a channel is: it is known before the channel is.
func (r Reference) kind(path []string) (Part, schema.Key, bool) {
	for _, p := range r.parts {
		if p.Kind != "" && path[len(path)-1] == p.Keys[0].Name && p.fits(path[:len(path)-1]) {
			return p, p.Keys[0], true
		}
	}
	return Part{}, schema.Key{}, false
}

// noSection says why a key is in none.
func (r Reference) noSection(root *node, path []string) *Problem {
	p := &Problem{Key: strings.Join(path, ".")}
	var channel bool
	for _, part := range r.parts {
		switch {
		case part.Several && part.fits(path[:1]):
			p.Text, p.Hint = fmt.Sprintf("[[%s]] is a list of tables, whose keys have no names of their own here", part.Path), "change it with: hob config edit"
			return p
		case part.fits(path):
			p.Text, p.Hint = fmt.Sprintf("%s is a section", p.Key), fmt.Sprintf("name a key in it, for example %s.%s", p.Key, part.Keys[0].Name)
			return p
		case len(path) > 1 && part.Kind != "" && part.fits(path[:len(path)-1]):
			channel = true
		}
	}
	switch {
	case channel:
		section := strings.Join(path[:len(path)-1], ".")
		p.Text = fmt.Sprintf("there is no kind of channel named %q", kindOf(root, path[:len(path)-1]))
		p.Hint = fmt.Sprintf("say first what it is: %s.kind is one of %s", section, strings.Join(r.Kinds(), ", "))
	case !slices.Contains(sections(), path[0]):
		p.Text, p.Hint = fmt.Sprintf("there is no section %q", path[0]), nearest(path[0], sections())
	default:
		p.Text, p.Hint = fmt.Sprintf("there is no key %q", p.Key), r.shape(path[0])
	}
	return p
}

// shape says how the keys of a section are named.
func (r Reference) shape(section string) string {
	for _, p := range r.parts {
		if strings.HasPrefix(p.Path+".", section+".") {
			return fmt.Sprintf("its keys are %s.KEY, for example %s.%s", p.Path, p.Shown(), p.Keys[0].Name)
		}
	}
	return "there are no keys here"
}

// Kinds are those that a channel can be of.
func (r Reference) Kinds() []string {
	var kinds []string
	for _, p := range r.parts {
		if p.Kind != "" {
			kinds = append(kinds, p.Kind)
		}
	}
	return kinds
}

// CheckFile is Check for a file, which may be missing; it also advises on secrets that others can read.
func (r Reference) CheckFile(path string, env []string) ([]Problem, error) {
	doc, open, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return r.check(path, doc, open, env)
}

// Check says all that is wrong with a document, in the order of its lines: what Parse finds, and what the owners of the raw sections
// find in theirs. The error is that of Parse.
func (r Reference) Check(file string, doc []byte, env []string) ([]Problem, error) {
	return r.check(file, doc, false, env)
}

func (r Reference) check(file string, doc []byte, open bool, env []string) ([]Problem, error) {
	snap, problems, err := load(file, doc, open, env)
	if err != nil {
		return nil, err
	}
	root, err := parse(file, doc)
	if err != nil {
		return nil, err
	}
	override(root, env)
	problems = append(problems, r.backends(file, root)...)
	problems = append(problems, r.incomplete(file, root, snap)...)
	for _, c := range snap.Channels {
		p, ok := r.at(root, namesOf(c.path))
		if !ok {
			bad := c.Fault("kind", fmt.Sprintf("there is no kind of channel named %q", c.Kind))
			bad.Hint = nearest(c.Kind, r.Kinds())
			problems = append(problems, bad)
			continue
		}
		problems = append(problems, p.owners(snap, c.Section)...)
	}
	for _, s := range slices.Concat(snap.Jobs, snap.Hooks, snap.Watches) {
		if p, ok := r.at(root, namesOf(s.path)); ok {
			problems = append(problems, p.owners(snap, s)...)
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return place{a.Line, a.Column}.compare(place{b.Line, b.Column})
	})
	return problems, nil
}

// owners are the problems that the owner of a raw section finds.
func (p Part) owners(snap *Snapshot, s Section) []Problem {
	if p.Check == nil {
		return nil
	}
	return p.Check(snap, s)
}

// backends compares those of the models with those that there are.
func (r Reference) backends(file string, root *node) []Problem {
	d := &decoder{file: file}
	look := func(n *node, path string) {
		at := n.child("backend")
		k, ok := r.keyOf(path, "backend")
		if at == nil || !ok || len(k.Words) == 0 {
			return
		}
		if s, ok := at.leaf.(string); ok && s != "" && !slices.Contains(k.Words, s) {
			d.section = path
			d.add(at, at.value, path+".backend", fmt.Sprintf("backend: want one of %s, found %q", strings.Join(k.Words, ", "), s), nearest(s, k.Words), true)
		}
	}
	look(root.child("model"), "model")
	for _, name := range root.child("models").names() {
		look(root.child("models").child(name), "models."+name)
	}
	return d.problems
}

// incomplete are the models that cannot be made of what stands in their sections.
func (r Reference) incomplete(file string, root *node, snap *Snapshot) []Problem {
	d := &decoder{file: file}
	look := func(n *node, path string, m Model) {
		if n == nil || r.model == nil || snap.Off(path) {
			return
		}
		if missing, hint := r.model(m); missing != "" {
			d.section = path
			d.add(n, n.key, path, "["+path+"] is not complete", missing+"; "+hint, true) // one text: what is mended key by key is not worse
		}
	}
	look(root.child("model"), "model", snap.Model)
	for _, name := range root.child("models").names() {
		look(root.child("models").child(name), "models."+name, snap.Models[name])
	}
	return d.problems
}

func (r Reference) keyOf(section, name string) (schema.Key, bool) {
	p, ok := r.at(nil, namesOf(section))
	if !ok {
		return schema.Key{}, false
	}
	i := slices.IndexFunc(p.Keys, func(k schema.Key) bool { return k.Name == name })
	if i < 0 {
		return schema.Key{}, false
	}
	return p.Keys[i], true
}

// at is the node of a full name, nil when there is none.
func (n *node) at(path []string) *node {
	for _, name := range path {
		n = n.child(name)
	}
	return n
}
