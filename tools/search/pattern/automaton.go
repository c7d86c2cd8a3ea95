package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// automaton is what the lazy automata of all searchers have in common.
type automaton struct {
	prog    *syntax.Prog
	classes *classes
	across  bool // a match may reach over line breaks
	words   bool // the program asks for word boundaries
	begins  bool // … for beginnings of lines or of the text
}

func newAutomaton(p *syntax.Prog, across bool) *automaton {
	a := &automaton{prog: p, classes: newClasses(p), across: across}
	for _, in := range p.Inst {
		if in.Op != syntax.InstEmptyWidth {
			continue
		}
		op := syntax.EmptyOp(in.Arg) //nolint:gosec // as the standard package reads it
		a.words = a.words || op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		a.begins = a.begins || op&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0
	}
	return a
}

// Limits of a lazy automaton. When one is reached it forgets its states and goes on: slower, never wrong.
const (
	maxCells   = 1 << 18 // of the table of transitions: 1 MB
	maxThreads = 1 << 18 // positions in the program, over all states
)

// The first two rows of the table are no states.
const (
	unknown = 0 // not worked out yet
	matched = 1
)

// lazy is an automaton that makes its states as the text asks for them. A state is a set of positions in the program
// and what stood before. Numbers of states are their rows' first cells.
type lazy struct {
	*automaton
	row     uint32   // cells of a row
	cells   []uint32 // row by row: the next state
	states  []state
	known   map[string]uint32
	threads int
	first   uint32    // the state at the beginning of a line; unknown: not worked out
	idle    [256]bool // bytes that lead from the state inside a line, where nothing has begun, back to it
	rest    uint32    // that state; unknown: not worked out

	key   []byte
	marks []uint32 // of a position: the round in which it was added
	round uint32
	stack []uint32
}

type state struct {
	at     []uint32 // positions, those of assertions among them
	before kind
	ends   bool // an assertion stands in at: the next rune decides
}

func newLazy(a *automaton) *lazy {
	l := &lazy{automaton: a, row: uint32(len(a.classes.sample)) + 1, marks: make([]uint32, len(a.prog.Inst))} //nolint:gosec // a few hundred
	l.forget()
	return l
}

func (l *lazy) forget() {
	l.cells = append(l.cells[:0], make([]uint32, 2*l.row)...)
	l.states = append(l.states[:0], state{}, state{})
	l.known = map[string]uint32{}
	l.threads, l.first, l.rest = 0, unknown, unknown
}

// start is the state before a line (or, when matches reach over line breaks, the text).
func (l *lazy) start() uint32 {
	if l.first == unknown {
		l.first = l.fresh(textEdge)
	}
	return l.first
}

// fresh is the state in which nothing of a match has been read.
func (l *lazy) fresh(before kind) uint32 {
	l.begin()
	at, done := l.follow(nil, uint32(l.prog.Start), 0, false) //nolint:gosec // a position
	if done {
		return matched * l.row
	}
	return l.intern(at, before)
}

// settle works out the state of rest, and which bytes do not disturb it. Most of a text is passed in it.
func (l *lazy) settle() {
	l.idle = [256]bool{}
	l.rest = l.fresh(plainRune)
	if l.rest < 2*l.row {
		return
	}
	for b, c := range l.classes.ascii[:utf8.RuneSelf] {
		rest := l.rest
		next := l.step(rest, uint32(c))
		if l.rest != rest { // forgotten meanwhile
			return
		}
		l.idle[b] = next == rest
	}
}

func (l *lazy) begin() {
	if l.round++; l.round == 0 {
		clear(l.marks)
		l.round = 1
	}
}

// follow adds a position and all that it leads to without reading. Assertions are kept as they are, unless decided says
// that flags hold the truth about them. It reports whether the end of the program was reached.
func (l *lazy) follow(at []uint32, pc uint32, flags syntax.EmptyOp, decided bool) ([]uint32, bool) {
	l.stack = append(l.stack[:0], pc)
	for len(l.stack) > 0 {
		pc := l.stack[len(l.stack)-1]
		l.stack = l.stack[:len(l.stack)-1]
		if l.marks[pc] == l.round {
			continue
		}
		l.marks[pc] = l.round
		in := &l.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			l.stack = append(l.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			l.stack = append(l.stack, in.Out)
		case syntax.InstEmptyWidth:
			if !decided {
				at = append(at, pc)
			} else if syntax.EmptyOp(in.Arg)&^flags == 0 { //nolint:gosec // as the standard package reads it
				l.stack = append(l.stack, in.Out)
			}
		case syntax.InstMatch:
			return at, true
		case syntax.InstFail:
		default:
			at = append(at, pc)
		}
	}
	return at, false
}

