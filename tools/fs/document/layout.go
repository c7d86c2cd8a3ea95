package document

import (
	"math"
	"strings"
	"unicode"
)

// layout puts pieces of text together to lines: a piece that begins where the last one ended belongs to its word, one that begins
// further on is another word, one that stands elsewhere is another line. Pieces stay in the order in which the page shows them, which
// for nearly all programs that write PDF is the order in which they are read.
type layout struct {
	text  page
	end   point   // where the last piece ended, on its base line
	along point   // its direction, of length 1
	size  float64 // its height
	any   bool
}

type point struct{ x, y float64 }

func (p point) minus(q point) point        { return point{p.x - q.x, p.y - q.y} }
func (p point) dot(q point) float64        { return p.x*q.x + p.y*q.y }
func (p point) length() float64            { return math.Hypot(p.x, p.y) }
func (p point) over(by float64) point      { return point{p.x / by, p.y / by} }
func (p point) across(along point) float64 { return p.y*along.x - p.x*along.y }

// scale is how much a matrix makes heights larger.
func (m matrix) scale() float64 { return math.Hypot(m[2], m[3]) }

// Gaps, as parts of the height of letters.
const (
	wordGap  = 0.15 // a space between words is 0.25 wide in most fonts
	lineDrop = 0.4  // more is another line, less is a raised or lowered letter
	paraDrop = 2.1  // more is another paragraph
)

// put adds a piece that stands from one point to another, with letters of a height.
func (l *layout) put(text string, from, to point, size float64) {
	text = legible(text)
	if text == "" {
		return
	}
	if l.any {
		l.text.add(l.between(text, from))
	}
	l.text.add(text)
	if d := to.minus(from); d.length() > 0 {
		l.along = d.over(d.length())
	} else if !l.any {
		l.along = point{1, 0}
	}
	l.end, l.size, l.any = to, math.Abs(size), true
}

// between is what stands between the last piece and one that begins at from.
func (l *layout) between(text string, from point) string {
	gap := from.minus(l.end)
	drop, on := math.Abs(gap.across(l.along)), gap.dot(l.along)
	switch {
	case drop > paraDrop*l.size:
		return "\n\n"
	case drop > lineDrop*l.size:
		return "\n"
	case on > wordGap*l.size || on < -l.size:
		if l.spaced() || strings.HasPrefix(text, " ") {
			return ""
		}
		return " "
	default:
		return ""
	}
}

// spaced says whether the text ends in white space.
func (l *layout) spaced() bool {
	n := len(l.text.text)
	return n == 0 || l.text.text[n-1] == ' ' || l.text.text[n-1] == '\n'
}

// done is the text, with lines that end in no spaces.
func (l *layout) done() string {
	lines := strings.Split(l.text.done(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// legible leaves out what is no text, and takes joined letters apart, so that words are found by search.
func legible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\u00a0':
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, r == '\u00ad', r >= 0xE000 && r <= 0xF8FF:
			return -1
		default:
			return r
		}
	}, s)
	return joined.Replace(s)
}

var joined = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")
