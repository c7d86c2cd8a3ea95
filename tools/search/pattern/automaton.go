package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// automaton is the part of a lazy automaton that all searchers share.
type automaton struct {
	prog    *syntax.Prog
	classes *classes
	across  bool // a match may span lines
	words   bool // the program tests word boundaries
	begins  bool // the program tests beginnings of lines or of the text
}

// newAutomaton prepares a program and notes which assertions it uses.
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

// Limits of a lazy automaton. When it reaches one, it forgets its states and continues: slower, but
// never wrong.
const (
	maxCells   = 1 << 18 // cells of the transition table: 1 MB
	maxThreads = 1 << 18 // positions in all states together
)

// The first two rows of the table are not states.
const (
	unknown = 0 // not computed yet
	matched = 1
)

// lazy is a deterministic automaton that creates its states on demand. A state is a set of
// positions in the program, together with the kind of the previous rune. A state's number is the
// index of the first cell of its row.
// It is for one goroutine: each Searcher has its own.
type lazy struct {
	*automaton
	row     uint32   // cells of a row
	cells   []uint32 // row by row: the next state
	states  []state
	known   map[string]uint32
	threads int
	first   uint32    // the state at the beginning of a line; unknown: not computed
	idle    [256]bool // bytes that keep the rest state
	rest    uint32    // the state inside a line when no match has started; unknown: not computed

	key   []byte
	marks []uint32 // for each position the round in which it was added
	round uint32
	stack []uint32
}

// state is one state of the automaton.
type state struct {
	at     []uint32 // positions, including those of assertions
	before kind
	ends   bool // at contains an assertion, which the next rune decides
}

// newLazy returns an automaton without states.
func newLazy(a *automaton) *lazy {
	l := &lazy{automaton: a, row: uint32(len(a.classes.sample)) + 1, marks: make([]uint32, len(a.prog.Inst))} //nolint:gosec // a few hundred
	l.forget()
	return l
}

// forget drops all states.
func (l *lazy) forget() {
	l.cells = append(l.cells[:0], make([]uint32, 2*l.row)...)
	l.states = append(l.states[:0], state{}, state{})
	l.known = map[string]uint32{}
	l.threads, l.first, l.rest = 0, unknown, unknown
}

// start returns the state before a line or, if matches may span lines, before the text.
func (l *lazy) start() uint32 {
	if l.first == unknown {
		l.first = l.fresh(textEdge)
	}
	return l.first
}

// fresh returns the state in which no part of a match has been read.
func (l *lazy) fresh(before kind) uint32 {
	l.begin()
	at, done := l.follow(nil, uint32(l.prog.Start), 0, false) //nolint:gosec // a position
	if done {
		return matched * l.row
	}
	return l.intern(at, before)
}

// settle computes the rest state and the bytes that keep it. Most of a text is passed in this
// state.
func (l *lazy) settle() {
	l.idle = [256]bool{}
	l.rest = l.fresh(plainRune)
	if l.rest < 2*l.row {
		return
	}
	for b, c := range l.classes.ascii[:utf8.RuneSelf] {
		rest := l.rest
		next := l.step(rest, uint32(c))
		if l.rest != rest { // the states were forgotten meanwhile
			return
		}
		l.idle[b] = next == rest
	}
}

// begin starts a new round of marks.
func (l *lazy) begin() {
	// After an overflow old marks would look new.
	if l.round++; l.round == 0 {
		clear(l.marks)
		l.round = 1
	}
}

// follow adds a position and all positions reachable from it without reading. It keeps assertions
// as they are, unless decided says that flags holds their truth values. It reports whether the end
// of the program was reached.
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

// intern returns the number of a set of positions, and creates its state if necessary.
// before is reduced to what the program can test, so that there are fewer states.
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
	// The order of the positions has no meaning, because only the existence of a match matters.
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

// step computes the successor of a state for a class. The last class of a row is the end of the
// text.
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
		// forget clears the states, so the next one is saved and created again.
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

// advance computes the successor of a state for a rune: it decides the assertions, and then reads
// the rune.
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
	// The next line begins like the first.
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
	// A match may also begin after this rune, so the start of the program is added.
	if at, done = l.follow(at, uint32(l.prog.Start), 0, false); done { //nolint:gosec // a position
		return matched * l.row
	}
	return l.intern(at, after)
}

// flags returns the assertions that hold between two runes.
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

// find returns a position inside a matching line, between its first byte and its line break, or -1.
// from is the beginning of a line. It only examines the first line with a match.
func (l *lazy) find(text []byte, from int) int {
	if l.rest == unknown {
		l.settle()
	}
	s := l.start()
	special := 2 * l.row
	// The start is never unknown, so the pattern matches before the first byte.
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
		// The common case is an ASCII byte and a known next state without a match.
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
			// step may have replaced the table and forgotten the rest state.
			cells, rest = l.cells, l.rest
		}
		if next < special {
			return i
		}
		s = next
		i += size
	}
	// The last line break has ended the last line already.
	if ended := len(text) > 0 && text[len(text)-1] == '\n'; ended && !l.across {
		return -1
	}
	// The end of the text may complete a match, for example of $.
	if l.step(s, l.row-1) == matched*l.row {
		return len(text)
	}
	return -1
}

// pass skips bytes that keep the rest state.
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
