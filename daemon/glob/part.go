package glob

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// part is the pattern of one name.
type part struct {
	any     bool   // "**": any number of folders
	literal bool   // text is the exact name
	text    string //
	suffix  bool   // "*" and text, the most common pattern
	atoms   []atom // all other patterns
}

// atom is one element of a name's pattern.
type atom struct {
	op   op
	char rune
	sets []span            // for class
	is   []func(rune) bool // for class: "[:alpha:]"
	not  bool              // for class: negated
	but  [][]atom          // for except: the excluded alternatives
}

type op uint8

const (
	char   op = iota
	single    // ?
	starOp    // *
	class     // […]
	except    // !(…)
)

type span struct{ low, high rune }

// parsePart parses the pattern of one name. Literal names and "*" with a literal end are recognised first, because they need no atoms.
// A "(" also leads to the parser, which refuses the other extended patterns of shells.
func parsePart(name string) (part, error) {
	name = composed(name)
	if name == "**" {
		return part{any: true}, nil
	}
	if !strings.ContainsAny(name, `*?[\!(`) {
		return part{literal: true, text: name}, nil
	}
	if name[0] == '*' && len(name) > 1 && !strings.ContainsAny(name[1:], `*?[\!(`) {
		return part{suffix: true, text: name[1:]}, nil
	}
	r := &reader{rest: name}
	atoms, err := r.atoms("")
	return part{atoms: atoms}, err
}

// reader parses the pattern of a name.
type reader struct {
	rest  string
	depth int
}

// maxNesting limits the depth of "!(…)" in each other, and with it the recursion of the parser.
const maxNesting = 8

// atoms parses up to one of the bytes in stop, or to the end.
// Errors wrap ErrPattern. A backslash at the end is a plain character.
func (r *reader) atoms(stop string) ([]atom, error) {
	var list []atom
	for r.rest != "" && strings.IndexByte(stop, r.rest[0]) < 0 {
		c, size := character(r.rest)
		a := atom{op: char, char: c}
		if strings.IndexByte("@+*?", r.rest[0]) >= 0 && strings.HasPrefix(r.rest[1:], "(") {
			return nil, fmt.Errorf(`%w: "%c(" is not supported; use "!(x)" or "{a,b}", and "\(" for a bracket`, ErrPattern, c)
		}
		// The functions for classes and exceptions advance r.rest themselves, so size is 0 after them.
		switch {
		case c == '*':
			a.op = starOp
		case c == '?':
			a.op = single
		case c == '[':
			class, left, err := parseClass(r.rest)
			if err != nil {
				return nil, err
			}
			a, r.rest, size = class, left, 0
		case strings.HasPrefix(r.rest, "!("):
			but, err := r.except()
			if err != nil {
				return nil, err
			}
			a, size = but, 0
		case c == '\\' && len(r.rest) > 1:
			r.rest = r.rest[1:]
			a.char, size = character(r.rest)
		}
		r.rest = r.rest[size:]
		// Two stars in a row match the same as one.
		if a.op == starOp && len(list) > 0 && list[len(list)-1].op == starOp {
			continue
		}
		list = append(list, a)
	}
	return list, nil
}

// except parses "!(a|b)".
func (r *reader) except() (atom, error) {
	if r.depth++; r.depth > maxNesting {
		return atom{}, fmt.Errorf("%w: \"!(\" is nested too deeply", ErrPattern)
	}
	r.rest = r.rest[2:]
	a := atom{op: except}
	// Each round parses one alternative; an empty one is allowed.
	for {
		list, err := r.atoms("|)")
		if err != nil {
			return a, err
		}
		a.but = append(a.but, list)
		if r.rest == "" {
			return a, fmt.Errorf("%w: a \"!(\" is not closed", ErrPattern)
		}
		end := r.rest[0] == ')'
		r.rest = r.rest[1:]
		if end {
			r.depth--
			return a, nil
		}
	}
}

// parseClass parses "[…]" and returns the rest of the pattern.
func parseClass(s string) (atom, string, error) {
	a, rest := atom{op: class}, s[1:]
	if rest != "" && (rest[0] == '!' || rest[0] == '^') {
		a.not, rest = true, rest[1:]
	}
	for first := true; ; first = false {
		if rest == "" {
			return a, "", fmt.Errorf("%w: a \"[\" is not closed", ErrPattern)
		}
		// A "]" at the beginning is an ordinary character.
		if rest[0] == ']' && !first {
			return a, rest[1:], nil
		}
		if name, left, ok := named(rest); ok {
			is := classes()[name]
			if is == nil {
				return a, "", fmt.Errorf("%w: there is no class [:%s:]", ErrPattern, name)
			}
			a.is, rest = append(a.is, is), left
			continue
		}
		var low, high rune
		low, rest = classRune(rest)
		high = low
		// A "-" before the closing bracket is an ordinary character too.
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			high, rest = classRune(rest[1:])
		}
		if low > high {
			return a, "", fmt.Errorf("%w: [%c-%c] is reversed", ErrPattern, low, high)
		}
		a.sets = append(a.sets, span{low, high})
	}
}

// named parses "[:name:]".
func named(s string) (name, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, "[:"); ok {
		name, rest, ok = strings.Cut(s, ":]")
	}
	return name, rest, ok
}

// classes are the named classes of POSIX (IEEE 1003.1, section 9.3.5).
func classes() map[string]func(rune) bool {
	return map[string]func(rune) bool{
		"alpha": unicode.IsLetter, "digit": func(r rune) bool { return r >= '0' && r <= '9' }, "alnum": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) },
		"upper": unicode.IsUpper, "lower": unicode.IsLower, "space": unicode.IsSpace, "blank": func(r rune) bool { return r == ' ' || r == '\t' },
		"punct": func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }, "cntrl": unicode.IsControl,
		"graph": func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }, "print": unicode.IsPrint,
		"xdigit": func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) },
	}
}

// classRune returns the first character of a class and the rest. A backslash protects the character after it.
func classRune(s string) (rune, string) {
	if s[0] == '\\' && len(s) > 1 {
		s = s[1:]
	}
	r, size := character(s)
	return r, s[size:]
}

// match reports whether a name matches. A name that begins with a dot needs a pattern that does.
// This is the rule of shells for hidden files (IEEE 1003.1-2017, XCU, section 2.13.3).
func (p *part) match(name string) bool {
	name = composed(name)
	switch {
	case name == "":
		return false
	case p.literal:
		return name == p.text
	case name[0] == '.' && !p.dotted():
		return false
	case p.any:
		return true
	case p.suffix:
		return strings.HasSuffix(name, p.text)
	case !p.excepts():
		return glob(p.atoms, name)
	}
	m := matching{name: name, known: map[question]bool{}}
	return m.all(p.atoms, 0, len(name))
}

// dotted reports whether the pattern begins with a dot. A "?" or a class at the beginning does not count as one.
func (p *part) dotted() bool {
	return len(p.atoms) > 0 && p.atoms[0].op == char && p.atoms[0].char == '.'
}

// excepts reports whether the pattern needs the slower matching with exceptions.
func (p *part) excepts() bool {
	return slices.ContainsFunc(p.atoms, func(a atom) bool { return a.op == except })
}

// composed returns a name with its letters and accents in one character each. Names may come in either form: macOS and what is packed there have
// them apart.
func composed(name string) string { return norm.NFC.String(name) }
