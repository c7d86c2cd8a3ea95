package builtin

import (
	"cmp"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// help returns the page about the available commands, and for the owner how to connect a model.
func (s *state) help() string {
	head := "I am the built-in interpreter. I understand plain commands, need no network and cost nothing."
	if s.m.Owner != "" && s.owner() {
		head = "Hello " + s.m.Owner + ". " + head
	}
	return head + "\n\n" + s.abilities()
}

// abilities lists the commands whose tools are available. The rest is for the owner: it names his files and servers.
func (s *state) abilities() string {
	if !s.owner() {
		return abilities(s.tools)
	}
	return abilities(s.tools) + "\n\n" + s.m.connect()
}

// owner reports whether the owner reads the answer: nobody else, and no program, wrote one of the turn's inputs.
func (s *state) owner() bool {
	return !slices.ContainsFunc(s.messages, func(m llm.Message) bool {
		return m.Envelope != nil && (m.Envelope.Trust != event.Owner || m.Envelope.Source == event.Endpoint)
	})
}

// abilities lists the commands whose tools are available.
func abilities(tools map[string]bool) string {
	var lines []string
	for _, a := range []struct{ tool, line string }{
		{toolCron, "remind me in 20m to stretch · set a timer for 5 minutes · wake me up at 7"},
		{toolCron, "every weekday at 9: run df -h . · at 17:00 tomorrow: say time to go"},
		{toolCron, "list reminders · pause NAME · resume NAME · cancel NAME · run job NAME · runs of NAME"},
		{toolExec, "run df -h ."},
		{toolWrite, "write notes.md: buy milk"},
		{toolRead, "read notes.md"},
		{toolList, "list files"},
		{toolGrep, "find milk"},
		{toolWatch, "watch notes.md: say the notes have changed · list watches · cancel NAME"},
		{toolRemember, "remember that the door code is 4711"},
		{toolMemory, "what do you know about the door"},
		{toolForget, "forget the door code"},
		{toolMessage, "send owner hello"},
	} {
		if tools[a.tool] || deferred(a.tool) && tools[toolCatalog] {
			lines = append(lines, "  "+a.line)
		}
	}
	return strings.Join(append(lines, "  what time is it · say hello · help"), "\n")
}

// whyOff returns why the model that the owner has set up does not answer. It returns "" if an answer of the conversation has told it already.
func (s *state) whyOff(conversation []llm.Message, answer string) string {
	why := s.m.Why
	if s.m.Chosen {
		why = ""
	}
	if s.m.Off != nil {
		why = cmp.Or(s.m.Off(), why)
	}
	told := func(m llm.Message) bool {
		return m.Role == llm.Assistant && strings.Contains(event.TextOf(m.Parts), why)
	}
	isMessage := func(m llm.Message) bool { return m.Envelope != nil && m.Envelope.Kind == event.Message }
	if why == "" || !s.owner() || !slices.ContainsFunc(s.messages, isMessage) || strings.Contains(answer, why) || slices.ContainsFunc(conversation, told) {
		return ""
	}
	return why
}

// connect explains how to connect a model, or why the configured one does not answer.
func (m *model) connect() string {
	if m.Why != "" {
		return m.Why
	}
	return "To talk freely, connect a language model with hob setup, or with [model] in " + m.Config + "."
}
