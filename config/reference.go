package config

import (
	"fmt"
	"slices"
	"strings"

	"hob/config/schema"
)

// Reference knows every key of the file: config's own keys and those of the plug-ins.
type Reference struct {
	parts []Part
	model func(Model) (missing, hint string) // nil: not checked
}

// NewReference combines the plug-ins' sections with config's own.
func NewReference(o Owned) Reference {
	var parts []Part
	var kinds []string
	for _, p := range o.Parts {
		if p.Kind != "" {
			kinds = append(kinds, p.Kind)
		}
	}
	for _, p := range core() {
		// config knows no backend: their names come from the plug-ins.
		for i := range p.Keys {
			if p.Keys[i].Name == "backend" {
				p.Keys[i].Words = o.Backends
			}
		}
		parts = append(parts, p)
		if p.Path == "owner" { // people configure channels first, so they come here
			for _, raw := range o.Parts {
				parts = append(parts, raw.withKind(kinds))
			}
		}
	}
	return Reference{parts: parts, model: o.Model}
}

// withKind adds the keys that every channel has.
func (p Part) withKind(kinds []string) Part {
	if p.Kind != "" {
		kind := schema.Key{Type: schema.Text, Note: schema.Note{Name: "kind", Unset: "the section's name", Words: kinds, Example: fmt.Sprintf("%q", p.Kind), Doc: "The kind of channel."}}
		p.Keys = slices.Concat([]schema.Key{kind}, p.Keys, proxyOf("as in `[network]`", `"none"`))
	}
	return p
}

// Parts returns all sections in the order of the documentation.
func (r Reference) Parts() []Part { return slices.Clone(r.parts) }

// fits reports whether a section's path belongs to the part.
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

// namesOf splits a section's path into at most two names. The owner chooses the second one, which may contain dots.
func namesOf(path string) []string { return strings.SplitN(path, ".", 2) }

// Shown returns the path with an example in place of NAME.
func (p Part) Shown() string { return strings.ReplaceAll(p.Path, "NAME", p.Named) }

// at returns the part of a section. root supplies the kinds of its channels.
// All parts of channels fit the same paths, so the kind decides between them.
func (r Reference) at(root *node, path []string) (Part, bool) {
	for _, p := range r.parts {
		if !p.Several && p.fits(path) && (p.Kind == "" || p.Kind == kindOf(root, path)) {
			return p, true
		}
	}
	return Part{}, false
}

// kindOf returns the kind of a channel's section.
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
	// Without the key, the name of the section is the kind.
	return path[len(path)-1]
}

// Find looks up a key by its full name. doc, which must be TOML, supplies the kinds of channels. The error is Errors and suggests an
// alternative.
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

// find looks up a key by the parts of its full name. The problem suggests an alternative.
func (r Reference) find(root *node, path []string) (Part, schema.Key, *Problem) {
	name := strings.Join(path, ".")
	if p, k, ok := r.kind(path); ok {
		return p, k, nil
	}
	// The longest section that fits wins: tools.exec.timeout is a key of [tools.exec], not of [tools].
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
		hint := nearest(path[depth], known)
		if slices.Contains(known, path[depth]) { // a key of a table that the reference does not describe, such as mcp.servers.notes.args
			hint = "change it in the file: hob config edit"
		}
		return p, schema.Key{}, &Problem{Key: name, Text: fmt.Sprintf("there is no key %q in [%s]", strings.Join(path[depth:], "."), strings.Join(path[:depth], ".")), Hint: hint}
	}
	return Part{}, schema.Key{}, r.noSection(root, path)
}

// kind returns the key kind of a channel. It exists before the channel's kind is known.
func (r Reference) kind(path []string) (Part, schema.Key, bool) {
	for _, p := range r.parts {
		if p.Kind != "" && path[len(path)-1] == p.Keys[0].Name && p.fits(path[:len(path)-1]) {
			return p, p.Keys[0], true
		}
	}
	return Part{}, schema.Key{}, false
}

