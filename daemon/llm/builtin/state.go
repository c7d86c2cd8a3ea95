package builtin

import (
	"encoding/json"
	"fmt"
	"slices"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// state is one turn as the interpreter sees it: the turn's own messages since its last complete answer.
type state struct {
	m        *model
	g        grammar
	tools    map[string]bool
	messages []llm.Message
	calls    map[string]llm.Call // by call id
	last     int                 // index of the newest answer, -1: none
	drawn    bool                // inputs have envelopes in this transcript; what has none is hob's own note
}

// open finds what belongs to the running turn. Inputs of other turns that never got an answer, because they were
// stopped or failed, are no business of this one.
func (m *model) open(r llm.Request) *state {
	s := &state{m: m, g: grammar{m.phrases}, tools: map[string]bool{}, calls: map[string]llm.Call{}, last: -1}
	for _, t := range r.Tools {
		s.tools[t.Name] = true
	}
	if len(r.Messages) == 0 {
		return s
	}
	s.drawn = slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Envelope != nil })
	turn := r.Messages[len(r.Messages)-1].Step.Turn
	for _, msg := range r.Messages {
		s.take(msg, turn)
	}
	return s
}

func (s *state) take(msg llm.Message, turn int64) {
	_, own := s.calls[msg.CallID]
	switch {
	case msg.Role == llm.ToolRole && own:
	case msg.Role == llm.ToolRole || msg.Step.Turn != turn:
		return
	case msg.Role == llm.Assistant && len(msg.Calls) == 0:
		s.messages, s.last = nil, -1 // answered: what came before is over
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

// next are the calls to make now: those for the inputs that came since the last answer.
func (s *state) next() []llm.Call {
	var calls []llm.Call
	for _, msg := range s.messages[s.last+1:] {
		c, ok := s.wants(msg)
		if !ok {
			c, ok = s.again(msg)
		}
		if ok {
			c.ID = fmt.Sprintf("b%d", len(s.calls)+len(calls)+1)
			calls = append(calls, c)
		}
	}
	return calls
}

func (s *state) wants(msg llm.Message) (llm.Call, bool) {
	return s.reach(s.plan(msg))
}

// plan reads an input; what is not an input is nothing to act on.
func (s *state) plan(msg llm.Message) plan {
	if !s.input(msg) || msg.Envelope != nil && msg.Envelope.Kind == event.Report {
		return plan{}
	}
	return s.g.parse(words(msg))
}

// words are what a message tells the interpreter to do. What stands behind the prompt of a job or a task is for models: other tasks'
// summaries, and how many runs were missed.
func words(msg llm.Message) string {
	if msg.Envelope != nil && msg.Envelope.Kind == event.Fire && len(msg.Parts) > 1 {
		return event.TextOf(msg.Parts[:1])
	}
	return event.TextOf(msg.Parts)
}

// input reports whether somebody said this, and not hob itself.
func (s *state) input(msg llm.Message) bool {
	return msg.Role == llm.User && (msg.Envelope != nil || !s.drawn)
}

// jobArgs are the arguments of a cron call that the interpreter itself made.
type jobArgs struct {
	Action string `json:"action"`
	Prompt string `json:"prompt"`
}

func jobOf(c llm.Call) jobArgs {
	var a jobArgs
	if c.Name != toolCron || json.Unmarshal(c.Args, &a) != nil {
		return jobArgs{}
	}
	return a
}
