package glob

import (
	"unicode"
	"unicode/utf8"
)

// character returns the first character of s and its length. A byte that is not UTF-8 is a character of its own, beyond all of Unicode: two
// such bytes must not match each other.
func character(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		r = unicode.MaxRune + 1 + rune(s[0])
	}
	return r, size
}

// glob matches a name against atoms without exceptions. Each star takes as little as possible; on a mismatch the last star takes one more
// character.
// Only the last star needs another try: an earlier one could only move the same match further to the right.
func glob(atoms []atom, name string) bool {
	at, i := 0, 0
	star, mark := -1, 0
	for i < len(name) || at < len(atoms) {
		if at < len(atoms) && atoms[at].op == starOp {
			star, mark = at, i
			at++
			continue
		}
		if at < len(atoms) && i < len(name) {
			if size := atoms[at].takes(name[i:]); size > 0 {
				at, i = at+1, i+size
				continue
			}
		}
		// A mismatch: without a star, or with one that has taken everything, nothing is left to try.
		if star < 0 || mark == len(name) {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		at, i = star+1, mark
	}
	return true
}

// takes returns the length of the character that an atom matches at the start of s; 0: it does not match.
func (a *atom) takes(s string) int {
	r, size := character(s)
	switch a.op {
	case char:
		if r != a.char {
			return 0
		}
	case class:
		in := false
		for _, set := range a.sets {
			in = in || set.low <= r && r <= set.high
		}
		for _, is := range a.is {
			in = in || is(r)
		}
		if in == a.not {
			return 0
		}
	case single:
	default:
		return 0
	}
	return size
}

// matching matches one name against atoms with exceptions. It remembers every answer, which keeps the time polynomial.
type matching struct {
	name  string
	known map[question]bool
}

// question asks whether a list of atoms matches name[from:to]. A list always ends where its array ends, so the first atom is enough.
type question struct {
	first    *atom // the first of the remaining atoms, which identifies the list
	from, to int
}

// all reports whether the atoms match name[from:to] completely.
func (m *matching) all(atoms []atom, from, to int) bool {
	if len(atoms) == 0 {
		return from == to
	}
	q := question{&atoms[0], from, to}
	if answer, ok := m.known[q]; ok {
		return answer
	}
	answer := m.first(atoms, from, to)
	m.known[q] = answer
	return answer
}

// first matches the first atom and asks all for the rest.
func (m *matching) first(atoms []atom, from, to int) bool {
	a, rest := &atoms[0], atoms[1:]
	if a.op != starOp && a.op != except {
		if from == to {
			return false
		}
		size := a.takes(m.name[from:to])
		return size > 0 && m.all(rest, from+size, to)
	}
	// A star and an exception take any number of characters, the fewest first. An exception must not take what its alternatives match.
	for end := from; ; {
		if (a.op == starOp || !m.one(a.but, from, end)) && m.all(rest, end, to) {
			return true
		}
		if end >= to {
			return false
		}
		_, size := utf8.DecodeRuneInString(m.name[end:to])
		end += size
	}
}

// one reports whether one of the lists matches name[from:to].
func (m *matching) one(lists [][]atom, from, to int) bool {
	for _, list := range lists {
		if m.all(list, from, to) {
			return true
		}
	}
	return false
}
