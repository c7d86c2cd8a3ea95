package builtin

import (
	"errors"
	"strings"

	"hob/daemon/sys"
)

// signal is a way to ask for a reminder, and the text of the reminder when none is given; "": it has to be given.
type signal struct{ words, usual string }

// signals returns the ways to ask for a reminder, a longer one before its own beginning.
func signals() []signal {
	list := []signal{
		{"remind me", ""},
		{"remind us", ""},
		{"wake me up", "wake up"},
		{"wake me", "wake up"},
		{"get me up", "wake up"},
		{"alert me", "it is time"},
		{"notify me", "it is time"},
		{"ping me", "it is time"},
		{"text me", "it is time"},
		{"message me", "it is time"},
		{"send me a message", ""},
		{"send me a reminder", ""},
		{"nudge me", "it is time"},
		{"warn me", "it is time"},
		{"buzz me", "it is time"},
	}
	for _, verb := range []string{"set", "set me", "create", "make", "add", "start", "put", "new", ""} {
		for _, article := range []string{"a", "an", "the", "my", ""} {
			for noun, usual := range map[string]string{"reminder": "", "alarm": "alarm", "alarm clock": "alarm", "timer": "timer", "countdown": "timer"} {
				list = append(list, signal{strings.Join(strings.Fields(verb+" "+article+" "+noun), " "), usual})
			}
		}
	}
	return list
}

// timerForm is a timer whose length comes before the word: "set a 5 minute timer for the eggs".
var timerForm = sys.Regexp(`(?is)^(?:(?:set|start|make|create|add)\s+)?(?:an?\s+)?(\d[\d.]*|[a-z]+)[\s-]?(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)[\s-]+(?:timer|countdown|alarm|reminder)\b\s*(.*)$`)

// remind parses requests for a reminder, an alarm or a timer: "remind me TIME to TEXT", "set an alarm for 7am", "wake me up at 7".
func (g *grammar) remind(text string) (plan, bool) {
	if found := timerForm().FindStringSubmatch(text); found != nil {
		if p := g.reminder("in "+found[1]+" "+found[2]+" "+found[3], signal{"timer", "timer"}); p.known {
			return p, true
		}
	}
	// The longest way counts: "alarm clock at 7" is no alarm about a clock.
	var best signal
	rest, any := "", false
	for _, s := range signals() {
		if r, ok := lead(text, s.words); ok && (!any || len(s.words) > len(best.words)) {
			best, rest, any = s, r, true
		}
	}
	if any {
		return g.reminder(rest, best), true
	}
	// "tell me" is a reminder only with a time: "tell me a story" is none.
	if rest, ok := lead(text, "tell me"); ok {
		p := g.reminder(rest, signal{"tell me", ""})
		return p, p.known
	}
	return plan{}, false
}

// bareForm is a number without a unit, with the rest of the request. "At 5" is an hour; "5" and "in 5" may be minutes.
var bareForm = sys.Regexp(`(?i)^(in\s+|for\s+|of\s+)?(\d{1,3})(\s+(?:to|about|for|that|of)\s.*)?[.!?]*$`)

// bare asks about a number of which nobody knows what it counts. An alarm and "wake me" take an hour.
func bare(rest string, s signal) (plan, bool) {
	found := bareForm().FindStringSubmatch(rest)
	in := len(found) > 0 && strings.HasPrefix(strings.ToLower(found[1]), "in")
	if len(found) == 0 || !in && (s.usual == "alarm" || s.usual == "wake up") {
		return plan{}, false
	}
	return plan{say: didYouMean + strings.TrimSpace(s.words) + map[bool]string{true: " for ", false: " in "}[s.usual == "timer"] + found[2] + " minutes" + found[3]}, true
}

// reminder is the plan of the text after "remind me", with its time at the beginning or at the end.
func (g *grammar) reminder(rest string, s signal) plan {
	if p, ok := bare(rest, s); ok {
		return p
	}
	words, tail, first := g.time(rest)
	what, late, second := g.timed(reminded(rest))
	if g.several(rest, tail, what) {
		return plan{say: "That is more than one reminder. Send me each as a message of its own, for example: remind me at 17:00 to cook"}
	}
	if p, ok := g.joined(rest, first, tail); ok {
		return p
	}
	switch {
	case first == nil:
		return subject(words, reminded(tail), s)
	case second == nil:
		return subject(late, what, s)
	case !errors.Is(first, ErrNoPhrase):
		return unread(first)
	case !errors.Is(second, ErrNoPhrase):
		return unread(second)
	case s.usual != "" && strings.TrimSpace(rest) == "":
		return plan{say: "When? For example: " + s.words + " at 7:30, or: " + s.words + " in 10 minutes"}
	}
	// Words before the subject are no time: "later to check the mail", "when I get home to feed the dog".
	if what = reminded(rest); what == strings.TrimSpace(rest) && strings.Contains(what, " to ") {
		_, what, _ = strings.Cut(what, " to ")
	}
	if what == "" {
		what = "stretch"
	}
	return plan{say: "When? For example: remind me tomorrow at 9 to " + strings.TrimRight(what, ".!? ") + ", or: remind me in 20m to stretch"}
}

// mostLines limits the reminders in one message.
const mostLines = 20