// intern gives a set of positions its number.
func (l *lazy) intern(at []uint32, before kind) uint32 {
	switch {
	case before == textEdge && !l.across:
		before = lineBreak // each line is a text of its own
		fallthrough
	case before == textEdge || before == lineBreak:
		if !l.begins {
			before = plainRune
		}
	case !l.words:
		before = plainRune
	}
	slices.Sort(at)
	l.key = append(l.key[:0], byte(before))
	for _, pc := range at {
		l.key = binary.LittleEndian.AppendUint32(l.key, pc)
	}
	if id, ok := l.known[string(l.key)]; ok {
		return id
	}
	id := uint32(len(l.cells)) //nolint:gosec // at most maxCells
	l.cells = append(l.cells, make([]uint32, l.row)...)
	ends := slices.ContainsFunc(at, func(pc uint32) bool { return l.prog.Inst[pc].Op == syntax.InstEmptyWidth })
	l.states = append(l.states, state{slices.Clone(at), before, ends})
	l.known[string(l.key)] = id
	l.threads += len(at)
	return id
}

// step works out where state id goes by a class; the last class of a row is the end of the text.
func (l *lazy) step(id, class uint32) uint32 {
	s := l.states[id/l.row]
	end := class == l.row-1
	r, after := rune(-1), textEdge
	if !end {
		r = l.classes.sample[class]
		after = kindOf(r)
	}
	next, full := l.advance(s, r, after), len(l.cells) > maxCells || l.threads > maxThreads
	if full {
		old := l.states[next/l.row]
		l.forget()
		if next >= 2*l.row {
			next = l.intern(old.at, old.before)
		}
		return next
	}
	l.cells[id+class] = next
	return next
}

func (l *lazy) advance(s state, r rune, after kind) uint32 {
	from := s.at
	if s.ends {
		flags := l.flags(s.before, after)
		l.begin()
		from = nil
		for _, pc := range s.at {
			var done bool
			if from, done = l.follow(from, pc, flags, true); done {
				return matched * l.row
			}
		}
	}
	if after == textEdge || after == lineBreak && !l.across {
		return l.start()
	}
	l.begin()
	var at []uint32
	var done bool
	for _, pc := range from {
		if in := &l.prog.Inst[pc]; takes(in, r) {
			if at, done = l.follow(at, in.Out, 0, false); done {
				return matched * l.row
			}
		}
	}
	if at, done = l.follow(at, uint32(l.prog.Start), 0, false); done { //nolint:gosec // a position
		return matched * l.row
	}
	return l.intern(at, after)
}

// flags are the assertions that hold between two runes.
func (l *lazy) flags(before, after kind) syntax.EmptyOp {
	var f syntax.EmptyOp
	if before == lineBreak || before == textEdge {
		f |= syntax.EmptyBeginLine
		if before == textEdge || !l.across {
			f |= syntax.EmptyBeginText
		}
	}
	if after == lineBreak || after == textEdge {
		f |= syntax.EmptyEndLine
		if after == textEdge || !l.across {
			f |= syntax.EmptyEndText
		}
	}
	if (before == wordRune) != (after == wordRune) {
		return f | syntax.EmptyWordBoundary
	}
	return f | syntax.EmptyNoWordBoundary
}

// find is a place in the first line of text, from a beginning of a line on, that the expression matches: between the
// line's first byte and its break. -1: there is none.
func (l *lazy) find(text []byte, from int) int {
	if l.rest == unknown {
		l.settle()
	}
	s := l.start()
	special := 2 * l.row
	if s < special {
		return from
	}
	class, cells, rest := &l.classes.ascii, l.cells, l.rest
	for i := from; i < len(text); {
		if s == rest {
			if i = l.pass(text, i); i == len(text) {
				break
			}
		}
		c := uint32(class[text[i]])
		if c != uint32(l.classes.wide) {
			if next := cells[s+c]; next >= special {
				s = next
				i++
				continue
			}
		}
		size := 1
		if c == uint32(l.classes.wide) {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			c = uint32(l.classes.class(r))
		}
		next := l.cells[s+c]
		if next == unknown {
			next = l.step(s, c)
			cells, rest = l.cells, l.rest
		}
		if next < special {
			return i
		}
		s = next
		i += size
	}
	if ended := len(text) > 0 && text[len(text)-1] == '\n'; ended && !l.across {
		return -1
	}
	if l.step(s, l.row-1) == matched*l.row {
		return len(text)
	}
	return -1
}

// pass skips bytes that do not disturb the state of rest.
func (l *lazy) pass(text []byte, i int) int {
	idle := &l.idle
	for ; i+4 <= len(text); i += 4 {
		if !(idle[text[i]] && idle[text[i+1]] && idle[text[i+2]] && idle[text[i+3]]) {
			break
		}
	}
	for i < len(text) && idle[text[i]] {
		i++
	}
	return i
}
