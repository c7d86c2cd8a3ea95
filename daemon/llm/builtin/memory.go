package builtin

import (
	"errors"
	"strings"
)

// The tools of the memory.
const (
	toolMemory   = "memory_search"
	toolRecall   = "memory_get"
	toolRemember = "memory_write"
	toolForget   = "memory_forget"
)

// first returns the text after the first of the beginnings that it has.
func first(text string, beginnings ...string) (string, bool) {
	for _, words := range beginnings {
		if rest, ok := after(text, strings.Fields(words)...); ok {
			return rest, true
		}
	}
	return "", false
}

// remember parses "remember that TEXT". "Remember to TEXT" asks for a reminder.
func (g *grammar) remember(text string) (plan, bool) {
	if rest, ok := first(text, "remember to", "don't forget to", "don’t forget to", "dont forget to", "do not forget to"); ok {
		// "Don't forget to remind me" is a request like any other.
		if p, ok := g.remind(rest); ok {
			return p, true
		}
		return g.unforgotten(rest), true
	}
	rest, ok := first(text, "remember that", "remember this:", "remember:", "remember", "note that", "keep in mind that", "keep in mind:", "don't forget that", "don’t forget that", "do not forget that")
	if !ok {
		// A colon may follow the word without a space.
		rest, ok = strings.CutPrefix(lowered(text, len("remember:")), "remember:")
	}
	if !ok {
		return plan{}, false
	}
	if rest = strings.TrimSpace(rest); strings.Trim(rest, ".!?: ") == "" || is(rest, "this", "that", "it") {
		return plan{say: "What shall I remember? For example: remember that the door code is 4711"}, true
	}
	if strings.HasSuffix(rest, "?") {
		return plan{}, false // "remember the milk?" is a question
	}
	return call(toolRemember, "content", rest), true
}

// unforgotten is the plan of "remember to TEXT": a reminder when it says when, else a question.
func (g *grammar) unforgotten(what string) plan {
	if _, _, err := g.timed(what); errors.Is(err, ErrNoPhrase) {
		return plan{say: "When shall I remind you? For example: remind me tomorrow at 9 to " + strings.TrimRight(what, ".!? ") + "\nA fact that I shall keep begins with: remember that"}
	}
	return g.reminder("to "+what, signal{})
}

// forget parses "forget TEXT". The tool asks before anything is removed.
func forget(text string) (plan, bool) {
	rest, ok := first(text, "forget what i told you about", "forget what i said about", "forget everything about", "forget about", "forget that", "forget:", "forget")
	if !ok {
		return plan{}, false
	}
	if rest = unquote(strings.Trim(rest, "!?. ")); rest == "" || is(rest, "it", "this", "that") {
		return plan{say: "What shall I forget? For example: forget the door code"}, true
	}
	return call(toolForget, "what", rest), true
}

// known parses "what do you know about TEXT".
func known(text string) (plan, bool) {
	rest, ok := first(text, "what do you know about", "what do you know of", "what do you remember about", "what do you remember of", "what did i tell you about",
		"tell me what you know about", "do you remember", "what do you know", "what do you remember")
	if !ok {
		return plan{}, false
	}
	rest = strings.TrimRight(rest, "?.! ")
	if rest == "" || is(rest, "me", "us") {
		return call(toolRecall, "path", "MEMORY.md"), true
	}
	return call(toolMemory, "query", rest), true
}