// noSection explains why a key belongs to no section.
func (r Reference) noSection(root *node, path []string) *Problem {
	p := &Problem{Key: strings.Join(path, ".")}
	var channel bool
	for _, part := range r.parts {
		switch {
		case part.Several && part.fits(path[:1]):
			p.Text, p.Hint = fmt.Sprintf("[[%s]] is a list of tables; its keys have no names here", part.Path), "change it with: hob config edit"
			return p
		case part.fits(path):
			p.Text, p.Hint = fmt.Sprintf("%s is a section", p.Key), fmt.Sprintf("name a key in it, for example %s.%s", p.Key, part.Keys[0].Name)
			return p
		case len(path) > 1 && part.Kind != "" && part.fits(path[:len(path)-1]):
			channel = true
		}
	}
	// Nothing fits. The most helpful message depends on the part of the name that is right.
	switch {
	case channel:
		section := strings.Join(path[:len(path)-1], ".")
		p.Text = fmt.Sprintf("there is no kind of channel named %q", kindOf(root, path[:len(path)-1]))
		p.Hint = fmt.Sprintf("set its kind first: %s.kind is one of %s", section, strings.Join(r.Kinds(), ", "))
	case !slices.Contains(sections(), path[0]):
		p.Text, p.Hint = fmt.Sprintf("there is no section %q", path[0]), nearest(path[0], sections())
	default:
		p.Text, p.Hint = fmt.Sprintf("there is no key %q", p.Key), r.shape(path[0])
	}
	return p
}

// shape describes the names of a section's keys.
func (r Reference) shape(section string) string {
	for _, p := range r.parts {
		if strings.HasPrefix(p.Path+".", section+".") {
			return fmt.Sprintf("its keys are %s.KEY, for example %s.%s", p.Path, p.Shown(), p.Keys[0].Name)
		}
	}
	return "there are no keys here"
}

// Kinds returns the possible kinds of a channel.
func (r Reference) Kinds() []string {
	var kinds []string
	for _, p := range r.parts {
		if p.Kind != "" {
			kinds = append(kinds, p.Kind)
		}
	}
	return kinds
}

// CheckFile is Check for a file, which may be missing. It also advises on secrets that other users can read.
func (r Reference) CheckFile(path string, env []string) ([]Problem, error) {
	doc, open, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return r.check(path, doc, open, env)
}

// Check returns all problems of a document in the order of its lines: those of Load, and those that the plug-ins' owners find in their
// sections. The error is that of Load.
func (r Reference) Check(file string, doc []byte, env []string) ([]Problem, error) {
	return r.check(file, doc, false, env)
}

// check returns all problems of a document, in the order of the file: those that load finds, and those that need the reference of the
// registered parts: unknown backends and kinds of channels, and keys that are missing.
func (r Reference) check(file string, doc []byte, open bool, env []string) ([]Problem, error) {
	snap, problems, err := load(file, doc, open, env)
	if err != nil {
		return nil, err
	}
	// load does not return the tree, so the document is parsed again for the checks of the parts.
	root, err := parse(file, doc)
	if err != nil {
		return nil, err
	}
	override(root, env)
	if doc != nil && blank(doc) {
		problems = append(problems, Problem{File: file, Text: "the file is empty, so the defaults hold", Hint: "hob keeps the last version with content until you rewrite or remove the file", Advice: true})
	}
	problems = append(problems, r.backends(file, root)...)
	problems = append(problems, r.incomplete(file, root, snap)...)
	// Owners' addresses of channels are checked by the rules of their kind.
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

// owners returns the problems that the owner of a plug-in's section finds.
func (p Part) owners(snap *Snapshot, s Section) []Problem {
	if p.Check == nil {
		return nil
	}
	return p.Check(snap, s)
}

// backends checks the names of backends.
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

// incomplete reports models that cannot be created from their sections.
func (r Reference) incomplete(file string, root *node, snap *Snapshot) []Problem {
	d := &decoder{file: file}
	look := func(n *node, path string, m Model) {
		if n == nil || r.model == nil || snap.Off(path) {
			return
		}
		if missing, hint := r.model(m); missing != "" {
			d.section = path
			d.add(n, n.key, path, "["+path+"] is not complete", missing+"; "+hint, true) // one text: a correction of one key is not a new problem
		}
	}
	look(root.child("model"), "model", snap.Model)
	for _, name := range root.child("models").names() {
		look(root.child("models").child(name), "models."+name, snap.Models[name])
	}
	return d.problems
}

// keyOf returns the description of a key.
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

// at returns the node of a full name, or nil.
func (n *node) at(path []string) *node {
	for _, name := range path {
		n = n.child(name)
	}
	return n
}
