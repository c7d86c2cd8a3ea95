package document

import (
	"math"
	"strings"
	"unicode"
)

// layout joins pieces of text into lines. A piece that starts where the last one ended continues
// its word; one that starts further along the line is a new word; one elsewhere is a new line.
// Pieces stay in the order in which the page draws them, which for nearly all PDF files is the
// reading order.
type layout struct {
	text  page
	end   point   // end of the last piece on its base line
	along point   // direction of the base line, of length 1
	size  float64 // height of its letters
	any   bool
}

// point is a position or a direction on the page.
type point struct{ x, y float64 }

// Vector arithmetic: difference, dot product, length, division, and the distance across a direction
// of length 1.
func (p point) minus(q point) point        { return point{p.x - q.x, p.y - q.y} }
func (p point) dot(q point) float64        { return p.x*q.x + p.y*q.y }
func (p point) length() float64            { return math.Hypot(p.x, p.y) }
func (p point) over(by float64) point      { return point{p.x / by, p.y / by} }
func (p point) across(along point) float64 { return p.y*along.x - p.x*along.y }

// scale returns the factor by which a matrix enlarges heights.
func (m matrix) scale() float64 { return math.Hypot(m[2], m[3]) }

// Gaps between pieces, relative to the height of the letters.
const (
	wordGap  = 0.15 // a space between words is 0.25 wide in most fonts
	lineDrop = 0.4  // above: another line; below: a raised or lowered letter
	paraDrop = 2.1  // above: another paragraph
)

// put adds a piece of text that extends from one point to another, with letters of the given
// height.
func (l *layout) put(text string, from, to point, size float64) {
	text = legible(text)
	if text == "" {
		return
	}
	if l.any {
		l.text.add(l.between(text, from))
	}
	l.text.add(text)
	// A piece without width keeps the direction of the one before it.
	if d := to.minus(from); d.length() > 0 {
		l.along = d.over(d.length())
	} else if !l.any {
		l.along = point{1, 0}
	}
	l.end, l.size, l.any = to, math.Abs(size), true
}

// between returns the separator between the last piece and one that starts at from.
func (l *layout) between(text string, from point) string {
	gap := from.minus(l.end)
	// Split the gap into its parts across and along the line, because text may be rotated.
	drop, on := math.Abs(gap.across(l.along)), gap.dot(l.along)
	switch {
	case drop > paraDrop*l.size:
		return "\n\n"
	case drop > lineDrop*l.size:
		return "\n"
	// A piece that starts far to the left on the same line is a new word too, as in tables that are drawn out of order.
	case on > wordGap*l.size || on < -l.size:
		if l.spaced() || strings.HasPrefix(text, " ") {
			return ""
		}
		return " "
	}
	return ""
}

// spaced reports whether the text ends in white space.
func (l *layout) spaced() bool {
	n := len(l.text.text)
	return n == 0 || l.text.text[n-1] == ' ' || l.text.text[n-1] == '\n'
}

// done returns the text without spaces at the ends of lines.
func (l *layout) done() string {
	lines := strings.Split(l.text.done(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// legible removes characters that are not text, and splits ligatures, so that a search finds the
// words.
func legible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\u00a0':
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, r == '\u00ad', r >= 0xE000 && r <= 0xF8FF:
			return -1
		}
		return r
	}, s)
	return joined.Replace(s)
}

// joined replaces ligatures by their letters.
var joined = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")
