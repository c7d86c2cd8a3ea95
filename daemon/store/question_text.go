package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/netguard"
	"hob/daemon/policy"
)

// questionText is what the owner reads: the question, and in a paragraph of its own how to answer it from where he is. Where there are buttons one
// short line is enough.
func questionText(q turn.Question, code string, buttons bool) string {
	text := plainLines(q.Text) + "\n\n"
	switch {
	case q.Subject == turn.AboutAsk:
		return text + askHint(q, code, buttons)
	case buttons:
		return text + "(or write /approve " + code + " · /deny " + code + alwaysText(q, "; Always: ") + ")"
	}
	text += "/approve " + code + "\n/deny " + code
	var more []string
	if slices.Contains(q.Options, turn.AnswerTurn) && q.Pattern != "" {
		more = append(more, "/approve "+code+" turn: this kind for the rest of this turn")
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

// alwaysText is what would be allowed for good, behind a word; "" where nothing can be.
func alwaysText(q turn.Question, word string) string {
	if q.Pattern == "" {
		return ""
	}
	return word + netguard.Defang(policy.Visible(q.Pattern))
}

// askHint says how an ask is answered.
func askHint(q turn.Question, code string, buttons bool) string {
	switch {
	case len(q.Options) == 0:
		return "(Answer here, or from elsewhere: /answer " + code + " TEXT)"
	case buttons:
		return "(or answer in words; from elsewhere: /answer " + code + " TEXT)"
	default:
		return "(Answer with the number or in words; from elsewhere: /answer " + code + " NUMBER)"
	}
}

// chosenOption is an answer to an ask in words: a number, or several, that stand for options of its list become their labels. Every other text
// stays as it is, and so do answers to other questions: a number never approves.
func chosenOption(q turn.Question, text string) string {
	text = strings.TrimSpace(text)
	if q.Subject != turn.AboutAsk || len(q.Options) == 0 {
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

// acceptedAnswer is an answer as its question takes it; the labels of hob's own questions stand for yes and no. False: it is none.
func acceptedAnswer(q turn.Question, text string) (string, bool) {
	yes, no := turn.AnswerOnce, turn.AnswerNo
	switch {
	case q.Subject == turn.AboutAsk || q.Subject == turn.AboutCalls || q.Subject == turn.AboutCall:
		return text, q.Subject == turn.AboutAsk || slices.Contains(q.Options, text)
	case text == yes || len(q.Options) == 2 && strings.EqualFold(text, q.Options[0]):
		return yes, true
	default:
		return no, text == no || len(q.Options) == 2 && strings.EqualFold(text, q.Options[1])
	}
}

// optionNumber stands before a number that means the place of an option, even where another option is called so.
const optionNumber = "#"

// questionChoices are the answers that a question offers, as the commands that give them. They are short, because platforms have little room for them.
func questionChoices(q turn.Question) (list []channels.Choice) {
	add := func(label, command string) {
		list = append(list, channels.Choice{Label: policy.Visible(label), Data: command})
	}
	approve, deny := "/approve "+q.Code, "/deny "+q.Code
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

// plainLines shows a text with its line breaks, and nothing in it that cannot be seen or that looks like a command to answer with.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = policy.Visible(strings.TrimRight(line, "\r")); strings.HasPrefix(strings.TrimLeft(line, " ("), "/") {
			line = "· " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
