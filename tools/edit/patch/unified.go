package patch

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"hob/daemon/sys"
)

// unified reports whether a text is a unified diff: it does not start with an envelope, and
// contains a file header.
func unified(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	first, _, _ := strings.Cut(text, "\n")
	first = strings.TrimSpace(first)
	if first == beginMark || hereDocument(first) {
		return false
	}
	return fileHeader().MatchString(text)
}

// The headers of a unified diff.
var (
	fileHeader = sys.Regexp(`(?m)^(diff --git |--- \S.*\r?\n\+\+\+ \S)`)
	hunkHeader = sys.Regexp(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$`)
)

// parseUnified parses a unified diff of git or diff. It corrects wrong line counts in the hunk
// headers.
func parseUnified(text string) ([]Section, error) {
	// The library trusts the counts in the headers, so correct them first.
	counted := recount(strings.Trim(text, "\r\n") + "\n")
	files, _, err := gitdiff.Parse(strings.NewReader(counted))
	if err != nil {
		return nil, &Error{Why: "the unified diff cannot be read: " + err.Error(), Hint: "the *** Begin Patch format needs no line numbers"}
	}
	if len(files) == 0 {
		return nil, &Error{Why: "the unified diff changes no file"}
	}
	// The library does not say where in the text a hunk begins.
	at := headers(counted)
	git := strings.Contains("\n"+counted, "\ndiff --git ") // in this case the library has removed the prefixes
	sections := make([]Section, 0, len(files))
	for _, f := range files {
		s, err := sectionOf(f, git, &at)
		if err != nil {
			return nil, err
		}
		sections = append(sections, s)
	}
	return sections, nil
}

// headers returns the line numbers of the hunk headers.
func headers(text string) []int {
	var at []int
	for i, line := range strings.Split(text, "\n") {
		if hunkHeader().MatchString(strings.TrimSuffix(line, "\r")) {
			at = append(at, i+1)
		}
	}
	return at
}

// sectionOf converts one file of a diff. at holds the line numbers of the hunk headers that are
// still to come.
func sectionOf(f *gitdiff.File, git bool, at *[]int) (Section, error) {
	old, name := names(f, git)
	s := Section{Kind: Update, Path: old, diff: f}
	switch {
	case f.IsBinary:
		return s, &Error{Path: name, Why: "binary patches are not accepted"}
	case f.IsCopy:
		return s, &Error{Path: name, Why: "a copy cannot be made by a patch", Hint: "add the new file with its whole content"}
	case f.IsNew:
		s.Kind, s.Path = Add, name
	case f.IsDelete:
		s.Kind = Delete
	case f.IsRename && old != name:
		s.Move = name
	}
	// The hunks become lines that seek can search, in case the diff does not fit exactly.
	for _, frag := range f.TextFragments {
		h := Hunk{At: int(frag.OldPosition), Only: numberless(frag) && s.Kind == Update}
		if h.Only && frag.Comment != "" {
			h.Context = []string{frag.Comment}
		}
		if len(*at) > 0 {
			h.Line, *at = (*at)[0], (*at)[1:]
		}
		for _, l := range frag.Lines {
			h.Lines = append(h.Lines, lineOf(l))
		}
		s.Hunks = append(s.Hunks, h)
		if s.Kind == Add {
			s.Content += added(frag)
		}
	}
	if len(s.Hunks) > 0 {
		s.Line = s.Hunks[0].Line
	}
	// A pure rename has no hunks. A mere change of the mode is not supported.
	if s.Kind == Update && len(s.Hunks) == 0 && s.Move == "" {
		return s, &Error{Path: name, Why: "the diff changes no line of it"}
	}
	return s, nil
}

// added returns the content of a new file.
func added(frag *gitdiff.TextFragment) string {
	var b strings.Builder
	for _, l := range frag.Lines {
		if l.Op == gitdiff.OpAdd {
			b.WriteString(l.Line)
		}
	}
	return b.String()
}

// lineOf converts a line of a diff.
func lineOf(l gitdiff.Line) Line {
	text, broken := strings.CutSuffix(l.Line, "\n")
	// The library numbers its operations: context, delete, add.
	return Line{Op: " -+"[l.Op], Text: strings.TrimSuffix(text, "\r"), NoNewline: !broken}
}

// names returns the old and the new path, without the prefixes a/ and b/ of git and others.
func names(f *gitdiff.File, git bool) (old, name string) {
	old, name = f.OldName, f.NewName
	old = cmp.Or(old, name)
	name = cmp.Or(name, old)
	trim := func(s string) string {
		for _, side := range []string{"a/", "b/"} {
			if rest, ok := strings.CutPrefix(s, side); ok {
				return rest
			}
		}
		return s
	}
	if git {
		return old, name
	}
	return trim(old), trim(name)
}

// numberless reports whether the header of a hunk had no line numbers, so that recount wrote zeros.
func numberless(frag *gitdiff.TextFragment) bool {
	return frag.OldPosition == 0 && frag.NewPosition == 0
}

// recount corrects the line counts in hunk headers. People and models who write diffs by hand often
// count wrong, or write no numbers: "@@ @@", "@@ ... @@", "@@ func f() @@", or no header at all.
func recount(text string) string {
	lines := strings.SplitAfter(text, "\n")
	bare := !strings.Contains(text, "\n"+placeMark)
	for i := range lines {
		m := hunkHeader().FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		if place := strings.Trim(strings.ReplaceAll(lines[i], placeMark, " "), " \t\r\n.…-+,"); m == nil && strings.HasPrefix(lines[i], placeMark) {
			m = []string{"", "0", "0", " " + place}
		}
		if bare && i > 0 && strings.HasPrefix(lines[i-1], "--- ") && strings.HasPrefix(lines[i], "+++ ") {
			old, now := count(lines[i+1:])
			lines[i] += fmt.Sprintf("@@ -0,%d +0,%d @@\n", old, now)
		}
		if m == nil {
			continue
		}
		old, now := count(lines[i+1:])
		lines[i] = fmt.Sprintf("@@ -%s,%d +%s,%d @@%s\n", m[1], old, m[2], now, m[3])
	}
	return strings.Join(lines, "")
}

// count counts the lines of both sides of a hunk, up to the next header.
func count(lines []string) (old, now int) {
	for i, line := range lines {
		next, third := "", ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if i+2 < len(lines) {
			third = lines[i+2]
		}
		switch {
		// A removed line may begin with "-- ". It is a file header only if +++ and @@ lines follow.
		case line == "", strings.HasPrefix(line, placeMark), strings.HasPrefix(line, "diff --git "),
			strings.HasPrefix(line, "--- ") && strings.HasPrefix(next, "+++ ") && strings.HasPrefix(third, placeMark):
			return old, now
		// "\ No newline at end of file" belongs to neither side.
		case line[0] == '\\':
		case line[0] == '-':
			old++
		case line[0] == '+':
			now++
		// Editors strip the single space of an empty line of context. At the very end it is no line.
		case line[0] == ' ', strings.TrimRight(line, "\r\n") == "" && next != "":
			old, now = old+1, now+1
		default:
			return old, now
		}
	}
	return old, now
}
