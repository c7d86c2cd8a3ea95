package openai

import (
	"slices"
	"strings"
)

// How much thinking is asked for. The words are the protocol's; what each server takes of them differs:
//
//   - openai and openrouter take all of them; openrouter under a name of its own, reasoning.effort
//     (https://openrouter.ai/docs/use-cases/reasoning-tokens).
//   - ollama refuses what is not none, low, medium or high; its newer releases know max besides
//     (https://docs.ollama.com/api/openai-compatibility).
//   - lmstudio ignored the field for long; since it reads it, none, low, medium and high are what all releases agree on.
//   - Of the compatible servers vLLM takes all, SGLang and others refuse what is not low, medium or high, and llama.cpp reads
//     none as "do not think". Their own switches, such as chat_template_kwargs, are not sent: strict servers refuse a field
//     that they do not know.

// effort translates the config's word into the protocol's. The empty word sends nothing; false: the word is not known.
func effort(thinking string) (string, bool) {
	switch {
	case thinking == "off":
		return "none", true
	case thinking == "" || thinking != "none" && slices.Contains(efforts(), thinking):
		return thinking, true
	default:
		return "", false
	}
}

// efforts are the protocol's words, from the least thinking to the most.
func efforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh"} }

// taken are those of them that a backend's servers take, in the same order.
func taken(backend string) []string {
	switch backend {
	case openAI, openRouter:
		return efforts()
	default:
		return []string{"none", "low", "medium", "high"}
	}
}

// effortAt is the word that is sent to a backend for the config's word: itself, else the nearest that the backend knows, in
// doubt the smaller one. Thinking is only turned off where it was asked for. Empty: nothing is sent.
func effortAt(backend, thinking string) string {
	asked, _ := effort(thinking)
	if asked == "" || slices.Contains(taken(backend), asked) {
		return asked
	}
	rank := func(word string) int { return slices.Index(efforts(), word) }
	best, least := "", len(efforts())
	for _, word := range taken(backend) {
		if far := max(rank(word)-rank(asked), rank(asked)-rank(word)); word != "none" && far < least {
			best, least = word, far
		}
	}
	return best
}

// think sets how much thinking is asked for.
func (m chat) think(w *wireRequest) {
	e := effortAt(m.cfg.Provider, m.cfg.Thinking)
	switch {
	case e == "":
	case m.cfg.Provider == openRouter:
		w.Reasoning = &wireReasoning{Effort: e}
	default:
		w.ReasoningEffort = e
	}
}

const (
	openTag  = "<think>"
	closeTag = "</think>"
	maxLead  = 64 // bytes of white space that may stand in front of the first tag
)

// tags parts what a model says into text and thought, when the server leaves that to its client: what stands in
// <think>…</think> at the very beginning is thought, and all of it when the tag is never closed. White space around
// the tags is dropped where it would be text. The zero value is at the beginning.
type tags struct {
	inside bool
	behind bool   // the tag has been closed, no text has come
	done   bool   // the rest is text
	held   string // may be the beginning of a tag
}

// take returns what is decided of a piece.
func (t *tags) take(s string) (text, thought string) {
	if t.done {
		return s, ""
	}
	s = t.held + s
	t.held = ""
	if !t.inside && !t.behind {
		lead := strings.TrimLeft(s, " \t\r\n")
		switch {
		case len(s)-len(lead) > maxLead:
			t.done = true
		case strings.HasPrefix(lead, openTag):
			t.inside, s = true, lead[len(openTag):]
		case strings.HasPrefix(openTag, lead):
			t.held = s
			return "", ""
		default:
			t.done = true
		}
	}
	if t.inside {
		if thought, s = t.within(s); t.inside {
			return "", thought
		}
	}
	if t.behind {
		s = strings.TrimLeft(s, " \t\r\n")
		t.done = s != ""
	}
	return s, thought
}

// within takes thought up to the closing tag; what may be the tag's beginning is held.
func (t *tags) within(s string) (thought, rest string) {
	if before, after, closed := strings.Cut(s, closeTag); closed {
		t.inside, t.behind = false, true
		return before, after
	}
	keep := min(len(closeTag)-1, len(s))
	for !strings.HasPrefix(closeTag, s[len(s)-keep:]) {
		keep--
	}
	t.held = s[len(s)-keep:]
	return s[:len(s)-keep], ""
}

// rest returns what was held when nothing more comes.
func (t *tags) rest() (text, thought string) {
	held := t.held
	t.held = ""
	if t.inside {
		return "", held
	}
	return held, ""
}
