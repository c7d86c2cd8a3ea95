package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// mark is the byte order mark of UTF-8. It does not belong to the first line.
const mark = "\ufeff"

// Apply returns the new text of an updated file. Unchanged lines keep their bytes. New lines get
// the line ending of the file's first line. A patch in the envelope format adds a line break at the
// end of a changed text, like Codex; a unified diff itself says whether there is one. Errors are of
// type *Error.
func (s Section) Apply(old string) (string, error) {
	if s.diff != nil {
		// A diff that fits exactly is applied exactly. Only otherwise are its lines searched for.
		if text, ok := s.exact(old); ok {
			return text, nil
		}
	}
	bom := ""
	if strings.HasPrefix(old, mark) {
		// A patch for the first line does not contain the mark. It is put back below.
		bom, old = mark, old[len(mark):]
	}
	src := read(old)
	cuts, err := s.cuts(src)
	if err != nil {
		return "", err
	}
	return bom + src.with(cuts, s.diff == nil), nil
}

// exact applies a unified diff literally, byte by byte and at its line numbers. The library inserts
// a hunk without old lines before the named line, but diff means after it, so exact refuses those.
func (s Section) exact(old string) (string, bool) {
	for _, frag := range s.diff.TextFragments {
		if frag.OldLines == 0 && frag.OldPosition > 0 || numberless(frag) {
			return "", false
		}
	}
	var out bytes.Buffer
	err := gitdiff.Apply(&out, strings.NewReader(old), s.diff)
	return out.String(), err == nil
}

// source is a text as lines.
type source struct {
	lines   []string // without line endings
	endings []string // "\n", "\r\n", or "" of a last line without one
	style   string   // the ending of new lines
}

// read splits a text into lines.
func read(text string) source {
	src := source{style: "\n"}
	for i, line := range strings.SplitAfter(text, "\n") {
		body, broken := strings.CutSuffix(line, "\n")
		ending := ""
		if broken {
			ending = "\n"
			if b, cr := strings.CutSuffix(body, "\r"); cr {
				body, ending = b, "\r\n"
			}
			if i == 0 {
				src.style = ending
			}
			// After a final line break SplitAfter yields an empty rest, which is no line.
		} else if line == "" {
			break
		}
		src.lines, src.endings = append(src.lines, body), append(src.endings, ending)
	}
	return src
}

// cut replaces lines [from, to) of a source by other lines.
type cut struct {
	from, to int
	put      []Line
	hunk     int
}

// cuts finds the places of all hunks.
func (s Section) cuts(src source) ([]cut, error) {
	var all []cut
	at := 0
	for i, h := range s.Hunks {
		done := at // where the last hunk ended
		// The @@ lines come first. Each is searched after the one before it.
		for _, context := range h.Context {
			found, ok := seek(src.lines, []string{context}, at, 0, false)
			if !ok && h.Only { // the header of a hunk may name a function in other words
				continue
			}
			if !ok {
				return nil, s.miss(i, src, fmt.Sprintf("the line %q of its @@ header is not in the file after line %d", short(context), at), []string{context})
			}
			at = found + 1
		}
		lines := h.Lines
		if len(wanted(lines)) == 0 { // nothing to find: append, or insert where the diff says
			to := len(src.lines)
			if s.diff != nil {
				to = min(h.At, to)
			}
			if h.Only && len(src.lines) > 0 {
				return nil, s.miss(i, src, "it has neither line numbers nor lines of the file, so nothing says where it belongs", nil)
			}
			all = append(all, cut{to, to, lines, i})
			continue
		}
		// Hunks are expected in the order of the file: the search begins after the last one.
		found, ok := seek(src.lines, wanted(lines), at, h.At, h.End)
		if short, empty := lastEmpty(lines); !ok && empty { // the patch took the end of the text for an empty line
			lines = short
			found, ok = seek(src.lines, wanted(lines), at, h.At, h.End)
		}
		if !ok {
			return nil, s.miss(i, src, notFound(h, at), wanted(lines))
		}
		if _, again := seek(src.lines, wanted(lines), found+1, 0, false); again && h.Only && at == done {
			return nil, s.miss(i, src, "its @@ has no line numbers, and its lines are in the file more than once", nil)
		}
		all = append(all, cutsOf(lines, found, i)...)
		at = found + len(wanted(lines))
	}
	// Hunks may come in any order. They must not overlap.
	slices.SortStableFunc(all, func(a, b cut) int { return a.from - b.from })
	for i := 1; i < len(all); i++ {
		if all[i].from < all[i-1].to {
			return nil, s.miss(all[i].hunk, src, "it overlaps with another hunk", nil)
		}
	}
	return all, nil
}

