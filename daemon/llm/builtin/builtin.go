// Package builtin is the command interpreter that stands in for a language model: it understands plain commands such as
// "remind me in 20m to stretch" or "run df -h", and answers through the same seam as every model. It needs no network,
// costs nothing, never fails on what it does not understand, and runs no tool itself: it only calls them.
package builtin

import (
	"context"
	"errors"
	"fmt"

	"hob/daemon/llm"
)

// ErrNoPhrase says that a text does not begin with a time or a schedule at all.
var ErrNoPhrase = errors.New("that is not a time")

// Phrases reads times and schedules in words.
type Phrases interface {
	// Prefix resolves the longest time or schedule that words begin with, e.g. "in 20 minutes" or "every weekday at 9",
	// and returns it with what follows. The error is ErrNoPhrase when there is none; any other error says, for people,
	// what is wrong with the one that is there.
	Prefix(words string) (schedule, rest string, err error)
}

// Options are what the interpreter needs to know. All but Phrases may be left out.
type Options struct {
	Phrases Phrases // required
	Owner   string  // whom it speaks to; empty: no name is used
	Config  string  // where the config file is, as shown to the user; default: config.toml in hob's home folder
	Why     string  // a sentence that says why no model answers although one is set up; empty: none is
}

type model struct {
	phrases Phrases
	owner   string
	config  string
	why     string
}

// There is no limit on what the interpreter reads or says; numbers this large never make anybody cut or compact.
const unlimited = 1 << 30

// New makes the interpreter. It is safe for concurrent use when o.Phrases is.
func New(o Options) llm.Model {
	m := &model{phrases: o.Phrases, owner: o.Owner, config: o.Config, why: o.Why}
	if m.config == "" {
		m.config = "config.toml in hob's home folder"
	}
	return m
}

// Info says that the interpreter is local and free.
func (m *model) Info() llm.Info {
	return llm.Info{Provider: llm.Builtin, Model: llm.Builtin, Local: true, Bare: true, Context: unlimited, MaxOutput: unlimited}
}

// Answer acts on what the running turn has said since the last answer: it calls the tools that the commands need, or,
// when their results are there, tells what came of them. Its only error is that of an ended context.
func (m *model) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, fmt.Errorf("built-in interpreter: %w", err)
	}
	s := m.open(r)
	if calls := s.next(); len(calls) > 0 {
		return llm.Answer{Calls: calls, Finish: llm.ToolCall, Usage: llm.Usage{Priced: true}}, nil
	}
	text := s.told()
	if delta != nil {
		delta(llm.Delta{Text: text})
	}
	return llm.Answer{Text: text, Finish: llm.Stop, Usage: llm.Usage{Priced: true}}, nil
}

// Understands reports whether the whole text is a command of the interpreter's, so that it may act in a model's place.
func Understands(text string, phrases Phrases) bool {
	return (&grammar{phrases: phrases}).parse(text).known
}
