package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/text"
)

// Set is an ordered list of tools with distinct names. A request to the model has the same order.
type Set struct {
	list   []Tool
	byName map[string]Tool
}

// NewSet returns a set. Two tools with the same name are an error.
func NewSet(list ...Tool) (Set, error) {
	s := Set{list: slices.Clone(list), byName: make(map[string]Tool, len(list))}
	for _, t := range list {
		name := t.Spec().Name
		if _, twice := s.byName[name]; twice {
			return Set{}, fmt.Errorf("tool %s is listed twice", name)
		}
		s.byName[name] = t
	}
	for _, t := range list {
		if alias := t.Spec().Alias; alias != "" && s.byName[alias] == nil {
			s.byName[alias] = t
		}
	}
	return s, nil
}

// Find returns the tool with an exact name or alias. Rules are about the name in its Spec.
func (s Set) Find(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// All returns the tools in order.
func (s Set) All() []Tool { return slices.Clone(s.list) }

// Specs returns the descriptions in order.
func (s Set) Specs() []Spec {
	specs := make([]Spec, len(s.list))
	for i, t := range s.list {
		specs[i] = t.Spec()
	}
	return specs
}

// Core returns the descriptions of the core tools, which each request contains, in order.
func (s Set) Core() []Spec {
	return slices.DeleteFunc(s.Specs(), func(p Spec) bool { return !p.Core })
}

// Nearest returns up to three tool names that an unknown name may stand for, the most similar
// first.
func (s Set) Nearest(name string) []string {
	names := make([]string, len(s.list))
	for i, t := range s.list {
		names[i] = t.Spec().Name
	}
	return Nearest(name, names, 3)
}

// Instead is the hint for a word that is not among the known ones: similar words, or else the known ones, of which it shows at most so many.
// It is "" if there are none.
func Instead(word string, known []string, most int) string {
	near := Nearest(word, known, 3)
	switch {
	case len(near) > 0:
		return text.DidYouMean(near)
	case len(known) > 0:
		return text.ThereAre(known, most)
	}
	return ""
}

// Nearest returns up to n known words that may have been meant, the most similar first. It compares
// by edit distance (at most a third of the longer word, but at least 1) and accepts words that
// contain the other one.
func Nearest(word string, known []string, n int) []string {
	type near struct {
		word string
		far  int
	}
	var found []near
	low := strings.ToLower(word)
	for _, k := range known {
		lowK := strings.ToLower(k)
		if far := text.Distance(low, lowK); far <= max(1, max(len(low), len(lowK))/3) && far < max(len(low), len(lowK)) {
			found = append(found, near{k, far})
		} else if min(len(low), len(lowK)) >= 3 && (strings.Contains(lowK, low) || strings.Contains(low, lowK)) {
			found = append(found, near{k, far})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	words := make([]string, 0, n)
	for _, f := range found[:min(n, len(found))] {
		words = append(words, f.word)
	}
	return words
}