// notFound says where the lines of a hunk were searched.
func notFound(h Hunk, at int) string {
	switch {
	case h.End:
		return "its lines are not the end of the file"
	case at > 0:
		return fmt.Sprintf("its lines are not in the file after line %d", at)
	}
	return "its lines are not in the file"
}

// miss builds the error for a hunk that does not fit, with the most similar lines of the file as a
// hint.
func (s Section) miss(hunk int, src source, why string, want []string) error {
	e := &Error{Path: s.Path, Hunk: hunk + 1, Line: s.Hunks[hunk].Line, Why: why, Miss: true}
	if len(want) > 0 {
		e.Why += ":\n" + short(strings.Join(want[:min(len(want), 5)], "\n"))
	}
	if near := Near(src.lines, want); near != "" {
		// The model can correct the patch from these lines without reading the file again.
		e.Hint = "the closest lines of the file:\n" + near
	}
	return e
}

// wanted returns the lines of a hunk that must be in the file.
func wanted(lines []Line) []string {
	var out []string
	for _, l := range lines {
		if l.Op != '+' {
			out = append(out, l.Text)
		}
	}
	return out
}

// lastEmpty drops an empty last line from the old side of a hunk, and its counterpart on the new
// side.
func lastEmpty(lines []Line) ([]Line, bool) {
	// old and put are the last lines of the two sides, as indices into lines.
	old, put := -1, -1
	for i, l := range lines {
		if l.Op != '+' {
			old = i
		}
		if l.Op != '-' {
			put = i
		}
	}
	if old < 0 || lines[old].Text != "" {
		return lines, false
	}
	drop := []int{old}
	if put >= 0 && put != old && lines[put].Text == "" {
		drop = append(drop, put)
	}
	var out []Line
	for i, l := range lines {
		switch {
		case !slices.Contains(drop, i):
			out = append(out, l)
		case i == old && l.Op == ' ' && put != old: // keep it on the new side
			out = append(out, Line{Op: '+'})
		}
	}
	return out, true
}

// cutsOf converts a hunk, whose first line in the file is at, into cuts. Unchanged lines are not
// touched.
func cutsOf(lines []Line, at, hunk int) []cut {
	var all []cut
	open := false
	for _, l := range lines {
		if l.Op == ' ' {
			at, open = at+1, false
			continue
		}
		if !open {
			all, open = append(all, cut{from: at, to: at, hunk: hunk}), true
		}
		// Adjacent removals and additions share one cut.
		last := &all[len(all)-1]
		if l.Op == '-' {
			at++
			last.to = at
		} else {
			last.put = append(last.put, l)
		}
	}
	return all
}

// with returns the text after the cuts. With closed, a last line without an ending gets one.
func (src source) with(cuts []cut, closed bool) string {
	var lines, endings []string
	copyTo := func(from, to int) {
		lines, endings = append(lines, src.lines[from:to]...), append(endings, src.endings[from:to]...)
	}
	at := 0
	for _, c := range cuts {
		copyTo(at, c.from)
		for _, l := range c.put {
			if l.Op != '+' {
				continue
			}
			ending := src.style
			if l.NoNewline {
				ending = ""
			}
			lines, endings = append(lines, l.Text), append(endings, ending)
		}
		at = c.to
	}
	copyTo(at, len(src.lines))
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		// A last line without an ending may have got lines after it.
		if endings[i] == "" && (closed || i < len(lines)-1) {
			endings[i] = src.style
		}
		b.WriteString(endings[i])
	}
	return b.String()
}
