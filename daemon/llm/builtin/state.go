package builtin

import (
	"encoding/json"
	"fmt"
	"slices"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// state is the running turn: its own messages since its last complete answer.
type state struct {
	m         *model
	g         grammar
	tools     map[string]bool
	messages  []llm.Message
	calls     map[string]llm.Call // by call ID
	last      int                 // index of the newest answer; -1: none
	wasLost   bool                // an earlier answer of the conversation has shown examples
	suggested string              // the command that the answer before this turn suggested
	notDone   bool                // an input was not understood, or its tool is missing
	drawn     bool                // the transcript has envelopes, so a user message without one is hob's own note
}

// open selects the messages of the running turn. It ignores inputs of other turns that never got an answer, because those were stopped or
// failed.
func (m *model) open(r llm.Request) *state {
	s := &state{m: m, g: grammar{m.Phrases}, tools: map[string]bool{}, calls: map[string]llm.Call{}, last: -1}
	for _, t := range r.Tools {
		s.tools[t.Name] = true
	}
	if len(r.Messages) == 0 {
		return s
	}
	s.wasLost = toldLost(r.Messages)
	s.suggested = suggestion(r.Messages)
	s.drawn = slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Envelope != nil })
	// The newest message belongs to the running turn.
	turn := r.Messages[len(r.Messages)-1].Step.Turn
	for _, msg := range r.Messages {
		s.take(msg, turn)
	}
	return s
}

// take adds one message of the transcript. A tool result counts by its call, even if another turn delivers it.
func (s *state) take(msg llm.Message, turn int64) {
	_, own := s.calls[msg.CallID]
	switch {
	// The result of a call of this turn is taken below.
	case msg.Role == llm.ToolRole && own:
	case msg.Role == llm.ToolRole || msg.Step.Turn != turn:
		return
	case msg.Role == llm.Assistant && len(msg.Calls) == 0:
		s.messages, s.last = nil, -1 // a complete answer: the messages before it are done
		return
	}
	for _, c := range msg.Calls {
		s.calls[c.ID] = c
	}
	s.messages = append(s.messages, msg)
	if msg.Role == llm.Assistant {
		s.last = len(s.messages) - 1
	}
}

// next returns the calls for the inputs since the last answer.
func (s *state) next() []llm.Call {
	var calls []llm.Call
	for _, msg := range s.messages[s.last+1:] {
		wanted := s.wants(msg)
		// The message is not a command, but it may be the failed result of one that a watch can answer.
		if c, ok := s.again(msg); ok && len(wanted) == 0 {
			wanted = append(wanted, c)
		}
		for _, c := range wanted {
			// The number counts all calls of the turn, so that no id occurs twice.
			c.ID = fmt.Sprintf("b%d", len(s.calls)+len(calls)+1)
			calls = append(calls, c)
		}
	}
	return calls
}

// wants returns the calls that an input asks for, if their tools are available.
func (s *state) wants(msg llm.Message) (calls []llm.Call) {
	plans := s.lines(msg)
	if len(plans) == 0 {
		plans = []plan{s.plan(msg)}
	}
	for _, p := range plans {
		if c, ok := s.reach(p); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// skillOf returns the name of the skill that a message runs, "" if it runs none.
func skillOf(msg llm.Message) string {
	for _, p := range msg.Parts {
		if p.Skill != nil {
			return p.Skill.Name
		}
	}
	return ""
}

// plan parses an input. Notes of hob, reports of background work and skills are not commands.
func (s *state) plan(msg llm.Message) plan {
	if !s.input(msg) || skillOf(msg) != "" || msg.Envelope != nil && msg.Envelope.Kind == event.Report {
		return plan{}
	}
	return s.g.parse(s.words(msg))
}

// lines returns the plans of an input of several reminders.
func (s *state) lines(msg llm.Message) []plan {
	if !s.input(msg) || skillOf(msg) != "" || msg.Envelope != nil && msg.Envelope.Kind != event.Message {
		return nil
	}
	return s.g.lines(words(msg))
}

// words returns the command of a message. "Yes" after a suggestion means the suggested command.
func (s *state) words(msg llm.Message) string {
	text := words(msg)
	if s.suggested != "" && among(plainWords(text), "yes|y|yes please|ok|okay|sure|yep|yeah|do it|go ahead|exactly|right") {
		return s.suggested
	}
	return text
}

// words returns the part of a message that holds the command. For a fired job or a task it is the first part, the prompt. The other parts
// are for models: summaries of other tasks, and the number of missed runs.
func words(msg llm.Message) string {
	if msg.Envelope != nil && msg.Envelope.Kind == event.Fire && len(msg.Parts) > 1 {
		return event.TextOf(msg.Parts[:1])
	}
	return event.TextOf(msg.Parts)
}

// input reports whether the message came from a person or a trigger, and not from hob itself.
func (s *state) input(msg llm.Message) bool {
	return msg.Role == llm.User && (msg.Envelope != nil || !s.drawn)
}

// jobArgs are the arguments of a cron call that the interpreter made.
type jobArgs struct {
	Action   string `json:"action"`
	Schedule string `json:"schedule"`
	Prompt   string `json:"prompt"`
}

// jobOf decodes them; zero for another tool.
func jobOf(c llm.Call) jobArgs {
	var a jobArgs
	if c.Name != toolCron || json.Unmarshal(c.Args, &a) != nil {
		return jobArgs{}
	}
	return a
}
