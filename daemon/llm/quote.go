package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
)

// quoteMark stands before a line that begins like a head of hob's.
const quoteMark = "> "

const (
	breaks   = "\n\r\v\f\u0085\u2028\u2029" // what some reader or other takes for the end of a line
	brackets = "[［⁅❲⟦⟬⦋⦍⦏〔【〖〚﹝「『｢⸢⸤⌈⌊⎡⎢⎣"   // what looks like the one that begins a head
	closers  = "]］⁆❳⟧⟭⦌⦎⦐〕】〗〛﹞」』｣⸣⸥⌉⌋⎤⎥⎦"
	blanks   = "\u115f\u1160\u3164\uffa0\u2800\u034f" // letters and signs that show nothing
)

// Quoted is foreign text as it may stand beside hob's own heads, which begin with a bracket: "[telegram · Sam · …]", "[hob]", "[late result of
// #2]", "[attached file …]". Before each line of it that begins with one, or with what looks like one, stands "> ", also when there are spaces, signs
// or unseen characters before the bracket. Nothing else is changed.
func Quoted(text string) string {
	var b strings.Builder
	for text != "" {
		line, rest := text, ""
		if i := strings.IndexAny(text, breaks); i >= 0 {
			_, size := utf8.DecodeRuneInString(text[i:])
			line, rest = text[:i+size], text[i+size:]
		}
		if likeHead(line) {
			b.WriteString(quoteMark)
		}
		b.WriteString(line)
		text = rest
	}
	return b.String()
}

// likeHead reports whether the first thing in a line that says something is a bracket.
func likeHead(line string) bool {
	for _, r := range line {
		switch {
		case strings.ContainsRune(brackets, r):
			return true
		case (unicode.IsLetter(r) || unicode.IsNumber(r)) && !strings.ContainsRune(blanks, r):
			return false
		}
	}
	return false
}

// Drawn are the parts of a message as adapters draw them behind its head: the words of an input are quoted, unless the owner has typed them. What
// he types is the first part; what comes with it is not his. Files are named by hob.
func (m Message) Drawn() []event.Part {
	if m.Envelope == nil {
		return m.Parts
	}
	typed := m.Envelope.Typed && m.Envelope.Trust == event.Owner
	parts := make([]event.Part, len(m.Parts))
	for i, p := range m.Parts {
		if p.Kind == event.Text && (i > 0 || !typed) {
			p.Text = Quoted(p.Text)
		}
		parts[i] = p
	}
	return parts
}
