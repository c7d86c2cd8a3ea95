package pattern

import "bytes"

// Searcher looks through one text after the other. It is for one goroutine.
type Searcher struct {
	p       *Pattern
	auto    *lazy
	finders []finder
	text    []byte
	plain   bool // this text is for the automaton alone
	vain    int  // places that a literal led to for nothing
	passed  int  // bytes of the texts before
}

// Searcher makes a searcher.
func (p *Pattern) Searcher() *Searcher {
	s := &Searcher{p: p, auto: newLazy(p.auto)}
	if p.grams != nil {
		return s
	}
	s.finders = make([]finder, len(p.needles))
	for i := range s.finders {
		s.finders[i].needle = &p.needles[i]
	}
	return s
}

// Reset begins with a text: whole lines; only the last may lack its break.
func (s *Searcher) Reset(text []byte) {
	s.passed += len(s.text)
	s.text = text
	s.plain = len(s.p.needles) == 0 || s.futile(0) || s.p.odd(text)
	for i := range s.finders {
		s.finders[i].reset()
	}
}

// odd says that a text holds one of the two runes that fold to ASCII letters and are none, the Kelvin sign and the long s,
// and that it matters.
func (p *Pattern) odd(text []byte) bool {
	return p.long && bytes.Contains(text, []byte("\u017f")) || p.kelvin && bytes.Contains(text, []byte("\u212a"))
}

// Next finds the first line at or after from that matches; from is the beginning of a line. It returns the line's bounds
// without its break; -1: there is none.
func (s *Searcher) Next(from int) (start, end int) {
	for from < len(s.text) {
		if s.plain {
			at := s.auto.find(s.text, from)
			if at < 0 {
				return -1, -1
			}
			return s.line(from, at)
		}
		at := s.nearest(from)
		if at == len(s.text) {
			return -1, -1
		}
		start, end = s.line(from, at)
		if s.p.exact || s.auto.find(s.text[start:end], 0) >= 0 {
			return start, end
		}
		s.vain++
		from = end + 1
		s.plain = s.futile(from)
	}
	return -1, -1
}

// Any reports whether the text matches anywhere. Of a pattern whose matches reach over line breaks it is the only question.
func (s *Searcher) Any() bool {
	if !s.plain && s.nearest(0) == len(s.text) {
		return false
	}
	return s.auto.find(s.text, 0) >= 0
}

// futile says that the literals are everywhere, so that looking for them does not pay.
func (s *Searcher) futile(here int) bool { return s.vain > 64 && s.vain*250 > s.passed+here }

// nearest is where the first of the literals stands, len(text) when none does.
func (s *Searcher) nearest(from int) int {
	if s.p.grams != nil {
		return s.p.grams.find(s.text, from)
	}
	at := s.finders[0].find(s.text, from)
	for i := 1; i < len(s.finders); i++ {
		at = min(at, s.finders[i].find(s.text, from))
	}
	return at
}

// line are the bounds of the line that at is in; no line before from is looked at.
func (s *Searcher) line(from, at int) (start, end int) {
	start = from + bytes.LastIndexByte(s.text[from:at], '\n') + 1
	if i := bytes.IndexByte(s.text[at:], '\n'); i >= 0 {
		return start, at + i
	}
	return start, len(s.text)
}
