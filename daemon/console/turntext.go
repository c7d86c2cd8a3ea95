package console

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
)

// turnText is how much of a turn's text has been shown. The text arrives in live pieces, which may be repeated or lost, and whole with
// turn.finished; both must end in the same text on the screen.
type turnText struct {
	step    int
	shown   string   // of the current step
	earlier string   // of the earlier steps
	over    bool     // the turn has finished
	text    string   // the whole text, once over
	held    []string // messages that may repeat the turn's text, until its end shows which
	waiting bool     // parked
	failed  []string // the lines about failed calls that were shown when the calls ended, without square brackets
	plain   bool     // the text is what a command printed or a file contains, so it is no Markdown
}

// piece shows a live piece of the answer. Pieces may be repeated, lost, or come from a new attempt of the step.
func (t *turnText) piece(out screen, l event.Piece) {
	if t.over {
		return
	}
	t.waiting = false
	// Each step has a text of its own, and offsets count from its beginning.
	if l.Step != t.step {
		out.Break()
		t.earlier += t.shown
		t.step, t.shown = l.Step, ""
	}
	fresh, again := t.fresh(l)
	if again {
		out.Break()
		out.Note("the answer starts again")
		t.shown = ""
	}
	if fresh == "" {
		return
	}
	t.shown += fresh
	out.Stream(fresh)
}

// fresh returns the part of a piece that has not been shown. again is true when the step started over with another text.
func (t *turnText) fresh(l event.Piece) (text string, again bool) {
	if l.Offset == 0 && t.shown != "" && !overlaps(t.shown, l.Text) {
		return l.Text, true
	}
	if l.Offset > len(t.shown) {
		return "", false // a piece was lost: turn.finished shows the rest
	}
	known := t.shown[l.Offset:]
	if !strings.HasPrefix(l.Text, known) {
		return "", false // a repeat, or another text in the middle: turn.finished decides
	}
	return l.Text[len(known):], false
}

// overlaps reports whether one of two texts begins with the other.
func overlaps(a, b string) bool {
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// end shows the part of the whole text that has not been shown, and the held messages that differ from it.
func (t *turnText) end(out screen, text string) {
	// The whole text may be that of the last step, or of all steps.
	t.over, t.text, t.waiting = true, text, false
	left := t.untold(text)
	rest, ok := after(left, t.shown)
	if !ok {
		rest, ok = after(left, t.earlier+t.shown)
	}
	switch {
	case ok && t.shown != "":
		out.Stream(rest)
		out.Break()
	case strings.TrimSpace(left) != "":
		out.Break()
		out.Say(left)
	default:
		out.Break()
	}
	for _, m := range t.held {
		if !same(m, text) {
			out.Say(t.untold(m))
		}
	}
	t.held = nil
}

// untold returns a text without the lines about failed calls that were shown when the calls ended.
func (t *turnText) untold(text string) string {
	if len(t.failed) == 0 {
		return text
	}
	told := func(line string) bool { return slices.Contains(t.failed, unbracketed(line)) }
	return strings.TrimRight(strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), told), "\n"), "\n")
}

// unbracketed returns a line without square brackets: hob puts them into the addresses of a conversation once it has read text of others.
func unbracketed(line string) string { return strings.NewReplacer("[", "", "]", "").Replace(line) }

// covers reports whether a message of this turn need not be shown: it repeats the turn's text, or the end of the turn will decide.
func (t *turnText) covers(body string) bool {
	if !t.over {
		t.held = append(t.held, body)
		return true
	}
	return same(body, t.text)
}

// after returns the part of text after shown. If text does not begin with shown, the two are compared without white space, because the
// stored text is trimmed.
func after(text, shown string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, shown); ok {
		return strings.TrimRightFunc(rest, unicode.IsSpace), true
	}
	for _, r := range shown {
		if unicode.IsSpace(r) {
			continue
		}
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		got, size := utf8.DecodeRuneInString(text)
		if got != r || size == 0 {
			return "", false
		}
		text = text[size:]
	}
	return strings.TrimRightFunc(text, unicode.IsSpace), true
}

// same compares two texts without their outer white space.
func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }
