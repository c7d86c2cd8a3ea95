package console

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
)

// turnText is the part of a turn's text that has been shown, so that nothing is shown twice.
type turnText struct {
	step    int
	shown   string   // of this step
	earlier string   // of the steps before
	over    bool     // the turn has finished
	text    string   // its whole text, when over
	held    []string // messages that may be the turn's own text: its end tells
	waiting bool     // parked
}

// piece shows a piece of the answer. Pieces may come twice, come from a new attempt, or be lost.
func (t *turnText) piece(out screen, l event.Live) {
	if t.over {
		return
	}
	t.waiting = false
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
func (t *turnText) fresh(l event.Live) (text string, again bool) {
	if l.Offset == 0 && t.shown != "" && !overlaps(t.shown, l.Text) {
		return l.Text, true
	}
	if l.Offset > len(t.shown) {
		return "", false // a piece was lost: the rest waits for the end
	}
	known := t.shown[l.Offset:]
	if !strings.HasPrefix(l.Text, known) {
		return "", false // a repeat, or another text in the middle: the end tells
	}
	return l.Text[len(known):], false
}

func overlaps(a, b string) bool {
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// end shows the part of the whole text that has not been shown.
func (t *turnText) end(out screen, text string) {
	t.over, t.text, t.waiting = true, text, false
	rest, ok := after(text, t.shown)
	if !ok {
		rest, ok = after(text, t.earlier+t.shown)
	}
	switch {
	case ok && t.shown != "":
		out.Stream(rest)
		out.Break()
	case strings.TrimSpace(text) != "":
		out.Break()
		out.Say(text)
	default:
		out.Break()
	}
	for _, m := range t.held {
		if !same(m, text) {
			out.Say(m)
		}
	}
	t.held = nil
}

// covers reports whether a message of this turn need not be shown by itself: it repeats the turn's text, or the end of the turn
// will show it.
func (t *turnText) covers(body string) bool {
	if !t.over {
		t.held = append(t.held, body)
		return true
	}
	return same(body, t.text)
}

// after returns what follows shown in text; when text does not begin with shown, both are compared without
// their white space.
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

func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }
