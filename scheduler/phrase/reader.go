package phrase

import (
	"fmt"
	"slices"
	"time"

	"hob/scheduler/spec"
)

// reader walks through the words of a text. Each method steps over the words that it understands and leaves the others.
type reader struct {
	text string
	toks []token
	pos  int

	timeless bool     // recurring days were read, but no time
	assumed  []string // sentences about readings that were chosen, because the words allow others
}

// more reports whether words are left.
func (p *reader) more() bool { return p.pos < len(p.toks) }

// ends reports whether the schedule certainly ends here: at the end of the text, or before a word that begins the prompt.
func (p dayReader) ends() bool {
	return !p.in.more() || slices.Contains([]string{":", "to", ",", ".", ";", "!"}, p.in.word(0))
}

// word returns the word i words ahead, "" after the end.
func (p *reader) word(i int) string {
	if p.pos+i >= len(p.toks) {
		return ""
	}
	return p.toks[p.pos+i].text
}

// take steps over the words if they come next, and reports whether they did.
// It takes all of them or none.
func (p *reader) take(words ...string) bool {
	for i, w := range words {
		if p.word(i) != w {
			return false
		}
	}
	p.pos += len(words)
	return true
}

// takeAny consumes the next word if it is one of these.
func (p *reader) takeAny(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return p.take(w) })
}

// rest returns the text from the next word on, as it was written.
func (p *reader) rest() string {
	if !p.more() {
		return ""
	}
	return p.text[p.toks[p.pos].start:]
}

// understood returns the text that was read so far, as it was written.
func (p *reader) understood() string {
	if p.pos == 0 {
		return ""
	}
	return p.text[p.toks[0].start:p.toks[p.pos-1].end]
}

// skipTo moves to the first word that begins at or after end.
func (p *reader) skipTo(end int) {
	for p.pos = 0; p.more() && p.toks[p.pos].start < end; {
		p.pos++
	}
}

// period reads "20 minutes", "1h30m", "half an hour", "a couple of hours".
func (p *reader) period() (time.Duration, bool) {
	mark := p.pos
	_ = p.take("a")
	if couple := p.take("couple", "of") || p.take("couple"); couple && spec.Unit(p.word(0)) > 0 {
		p.pos++
		return 2 * spec.Unit(p.toks[p.pos-1].text), true
	}
	p.pos = mark
	period, n := spec.ReadPeriod(p.words())
	p.pos += n
	return period, n > 0
}

// words returns all words that follow.
func (p *reader) words() []string {
	var words []string
	for _, t := range p.toks[min(p.pos, len(p.toks)):] {
		words = append(words, t.text)
	}
	return words
}

// unknown wraps ErrNone, so that callers can tell a text without a schedule from a faulty schedule.
func (p *reader) unknown() error {
	return fmt.Errorf("%w: %q; %s", ErrNone, p.text, examples)
}

// unclear makes an error that quotes the part read so far and gives the reason.
func (p *reader) unclear(format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	if p.pos == 0 {
		return fmt.Errorf("schedule %q: %s", p.text, why)
	}
	return fmt.Errorf("schedule %q: understood %q, but %s", p.text, p.understood(), why)
}

// unclearEnd makes an error: something is missing where the schedule ends, or the next words are not understood.
func (p *reader) unclearEnd(missing string) error {
	if (dayReader{p}).ends() {
		return p.unclear("not %s", missing)
	}
	return p.unclear("not %q: it does not say %s", p.rest(), missing)
}

// digits reads a short decimal number without a sign.
func digits(text string) (int, error) { return spec.Digits(text) }
