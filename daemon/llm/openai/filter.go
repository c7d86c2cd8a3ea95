package openai

import (
	"slices"
	"strings"

	"hob/daemon/sys"
)

// maxLead is the most white space, in bytes, before a block at the beginning of an answer.
const maxLead = 64

// filter takes the blocks of dialects out of a streamed text: at the beginning of the answer or of a line, outside of code. When the answer begins
// with thinking, the same marks count anywhere; special marks of calls count behind a sentence, see meant. Without its closing mark, thinking at the beginning is the whole
// answer; elsewhere a mark inside a line of text is text. The zero value is ready for the beginning.
type filter struct {
	off     bool // everything is text
	buf     string
	in      *block
	first   bool // the block begins the answer: what it holds is shown as reasoning at once
	body    strings.Builder
	again   *block // thinking that may come again within a line
	begun   bool   // there is text
	marked  bool   // a mark other than that of a call was taken out
	midLine bool
	line    strings.Builder // the text of this line so far
	behind  bool            // a block has ended, and no text has come since
	fenced  bool            // within a fenced code block
	size    int             // of the text so far
	calls   []textCall
	mixed   bool // there was thinking in the text

	text, thought strings.Builder // of the running take
}

// textCall is a block that may hold tool calls.
type textCall struct {
	at     int    // where it was in the text
	raw    string // with its marks
	tail   string // white space and marks that followed it
	inLine bool   // it began within a line, so it is a text if it cannot be read
}

// take returns the text and the reasoning of the next piece. It holds back a possible mark until the next call.
func (f *filter) take(s string) (text, thought string) {
	if f.off {
		return s, ""
	}
	f.buf += s
	return f.run(false)
}

// rest returns what is held back at the end of the stream.
func (f *filter) rest() (text, thought string) {
	return f.run(true)
}

func (f *filter) run(last bool) (text, thought string) {
	for f.step(last) {
	}
	text, thought = f.text.String(), f.thought.String()
	f.text.Reset()
	f.thought.Reset()
	return text, thought
}

// step handles the next part of buf. It reports false when more must come first.
func (f *filter) step(last bool) bool {
	switch {
	case f.in != nil:
		return f.inside(last)
	case f.buf == "":
		return false
	case !f.midLine:
		return f.lineStart(last)
	default:
		return f.lineRest(last)
	}
}

// lineStart handles the beginning of a line.
func (f *filter) lineStart(last bool) bool {
	space := " \t"
	if !f.begun || f.behind {
		space = " \t\r\n"
	}
	lead := strings.TrimLeft(f.buf, space)
	indent := f.buf[:len(f.buf)-len(lead)]
	if strings.Contains(indent, "\n") {
		f.line.Reset()
	}
	if f.begun && !f.behind && (len(indent) > 3 || strings.Contains(indent, "\t")) { // code of Markdown
		f.midLine = true
		return true
	}
	if len(indent) > maxLead && !f.begun && !f.behind {
		f.off = true
		f.say(f.buf)
		f.buf = ""
		return false
	}
	found, more := f.find(lead)
	end, maybe := f.endMark(lead)
	switch more = more || maybe; {
	case found != nil:
		f.enter(found, lead)
		return true
	case more && !last:
		return false
	case f.behind:
		lead = lead[len(end):]
		if n := len(f.calls); n > 0 && f.calls[n-1].at == f.size {
			f.calls[n-1].tail += f.buf[:len(f.buf)-len(lead)] // for the case that the block is text
		}
		f.buf = lead // white space between a block and the text belongs to neither
		if f.behind = lead == "" || end != ""; end != "" {
			return lead != ""
		}
	}
	if strings.HasPrefix(lead, "```") || strings.HasPrefix(lead, "~~~") {
		f.fenced = !f.fenced
	}
	f.midLine = f.buf != ""
	return f.midLine
}

// find returns the block that s begins with. more reports that s may be the beginning of a mark.
func (f *filter) find(s string) (found *block, more bool) {
	more = s == "" || len(s) < 3 && (strings.HasPrefix("```", s) || strings.HasPrefix("~~~", s))
	if f.fenced {
		return nil, more
	}
	for _, b := range dialects() {
		switch {
		case strings.HasPrefix(s, b.open) && (b.kind != calling || f.line.Len() == 0 || b.special && meant(f.line.String())):
			if found == nil || len(b.open) > len(found.open) {
				found = &b
			}
		case strings.HasPrefix(b.open, s):
			more = true
		}
	}
	return found, more && found == nil
}

