package edit

import (
	"bytes"
	"errors"
	"strings"

	"hob/tools/edit/long"
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

// replace makes one replacement and says in how many places. Text that stands there with other line endings counts as
// found; what is put there gets the endings of the place. Errors: *ambiguous, errAbsent, errSame.
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
	found = apart(found)
	out := make([]byte, 0, len(data)+len(found)*max(0, len(put)-len(old)+8))
	at := int64(0)
	for _, m := range found {
		out = append(append(out, data[at:m.From]...), ending(data, m, old, put)...)
		at = m.To
	}
	return append(out, data[at:]...), len(found), nil
}

// texts are what is looked for, and what is put there.
func (r Replacement) texts() (old, put string, err error) {
	old = strings.TrimPrefix(r.OldText, mark)
	switch old {
	case "": // a byte order mark alone
		return "", "", errAbsent
	case r.NewText:
		return "", "", errSame
	}
	return old, r.NewText, nil
}

// mark is the byte order mark of UTF-8.
const mark = "\ufeff"

// locate finds every place of a text, overlapping ones too: as it is, else with other line endings, else at the end of a
// file that has no line break there. It returns the text to put there as well: without a line break in the last case.
func locate(data []byte, old, put string) ([]long.Span, string) {
	if found := exact(data, []byte(old)); len(found) > 0 {
		return found, put
	}
	if strings.Contains(old, "\r\n") || bytes.Contains(data, []byte("\r\n")) {
		flat, cuts := long.Flatten(data)
		if found := exact(flat, flatten([]byte(old))); len(found) > 0 {
			for i, m := range found {
				found[i] = long.Span{From: int64(long.Unflat(cuts, int(m.From))), To: int64(long.Unflat(cuts, int(m.To)))}
			}
			if !bytes.Contains(data, []byte("\r\n")) {
				put = string(flatten([]byte(put)))
			}
			return found, put
		}
	}
	if last, ok := strings.CutSuffix(old, "\n"); ok && last != "" && bytes.HasSuffix(data, []byte(last)) {
		return []long.Span{{From: int64(len(data) - len(last)), To: int64(len(data))}}, strings.TrimSuffix(put, "\n")
	}
	return nil, put
}

func exact(data, old []byte) []long.Span {
	var found []long.Span
	for at := 0; ; {
		i := bytes.Index(data[at:], old)
		if i < 0 {
			return found
		}
		found = append(found, long.Span{From: int64(at + i), To: int64(at + i + len(old))})
		at += i + 1
	}
}

// apart drops matches that overlap an earlier one.
func apart(found []long.Span) []long.Span {
	out := found[:1]
	for _, m := range found[1:] {
		if m.From >= out[len(out)-1].To {
			out = append(out, m)
		}
	}
	return out
}

func several(data []byte, found []long.Span) error {
	a := &ambiguous{n: len(found)}
	at, line := int64(0), 1
	for _, m := range found[:min(len(found), shownLines)] {
		line += bytes.Count(data[at:m.From], []byte("\n"))
		at = m.From
		a.lines = append(a.lines, line)
	}
	return a
}

// ending gives a text the line endings of the place where it goes, unless its writer shows that he means them.
func ending(data []byte, m long.Span, old, put string) string {
	if !adapts(old, put) || !crlf(data, m) {
		return put
	}
	return strings.ReplaceAll(put, "\n", "\r\n")
}

// adapts says that a text takes the line endings of its place.
func adapts(old, put string) bool {
	return strings.Contains(put, "\n") && !strings.Contains(old+put, "\r")
}

// crlf says whether lines end in CR LF at a place: in it, else after it, else before it.
func crlf(data []byte, m long.Span) bool {
	i := bytes.IndexByte(data[m.From:], '\n') + int(m.From)
	if i < int(m.From) {
		i = bytes.LastIndexByte(data[:m.From], '\n')
	}
	return i > 0 && data[i-1] == '\r'
}

// flatten makes LF of every CR LF.
func flatten(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }
