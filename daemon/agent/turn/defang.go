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

// Defanger changes the web addresses in a turn's outgoing text so that no chat makes links of them. It does so only if people
// other than the owner may have influenced the text. Exempt are addresses that the owner typed and addresses that occur
// literally in text that the session has read: an address put together by a model could carry data out.
type Defanger struct {
	Guarded bool
	typed   []string // what the owner typed
	given   []string // the links in typed, as netguard.Links returns them
	read    []string // text from outside that no model has chosen
}

// Untrusted reports whether people other than the owner may have influenced what the turn says.
func (t Turn) Untrusted() bool { return t.Tainted || t.Trust() != event.Owner }

// NewDefanger collects the exempt addresses from the items of a session.
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
			own := event.Words(it.Parts)
			s.typed, s.given = append(s.typed, own), append(s.given, netguard.Links(own)...)
		case it.Kind == llm.Input && it.Envelope != nil && (it.Envelope.Kind == event.Message || it.Envelope.Kind == event.Fire) && it.Source != "sessions_spawn",
			it.Kind == llm.ResultItem && !it.IsError && quotesForeignText(calls[it.CallID]):
			s.read = append(s.read, text)
		}
	}
	return s
}

// quotesForeignText reports whether the result of a call is foreign text that no model has chosen. Most tools can repeat text
// from their arguments, so their results do not count. Neither do files in the scratch folder, which tainted turns write, and
// pages that a model has summarised. Results for the built-in interpreter always count, since no model chose its arguments.
func quotesForeignText(call llm.Item) bool {
	name, args := tools.Called(call.Tool, call.Args)
	text := strings.ToLower(string(args))
	switch {
	case call.Provider == llm.Builtin:
		return true
	case name == "read":
		return !strings.Contains(text, "scratch") && !strings.Contains(text, `\u`)
	case name == "web_fetch":
		return !strings.Contains(text, `prompt"`) && !strings.Contains(text, `\u`)
	}
	return name == "web_search" || name == "http" || strings.HasPrefix(name, "gmail_") || strings.HasPrefix(name, "calendar_") || strings.HasPrefix(name, "linkedin_")
}

// Defang returns the text with its addresses made harmless, or the text itself if the Defanger does not guard.
func (s Defanger) Defang(text string) string {
	if !s.Guarded {
		return text
	}
	return netguard.DefangBut(text, s.keeps)
}

// keeps reports whether an address is exempt.
func (s Defanger) keeps(address string) bool {
	links := netguard.Links(address)
	if len(links) > 0 && slices.Contains(s.given, links[0]) {
		return true
	}
	quoted := func(text string) bool { return containsWhole(text, address) }
	return slices.ContainsFunc(s.typed, quoted) || slices.ContainsFunc(s.read, quoted)
}

// containsWhole reports whether a text contains an address as a whole, not as a part of a longer one.
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