// endMark returns the mark that s begins with, if it ends a call or an answer and follows a call. maybe reports that s may be the beginning of one.
func (f *filter) endMark(s string) (mark string, maybe bool) {
	if n := len(f.calls); !f.behind || n == 0 || f.calls[n-1].at != f.size {
		return "", false
	}
	marks := ends()
	for _, b := range dialects() {
		if b.kind == calling && b.close != "" {
			marks = append(marks, b.close)
		}
	}
	for _, m := range marks {
		if strings.HasPrefix(s, m) {
			return m, false
		}
		maybe = maybe || strings.HasPrefix(m, s)
	}
	return "", maybe
}

func (f *filter) enter(b *block, from string) {
	f.buf, f.marked = from[len(b.open):], f.marked || b.kind != calling
	if b.kind == nothing {
		f.behind, f.midLine = true, false
		return
	}
	f.in, f.first = b, !f.begun && b.kind == thinking
}

// lineRest emits the rest of a line.
func (f *filter) lineRest(last bool) bool {
	line, _, whole := strings.Cut(f.buf, "\n")
	if whole {
		line = f.buf[:len(line)+1]
	}
	if !f.fenced {
		before, b, keep := f.within(line)
		if b != nil {
			f.say(before)
			f.enter(b, f.buf[len(before):])
			f.first = b.kind == thinking
			return true
		}
		if !whole && !last {
			line = line[:len(line)-keep]
		}
	}
	f.say(line)
	f.buf, f.midLine = f.buf[len(line):], !whole
	return whole
}

// within returns the first block that begins in the rest of a line, and the text before it. keep is the length of the end of the line that may be the
// beginning of a mark.
func (f *filter) within(line string) (before string, found *block, keep int) {
	before = line
	if !strings.ContainsAny(line, "<[]◁") { // each mark has one of them at its beginning
		return before, nil, 0
	}
	for _, b := range dialects() {
		again := f.again != nil && b.open == f.again.open
		if !again && (b.kind != calling || !b.special) {
			continue
		}
		keep = max(keep, held(line, b.open))
		if text, _, ok := strings.Cut(line, b.open); ok && len(text) < len(before) && (again || meant(f.line.String()+text)) {
			before, found = text, &b
		}
	}
	return before, found, keep
}

// ownLine matches a line in which all quotations are closed and no other mark is. It ends with a sentence, or directly behind a word of a script with
// spaces between its words.
var ownLine = sys.Regexp("^(?:[^<\"`“”„«»‹›「」『』《》]|\"[^<\"]*\"|`[^<`]*`|[“„«‹「『《][^<“”»›」』》]*[“”»›」』》])*" +
	`(?:[.!?…\p{Ll}\p{Lu}\p{Nd}]|\p{L}{2}[.!?…]\s+|[。！？]\s*)$`)

// meant reports whether a special mark behind this beginning of a line is the model's own: nothing shows that it is quoted.
func meant(line string) bool {
	line = withoutEnds(line)
	list := strings.TrimLeft(line, " \t0123456789*+-.)")
	return list != "" && !strings.HasPrefix(list, ">") && ownLine().MatchString(line)
}

// held returns the length of the longest end of s that may be the beginning of a mark.
func held(s, mark string) int {
	keep := min(len(mark)-1, len(s))
	for !strings.HasPrefix(mark, s[len(s)-keep:]) {
		keep--
	}
	return keep
}

// inside handles the content of a block.
func (f *filter) inside(last bool) bool {
	content, rest, closed := f.buf, "", false
	if f.in.close != "" {
		content, rest, closed = strings.Cut(f.buf, f.in.close)
	}
	if !closed && !last && f.in.close != "" {
		content = content[:len(content)-held(content, f.in.close)]
		rest = f.buf[len(content):]
	}
	if f.first {
		f.thought.WriteString(content)
	} else {
		f.body.WriteString(content)
	}
	f.buf = rest
	if !closed && !last {
		return false
	}
	f.leave(closed)
	return true
}

