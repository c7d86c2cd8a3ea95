package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
)

// quoteMark precedes a line that would look like a head written by hob.
const quoteMark = "> "

const (
	breaks   = "\n\r\v\f\u0085\u2028\u2029" // line ends, by any reader's definition
	brackets = "[［⁅❲⟦⟬⦋⦍⦏〔【〖〚﹝「『｢⸢⸤⌈⌊⎡⎢⎣"   // characters that look like the opening bracket of a head
	// closers look like its closing bracket.
	closers = "]］⁆❳⟧⟭⦌⦎⦐〕】〗〛﹞」』｣⸣⸥⌉⌋⎤⎥⎦"
	blanks  = "\u115f\u1160\u3164\uffa0\u2800\u034f" // letters and marks without a visible glyph
)

// Quoted makes foreign text safe next to hob's own heads, which begin with a bracket: "[telegram · Sam · …]", "[hob]", "[late result of
// #2]", "[attached file …]". It puts "> " before each line that begins with a bracket or a look-alike, even after spaces, signs or
// invisible characters. It changes nothing else.
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

// likeHead reports whether the first visible character of a line is a bracket.
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

// QuotedParts returns the parts of a message as adapters write them after the head. The text of an input is quoted unless the owner typed it.
// Only the first part can be typed; attachments and forwarded text are quoted always. hob names the files.
func (m Message) QuotedParts() []event.Part {
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
