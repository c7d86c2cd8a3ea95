// Package patch parses patches and applies them to texts. It supports two formats: the "*** Begin
// Patch" envelope of OpenAI's Codex (github.com/openai/codex, codex-rs/apply-patch), with the same
// meaning as there, and unified diffs. Parse turns either into Sections, one per file.
// Section.Apply finds the place of each hunk, at first exactly and then with less and less strict
// comparisons. The package touches no files.
package patch

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"hob/daemon/text"
)

// Kind says what a section does with its file.
type Kind int

// The kinds of sections.
const (
	Add Kind = iota
	Update
	Delete
)

// Section is the change of one file.
type Section struct {
	Kind    Kind
	Path    string
	Move    string // the new path of an updated file; "": unchanged
	Content string // of an added file
	Hunks   []Hunk // of an updated file
	Line    int    // of its header in the patch, from 1

	diff *gitdiff.File // of a unified diff
}

// Hunk is one place to change.
type Hunk struct {
	Context []string // lines somewhere before it, to be found one after the other
	Lines   []Line
	End     bool // it must match the end of the file
	Only    bool // it must match in one place only; its header in a unified diff has no line numbers
	At      int  // the line number in a unified diff, from 1; 0: unknown
	Line    int  // of its first line in the patch, from 1
}

// Line is a line of a hunk.
type Line struct {
	Op        byte // ' ' unchanged, '-' removed, '+' added
	Text      string
	NoNewline bool // the last line of a file, without a line break
}

// Error says what is wrong with a patch, and where.
type Error struct {
	Path string // "": not yet known
	Hunk int    // from 1; 0: not in a hunk
	Line int    // line of the patch, from 1; 0: the whole patch
	Why  string
	Miss bool   // the patch is well formed, but does not fit the file
	Hint string // what to try
}

// Error returns file, hunk, line and reason.
func (e *Error) Error() string {
	var at []string
	if e.Path != "" {
		at = append(at, e.Path)
	}
	if e.Hunk > 0 {
		at = append(at, fmt.Sprintf("hunk %d", e.Hunk))
	}
	if e.Line > 0 {
		at = append(at, fmt.Sprintf("line %d of the patch", e.Line))
	}
	if len(at) == 0 {
		return e.Why
	}
	return strings.Join(at, ", ") + ": " + e.Why
}

// The markers of the envelope.
const (
	beginMark  = "*** Begin Patch"
	endMark    = "*** End Patch"
	addMark    = "*** Add File: "
	deleteMark = "*** Delete File: "
	updateMark = "*** Update File: "
	moveMark   = "*** Move to: "
	eofMark    = "*** End of File"
	envMark    = "*** Environment ID:"
	placeMark  = "@@"
)

// Parse parses a patch of either format, which it recognises by the header. Errors are of type
// *Error.
func Parse(text string) ([]Section, error) {
	if unified(text) {
		return parseUnified(text)
	}
	// Line numbers in errors count from the start of the given text, before anything was trimmed.
	lines, first, err := envelope(text)
	if err != nil {
		return nil, err
	}
	p := parser{at: first}
	for _, line := range lines {
		p.at++
		if err := p.line(line); err != nil {
			return nil, err
		}
		// Everything after the end marker is ignored.
		if p.over {
			break
		}
	}
	// The last section has no header after it that would close it.
	if err := p.close(endMark); err != nil {
		return nil, err
	}
	if len(p.sections) == 0 {
		return nil, &Error{Why: "the patch changes no file", Hint: "put *** Add File, *** Update File or *** Delete File sections between the two markers"}
	}
	return p.sections, nil
}

// envelope returns the lines between the two markers, and the line number of the first marker. It
// ignores the first and last line of a here document around them.
func envelope(text string) ([]string, int, error) {
	// Blank lines before the envelope are permitted, but count in the line numbers.
	lead := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	first := strings.Count(text[:lead], "\n") + 1
	lines := split(strings.TrimSpace(text))
	if len(lines) >= 4 && hereDocument(lines[0]) && strings.HasSuffix(lines[len(lines)-1], "EOF") {
		lines, first = lines[1:len(lines)-1], first+1
	}
	if strings.TrimSpace(lines[0]) != beginMark {
		return nil, 0, &Error{Line: first, Why: "the first line of a patch must be '" + beginMark + "'", Hint: "a unified diff is accepted too: it begins with diff --git, or with --- and +++"}
	}
	if len(lines) < 2 || strings.TrimSpace(lines[len(lines)-1]) != endMark {
		return nil, 0, &Error{Line: first + len(lines) - 1, Why: "the last line of a patch must be '" + endMark + "'"}
	}
	return lines[1 : len(lines)-1], first, nil
}

// hereDocument reports whether a line starts a here document, with or without the command.
func hereDocument(line string) bool {
	for _, command := range []string{"apply_patch ", "applypatch "} {
		line = strings.TrimPrefix(line, command)
	}
	return line == "<<EOF" || line == "<<'EOF'" || line == `<<"EOF"`
}

