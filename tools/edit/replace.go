package edit

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"hob/daemon/text"
)

// shownLines limits how many line numbers an error lists.
const shownLines = 20

// Reasons why a replacement does not fit. mismatch turns them into refusals.
var (
	errSame   = errors.New("old and new are the same")
	errAbsent = errors.New("not found")
)

// ambiguous says that a text occurs in several places.
type ambiguous struct {
	n     int
	lines []int  // line numbers of the first places, from 1
	alike string // characters that the places have instead of those that look like them
}

// Error exists for errors.AsType; users see the text of mismatch instead.
func (a *ambiguous) Error() string { return "found more than once" }

// replace makes one replacement and returns how many places changed. A text that occurs with other
// line endings counts as found, and the new text gets the line endings of its place. Errors:
// *ambiguous, errAbsent, errSame.
func replace(data []byte, r Replacement) ([]byte, int, error) {
	old, put, err := r.texts()
	if err != nil {
		return nil, 0, err
	}
	found, put := locate(data, old, put)
	if len(found) == 0 {
		return nil, 0, errAbsent
	}
	if len(found) > 1 && !r.ReplaceAll {
		return nil, 0, several(data, found)
	}
	// Overlapping places count for the message above, but only one of them can be replaced.
	found = dropOverlaps(found)
	out := make([]byte, 0, len(data)+len(found)*max(0, len(put)-len(old)+8))
	at := int64(0)
	for _, m := range found {
		out = append(append(out, data[at:m.From]...), ending(data, m, old, put)...)
		at = m.To
	}
	return append(out, data[at:]...), len(found), nil
}

// similar is replace for a text that is not in the file, but looks like one place of it. What old and new text have in common at both ends stays as it
// is in the file. It returns the names of the characters that differ. Errors: *ambiguous, errAbsent.
func similar(data []byte, r Replacement) (out []byte, differ string, err error) {
	old, put, err := r.texts()
	if err != nil {
		return nil, "", err
	}
	if !norm.NFC.IsNormalString(old) {
		old, put = norm.NFC.String(old), norm.NFC.String(put)
	}
	from, to := common([]byte(old), []byte(put))
	for from > 0 && (from < len(old) && !utf8.RuneStart(old[from]) || old[from-1] == '.') { // no character and no ellipsis is cut
		from--
	}
	for to > 0 && (!utf8.RuneStart(old[len(old)-to]) || old[len(old)-to] == '.') {
		to--
	}
	re := text.Alike(old, from, to)
	if re == nil {
		return nil, "", errAbsent
	}
	found := re.FindAllSubmatchIndex(data, shownLines)
	if len(found) == 0 {
		return nil, "", errAbsent
	}
	differ = text.Unlike(string(data[found[0][0]:found[0][1]]), old)
	if len(found) > 1 {
		var places []span
		for _, m := range found {
			places = append(places, span{From: int64(m[0]), To: int64(m[1])})
		}
		many := several(data, places)
		many.alike = differ
		return nil, "", many
	}
	m := found[0]
	put = ending(data, span{From: int64(m[2]), To: int64(m[3])}, old, put[from:len(put)-to])
	return slices.Concat(data[:m[2]], []byte(put), data[m[3]:]), differ, nil
}

// texts returns the text to find and the text to put in its place.
func (r Replacement) texts() (old, put string, err error) {
	old = strings.TrimPrefix(r.OldText, mark)
	switch old {
	case "": // only a byte order mark
		return "", "", errAbsent
	case r.NewText:
		return "", "", errSame
	}
	return old, r.NewText, nil
}

// mark is the byte order mark of UTF-8.
const mark = "\ufeff"

// locate finds every occurrence of a text, including overlapping ones. It first tries the exact
// text, then other line endings, then the end of a file without a last line break. It also returns
// the new text, which in the last case loses its line break.
func locate(data []byte, old, put string) ([]span, string) {
	if found := exact(data, []byte(old)); len(found) > 0 {
		return found, put
	}
	// Compare both without carriage returns, and convert the places back to offsets of the file.
	if strings.Contains(old, "\r\n") || bytes.Contains(data, []byte("\r\n")) {
		flat, cuts := flattenCuts(data)
		if found := exact(flat, flatten([]byte(old))); len(found) > 0 {
			for i, m := range found {
				found[i] = span{From: int64(unflat(cuts, int(m.From))), To: int64(unflat(cuts, int(m.To)))}
			}
			if !bytes.Contains(data, []byte("\r\n")) {
				put = string(flatten([]byte(put)))
			}
			return found, put
		}
	}
	if last, ok := strings.CutSuffix(old, "\n"); ok && last != "" && bytes.HasSuffix(data, []byte(last)) {
		return []span{{From: int64(len(data) - len(last)), To: int64(len(data))}}, strings.TrimSuffix(put, "\n")
	}
	return nil, put
}

// exact returns every occurrence of old, including overlapping ones.
func exact(data, old []byte) []span {
	var found []span
	for at := 0; ; {
		i := bytes.Index(data[at:], old)
		if i < 0 {
			return found
		}
		found = append(found, span{From: int64(at + i), To: int64(at + i + len(old))})
		at += i + 1
	}
}

// dropOverlaps drops the matches that overlap an earlier one.
func dropOverlaps(found []span) []span {
	out := found[:1]
	for _, m := range found[1:] {
		if m.From >= out[len(out)-1].To {
			out = append(out, m)
		}
	}
	return out
}

// several builds the error for a text that occurs more than once.
func several(data []byte, found []span) *ambiguous {
	a := &ambiguous{n: len(found)}
	at, line := int64(0), 1
	for _, m := range found[:min(len(found), shownLines)] {
		line += bytes.Count(data[at:m.From], []byte("\n"))
		at = m.From
		a.lines = append(a.lines, line)
	}
	return a
}

// ending gives a text the line endings of its place, unless the caller uses carriage returns
// itself.
func ending(data []byte, m span, old, put string) string {
	if !adapts(old, put) || !crlf(data, m) {
		return put
	}
	return strings.ReplaceAll(put, "\n", "\r\n")
}

// adapts reports whether a text takes the line endings of its place.
func adapts(old, put string) bool {
	return strings.Contains(put, "\n") && !strings.Contains(old+put, "\r")
}

// crlf reports whether lines end in CR LF at a place. It looks at the next line break, else at the
// one before.
func crlf(data []byte, m span) bool {
	i := bytes.IndexByte(data[m.From:], '\n') + int(m.From)
	if i < int(m.From) {
		i = bytes.LastIndexByte(data[:m.From], '\n')
	}
	return i > 0 && data[i-1] == '\r'
}

// flatten replaces every CR LF by LF.
func flatten(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }
