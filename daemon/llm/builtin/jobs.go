package builtin

import (
	"slices"
	"strings"
	"unicode"
)

// lists parses requests for a list: "jobs", "show my reminders", "what is scheduled?", "list files".
func lists(text string) (plan, bool) {
	words := strings.Fields(plainWords(text))
	if len(words) > maxTail {
		return plan{}, false
	}
	// Without the words that say only that a list is wanted, the kind of the list is left.
	asked := slices.Clone(words)
	asked = slices.DeleteFunc(asked, func(w string) bool {
		return among(w, "show|list|see|view|display|me|all|my|the|of|what|which|whats|are|is|do|does|i|you|we|have|got|any|there|open|pending|active|"+
			"current|upcoming|coming|up|set|running|here|in|this|folder|directory|a")
	})
	if len(asked) != 1 {
		return plan{}, false
	}
	switch kind := asked[0]; kind {
	case "jobs", "reminders", "timers", "alarms", "schedule", "schedules", "scheduled", "agenda", "crons", "cron":
		return call(toolCron, "action", "list"), true
	case "tasks", "backlog", "todos":
		return call(toolTasks), true
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
		name, certain := jobNamed(rest)
		switch {
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
