// Package pattern finds the lines that a regular expression matches. If each match must contain one
// of a few literals, it searches for those first, by their rarest byte or all together, and
// checks only the lines where one occurs. Otherwise, or if the literals occur too often, it runs an
// automaton that is built on demand. Expressions have the meaning of the standard regexp package
// (RE2 syntax), line by line. The package reads no files.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
)

// Options modify an expression. ^ and $ always refer to a line.
type Options struct {
	IgnoreCase bool
	Multiline  bool // a match may span lines; "." matches a line break only with (?s)
}

// ErrLineBreak says that an expression needs a line break, which a search by lines can never match.
var ErrLineBreak = errors.New("it asks for a line break, which no single line has")

// Pattern is a compiled expression. It is safe for concurrent use; a Searcher is not.
type Pattern struct {
	std     *regexp.Regexp // the same expression, for the bounds of a match
	auto    *automaton
	needles []needle
	all     finder // finds the needles together; nil: search each by its rarest byte
	exact   bool   // each occurrence of a needle is a match
	long    bool   // a needle in any case contains an s, which the long s matches
	kelvin  bool   // a needle in any case contains a k, which the Kelvin sign matches
}

// Compile compiles an expression. Errors: those of regexp/syntax, and ErrLineBreak.
func Compile(expr string, o Options) (*Pattern, error) {
	flags, prefix := syntax.Perl&^syntax.OneLine, "(?m)"
	if o.IgnoreCase {
		flags, prefix = flags|syntax.FoldCase, "(?mi)"
	}
	re, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	if !o.Multiline && wantsBreak(re) {
		return nil, ErrLineBreak
	}
	p := &Pattern{}
	// regexp.Compile takes no flags, so they are written before the expression.
	if p.std, err = regexp.Compile(prefix + expr); err != nil {
		return nil, err
	}
	// Find the literals before the expression is changed for $ and CR LF.
	set := require(re)
	beforeReturn(re)
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compile the expression: %w", err)
	}
	p.auto = newAutomaton(prog, o.Multiline)
	// Without good literals the automaton alone is faster.
	if set.cost() >= automatonCost {
		return p, nil
	}
	p.needles, p.exact = set.needles(), set.exact
	p.long, p.kelvin = set.folds("s"), set.folds("k")
	if set.together() < set.scans() {
		p.all = newFinder(p.needles)
	}
	return p, nil
}

// Bounds returns the start and the end (exclusive) of the leftmost match in text, or nil.
func (p *Pattern) Bounds(text []byte) []int { return p.std.FindIndex(text) }

// All returns the bounds of all non-overlapping matches in text.
func (p *Pattern) All(text []byte) [][]int { return p.std.FindAllIndex(text, -1) }

// finder finds the first of several needles. It is safe for concurrent use.
type finder interface {
	// find returns a position in the first line at from or later that contains a needle, or len(text).
	find(text []byte, from int) int
}

// newFinder prepares a search for all needles together, by the fastest means that this processor has.
func newFinder(needles []needle) finder {
	if vectors() {
		return newTeddy(needles)
	}
	return newGrams(needles)
}

// wantsBreak reports whether a part of the expression can only match a line break.
func wantsBreak(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		return len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n'
	}
	return slices.ContainsFunc(re.Sub, wantsBreak)
}

// beforeReturn lets $ also match before the carriage return of a line that ends in CR LF.
func beforeReturn(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		beforeReturn(sub)
	}
	if re.Op != syntax.OpEndLine {
		return
	}
	cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
	end := &syntax.Regexp{Op: syntax.OpEndLine}
	*re = syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}, end}}
}