// split splits a text into lines and drops the carriage return at the end of each.
func split(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// parser reads the lines of an envelope one by one.
type parser struct {
	at       int // number of the line
	sections []Section
	over     bool // the end marker was read; ignore the rest
	env      bool
}

// open returns the current section, or nil.
func (p *parser) open() *Section {
	if len(p.sections) == 0 {
		return nil
	}
	return &p.sections[len(p.sections)-1]
}

// fault builds an error at the current position.
func (p *parser) fault(why string, args ...any) error {
	e := &Error{Line: p.at, Why: fmt.Sprintf(why, args...)}
	if s := p.open(); s != nil {
		e.Path, e.Hunk = s.Path, len(s.Hunks)
	}
	return e
}

// line parses one line.
func (p *parser) line(line string) error {
	s := p.open()
	head := strings.TrimSpace(line)
	// In an update only trailing white space is ignored; elsewhere white space on both sides.
	if s != nil && s.Kind == Update {
		head = strings.TrimRightFunc(line, isSpace) // an indented line belongs to the file
	}
	if done, err := p.header(head); done || err != nil {
		return err
	}
	switch {
	case s != nil && s.Kind == Add && strings.HasPrefix(line, "+"):
		s.Content += line[1:] + "\n"
		return nil
	case s != nil && s.Kind == Update:
		return p.change(s, line, head)
	case s != nil && s.Kind == Add:
		return p.fault("%q is neither a header nor a line of the new file: those begin with '+'", short(line))
	}
	return p.fault("%q is not a header: want '%s{path}', '%s{path}' or '%s{path}'", short(line), addMark, deleteMark, updateMark)
}

// header parses a line that starts a section, and reports whether it was one.
func (p *parser) header(line string) (bool, error) {
	if line == endMark {
		p.over = true
		return true, nil
	}
	// Codex may name the environment before the first section. hob accepts the line and ignores its value.
	if rest, ok := strings.CutPrefix(line, envMark); ok && len(p.sections) == 0 {
		if p.env || strings.TrimSpace(rest) == "" {
			return true, p.fault("the environment id is empty or given twice")
		}
		p.env = true // only one environment exists
		return true, nil
	}
	// A header ends the section before it.
	for kind, mark := range []string{Add: addMark, Update: updateMark, Delete: deleteMark} {
		path, ok := strings.CutPrefix(line, mark)
		if !ok {
			continue
		}
		if err := p.close(line); err != nil {
			return true, err
		}
		if strings.TrimSpace(path) == "" {
			return true, p.fault("the header names no file")
		}
		p.sections = append(p.sections, Section{Kind: Kind(kind), Path: path, Line: p.at})
		return true, nil
	}
	return false, nil
}

// close ends the current section. An update must have changed something.
func (p *parser) close(next string) error {
	s := p.open()
	if s == nil || s.Kind != Update {
		return nil
	}
	if len(s.Hunks) == 0 {
		return &Error{Path: s.Path, Line: s.Line, Why: "the update has no hunks", Hint: "a hunk is @@ and lines that begin with ' ', '-' or '+'"}
	}
	if last := s.Hunks[len(s.Hunks)-1]; len(last.Lines) == 0 {
		return p.fault("the hunk has no lines before %q", short(next))
	}
	return nil
}

// change parses a line of an update. line is the original, head is the line without trailing white
// space.
func (p *parser) change(s *Section, line, head string) error {
	var last *Hunk
	if len(s.Hunks) > 0 {
		last = &s.Hunks[len(s.Hunks)-1]
	}
	if to, ok := strings.CutPrefix(head, moveMark); ok && last == nil && s.Move == "" {
		s.Move = to
		return nil
	}
	switch {
	case head == placeMark || strings.HasPrefix(head, placeMark+" "):
		p.place(s, last, strings.TrimPrefix(head[len(placeMark):], " "))
		return nil
	case head == eofMark && last != nil && len(last.Lines) > 0:
		last.End = true
		return nil
	case head == eofMark:
		return p.fault("the hunk has no lines before '%s'", eofMark)
	case line == "" && last == nil: // between the header and the first hunk
		return nil
	case line != "" && line[0] != ' ' && line[0] != '+' && line[0] != '-':
		return p.fault("%q begins with none of ' ', '+', '-' and '@@ '", short(line))
	}
	// Lines without an @@ header are the first hunk.
	if last == nil {
		s.Hunks = append(s.Hunks, Hunk{Line: p.at})
		last = &s.Hunks[0]
	}
	if line == "" { // an empty line whose leading space was lost
		line = " "
	}
	last.Lines = append(last.Lines, Line{Op: line[0], Text: line[1:]})
	return nil
}

// place starts a hunk with an @@ line. Several @@ lines in a row narrow the place down.
func (p *parser) place(s *Section, last *Hunk, context string) {
	if last == nil || len(last.Lines) > 0 {
		s.Hunks = append(s.Hunks, Hunk{Line: p.at})
		last = &s.Hunks[len(s.Hunks)-1]
	}
	if context != "" {
		last.Context = append(last.Context, context)
	}
}

// short cuts a line to 120 characters for a message.
func short(line string) string { return text.Shorten(line, 120) }
