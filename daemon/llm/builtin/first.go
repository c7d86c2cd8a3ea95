package builtin

import (
	"encoding/json"
	"strings"

	"hob/daemon/sys"
)

// First reports whether the interpreter answers a text of the owner before a model does: it understands the whole text, and the text can hardly
// mean anything else. These are reminders and timers, lists of jobs, pause, resume and cancel, facts to remember or to forget, and the time.
// name is the job or watch that the text is about, "" if it names none. If there is none of that name, the text is for the model.
func First(text string, phrases Phrases) (ok bool, name string) {
	g := &grammar{phrases: phrases}
	if plans := g.lines(text); len(plans) > 0 {
		return !severalForm().MatchString(strings.ReplaceAll(text, "\n", " ")) && sureAll(text, g), ""
	}
	return g.sure(text)
}

// sureAll reports whether each line of a text is sure.
func sureAll(text string, g *grammar) bool {
	for line := range strings.Lines(text) {
		if ok, _ := g.sure(unlisted(line)); !ok && strings.TrimSpace(line) != "" {
			return false
		}
	}
	return true
}

var (
	// severalForm matches a second request or question in a text, and conditions.
	severalForm = sys.Regexp(`(?i)\b(?:and|then|also|but)\s+(?:then\s+|also\s+|please\s+)*(?:tell|show|give|send|what|who|how|why|where|can|could|read|find|write|search|check|look|sum|explain|make|list)\b|` +
		`\b(?:if|unless|when|whenever|once|depending)\b`)
	// sentenceForm matches the end of a sentence with another one after it.
	sentenceForm = sys.Regexp(`(?i)(?:[^.]{2}[.]|[!?;])\s+\S|\n\s*\S`)
	// vagueForm matches words that mean something said before, or a question.
	vagueForm = sys.Regexp(`(?i)^(?:it|that|this|them|these|those|he|she|they|him|her|what|whatever|which|who|how|why|whether|everything|all|time (?:in|on|we|i|when)|same|the same|do it|do that|do this)\b`)
	// reminderForm matches a request for a reminder, or a text that is only sent. Other ways, such as "tell me at 8", may ask for an answer.
	reminderForm = sys.Regexp(`(?i)\b(?:remind|reminder|timer|countdown|alarm|wake)\b|:\s*say\b|^(?:remember|don.?t forget|do not forget) to\b`)
	listForm     = sys.Regexp(`(?i)\b(?:reminders?|timers?|alarms?)\b|^(?:please )?(?:list|show)(?: me)?(?: all)?(?: my| the)? (?:jobs|watches|tasks)\b`)
	factForm     = sys.Regexp(`(?i)^(?:remember|don.?t forget|do not forget)(?: that\b| this:|:)`)
	toldForm     = sys.Regexp(`(?i),|\b(?:said|told|asked|mentioned|talked|wrote)\b`)
)

// sure reports whether one line means only what the grammar understands.
func (g *grammar) sure(text string) (ok bool, name string) {
	text = courteous(strings.TrimSpace(text))
	p := g.parse(text)
	if !p.known {
		return tellsTime(text), ""
	}
	var in struct{ Action, Name, Prompt, Content, What string }
	if json.Unmarshal(p.args, &in) != nil || sentenceForm().MatchString(text) || severalForm().MatchString(text) {
		return false, ""
	}
	clear := func(subject string) bool { return !vagueForm().MatchString(subject) && !strings.HasSuffix(text, "?") }
	switch {
	case p.tool == toolRemember:
		return factForm().MatchString(text) && clear(in.Content), ""
	case p.tool == toolForget:
		return clear(in.What) && !toldForm().MatchString(in.What), ""
	case (p.tool == toolCron || p.tool == toolWatch) && in.Action == "list", p.tool == toolTasks:
		return listForm().MatchString(text), ""
	case p.tool == toolCron && in.Action == "add":
		subject, says := strings.CutPrefix(in.Prompt, "say: ")
		return says && clear(subject) && reminderForm().MatchString(text), ""
	case p.tool == toolCron || p.tool == toolWatch:
		return in.Action == "pause" || in.Action == "resume" || in.Action == "remove", in.Name
	}
	return false, ""
}
