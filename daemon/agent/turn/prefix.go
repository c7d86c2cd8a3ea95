package turn

import (
	"strings"

	"hob/daemon/llm"
)

// Section is a named part of the system text: "identity", "safety", or the name of a workspace file.
type Section struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Prefix is what every request of a session begins with. It is fixed when the session makes its first request, so that providers can cache it.
type Prefix struct {
	System []Section
	Tools  []llm.Tool
}

// Text returns the system text: the sections, with a blank line between them.
func (p Prefix) Text() string {
	parts := make([]string, len(p.System))
	for i, s := range p.System {
		parts[i] = s.Text
	}
	return strings.Join(parts, SectionBreak)
}

// SectionBreak stands between two sections of the system text.
const SectionBreak = "\n\n"

// Shown is a Change. It records that a note has told a session what its system text would say now.
type Shown struct {
	Session  int64
	Guest    bool
	Sections []Section
}

// SectionSize is a section of a stored system text.
type SectionSize struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Sizes returns the sizes by which CutSections finds the sections in the text again.
func (p Prefix) Sizes() []SectionSize {
	list := make([]SectionSize, len(p.System))
	for i, s := range p.System {
		list[i] = SectionSize{s.Name, len(s.Text)}
	}
	return list
}

// CutSections cuts a system text into its sections. Without sizes the whole text is one section.
func CutSections(text string, sizes []SectionSize) []Section {
	var list []Section
	for _, p := range sizes {
		if p.Bytes > len(text) {
			break
		}
		list = append(list, Section{Name: p.Name, Text: text[:p.Bytes]})
		text = strings.TrimPrefix(text[p.Bytes:], SectionBreak)
	}
	if list == nil {
		list = []Section{{Name: "system", Text: text}}
	}
	return list
}
