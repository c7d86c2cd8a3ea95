// Package builtin is the command interpreter that answers when no language model does. It understands plain commands such as "remind me in
// 20m to stretch" or "run df -h" and implements llm.Model like every backend. It needs no network, costs nothing, and never fails on input
// that it does not understand. It runs no tool itself: it returns calls, and the agent runs them.
//
// For each request it finds the messages of the running turn (state.go), parses the new inputs into plans (grammar.go), and returns the
// calls of these plans. When the results are in the transcript, it writes the answer from them (tell.go).
package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/llm"
)

// ErrNoPhrase reports that a text does not begin with a time or a schedule.
var ErrNoPhrase = errors.New("that is not a time")

// Phrases parses times and schedules in words. Package scheduler/phrase implements it.
type Phrases interface {
	// Prefix parses the longest time or schedule at the beginning of words, such as "in 20 minutes" or "every weekday at 9", and returns it
	// with the rest. Without one the error is ErrNoPhrase; any other error explains the mistake to the user.
	Prefix(words string) (schedule, rest string, err error)
}

// Options configure the interpreter. Only Phrases is required.
type Options struct {
	Phrases Phrases // required
	Owner   string  // the owner's name for the greeting; empty: none
	Config  string  // the config file's path as shown to the user; default: config.toml in hob's home folder
	Why     string  // a sentence that says why the configured model does not answer; empty: none is configured
	Chosen  bool    // the owner has chosen the interpreter, so only an answer that needs a model says Why

	Off func() string // says which mistake in the config file has switched the model off, "" for none; nil: none

	Now func() time.Time // the time in the owner's zone; nil: questions about the time are not understood
}

// model implements llm.Model.
type model struct{ Options }

// The interpreter has no limits. A number this large prevents cutting and compaction.
const unlimited = 1 << 30

// New returns the interpreter. It is safe for concurrent use when o.Phrases is.
func New(o Options) llm.Model {
	o.Config = cmp.Or(o.Config, "config.toml in hob's home folder")
	return &model{o}
}

// Info describes the interpreter as local and free.
func (m *model) Info() llm.Info {
	return llm.Info{Provider: llm.Builtin, Model: llm.Builtin, Local: true, Interpreter: true, Context: unlimited, MaxOutput: unlimited}
}

// Answer handles the inputs of the running turn since the last answer. It returns the tool calls that the commands need or, when their
// results are there, the text of the answer. It fails only when ctx has ended.
func (m *model) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, fmt.Errorf("built-in interpreter: %w", err)
	}
	s := m.open(r)
	// The agent runs the calls and asks again with their results. The answer is written when no call is left.
	if calls := s.next(); len(calls) > 0 {
		return llm.Answer{Calls: calls, Finish: llm.ToolCall, Usage: llm.Usage{Priced: true}}, nil
	}
	text := s.outcomes()
	if note := s.whyOff(r.Messages, text); note != "" {
		text += "\n\n" + note
	}
	if delta != nil {
		delta(llm.Delta{Text: text})
	}
	finish := llm.Stop
	if s.notDone {
		finish = llm.NotDone
	}
	return llm.Answer{Text: text, Finish: finish, Usage: llm.Usage{Priced: true}}, nil
}

// Understands reports whether the whole text is a command or asks for the time. The agent uses it to let the interpreter act in place of a model that failed.
func Understands(text string, phrases Phrases) bool {
	g := &grammar{phrases: phrases}
	return g.parse(text).known || tellsTime(text) || len(g.lines(text)) > 0
}

// tellsTime reports whether a text asks for the date or the time.
func tellsTime(text string) bool {
	plain := plainWords(strings.TrimSpace(text))
	return asked(plain) != plain && clock(time.Now, plain) != ""
}
