package openai

import (
	"slices"
	"strings"
)

// The levels of thinking. The words are the protocol's; servers accept different subsets:
//
//   - openai and openrouter accept all of them; openrouter in a field of its own, reasoning.effort
//     (https://openrouter.ai/docs/use-cases/reasoning-tokens).
//   - ollama accepts only none, low, medium and high; newer releases also max (https://docs.ollama.com/api/openai-compatibility).
//   - lmstudio ignored the field for a long time; all releases that read it accept none, low, medium and high.
//   - Of the compatible servers, vLLM accepts all, SGLang and others only low, medium and high, and llama.cpp reads none as "do not
//     think". Their own switches, such as chat_template_kwargs, are not sent: strict servers reject fields that they do not know.

// effort translates the config's value into the protocol's. An empty value sends nothing; false means that the value is unknown.
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

// efforts lists the protocol's levels in rising order.
func efforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh"} }

// taken lists the levels that a backend's servers accept, in rising order.
func taken(backend string) []string {
	switch backend {
	case openAI, openRouter:
		return efforts()
	default:
		return []string{"none", "low", "medium", "high"}
	}
}

// effortAt returns the level to send to a backend: the configured one, or the nearest that the backend accepts, preferring the lower.
// Thinking is turned off only when the config says so. "" sends nothing.
func effortAt(backend, thinking string) string {
	asked, _ := effort(thinking)
	if asked == "" || slices.Contains(taken(backend), asked) {
		return asked
	}
	rank := func(word string) int { return slices.Index(efforts(), word) }
	best, least := "", len(efforts())
	for _, word := range taken(backend) {
		// The levels rise and an equal distance changes nothing, so of two the lower one stays.
		if far := max(rank(word)-rank(asked), rank(asked)-rank(word)); word != "none" && far < least {
			best, least = word, far
		}
	}
	return best
}

// think sets the level in the field that the backend reads.
func (m chat) think(w *wireRequest) {
	e := effortAt(m.Config.Provider, m.Config.Thinking)
	switch {
	case e == "":
	case m.Config.Provider == openRouter:
		w.Reasoning = &wireReasoning{Effort: e}
	default:
		w.ReasoningEffort = e
	}
}

const (
	openTag  = "<think>"
	closeTag = "</think>"
	maxLead  = 64 // bytes of white space allowed before the first tag
)

// tags separates reasoning from text when the server leaves <think>…</think> in the text. Only a tag at the very beginning counts; without
// a closing tag, everything is reasoning. White space around the tags is dropped where it would be text. The zero value is ready for the
// beginning.
type tags struct {
	inside bool
	behind bool   // the tag is closed and no text has come yet
	done   bool   // everything that follows is text
	held   string // possibly the start of a tag
}

// take returns the text and the reasoning of the next piece. It holds back a possible start of a tag until the next call.
func (t *tags) take(s string) (text, thought string) {
	if t.done {
		return s, ""
	}
	s = t.held + s
	t.held = ""
	// The text so far may begin with the opening tag: hold it until that is certain.
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
	// White space between the closing tag and the text belongs to neither.
	if t.behind {
		s = strings.TrimLeft(s, " \t\r\n")
		t.done = s != ""
	}
	return s, thought
}

// within returns the reasoning before the closing tag, and the rest.
func (t *tags) within(s string) (thought, rest string) {
	if before, after, closed := strings.Cut(s, closeTag); closed {
		t.inside, t.behind = false, true
		return before, after
	}
	// The longest end of s that may be the start of the closing tag is held back.
	keep := min(len(closeTag)-1, len(s))
	for !strings.HasPrefix(closeTag, s[len(s)-keep:]) {
		keep--
	}
	t.held = s[len(s)-keep:]
	return s[:len(s)-keep], ""
}

// rest returns the held text at the end of the stream.
func (t *tags) rest() (text, thought string) {
	held := t.held
	t.held = ""
	if t.inside {
		return "", held
	}
	return held, ""
}
