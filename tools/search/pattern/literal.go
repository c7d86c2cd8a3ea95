package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the literals: their number and their length in bytes.
const (
	maxLiterals = 16
	maxLength   = 64
)

// Estimated costs per byte of text, in the unit of share. Literals that cost more than the
// automaton are not used.
const (
	automatonCost = 0.12
	scanCost      = 0.006 // of one literal, regardless of its bytes
	gramCost      = 0.2   // of one gram examined
	teddyCost     = 0.01  // of a search by vectors, without the false hits
	gramShare     = 0.06  // of the places of a needle's rarest byte that look like the needle to teddy
)

// literals is a set of strings: each match contains at least one of them. The zero value says
// nothing.
type literals struct {
	texts []string
	fold  bool // ASCII letters match both cases
	exact bool // each occurrence of a text is a match
}

// known reports whether the set says anything.
func (l literals) known() bool { return len(l.texts) > 0 }

// cost estimates the cost of searching for the literals, per byte of text.
func (l literals) cost() float64 {
	if !l.known() || slices.Contains(l.texts, "") {
		return 1
	}
	return min(l.scans(), l.together())
}

// together estimates the cost of a search by newFinder. It is 1 if a literal is too short for that.
func (l literals) together() float64 {
	if !vectors() {
		if step := stepOf(l.needles()); step > 0 {
			return gramCost / float64(step)
		}
		return 1
	}
	sum := teddyCost
	for _, n := range l.needles() {
		if len(n.text) < gram {
			return 1
		}
		sum += (share(n.rare) + share(n.other)) * gramShare
	}
	return sum
}

// scans estimates the cost of a search for the rarest byte of each literal, including the false
// hits.
func (l literals) scans() float64 {
	sum := 0.0
	for _, t := range l.texts {
		n := newNeedle(t, l.fold)
		sum += scanCost + share(n.rare)
		if n.other != n.rare {
			sum += scanCost + share(n.other)
		}
	}
	return sum
}

// folds reports whether a letter occurs in one of them in either case.
func (l literals) folds(letter string) bool {
	return l.fold && slices.ContainsFunc(l.texts, func(t string) bool { return strings.Contains(t, letter) })
}

// needles prepares the literals for the search.
func (l literals) needles() []needle {
	var list []needle
	for _, t := range l.texts {
		list = append(list, newNeedle(t, l.fold))
	}
	return list
}

// require returns the cheapest set of literals such that each match contains one of them.
func require(re *syntax.Regexp) literals {
	if whole := spell(re); whole.known() {
		return whole
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return loosely(require(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			return loosely(require(re.Sub[0]))
		}
	case syntax.OpConcat:
		return requirePart(re.Sub)
	case syntax.OpAlternate:
		return requireAny(re.Sub)
	}
	return literals{}
}

// loosely returns the literals without the promise that they are complete matches.
func loosely(l literals) literals {
	l.exact = false
	return l
}

// requirePart considers each stretch of a sequence that can be spelled out, and each single part.
func requirePart(subs []*syntax.Regexp) literals {
	best := literals{}
	better := func(l literals) {
		if l.cost() < best.cost() {
			best = loosely(l)
		}
	}
	stretch := literals{texts: []string{""}, exact: true}
	for _, sub := range subs {
		s := spell(sub)
		if joined := join(stretch, s); s.known() && joined.known() {
			stretch = joined
			continue
		}
		better(stretch)
		stretch = literals{texts: []string{""}, exact: true}
		if s.known() {
			stretch = s
			continue
		}
		better(require(sub))
	}
	better(stretch)
	return best
}

// requireAny combines the literals of all alternatives.
func requireAny(subs []*syntax.Regexp) literals {
	all := literals{}
	for _, sub := range subs {
		l := require(sub)
		if !l.known() || len(all.texts)+len(l.texts) > maxLiterals {
			return literals{}
		}
		all.texts, all.fold = append(all.texts, l.texts...), all.fold || l.fold
	}
	return all
}

// spell lists all strings that an expression matches, if they are few and the expression matches
// nothing else.
func spell(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return literals{texts: []string{""}, exact: true}
	case syntax.OpLiteral:
		return spellRunes(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return spellClass(re.Rune)
	case syntax.OpCapture:
		return spell(re.Sub[0])
	case syntax.OpQuest:
		inner := spell(re.Sub[0])
		if inner.known() && len(inner.texts) < maxLiterals {
			inner.texts = append(slices.Clone(inner.texts), "")
			return inner
		}
	case syntax.OpConcat:
		all := literals{texts: []string{""}, exact: true}
		for _, sub := range re.Sub {
			if all = join(all, spell(sub)); !all.known() {
				break
			}
		}
		return all
	case syntax.OpAlternate:
		return spellAny(re.Sub)
	}
	return literals{}
}

// spellRunes spells a literal.
func spellRunes(runes []rune, fold bool) literals {
	if len(runes) > maxLength || slices.Contains(runes, utf8.RuneError) {
		return literals{} // the replacement character matches any invalid byte
	}
	if fold && !slices.ContainsFunc(runes, func(r rune) bool { return unicode.SimpleFold(r) != r }) {
		fold = false
	}
	// A needle folds only ASCII letters.
	if fold && slices.ContainsFunc(runes, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return literals{}
	}
	text := string(runes)
	if fold {
		text = strings.ToLower(text)
	}
	return literals{texts: []string{text}, fold: fold, exact: true}
}

// spellClass spells a character class of at most four runes.
func spellClass(ranges []rune) literals {
	all := literals{exact: true}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if all.texts = append(all.texts, string(r)); len(all.texts) > 4 || r == utf8.RuneError || r == '\n' {
				return literals{}
			}
		}
	}
	return all
}

// spellAny spells an alternation.
func spellAny(subs []*syntax.Regexp) literals {
	all := literals{exact: true}
	for _, sub := range subs {
		l := spell(sub)
		if !l.known() || len(all.texts)+len(l.texts) > maxLiterals {
			return literals{}
		}
		if all.texts != nil && l.fold != all.fold {
			all.exact = false
		}
		all.texts, all.fold = append(all.texts, l.texts...), all.fold || l.fold
		all.exact = all.exact && l.exact
	}
	return all
}

// join returns every string of a followed by every string of b, or nothing if there are too many.
func join(a, b literals) literals {
	if !a.known() || !b.known() || len(a.texts)*len(b.texts) > maxLiterals {
		return literals{}
	}
	blank := func(l literals) bool { return len(l.texts) == 1 && l.texts[0] == "" }
	all := literals{fold: a.fold || b.fold, exact: a.exact && b.exact}
	if a.fold != b.fold && !blank(a) && !blank(b) {
		// The case of the strict part is lost, so a hit may be no match.
		all.exact = false
	}
	for _, x := range a.texts {
		for _, y := range b.texts {
			if len(x)+len(y) > maxLength {
				return literals{}
			}
			if !all.fold {
				all.texts = append(all.texts, x+y)
				continue
			}
			if strings.ContainsFunc(x+y, func(r rune) bool { return r >= utf8.RuneSelf }) {
				return literals{}
			}
			all.texts = append(all.texts, strings.ToLower(x+y))
		}
	}
	return all
}
