package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/netguard"
	"hob/daemon/text"
)

// questionText is the message of a question: its text, and a paragraph on how to answer it from this chat. With buttons one short line is
// enough.
func questionText(q turn.Question, code string, buttons bool) string {
	text := plainLines(text.ForPeople(q.Text)) + "\n\n"
	if q.Subject == turn.AboutCalls || q.Subject == turn.AboutCall {
		text = verbatim(text)
	}
	switch {
	case q.Subject == turn.AboutAsk:
		return text + askHint(q, code, buttons)
	case buttons:
		return text + "(or write /approve " + code + " · /deny " + code + alwaysText(q, "; Always: ") + ")"
	}
	text += "/approve " + code + "\n/deny " + code
	var more []string
	if slices.Contains(q.Options, turn.AnswerTurn) && q.Pattern != "" {
		more = append(more, "/approve "+code+" turn: this kind until the turn ends or reads foreign text")
	}
	if q.Pattern != "" {
		more = append(more, alwaysText(q, "/approve "+code+" always: "))
	}
	if q.Labelled() {
		more = append(more, fmt.Sprintf("approve: %s · deny: %s", q.Options[0], q.Options[1]))
	}
	if len(more) > 0 {
		text += "\n(" + strings.Join(more, " · ") + ")"
	}
	return text
}

// verbatim puts the lines of an approval that show the call, which begin with two spaces, into blocks of code: channels would read them as Markdown,
// and the signs of a diff as lists. The blanks stay: no line of a call may look like one of hob's own.
func verbatim(text string) string {
	var out []string
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		shown := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "  careful: ")
		if shown != inside {
			out = append(out, fence)
		}
		inside = shown
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// alwaysText shows what "always" would allow, after a word; "" if nothing can be allowed permanently.
func alwaysText(q turn.Question, word string) string {
	if q.Pattern == "" {
		return ""
	}
	return word + netguard.Defang(netguard.Visible(q.Pattern))
}

// askHint explains how to answer an ask.
func askHint(q turn.Question, code string, buttons bool) string {
	switch {
	case len(q.Options) == 0:
		return "(Answer here, or from elsewhere: /answer " + code + " TEXT)"
	case buttons:
		return "(or answer in words; from elsewhere: /answer " + code + " TEXT)"
	}
	return "(Answer with the number or in words; from elsewhere: /answer " + code + " NUMBER)"
}

// chosenOption turns an answer in numbers into the labels of the chosen options. Any other text stays as it is, and so do answers to a question
// whether a call may be made: a number never allows one.
func chosenOption(q turn.Question, text string) string {
	text = strings.TrimSpace(text)
	if q.Subject != turn.AboutAsk && !q.Labelled() || len(q.Options) == 0 {
		return text
	}
	if i := slices.IndexFunc(q.Options, func(o string) bool { return strings.EqualFold(o, text) }); i >= 0 {
		return q.Options[i]
	}
	var labels []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(word, optionNumber), ".)"))
		if err != nil || n < 1 || n > len(q.Options) || slices.Contains(labels, q.Options[n-1]) {
			return text
		}
		labels = append(labels, q.Options[n-1])
	}
	if len(labels) == 0 {
		return text
	}
	return strings.Join(labels, ", ")
}

// isOption reports whether a text chooses options of a question, by their labels or numbers.
func isOption(q turn.Question, text string) bool {
	chosen := chosenOption(q, text)
	return chosen != strings.TrimSpace(text) || slices.Contains(q.Options, chosen)
}

// acceptedAnswer converts an answer to the form that its question expects. The labels of hob's own questions mean yes and no. It returns
// false if the text is not an answer.
func acceptedAnswer(q turn.Question, text string) (string, bool) {
	yes, no := turn.AnswerOnce, turn.AnswerNo
	switch {
	case q.Subject == turn.AboutAsk || q.Subject == turn.AboutCalls || q.Subject == turn.AboutCall:
		return text, q.Subject == turn.AboutAsk || slices.Contains(q.Options, text)
	case text == yes || len(q.Options) == 2 && strings.EqualFold(text, q.Options[0]):
		return yes, true
	}
	return no, text == no || len(q.Options) == 2 && strings.EqualFold(text, q.Options[1])
}

// optionNumber precedes the number of an option, so that it differs from an option with that label.
const optionNumber = "#"

// questionChoices returns the buttons of a question, as commands. They are short, because platforms allow few bytes.
func questionChoices(q turn.Question) (list []channels.Choice) {
	add := func(label, command string) {
		list = append(list, channels.Choice{Label: netguard.Visible(label), Data: command})
	}
	approve, deny := "/approve "+q.Code, "/deny "+q.Code
	// Options of the ask tool may be any text, so their number is sent instead.
	switch {
	case q.Subject == turn.AboutAsk:
		for i, o := range q.Options {
			add(o, fmt.Sprintf("/answer %s %s%d", q.Code, optionNumber, i+1))
		}
		return list
	case q.Labelled():
		for i, o := range q.Options {
			add(o, []string{approve, deny}[i])
		}
		return list
	}
	add("Yes, this once", approve)
	if slices.Contains(q.Options, turn.AnswerTurn) && q.Pattern != "" {
		add("For this turn", approve+" turn")
	}
	if q.Pattern != "" {
		add("Always", approve+" always")
	}
	add("No", deny)
	return list
}

// plainLines shows a text with its line breaks. It removes invisible characters, and marks lines that look like a command.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = netguard.Visible(strings.TrimRight(line, "\r")); strings.HasPrefix(strings.TrimLeft(line, " ("), "/") {
			line = "· " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
