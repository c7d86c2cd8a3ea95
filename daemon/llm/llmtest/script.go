// Package llmtest helps to test what speaks with language models: a suite that every adapter passes, a model whose
// answers are scripted in Go, and a server that speaks the real Chat Completions wire and misbehaves on request.
// It is for tests only; nothing that ships imports it.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hob/daemon/llm"
)

// ErrOver is returned by InOrder when all answers have been given.
var ErrOver = errors.New("the script has no more answers")

// Reply decides what a scripted model answers. Empty Finish and Usage are filled in by what the answer holds.
type Reply func(ctx context.Context, r llm.Request) (llm.Answer, error)

// Script is an llm.Model in this process. It remembers what it was asked.
type Script struct {
	info  llm.Info
	reply Reply

	mu   sync.Mutex
	seen []llm.Request
}

// NewScript makes a model that answers with reply, which may be called by several goroutines at once.
func NewScript(reply Reply) *Script {
	return &Script{
		info:  llm.Info{Provider: "script", Model: "script", Context: 200_000, MaxOutput: 8192},
		reply: reply,
	}
}

// As sets what the model says it is, before it is used, and returns it.
func (s *Script) As(info llm.Info) *Script {
	s.info = info
	return s
}

// Always answers every request by f, which never fails.
func Always(f func(llm.Request) llm.Answer) Reply {
	return func(_ context.Context, r llm.Request) (llm.Answer, error) { return f(r), nil }
}

// InOrder gives each answer once, then ErrOver.
func InOrder(answers ...llm.Answer) Reply {
	var mu sync.Mutex
	at := 0
	return func(context.Context, llm.Request) (llm.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if at == len(answers) {
			return llm.Answer{}, ErrOver
		}
		at++
		return answers[at-1], nil
	}
}

// Say is an answer of text.
func Say(text string) llm.Answer { return llm.Answer{Text: text} }

// Use is an answer that calls one tool with these arguments, written as JSON.
func Use(tool, args string) llm.Answer {
	return llm.Answer{Calls: []llm.Call{{ID: "call_1", Name: tool, Args: json.RawMessage(args)}}}
}

// UseAll is an answer that makes the calls of several.
func UseAll(answers ...llm.Answer) llm.Answer {
	all := llm.Answer{}
	for _, a := range answers {
		for _, c := range a.Calls {
			c.ID = fmt.Sprintf("call_%d", len(all.Calls)+1)
			all.Calls = append(all.Calls, c)
		}
	}
	return all
}

// Info says what the model claims to be.
func (s *Script) Info() llm.Info { return s.info }

// Answer gives the scripted answer, its text in one piece for each word.
func (s *Script) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	s.mu.Lock()
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, fmt.Errorf("scripted answer: %w", err)
	}
	a, err := s.reply(ctx, r)
	if err != nil {
		return llm.Answer{}, err
	}
	a = completed(a, len(r.System)+textLength(r))
	if delta != nil {
		for _, piece := range Pieces(a.Text) {
			delta(llm.Delta{Text: piece})
		}
	}
	return a, nil
}

// Requests are the requests so far, oldest first.
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Pieces cuts a text behind each space; joined they are the text again.
func Pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// completed fills in what a script leaves out: the reason of the end, and a rough count of tokens.
func completed(a llm.Answer, sent int) llm.Answer {
	if a.Finish == "" {
		a.Finish = llm.Stop
		if len(a.Calls) > 0 {
			a.Finish = llm.ToolCall
		}
	}
	if a.Usage == (llm.Usage{}) {
		said := len(a.Text) + len(a.Reasoning)
		for _, c := range a.Calls {
			said += len(c.Name) + len(c.Args)
		}
		a.Usage = llm.Usage{Input: sent/4 + 1, Output: said/4 + 1}
	}
	return a
}

func textLength(r llm.Request) int {
	n := 0
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			n += len(p.Text)
		}
	}
	return n
}
