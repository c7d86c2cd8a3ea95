// Package glob matches paths with glob patterns: "**" for any folders, "*", "?", "[a-z]", "{a,b}" and
// "!(x)" for anything but x. It looks at names only. A match takes time polynomial in both lengths.
package glob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxChoices bounds what braces may stand for.
const maxChoices = 256

// ErrPattern is a pattern that cannot be read; what is wrong stands before it.
var ErrPattern = errors.New("not a usable pattern")

// Pattern is a set of paths. It is safe for concurrent use.
type Pattern struct {
	ways []way
}

// way is a pattern without braces, cut at its slashes.
type way []part

// State is how far the folders of a path have come: a position in each way that can still match.
type State []place

type place struct {
	way, part int
	named     bool // the folder was named by its very name, or stands below one that was
}

// New reads a pattern. Slashes part names; there is no name with a slash in it.
func New(pattern string) (*Pattern, error) {
	choices, err := spread(pattern)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, c := range choices {
		w, err := cut(c)
		if err != nil {
			return nil, err
		}
		if len(w) > 0 {
			p.ways = append(p.ways, w)
		}
	}
	if len(p.ways) == 0 {
		return nil, fmt.Errorf("%w: it names nothing", ErrPattern)
	}
	return p, nil
}

// cut parses the names of a pattern; doubled slashes and "." are nothing.
func cut(pattern string) (way, error) {
	var w way
	for name := range strings.SplitSeq(pattern, "/") {
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			return nil, fmt.Errorf("%q: %w: \"..\" may stand only at its beginning", pattern, ErrPattern)
		case name == "**" && len(w) > 0 && w[len(w)-1].any:
			continue
		}
		part, err := parsePart(name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		w = append(w, part)
	}
	if len(w) > 0 && strings.HasSuffix(pattern, "/") {
		w = append(w, part{any: true})
	}
	return w, nil
}

// Start is the state above the first name.
func (p *Pattern) Start() State {
	var s State
	for i := range p.ways {
		s = p.add(s, place{way: i})
	}
	return s
}

// add puts a place and, past a "**", the one behind it.
func (p *Pattern) add(s State, at place) State {
	if slices.Contains(s, at) || at.part == len(p.ways[at.way]) {
		return s
	}
	s = append(s, at)
	if p.ways[at.way][at.part].any {
		at.part++
		s = p.add(s, at)
	}
	return s
}

// Standing is what the rules of a tree say of a folder.
type Standing uint8

// The standings.
const (
	Open    Standing = iota
	Hollow           // all that stands in it is left out
	LeftOut          // it is left out itself
)

// Enter takes one more name of a path, a folder's. One that begins with a dot is matched only by a pattern that begins with
// a dot too, and one that is left out only by its very name: then the rules count for nothing below it.
func (p *Pattern) Enter(s State, name string, standing Standing) State {
	var next State
	for _, at := range s {
		part := &p.ways[at.way][at.part]
		named := at.named || standing != Open && part.literal && part.text == name
		switch {
		case standing == LeftOut && !named || !part.match(name):
		case part.any:
			next = p.add(next, place{at.way, at.part, named})
		default:
			next = p.add(next, place{at.way, at.part + 1, named})
		}
	}
	return next
}

// Match reports whether a name in a folder matches to the end, and whether it was called by its very name.
func (p *Pattern) Match(s State, name string) (ok, named bool) {
	for _, at := range s {
		w := p.ways[at.way]
		if at.part != len(w)-1 || !w[at.part].match(name) {
			continue
		}
		ok = true
		named = named || at.named || w[at.part].literal
	}
	return ok, named
}

// Path reports whether a whole path matches.
func (p *Pattern) Path(path string) bool {
	s := p.Start()
	for {
		name, rest, more := strings.Cut(path, "/")
		if !more {
			ok, _ := p.Match(s, name)
			return ok
		}
		if s = p.Enter(s, name, Open); len(s) == 0 {
			return false
		}
		path = rest
	}
}

// Single says that the pattern has no slash: it speaks of names, wherever they stand.
func (p *Pattern) Single() bool {
	return !slices.ContainsFunc(p.ways, func(w way) bool { return len(w) > 1 })
}
