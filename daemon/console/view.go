package console

import (
	"strings"
	"time"
	"unicode"

	"hob/channels/markup"
)

// Look is what a terminal can show.
type Look struct {
	Color bool // styles and the 16 colours
	UTF8  bool // more than ASCII
	Moves bool // the cursor can be moved, so that lines can be rewritten in place
}

// glyph returns a sign, or its ASCII form.
func (l Look) glyph(sign, ascii string) string {
	if l.UTF8 {
		return sign
	}
	return ascii
}

// view draws a conversation on a terminal. Finished blocks are written once and scroll away. Below them is the live part, which is
// rewritten in place: the block of an answer that still grows, one line that says what runs, and one with the question that the input line answers.
//
// A block of the answer becomes final when no later text can change it (markup.Settled). What has scrolled out of the screen can not be
// rewritten, so the live part shows only the last lines of a long block; the whole is written when it is finished.
type view struct {
	write   func(string) // draws at the beginning of the line below the finished text
	size    func() (width, height int)
	look    Look
	text    string   // the answer's text that is not settled
	inside  bool     // an answer has begun and not ended
	output  string   // the newest lines of the command that runs
	status  string   // what runs; "" is nothing
	open    string   // what the input line answers, where that is no longer just above it; "" is nothing
	blocks  int      // counts what was written for good
	held    []string // blocks that arrived while an answer grew
	live    []string // the lines of the live part on the screen
	paused  bool     // nothing is drawn until entered
	waiting string   // finished text that came meanwhile
	verbose bool     // questions show the canonical form of calls
	plain   bool     // the message is shown as it is, not as Markdown
	after   string   // below each message: an empty line where more follows
}

// Sequences of ECMA-48 and of the synchronised output that terminals share: those that do not know the latter ignore it.
const (
	freeze     = "\x1b[?2026h"
	thaw       = "\x1b[?2026l"
	clearBelow = "\x1b[J"
	upOne      = "\x1b[A"
)

// screen is the terminal as it is now, less some columns.
func (v *view) screen(less int) markup.Screen {
	w, _ := v.size()
	return markup.Screen{Width: max(w-less, 10), Color: v.look.Color, UTF8: v.look.UTF8}
}

// Wrapped breaks a text that is not Markdown at its words, for a terminal of this width; 0 is none, which gets the text as it is.
func Wrapped(text string, width int) string {
	if width <= 0 {
		return text
	}
	return strings.Join(markup.Screen{Width: width, UTF8: true}.Wrap(text), "\n")
}

// rendered is Markdown as a block of lines, or a plain text wrapped.
func (v *view) rendered(text string) string {
	if v.plain {
		return strings.Join(v.screen(0).Wrap(strings.ReplaceAll(Clean(markup.WithoutSequences(text)), "\t", "    ")), "\n")
	}
	return markup.Terminal(v.screen(0)).Render(text).Text
}

// stream adds a piece of the answer.
func (v *view) stream(piece string) {
	v.text += piece
	v.inside = true
	done := ""
	if n := markup.Settled(v.text); n > 0 {
		done, v.text = v.block(v.rendered(v.text[:n]), "\n"), v.text[n:]
	}
	v.draw(done)
}

// end finishes the answer and shows what was held meanwhile.
func (v *view) end() {
	if !v.inside {
		return
	}
	rest := v.block(v.rendered(v.text), v.after)
	v.text, v.inside = "", false
	for _, block := range v.held {
		rest += block
	}
	v.held = nil
	v.draw(rest)
}

// block is a rendered text as whole lines, with what follows below it.
func (v *view) block(text, below string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text + "\n" + below
}

// say shows a message.
func (v *view) say(message string) { v.put(v.block(v.rendered(message), v.after)) }

// remark shows a remark: dim, wrapped, and indented.
func (v *view) remark(line string) {
	text := ""
	for _, part := range v.screen(2).Wrap(Clean(line)) {
		text += dim(part, v.look.Color) + "\n"
	}
	v.put(text)
}

// ask shows a question: its first line stands out.
func (v *view) ask(question string) {
	changes := map[string]string{"  +": "32", "  -": "31", "  $": "1", "  @": "36"}
	first, rest, _ := strings.Cut(Clean(strings.TrimRight(question, "\n")), "\n")
	lines := v.screen(0).Wrap(first)
	for i := range lines {
		lines[i] = v.styled(lines[i], "1;33")
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if rest == "" {
			break
		}
		for _, part := range v.screen(0).Wrap(line) {
			lines = append(lines, v.styled(part, changes[line[:min(3, len(line))]]))
		}
	}
	v.put(strings.Join(lines, "\n") + "\n")
}

// arrived shows what came by itself: a line with its source and time, and the message below.
func (v *view) arrived(head, message string) {
	body, whole := v.block(v.rendered(message), v.after), false
	if head, whole = once(head, strings.TrimSpace(message), v.screen(0).Width); whole {
		body = v.after
	}
	v.put(v.styled(v.cut(OneLine(markup.WithoutSequences(head)), v.screen(0).Width), "1;35") + "\n" + body)
}

