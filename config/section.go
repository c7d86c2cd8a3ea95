package config

import (
	"iter"
	"maps"
)

// Section is a part of the document that its owner decodes. It is read-only. The zero Section is empty.
type Section struct {
	Name string // the last part of the path: "morning" of [jobs.morning]
	path string // "jobs.morning"
	file string
	node *node
	skip []string // keys that config has already read
}

// Path returns the full name: "jobs.morning".
func (s Section) Path() string { return s.path }

// Empty reports whether the section has no keys.
func (s Section) Empty() bool { return s.node == nil || len(s.node.table) == 0 }

// Decode fills dst, a pointer to a struct with toml tags. It returns Errors with everything that is wrong, including unknown keys. Keys
// that the section does not set keep their value in dst. Durations are texts with units ("30m"); a type with UnmarshalText decodes texts
// itself.
func (s Section) Decode(dst any) error {
	if problems := s.decode(dst); len(problems) > 0 {
		return Errors(problems)
	}
	return nil
}

// Fill is Decode for a running daemon: unknown keys are problems, not errors.
// A misspelt key must not stop a channel or a trigger that could otherwise run.
func (s Section) Fill(dst any) ([]Problem, error) {
	var unknown []Problem
	var wrong Errors
	for _, p := range s.decode(dst) {
		if p.Fatal {
			wrong = append(wrong, p)
		} else {
			unknown = append(unknown, p)
		}
	}
	if len(wrong) > 0 {
		return unknown, wrong
	}
	return unknown, nil
}

// decode decodes the section into dst, without the keys that the core of the config has already decoded.
func (s Section) decode(dst any) []Problem {
	into := target(dst)
	if s.node == nil {
		return nil
	}
	n := s.node
	if len(s.skip) > 0 {
		// All readers of the snapshot share the node, so keys are removed from a copy.
		n = &node{table: maps.Clone(n.table), key: n.key, value: n.value, env: n.env}
		for _, key := range s.skip {
			delete(n.table, key)
		}
	}
	d := &decoder{file: s.file, section: s.path, beside: s.skip}
	d.value(n, into, s.path)
	return d.problems
}

// Fault returns a problem that the section's owner has found. Its place is the key, if it is set, or the section's header.
func (s Section) Fault(key, text string) Problem {
	p := Problem{File: s.file, Section: s.path, Key: s.path, Text: text, Fatal: true}
	n := s.node
	if c := n.child(key); c != nil {
		n, p.Key = c, dotted(s.path, key)
	}
	if n != nil {
		p.Line, p.Column = n.value.line, n.value.column
		// A value from the environment has no line. The variable takes the place of the file.
		if n.env != "" {
			p.File, p.Line, p.Column = n.env, 0, 0
		}
	}
	return p
}

// Fault is Fault of one of config's own sections, such as "models.fast".
func (s *Snapshot) Fault(section, key, text string) Problem {
	n := s.root
	for _, name := range namesOf(section) {
		n = n.child(name)
	}
	return Section{path: section, file: s.file, node: n}.Fault(key, text)
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