// leave ends a block.
func (f *filter) leave(closed bool) {
	b, body := f.in, f.body.String()
	f.in = nil
	f.body.Reset()
	f.behind = !f.midLine
	switch {
	case b.kind == calling:
		raw := b.open + body
		if closed {
			raw += b.close
		}
		f.calls = append(f.calls, textCall{at: f.size, raw: raw, inLine: f.line.Len() > 0})
		f.behind, f.midLine = true, false
		return
	case f.first && !f.begun:
		f.again = b
	case f.first:
		f.midLine = false // a mark may follow on this line
	case closed || b.special || strings.HasPrefix(strings.TrimLeft(body, " \t"), "\n"):
		f.thought.WriteString(body)
	default: // a line that begins with the name of a mark
		f.say(b.open + body)
		return
	}
	f.mixed = true
}

func (f *filter) say(s string) {
	f.begun, f.behind = f.begun || s != "", false
	f.size += len(s)
	line := s[strings.LastIndexByte(s, '\n')+1:]
	if len(line) < len(s) {
		f.line.Reset()
	}
	f.line.WriteString(line)
	f.text.WriteString(s)
}

// reread splits a text that has ended where thinking without an opening mark ends, and reads what is behind it once more: a block may follow. Where the
// mark is within a line, so is the block, since a text can quote both. Behind other thinking, such a mark counts only at the beginning.
// more: the server has sent calls beside the text.
func (a *assembly) reread(more bool) {
	blocks := a.filter.calls
	text := restored(a.text.String(), blocks)
	hidden := slices.Clone(blocks)
	for i, b := range blocks { // a mark within a block is none
		hidden[i].raw, hidden[i].tail = strings.Repeat(hiding, len(b.raw+b.tail)), ""
	}
	at, mark := loneClosing(restored(a.text.String(), hidden), more, a.filter.marked)
	if a.filter.off || mark == nil || (a.filter.mixed || a.thought.Len() > 0) && strings.TrimSpace(text[:at]) != "" {
		return
	}
	a.thought.WriteString(text[:at])
	a.text.Reset()
	a.filter = filter{mixed: true, again: mark}
	rest := strings.TrimLeft(text[at+len(mark.close):], " \t\r\n")
	if !strings.Contains(text[at:len(text)-len(rest)], "\n") {
		a.filter.line.WriteString(strings.TrimSpace(text[strings.LastIndexByte(text[:at], '\n')+1 : at]))
	}
	said, thought := a.filter.take(rest)
	held, inner := a.filter.rest()
	a.text.WriteString(said + held)
	a.thought.WriteString(thought + inner)
}

// hiding stands for each byte of a block.
const hiding = "\x00"

// settled returns the answer in a text that has ended. What follows a control word that ends the answer is the model's talk with itself.
func settled(text string) (answer, thought string) {
	if before, after, found := strings.Cut(text, "assistantfinal"); found && strings.HasPrefix(text, "analysis") && !strings.HasPrefix(text, "analysis ") {
		return strings.TrimSpace(after), strings.TrimPrefix(before, "analysis") // harmony, from a server that drops its special tokens
	}
	return withoutEnds(text), ""
}

func withoutEnds(text string) string {
	for again := true; again; {
		again = false
		for _, end := range ends() {
			trimmed := strings.TrimRight(text, " \t\r\n")
			if rest, found := strings.CutSuffix(trimmed, end); found {
				text, again = strings.TrimRight(rest, " \t\r\n"), true
			}
			if before, after, found := strings.Cut(text, end); found && strings.HasPrefix(strings.TrimLeft(after, "\r\n"), "<|im_start|>") {
				text, again = before, true
			}
		}
	}
	return text
}

// loneClosing returns where thinking ends by a closing mark without an opening one: at the beginning of a line, or right behind a word, outside of
// code. more: calls follow the text. marked: it had other marks of a template, so that <|end|> does not end thinking.
func loneClosing(text string, more, marked bool) (at int, mark *block) {
	fenced := false
	for offset := 0; offset < len(text); {
		line, _, _ := strings.Cut(text[offset:], "\n")
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
			fenced = !fenced
		}
		for _, c := range closings() {
			before, _, found := strings.Cut(line, c.close)
			at := offset + len(before)
			next := text[min(at+len(c.close), len(text)):]
			if !found || fenced || c.close == "<|end|>" && (marked || !strings.HasPrefix(next, "<|start|>assistant") && !strings.HasPrefix(next, hiding)) || strings.Contains(line, "`") || strings.Contains(text[:at], c.open) {
				continue
			}
			glued := before != "" && !strings.ContainsAny(before[len(before)-1:], " \t\"'(") && (more || strings.TrimSpace(next) != "")
			if strings.TrimSpace(before) == "" || glued {
				return at, &c
			}
		}
		offset += len(line) + 1
	}
	return 0, nil
}