// once takes the name out of a head "⏰ 06:43 check-the-oven" if it was made from the first words of the message. A message of one plain line
// takes its place. whole: the head has the whole message.
func once(head, message string, width int) (text string, whole bool) {
	words := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-") + "-"
	}
	parts := strings.SplitN(head, " ", 3)
	if len(parts) < 3 || words(parts[2]) == "-" || !strings.HasPrefix(words(message), words(parts[2])) {
		return head, false
	}
	begin := parts[0] + " " + parts[1]
	if line := begin + " " + message; !strings.ContainsAny(message, "\n*_`#[<") && Cells(line) <= width {
		return line, true
	}
	return begin, false
}

// styled draws a line in a style of ECMA-48, "Select graphic rendition".
func (v *view) styled(line, style string) string {
	if !v.look.Color || line == "" {
		return line
	}
	return "\x1b[" + style + "m" + line + "\x1b[0m"
}

// put shows a block now, or after the answer that grows.
func (v *view) put(block string) {
	if v.inside {
		v.held = append(v.held, block)
		return
	}
	v.draw(block)
}

// runs sets the lines that say what runs and what the input line answers.
func (v *view) runs(status, open string) {
	if v.status != status || v.open != open {
		v.status, v.open = status, open
		v.draw("")
	}
}

// shownLines is how many lines of a running command are shown at most.
const shownLines = 10

// prints shows the newest lines of the command that runs, until its end.
func (v *view) prints(output string) {
	if output = strings.TrimRight(output, "\n"); v.output != output {
		v.output = output
		v.draw("")
	}
}

// draw writes finished text, and the live part below it again.
func (v *view) draw(finished string) {
	if finished != "" {
		v.blocks++
	}
	if !v.look.Moves {
		if finished != "" {
			v.write(finished)
		}
		return
	}
	if v.paused {
		v.waiting += finished
		return
	}
	w, h := v.size()
	next := v.lines(w, h)
	// Lines that stay as they are are not drawn again.
	same := 0
	for finished == "" && same < len(next) && same < len(v.live) && next[same] == v.live[same] {
		same++
	}
	if finished == "" && same == len(next) && same == len(v.live) {
		return
	}
	v.redraw(rows(v.live[same:], w), finished, next, same)
}

// rows is how many rows of the screen the lines take. A narrower terminal has wrapped some.
func rows(lines []string, width int) (n int) {
	for _, line := range lines {
		n += max(1, (columns(line)+width-1)/max(width, 1))
	}
	return n
}

// redraw writes finished text so many rows above the cursor, in the place of what stands there, and below it the new live part from a line on.
func (v *view) redraw(up int, finished string, live []string, from int) {
	out := strings.Repeat(upOne, up)
	if up > 0 {
		out += clearBelow
	}
	out += finished
	for _, line := range live[from:] {
		out += line + "\n"
	}
	v.live = live
	v.write(freeze + out + thaw)
}

// pause stops the drawing until entered, because the cursor is about to leave the input line.
func (v *view) pause() { v.paused = v.look.Moves }

// entered moves a line, which was entered below the live part and took so many rows, above it. With 0 rows there is none.
func (v *view) entered(line string, taken int) {
	finished := v.waiting
	v.paused, v.waiting = false, ""
	w, h := v.size()
	up := rows(v.live, w) + taken
	switch {
	case taken == 0 || len(v.live) == 0:
		v.draw(finished)
	case up >= h: // its beginning has left the screen, where nothing can be drawn again
		v.live = nil
		v.draw(finished)
	default:
		v.redraw(up, line+"\n"+finished, v.lines(w, h), 0)
	}
}

// lines returns the live part for a screen.
func (v *view) lines(width, height int) []string {
	var list []string
	if strings.TrimSpace(v.text) != "" {
		list = strings.Split(v.rendered(v.text), "\n")
		// The prompt and the line of the status need some of the screen.
		if most := max(height-6, 1); len(list) > most {
			list = list[len(list)-most:]
		}
	}
	if v.output != "" {
		lines := strings.Split(v.output, "\n")
		lines = lines[max(len(lines)-min(shownLines, max(height-6-len(list), 1)), 0):]
		for _, line := range lines {
			list = append(list, dim(v.look.glyph("│ ", "| ")+v.cut(strings.ReplaceAll(Clean(markup.WithoutSequences(line)), "\t", "    "), width-6), v.look.Color))
		}
	}
	if v.status != "" {
		list = append(list, dim(v.cut(v.status, width-3), v.look.Color))
	}
	if v.open != "" {
		list = append(list, v.styled(v.open, "1;33"))
	}
	return list
}

// cut shortens a line, in the characters that the screen has.
func (v *view) cut(line string, n int) string {
	line = shorten(v.screen(0).Shown(line), n)
	if !v.look.UTF8 {
		line = strings.ReplaceAll(line, "…", "~")
	}
	return line
}

// frames are the pictures of the spinner.
func (l Look) frame(at time.Duration) string {
	pictures := []rune(l.glyph("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `-\|/`))
	return string(pictures[int(at/spin)%len(pictures)])
}

// spin is how long a picture of the spinner is shown.
const spin = 250 * time.Millisecond

// columns is the width of a line without its sequences.
func columns(line string) int { return markup.Width(markup.WithoutSequences(line)) }
