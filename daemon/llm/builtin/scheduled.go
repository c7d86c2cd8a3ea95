package builtin

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// action normalizes the prompt of a job: an instruction to say something becomes "say: TEXT". The agent sends such a prompt without asking
// a model.
func action(prompt string) string {
	if p, ok := said(prompt); ok {
		return "say: " + p.say
	}
	for _, words := range []string{"remind me", "tell me to", "tell me that", "ping me", "notify me", "alert me"} {
		if rest, ok := lead(prompt, words); ok && reminded(rest) != "" {
			return "say: " + reminded(rest)
		}
	}
	if _, ok := first(prompt, "wake me up", "wake me"); ok {
		return "say: wake up"
	}
	return prompt
}

// scheduled parses "SCHEDULE: PROMPT" and "SCHEDULE COMMAND". The text may hold several colons, so each is tried as the end of the schedule.
func (g *grammar) scheduled(text string) (plan, bool) {
	var wrong error
	for _, i := range colons(text) {
		words, prompt := g.planned(strings.TrimSpace(text[:i])), strings.TrimSpace(text[i+1:])
		_, rest, err := g.phrases.Prefix(words)
		switch {
		case err == nil && strings.TrimSpace(rest) == "" && prompt != "":
			return add(words, action(prompt)), true
		case err == nil && strings.TrimSpace(rest) == "":
			return whatThen(words), true
		// This part was meant as a time but is wrong. A later colon may still give a correct schedule.
		case err != nil && wrong == nil && !errors.Is(err, ErrNoPhrase):
			wrong = err
		}
	}
	if wrong == nil {
		return g.inline(text)
	}
	return unread(wrong), true
}

// whatThen asks what a job shall do.
func whatThen(words string) plan {
	return plan{say: "What shall I do then? Write it after the colon, for example: " + words + ": run date"}
}

// turned reads a reminder whose schedule comes first and is not complete: "every other friday remind me to put the bins out".
func (g *grammar) turned(text string) (plan, bool) {
	for _, i := range wordStarts(text) {
		if what, ok := lead(text[i:], "remind me"); ok && i > 0 && what != "" {
			return g.reminder(strings.TrimRight(text[:i], " ,:")+" to "+reminded(what), signal{"remind me", ""}), true
		}
	}
	return plan{}, false
}

// planned returns the schedule in "schedule a backup every night at 2", and any other text unchanged.
func (g *grammar) planned(text string) string {
	rest, ok := leadAny(text, "schedule", "plan")
	if !ok {
		return text
	}
	for _, i := range wordStarts(rest) {
		if _, left, err := g.phrases.Prefix(rest[i:]); err == nil && strings.TrimSpace(left) == "" {
			return rest[i:]
		}
	}
	return text
}

// inline parses a schedule that a command follows without a colon: "in 20 minutes say stretch". For other words it asks.
func (g *grammar) inline(text string) (plan, bool) {
	if words := g.planned(text); words != text {
		// "schedule run uptime every hour" says what to do, "schedule a backup every night at 2" does not.
		what, _ := leadAny(strings.TrimSpace(strings.TrimSuffix(text, words)), "schedule", "plan")
		if p, ok := command(what); ok {
			return add(words, p), true
		}
		return whatThen(words), true
	}
	_, rest, err := g.phrases.Prefix(text)
	what := strings.Trim(rest, " \t\r\n.,;!:")
	switch {
	case errors.Is(err, ErrNoPhrase), strings.HasPrefix(rest, ":"):
		return plan{}, false
	case err != nil:
		if p, ok := g.turned(text); ok {
			return p, true
		}
		return unread(err), true
	}
	words := strings.TrimSpace(strings.TrimSuffix(text, rest))
	if what == "" {
		return whatThen(words), true
	}
	if p, ok := command(rest); ok {
		return add(words, p), true
	}
	return plan{say: "Did you mean: remind me " + words + " to " + reminded(what) + "\nFor a command, put a colon before it: " + words + ": run date"}, true
}

// command returns the prompt of a job whose text is a command or something to say.
func command(text string) (prompt string, ok bool) {
	text, _ = front(strings.TrimSpace(text))
	if done := action(text); done != text {
		return done, true
	}
	for _, rule := range []func(string) (plan, bool){ran, lists, read, listed, found, written, sent} {
		if _, ok := rule(text); ok {
			return text, true
		}
	}
	return "", false
}

// delayed answers "run COMMAND TIME": the shell would get the time as words of the command.
func (g *grammar) delayed(text string) (plan, bool) {
	command, ok := after(text, "run")
	if !ok || strings.ContainsAny(command, "\n\"'|;&<>$") {
		return plan{}, false
	}
	what, words, err := g.timed(command)
	word, _, several := strings.Cut(strings.ToLower(words), " ")
	if err != nil || !several || !slices.Contains([]string{"every", "each", "in", "at", "on", "tomorrow"}, word) {
		return plan{}, false
	}
	return plan{say: didYouMean + words + ": run " + what + "\nTo run it now with these words, put quotes around them."}, true
}

// colons returns the positions of the first colons on the first line that are not part of a time of day.
func colons(text string) []int {
	line, _, _ := strings.Cut(text, "\n")
	var at []int
	for i := 1; i < min(len(line), maxHead) && len(at) < maxColon; i++ {
		if line[i] != ':' {
			continue
		}
		// In "at 9:30: run date" only the second colon can end the schedule.
		if next, _ := utf8.DecodeRuneInString(line[i+1:]); !unicode.IsDigit(next) {
			at = append(at, i)
		}
	}
	return at
}
