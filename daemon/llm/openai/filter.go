package openai

import "strings"

// maxLead is the most white space, in bytes, before a block at the beginning of an answer.
const maxLead = 64

// filter takes the blocks of dialects out of a streamed text: at the beginning of the answer or of a line, outside of code. When the answer begins
// with thinking, the same marks count anywhere. Without its closing mark, thinking at the beginning is the whole answer; elsewhere a mark inside a
// line of text is text. The zero value is ready for the beginning.
type filter struct {
	off     bool // everything is text
	buf     string
	in      *block
	first   bool // the block begins the answer: what it holds is shown as reasoning at once
	body    strings.Builder
	again   *block // thinking that may come again within a line
	begun   bool   // there is text
	midLine bool
	behind  bool // a block has ended, and no text has come since
	fenced  bool // within a fenced code block
	size    int  // of the text so far
	calls   []textCall
	mixed   bool // there was thinking in the text

	text, thought strings.Builder // of the running take
}

// textCall is a block that may hold tool calls.
type textCall struct {
	at  int    // where it was in the text
	raw string // with its marks
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
	if f.off {
		return "", ""
	}
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
		return f.line(last)
	}
}

// lineStart handles the beginning of a line.
func (f *filter) lineStart(last bool) bool {
	space := " \t"
	if !f.begun || f.behind {
		space = " \t\r\n"
	}
	lead := strings.TrimLeft(f.buf, space)
	if len(f.buf)-len(lead) > maxLead && !f.begun && !f.behind {
		f.off = true
		f.say(f.buf)
		f.buf = ""
		return false
	}
	found, more := f.find(lead)
	switch {
	case found != nil:
		f.enter(found, lead)
		return true
	case more && !last:
		return false
	case f.behind:
		if n := len(f.calls); n > 0 && f.calls[n-1].at == f.size {
			f.calls[n-1].raw += f.buf[:len(f.buf)-len(lead)] // for the case that the block is text
		}
		f.buf = lead // white space between a block and the text belongs to neither
		f.behind = lead == ""
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
		case strings.HasPrefix(s, b.open):
			if found == nil || len(b.open) > len(found.open) {
				found = &b
			}
		case strings.HasPrefix(b.open, s):
			more = true
		}
	}
	return found, more && found == nil
}

func (f *filter) enter(b *block, from string) {
	f.buf = from[len(b.open):]
	if b.kind == nothing {
		f.behind, f.midLine = true, false
		return
	}
	f.in, f.first = b, !f.begun && b.kind == thinking
}

// line emits the rest of a line.
func (f *filter) line(last bool) bool {
	line, _, whole := strings.Cut(f.buf, "\n")
	if whole {
		line = f.buf[:len(line)+1]
	}
	if f.again != nil && !f.fenced {
		if before, _, found := strings.Cut(line, f.again.open); found {
			f.say(before)
			f.enter(f.again, f.buf[len(before):])
			f.first = true
			return true
		}
		if !whole && !last {
			line = line[:len(line)-held(line, f.again.open)]
		}
	}
	f.say(line)
	f.buf, f.midLine = f.buf[len(line):], !whole
	return whole
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
		f.calls = append(f.calls, textCall{f.size, raw})
		return
	case f.first && !f.begun:
		f.again = b
	case f.first:
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
	f.text.WriteString(s)
}

// reread splits a text that has ended where thinking without an opening mark ends, and reads what is behind it once more: a block may follow.
// more: the server has sent calls beside the text.
func (a *assembly) reread(more bool) {
	text, blocks := a.text.String(), a.filter.calls
	at, mark := loneClosing(text, more || len(blocks) > 0)
	if a.filter.off || mark == "" {
		return
	}
	start := at
	for _, b := range blocks {
		if b.at <= at {
			start += len(b.raw)
		}
	}
	text = restored(text, blocks)
	a.thought.WriteString(text[:start])
	a.text.Reset()
	a.filter = filter{mixed: true}
	said, thought := a.filter.take(strings.TrimLeft(text[start+len(mark):], " \t\r\n"))
	held, inner := a.filter.rest()
	a.text.WriteString(said + held)
	a.thought.WriteString(thought + inner)
}

// settled returns the answer in a text that has ended. What follows a control word that ends the answer is the model's talk with itself.
func settled(text string) (answer, thought string) {
	if before, after, found := strings.Cut(text, "assistantfinal"); found && strings.HasPrefix(text, "analysis") && !strings.HasPrefix(text, "analysis ") {
		return strings.TrimSpace(after), strings.TrimPrefix(before, "analysis") // harmony, from a server that drops its special tokens
	}
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
	return text, ""
}

// loneClosing returns where thinking ends by a closing mark without an opening one: at the beginning of a line, or right behind a word, outside of
// code.
func loneClosing(text string, more bool) (at int, mark string) {
	fenced := false
	for offset := 0; offset < len(text); {
		line, _, _ := strings.Cut(text[offset:], "\n")
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
			fenced = !fenced
		}
		for _, c := range closings() {
			before, _, found := strings.Cut(line, c)
			at := offset + len(before)
			next := strings.HasPrefix(text[min(at+len(c), len(text)):], "<|start|>assistant") // elsewhere <|end|> ends the answer
			if !found || fenced || c == "<|end|>" && !next || strings.Contains(line, "`") || strings.Contains(text[:at], opening(c)) {
				continue
			}
			glued := before != "" && !strings.ContainsAny(before[len(before)-1:], " \t\"'(") && (more || strings.TrimSpace(text[at+len(c):]) != "")
			if strings.TrimSpace(before) == "" || glued {
				return at, c
			}
		}
		offset += len(line) + 1
	}
	return 0, ""
}
