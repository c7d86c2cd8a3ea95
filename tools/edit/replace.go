package edit

import (
	"bytes"
	"errors"
	"sort"
	"strings"
)

// shownLines is how many line numbers an error names.
const shownLines = 20

var (
	errSame   = errors.New("old and new are the same")
	errAbsent = errors.New("not found")
)

// ambiguous says that a text stands in several places.
type ambiguous struct {
	n     int
	lines []int // the first of them, from 1
}

// Error is for errors.AsType; users read what mismatch makes of it.
func (a *ambiguous) Error() string { return "found more than once" }

// match is where a text stands.
type match struct{ from, to int }

// replace makes one replacement and says in how many places. Text that stands there with other line endings counts as
// found; what is put there gets the endings of the place. Errors: *ambiguous, errAbsent, errSame.
func replace(data []byte, r Replacement) ([]byte, int, error) {
	old, put := strings.TrimPrefix(r.OldText, mark), r.NewText
	if old == "" { // a byte order mark alone
		return nil, 0, errAbsent
	}
	if old == put {
		return nil, 0, errSame
	}
	found, put := locate(data, old, put)
	if len(found) == 0 {
		return nil, 0, errAbsent
	}
	if len(found) > 1 && !r.ReplaceAll {
		return nil, 0, several(data, found)
	}
	found = apart(found)
	out := make([]byte, 0, len(data)+len(found)*max(0, len(put)-len(old)+8))
	at := 0
	for _, m := range found {
		out = append(append(out, data[at:m.from]...), ending(data, m, old, put)...)
		at = m.to
	}
	return append(out, data[at:]...), len(found), nil
}

// mark is the byte order mark of UTF-8.
const mark = "\ufeff"

// locate finds every place of a text, overlapping ones too: as it is, else with other line endings, else at the end of a
// file that has no line break there. It returns the text to put there as well: without a line break in the last case.
func locate(data []byte, old, put string) ([]match, string) {
	if found := exact(data, []byte(old)); len(found) > 0 {
		return found, put
	}
	if strings.Contains(old, "\r\n") || bytes.Contains(data, []byte("\r\n")) {
		flat, cuts := flattened(data)
		if found := exact(flat, flatten([]byte(old))); len(found) > 0 {
			for i, m := range found {
				found[i] = match{unflat(cuts, m.from), unflat(cuts, m.to)}
			}
			if !bytes.Contains(data, []byte("\r\n")) {
				put = string(flatten([]byte(put)))
			}
			return found, put
		}
	}
	if last, ok := strings.CutSuffix(old, "\n"); ok && last != "" && bytes.HasSuffix(data, []byte(last)) {
		return []match{{len(data) - len(last), len(data)}}, strings.TrimSuffix(put, "\n")
	}
	return nil, put
}

func exact(data, old []byte) []match {
	var found []match
	for at := 0; ; {
		i := bytes.Index(data[at:], old)
		if i < 0 {
			return found
		}
		found = append(found, match{at + i, at + i + len(old)})
		at += i + 1
	}
}

// apart drops matches that overlap an earlier one.
func apart(found []match) []match {
	out := found[:1]
	for _, m := range found[1:] {
		if m.from >= out[len(out)-1].to {
			out = append(out, m)
		}
	}
	return out
}

func several(data []byte, found []match) error {
	a := &ambiguous{n: len(found)}
	at, line := 0, 1
	for _, m := range found[:min(len(found), shownLines)] {
		line += bytes.Count(data[at:m.from], []byte("\n"))
		at = m.from
		a.lines = append(a.lines, line)
	}
	return a
}

// ending gives a text the line endings of the place where it goes, unless its writer shows that he means them.
func ending(data []byte, m match, old, put string) string {
	if strings.Contains(old+put, "\r") || !strings.Contains(put, "\n") || !crlf(data, m) {
		return put
	}
	return strings.ReplaceAll(put, "\n", "\r\n")
}

// crlf says whether lines end in CR LF at a place: in it, else after it, else before it.
func crlf(data []byte, m match) bool {
	i := bytes.IndexByte(data[m.from:], '\n')
	if i < 0 {
		i = bytes.LastIndexByte(data[:m.from], '\n') - m.from
	}
	i += m.from
	return i > 0 && data[i-1] == '\r'
}

// flatten makes LF of every CR LF.
func flatten(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// flattened is flatten with the offsets, in what it returns, of the line breaks that lost their carriage return.
func flattened(data []byte) ([]byte, []int) {
	flat, cuts := make([]byte, 0, len(data)), []int(nil)
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("\r\n"))
		if i < 0 {
			return append(flat, data[at:]...), cuts
		}
		flat = append(flat, data[at:at+i]...)
		cuts = append(cuts, len(flat))
		at += i + 1
	}
}

// unflat is the offset, before flattened, of one behind it.
func unflat(cuts []int, at int) int { return at + sort.SearchInts(cuts, at) }