// lines returns the plans of a message of several lines, each of which is a whole reminder; nil for any other.
func (g *grammar) lines(text string) []plan {
	var plans []plan
	for line := range strings.Lines(text) {
		if line = unlisted(line); line == "" {
			continue
		}
		p, ok := g.remind(courteous(line))
		if !ok || !p.known || len(plans) == mostLines {
			return nil
		}
		plans = append(plans, p)
	}
	if len(plans) < 2 {
		return nil
	}
	return plans
}

// unlisted returns a line without the sign of a list before it.
func unlisted(line string) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*•"))
}

// andThen separates two requests in one message.
var andThen = sys.Regexp(`(?i)(?:[.;!?,\n]|\band\b|\bthen\b)\s*(?:(?:and|also|then|please)\s+)*`)

// several reports whether a message asks for more than one reminder: a second "remind me", or a second time. tail is what follows the time at
// the beginning, and what is what comes before the time at the end.
func (g *grammar) several(rest, tail, what string) bool {
	for _, at := range andThen().FindAllStringIndex(rest, -1) {
		next := rest[at[1]:]
		if p, again := lead(next, "remind me"); again && p != "" {
			return true
		}
		// "at 5pm to call Jo and at 6pm to cook"
		_, left, err := g.phrases.Prefix(next)
		if _, to := after(left, "to"); err == nil && to && tail != "" && at[0] > len(rest)-len(tail) {
			return true
		}
		// "to call Jo at 5pm and to cook at 6pm"
		if _, _, err := g.timed(reminded(rest[:at[0]])); err == nil && what != "" && at[0] < len(rest)-1 {
			if _, to := after(next, "to"); to {
				return true
			}
		}
	}
	return false
}

// unread is the answer to a time that is meant as one and cannot be taken. The errors quote the whole text, which the person has just typed.
func unread(err error) plan {
	why := err.Error()
	if quoted, rest, ok := strings.Cut(why, "\": understood "); ok && strings.HasPrefix(quoted, "schedule ") {
		return plan{say: "I understood " + rest}
	}
	return plan{say: "I could not read that time: " + why}
}

// time parses the time at the beginning of a text. After "for" or in a timer, a bare length or hour is a time, too: "for 5 minutes", "for 7".
func (g *grammar) time(text string) (words, tail string, err error) {
	// "Please" and the like may stand between: "a reminder, please, for 7".
	for _, filler := range []string{"for me", "for", "to go off", "that goes off", "of", "exactly", "around"} {
		if rest, ok := lead(text, filler); ok && rest != "" {
			text = rest
		}
	}
	if text == "" {
		return "", "", ErrNoPhrase
	}
	for _, before := range []string{"", "in ", "at "} {
		_, tail, e := g.phrases.Prefix(before + text)
		if e == nil {
			return strings.TrimSpace(strings.TrimSuffix(before+text, tail)), tail, nil
		}
		// The first error that explains something counts; one about "at" is about a word that nobody has typed.
		if err == nil || errors.Is(err, ErrNoPhrase) && before != "at " {
			err = e
		}
	}
	return "", "", err
}

// joined parses a reminder whose day comes first and whose time comes last: "tomorrow to call mom at 5pm". first and tail are the result of
// the time at the beginning: such a day is an error, or leaves text.
func (g *grammar) joined(rest string, first error, tail string) (plan, bool) {
	if first != nil && errors.Is(first, ErrNoPhrase) || first == nil && tail == "" {
		return plan{}, false
	}
	for _, i := range wordStarts(rest) {
		word, _ := after(rest[i:], "to")
		if word == "" {
			continue
		}
		what, late, err := g.timed(word)
		if err != nil {
			continue
		}
		words := strings.TrimSpace(rest[:i]) + " " + late
		if _, left, err := g.phrases.Prefix(words); err == nil && strings.TrimSpace(left) == "" {
			return add(words, "say: "+what), true
		}
	}
	return plan{}, false
}

// subject is the plan of a reminder whose time is known.
func subject(words, what string, s signal) plan {
	if what = strings.TrimSpace(what); strings.Trim(what, ".!? ") == "" || is(what, "for me", "me", "please") {
		what = s.usual
	}
	if what == "" {
		return plan{say: "What shall I remind you of? For example: remind me " + words + " to stretch"}
	}
	return add(words, "say: "+what)
}

// timed splits a reminder with the time at its end. It tries the longest possible time first. The error is the first one that explains more
// than ErrNoPhrase.
func (g *grammar) timed(text string) (what, words string, err error) {
	err = ErrNoPhrase
	starts := wordStarts(text)
	for _, i := range starts[max(0, len(starts)-maxTail):] {
		head := strings.TrimRight(text[:i], " \t\r\n,;")
		if head == "" {
			continue
		}
		_, rest, e := g.phrases.Prefix(text[i:])
		if e == nil && strings.Trim(rest, " \t\r\n.!") == "" {
			return head, strings.TrimRight(strings.TrimSuffix(text[i:], rest), " \t\r\n"), nil
		}
		if e != nil && !errors.Is(e, ErrNoPhrase) && errors.Is(err, ErrNoPhrase) {
			err = e
		}
	}
	return "", "", err
}

// reminded returns the subject of a reminder, without the words that introduce it.
func reminded(text string) string {
	text = strings.TrimLeft(text, " \t\r\n:,")
	for _, word := range []string{"to", "that", "about", "of", "for", "called", "named", "saying"} {
		if rest, ok := after(text, word); ok {
			return strings.TrimSpace(rest)
		}
	}
	return strings.TrimSpace(text)
}
