package turn

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/netguard"
	"hob/tools"
)

// Defanger shows what a turn says. Where somebody else than the owner may speak through it, addresses are shown so that nothing makes links
// of them, but for those that the owner gave and those that stand to the letter in what the session has read.
type Defanger struct {
	Guarded bool
	typed   []string // the owner's own words
	given   []string // the links in them, as netguard.Links has them
	read    []string // what came from outside, in words that no model chose
}

// Heard reports whether somebody else than the owner may speak through what the turn says.
func (t Turn) Untrusted() bool { return t.Tainted || t.Trust() != event.Owner }

// NewDefanger is how a turn's words are shown; items are those of its session.
func NewDefanger(guarded bool, items []llm.Item) Defanger {
	s := Defanger{Guarded: guarded}
	if !guarded {
		return s
	}
	calls := map[string]llm.Item{}
	for _, it := range items {
		text := event.TextOf(it.Parts)
		switch {
		case it.Kind == llm.CallItem:
			calls[it.CallID] = it
		case it.Kind == llm.Input && it.Envelope != nil && it.Envelope.Typed && it.Trust == event.Owner:
			s.typed, s.given = append(s.typed, text), append(s.given, netguard.Links(text)...)
		case it.Kind == llm.Input && it.Envelope != nil && (it.Envelope.Kind == event.Message || it.Envelope.Kind == event.Fire) && it.Source != "sessions_spawn",
			it.Kind == llm.ResultOf && !it.IsError && quotesForeignText(calls[it.CallID]):
			s.read = append(s.read, text)
		}
	}
	return s
}

// brings reports whether the result of a call is somebody else's text as it stands. Most tools repeat what a model gave them, and so does a file of
// the scratch folder, which tainted turns write, and a page that a model was asked about. The built-in interpreter chooses no words.
func quotesForeignText(call llm.Item) bool {
	name, args := call.Tool, call.Args
	if inner, its, ok := tools.Inner(args); ok && name == tools.Catalog {
		name, args = inner, its
	}
	text := strings.ToLower(string(args))
	switch {
	case call.Provider == llm.Builtin:
		return true
	case name == "read":
		return !strings.Contains(text, "scratch") && !strings.Contains(text, `\u`)
	case name == "web_fetch":
		return !strings.Contains(text, `prompt"`) && !strings.Contains(text, `\u`)
	default:
		return name == "web_search" || name == "http" || strings.HasPrefix(name, "gmail_") || strings.HasPrefix(name, "calendar_") || strings.HasPrefix(name, "linkedin_")
	}
}

// Shown is a text as it may be shown.
func (s Defanger) Defang(text string) string {
	if !s.Guarded {
		return text
	}
	return netguard.DefangBut(text, s.keeps)
}

// keeps reports whether an address stays as it is.
func (s Defanger) keeps(address string) bool {
	links := netguard.Links(address)
	if len(links) > 0 && slices.Contains(s.given, links[0]) {
		return true
	}
	stands := func(text string) bool { return containsWhole(text, address) }
	return slices.ContainsFunc(s.typed, stands) || slices.ContainsFunc(s.read, stands)
}

// standsIn reports whether an address stands in a text as a whole one: not as the beginning or the end of another.
func containsWhole(text, address string) bool {
	for {
		at := strings.Index(text, address)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if (at == 0 || strings.ContainsRune(" \t\r\n\u00a0()<>[]\"'`{}|*,;:=“”„«»‹›", before)) && netguard.Whole(text[at:], address) {
			return true
		}
		text = text[at+len(address):]
	}
}
