package builtin

import (
	"slices"
	"strings"
	"unicode"
)

// lists parses requests for a list: "jobs", "show my reminders", "what is planned?", "what's next?", "list files".
func lists(text string) (plan, bool) {
	words := strings.Fields(plainWords(text))
	if len(words) > maxTail || len(words) == 0 || strings.ContainsRune(text, ':') {
		return plan{}, false
	}
	// Without the words that say only that a list is wanted, the kind of the list is left.
	asked := slices.Clone(words)
	asked = slices.DeleteFunc(asked, func(w string) bool {
		return among(w, "show|list|see|view|display|me|all|my|the|of|what|which|whats|when|are|is|do|does|i|you|we|have|got|any|anything|there|open|pending|"+
			"active|current|upcoming|coming|up|set|running|here|in|this|folder|directory|a|on|for|today|tomorrow|tonight|week|next")
	})
	has := func(list string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return among(w, list) })
	}
	asks := among(words[0], "what|whats|when|which|show|list|anything|is|any|do")
	kind := ""
	switch {
	case len(asked) == 1:
		kind = asked[0]
	// "what's next?", "what do I have tomorrow?", but not "what is today?".
	case len(asked) == 0 && asks && (has("next") || has("have|got|on|up") && has("today|tomorrow|tonight|week")):
		kind = "jobs"
	}
	switch kind {
	case "jobs", "reminders", "timers", "alarms", "schedule", "schedules", "scheduled", "agenda", "crons", "cron", "planned":
		return call(toolCron, "action", "list"), true
	case "job", "reminder", "timer", "alarm":
		return call(toolCron, "action", "list"), has("next|any|show|which")
	case "tasks", "backlog", "todos":
		return call(toolTasks), true
	case "todo":
		return call(toolTasks), has("list") && asks
	case "watches", "watchers", "watched":
		return call(toolWatch, "action", "list"), true
	case "files":
		return call(toolList, "path", "."), len(words) > 1
	}
	return plan{}, false
}

// jobs parses all commands about existing jobs.
func jobs(text string) (plan, bool) {
	for _, c := range []struct{ words, action string }{
		// The user's words, and the action of the cron tool.
		{"pause", "pause"},
		{"resume", "resume"},
		{"unpause", "resume"},
		{"delete", "remove"},
		{"remove", "remove"},
		{"cancel", "remove"},
		{"stop reminding me", "remove"},
		{"stop", "remove"},
		{"clear", "remove"},
		{"turn off", "remove"},
		{"run job", "run"},
		{"run the job", "run"},
		{"runs of", "runs"},
	} {
		rest, ok := after(text, strings.Fields(c.words)...)
		if !ok {
			continue
		}
		if c.words == "stop reminding me" {
			rest = "reminder " + rest
		}
		name, certain := jobNamed(rest)
		switch {
		case whole(rest) && (certain || !slices.Contains([]string{"stop", "clear", "turn off"}, c.words)):
			return plan{say: "Which one? list jobs shows their names; then, for example: " + c.words + " stretch"}, true
		case c.action == "pause" && name == "" && strings.Contains(rest, " until "):
			return plan{say: "I can pause a job, but not until a time. For example: pause stretch, and later: resume stretch"}, true
		case rest == "" && c.action == "remove" && c.words != "stop" && c.words != "clear", is(rest, "all", "it", "that", "this", "everything") && c.action == "remove":
			return plan{say: "Which one? list jobs shows their names; then, for example: cancel stretch"}, true
		case name == "":
		// "stop" and "clear" have many other meanings.
		case certain || !slices.Contains([]string{"stop", "clear", "turn off"}, c.words):
			return call(toolCron, "action", c.action, "name", name), true
		}
	}
	return plan{}, false
}

// whole reports whether a text names no single job: "all reminders", "the last one", "them".
func whole(text string) bool {
	words := slices.DeleteFunc(strings.Fields(plainWords(text)), func(w string) bool { return among(w, "the|my|of|jobs|timers|alarms|"+strings.Join(jobNouns(), "|")) })
	return among(strings.Join(words, " "), "all|every|everything|them|these|those|both|it|that|this|last|last one|latest|next|next one|first|first one|one")
}

// changed answers a request to change a job, which the interpreter cannot do.
func changed(text string) (plan, bool) {
	if _, snooze := after(text, "snooze"); snooze {
		return plan{say: "I cannot repeat a reminder later. Make a new one, for example: remind me in 10 minutes to stretch"}, true
	}
	rest, ok := first(text, "change", "move", "reschedule", "postpone", "delay", "edit", "update", "rename")
	names := slices.ContainsFunc(strings.Fields(plainWords(rest)), func(w string) bool { return slices.Contains(jobNouns(), w) })
	return plan{say: "I cannot change a reminder or job here: cancel it and make it again. list jobs shows the names; then, for example: cancel stretch"}, ok && names
}

// jobNouns are what people call a job.
func jobNouns() []string { return []string{"job", "reminder", "alarm", "timer", "reminders"} }

// jobNamed returns the name or number of a job that a text names: "stretch", "the reminder to call mom", "my stretch reminder", "#3". Several
// words are a name only if the text calls it a job or reminder, which makes it certain.
func jobNamed(text string) (name string, certain bool) {
	text = strings.TrimRight(text, ".!? ")
	for _, word := range append([]string{"the", "my", "a"}, jobNouns()...) {
		if rest, ok := after(text, word); ok && rest != "" {
			text, certain = rest, certain || slices.Contains(jobNouns(), word)
		}
	}
	if certain {
		text = reminded(text)
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 && slices.Contains(jobNouns(), strings.ToLower(text[i+1:])) {
		text, certain = strings.TrimSpace(text[:i]), true
	}
	certain = certain || slices.Contains(jobNouns(), strings.ToLower(text))
	// Names of jobs are made of the words of their prompts, with hyphens between them.
	name = unquote(text)
	if words := strings.Fields(name); certain && len(words) > 1 && len(words) <= 6 {
		name = strings.ToLower(strings.Join(words, "-"))
	}
	if strings.ContainsFunc(name, unicode.IsSpace) {
		return "", false
	}
	return strings.TrimPrefix(name, "#"), certain // lists show jobs as #3
}

// jobName returns the single word, a name or a number, that names a job or watch. It is empty when there are more words.
func jobName(text string) string {
	name, _ := jobNamed(text)
	return name
}
