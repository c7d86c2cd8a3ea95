// Package pattern finds the lines that a regular expression matches: by a literal that each match must hold where there
// is one, else by an automaton that is built as the text needs it. It means what the standard regexp package means
// (RE2's syntax), line by line; it reads no files.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
)

// Options say how an expression is meant. ^ and $ are always those of a line.
type Options struct {
	IgnoreCase bool
	Multiline  bool // a match may reach over line breaks; "." takes one only with (?s)
}

// ErrLineBreak is an expression that can match nothing but line breaks in a search by lines.
var ErrLineBreak = errors.New("it asks for a line break, which no single line has")

// Pattern is a compiled expression. It is safe for concurrent use; a Searcher is not.
type Pattern struct {
	std     *regexp.Regexp // the same expression for what needs the bounds of a match
	auto    *automaton
	needles []needle
	grams   *grams // finds the needles; nil: each is looked for by its rarest byte
	exact   bool   // a needle that is found is a match
	long    bool   // there are needles in any case with an s: the long s is one
	kelvin  bool   // … with a k: the Kelvin sign is one
}

// Compile reads an expression. Errors are those of regexp/syntax, and ErrLineBreak.
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
	if p.std, err = regexp.Compile(prefix + expr); err != nil {
		return nil, err
	}
	set := require(re)
	beforeReturn(re)
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compile the expression: %w", err)
	}
	p.auto = newAutomaton(prog, o.Multiline)
	if set.cost() >= automatonCost {
		return p, nil
	}
	p.needles, p.exact = set.needles(), set.exact
	p.long, p.kelvin = set.folds("s"), set.folds("k")
	if set.byGrams() {
		p.grams = newGrams(p.needles, stepOf(set.texts))
	}
	return p, nil
}

// Bounds are the first and the last byte (exclusive) of the leftmost match in text, nil when there is none.
func (p *Pattern) Bounds(text []byte) []int { return p.std.FindIndex(text) }

// All are the bounds of all matches in text that do not overlap.
func (p *Pattern) All(text []byte) [][]int { return p.std.FindAllIndex(text, -1) }

// wantsBreak says whether a part of the expression can only be a line break.
func wantsBreak(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		return len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n'
	default:
		return slices.ContainsFunc(re.Sub, wantsBreak)
	}
}

// beforeReturn lets $ stand before the carriage return of a line that ends in CR LF too.
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
