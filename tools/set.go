package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Set is a fixed, ordered list of tools with distinct names. Its order is the order in the request to the model.
type Set struct {
	list   []Tool
	byName map[string]Tool
}

// NewSet makes a set; two tools of one name are an error.
func NewSet(list ...Tool) (Set, error) {
	s := Set{list: slices.Clone(list), byName: make(map[string]Tool, len(list))}
	for _, t := range list {
		name := t.Spec().Name
		if _, twice := s.byName[name]; twice {
			return Set{}, fmt.Errorf("tool %s is there twice", name)
		}
		s.byName[name] = t
	}
	return s, nil
}

// Find looks a tool up by its exact name.
func (s Set) Find(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// All lists the tools in order.
func (s Set) All() []Tool { return slices.Clone(s.list) }

// Specs lists the descriptions in order.
func (s Set) Specs() []Spec {
	specs := make([]Spec, len(s.list))
	for i, t := range s.list {
		specs[i] = t.Spec()
	}
	return specs
}

// Core lists the descriptions of the tools that each request carries, in order.
func (s Set) Core() []Spec {
	return slices.DeleteFunc(s.Specs(), func(p Spec) bool { return !p.Core })
}

// Nearest names up to three tools that an unknown name may have meant, nearest first.
func (s Set) Nearest(name string) []string {
	names := make([]string, len(s.list))
	for i, t := range s.list {
		names[i] = t.Spec().Name
	}
	return Nearest(name, names, 3)
}

// Nearest picks up to n of the known words that word may have meant, nearest first: by edit distance
// (at most a third of the longer word, and at least 2, apart), or because one begins with the other.
func Nearest(word string, known []string, n int) []string {
	type near struct {
		word string
		far  int
	}
	var found []near
	low := strings.ToLower(word)
	for _, k := range known {
		lowK := strings.ToLower(k)
		if far := distance(low, lowK); far <= max(2, max(len(low), len(lowK))/3) && far < max(len(low), len(lowK)) {
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

// distance is the optimal string alignment distance (insert, delete, replace, swap neighbours), of at most 64 runes each.
func distance(a, b string) int {
	x, y := runesOf(a), runesOf(b)
	prev2, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(y)]
}

func runesOf(s string) []rune {
	r := []rune(s)
	return r[:min(len(r), 64)]
}
