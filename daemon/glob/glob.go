// Package glob matches paths with glob patterns: "**" for any folders, "*", "?", "[a-z]", "{a,b}", and "!(x)" for anything except x. It
// looks at names only. The time of a match is polynomial in both lengths.
//
// A caller that walks a tree does not match whole paths. It carries a State from folder to folder: Start at the top, Enter for each
// folder, Match for each file. An empty State means that nothing below can match.
package glob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxChoices is the largest number of patterns that braces may expand to.
// It limits time and memory, because patterns come from models and from other people.
const maxChoices = 256

// ErrPattern marks an invalid pattern. The text before it says what is wrong.
var ErrPattern = errors.New("not a valid pattern")

// Pattern is a set of paths. It is safe for concurrent use.
type Pattern struct {
	ways []way
}

// way is a pattern without braces, split at its slashes.
type way []part

// State is the progress of a match through the folders of a path: one place for each way that can still match.
type State []place

// place says how far one way has matched: part is the index of the part that the next name has to match.
type place struct {
	way, part int
	named     bool // the folder, or one above it, was given by its literal name
}

// New parses a pattern. Slashes separate names; a name never contains one.
func New(pattern string) (*Pattern, error) {
	choices, err := spread(pattern)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, c := range choices {
		w, err := parseNames(c)
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

// parseNames parses the names of a pattern. Double slashes and "." are dropped.
func parseNames(pattern string) (way, error) {
	var w way
	for name := range strings.SplitSeq(pattern, "/") {
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			return nil, fmt.Errorf("%q: %w: \"..\" is allowed only at the beginning", pattern, ErrPattern)
		// Two "**" in a row match the same as one.
		case name == "**" && len(w) > 0 && w[len(w)-1].any:
			continue
		}
		part, err := parsePart(name)
		if open := strings.LastIndex(name, "!("); err != nil && open >= 0 && !strings.Contains(name[open:], ")") && strings.Contains(pattern, ")") {
			err = fmt.Errorf("%w: a \"!(\" stands for one name, so there can be no slash in it", ErrPattern)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		w = append(w, part)
	}
	// A slash at the end means everything below the folder.
	if len(w) > 0 && strings.HasSuffix(pattern, "/") {
		w = append(w, part{any: true})
	}
	return w, nil
}

// Start returns the state above the first name.
func (p *Pattern) Start() State {
	var s State
	for i := range p.ways {
		s = p.add(s, place{way: i})
	}
	return s
}

// add adds a place to a state. After a "**" it also adds the next place, because "**" may match nothing.
// A place that is past the last part, or known already, is not added. So a state has at most two places for each part.
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

// FolderState says what ignore rules decide about a folder.
type FolderState uint8

// The states of a folder.
const (
	Shown           FolderState = iota
	ContentsIgnored             // everything in it is ignored
	Ignored                     // the folder itself is ignored
)

// Enter descends into a folder. A name that begins with a dot matches only a pattern that begins with a dot. An ignored folder matches
// only its literal name; the ignore rules then do not apply below it.
func (p *Pattern) Enter(s State, name string, state FolderState) State {
	var next State
	for _, at := range s {
		part := &p.ways[at.way][at.part]
		named := at.named || state != Shown && part.literal && part.text == composed(name)
		switch {
		case state == Ignored && !named || !part.match(name):
		// A "**" keeps its place, because it may take more folders; add also adds the next place.
		case part.any:
			next = p.add(next, place{at.way, at.part, named})
		default:
			next = p.add(next, place{at.way, at.part + 1, named})
		}
	}
	return next
}

// Match reports whether a file name matches the rest of the pattern, and whether it was given by its literal name.
func (p *Pattern) Match(s State, name string) (ok, named bool) {
	for _, at := range s {
		w := p.ways[at.way]
		// A file is the last name of a path, so only the last part of a way can match it.
		if at.part != len(w)-1 || !w[at.part].match(name) {
			continue
		}
		ok = true
		named = named || at.named || w[at.part].literal
	}
	return ok, named
}

// Path reports whether a whole path matches.
// The path has slashes, but none at its beginning. Ignore rules play no part.
func (p *Pattern) Path(path string) bool {
	s := p.Start()
	for {
		name, rest, more := strings.Cut(path, "/")
		if !more {
			ok, _ := p.Match(s, name)
			return ok
		}
		if s = p.Enter(s, name, Shown); len(s) == 0 {
			return false
		}
		path = rest
	}
}

// Single reports whether the pattern has no slash. Such a pattern matches names in any folder.
func (p *Pattern) Single() bool {
	return !slices.ContainsFunc(p.ways, func(w way) bool { return len(w) > 1 })
}
