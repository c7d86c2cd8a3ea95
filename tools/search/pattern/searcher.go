package pattern

import "bytes"

// Searcher searches one text after the other. It is for one goroutine.
type Searcher struct {
	p      *Pattern
	auto   *lazy
	single []single
	text   []byte
	plain  bool // search this text with the automaton only
	vain   int  // literals found in lines that did not match
	passed int  // bytes of all earlier texts
}

// Searcher returns a new searcher.
func (p *Pattern) Searcher() *Searcher {
	s := &Searcher{p: p, auto: newLazy(p.auto)}
	if p.all != nil {
		return s
	}
	s.single = make([]single, len(p.needles))
	for i := range s.single {
		s.single[i].needle = &p.needles[i]
	}
	return s
}

// Reset starts a text, which consists of whole lines. Only the last line may lack its line break.
// The text must not change until the next Reset.
func (s *Searcher) Reset(text []byte) {
	s.passed += len(s.text)
	s.text = text
	s.plain = len(s.p.needles) == 0 || s.futile(0) || s.p.odd(text)
	for i := range s.single {
		s.single[i].reset()
	}
}

// odd reports whether a text contains one of the two non-ASCII runes that fold to ASCII letters,
// the Kelvin sign and the long s, and whether that matters to the pattern.
func (p *Pattern) odd(text []byte) bool {
	return p.long && bytes.Contains(text, []byte("\u017f")) || p.kelvin && bytes.Contains(text, []byte("\u212a"))
}

// Next returns the bounds of the first matching line at from or later, without its line break, or
// -1. from is the beginning of a line.
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
		// A literal only says that the line may match. The automaton decides, unless the literal is
		// the whole pattern.
		if s.p.exact || s.auto.find(s.text[start:end], 0) >= 0 {
			return start, end
		}
		s.vain++
		from = end + 1
		s.plain = s.futile(from)
	}
	return -1, -1
}

// Any reports whether the text matches anywhere. For a pattern whose matches may span lines this is
// the only query.
func (s *Searcher) Any() bool {
	if !s.plain && s.nearest(0) == len(s.text) {
		return false
	}
	return s.auto.find(s.text, 0) >= 0
}

// futile reports whether the literals occur so often that searching for them does not pay.
// The limit is one such line in 250 bytes, after the first 64 of them.
func (s *Searcher) futile(here int) bool { return s.vain > 64 && s.vain*250 > s.passed+here }

// nearest returns a position in the first line at from or later that contains a literal, or len(text).
func (s *Searcher) nearest(from int) int {
	if s.p.all != nil {
		return s.p.all.find(s.text, from)
	}
	at := s.single[0].find(s.text, from)
	for i := 1; i < len(s.single); i++ {
		at = min(at, s.single[i].find(s.text, from))
	}
	return at
}

// line returns the bounds of the line that contains at. It does not look before from.
func (s *Searcher) line(from, at int) (start, end int) {
	start = from + bytes.LastIndexByte(s.text[from:at], '\n') + 1
	if i := bytes.IndexByte(s.text[at:], '\n'); i >= 0 {
		return start, at + i
	}
	return start, len(s.text)
}
