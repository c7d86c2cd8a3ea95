// Package llmtest contains test tools for everything that talks to language models. It is only for tests.
//
//   - Suite checks the contract of llm.Model; every adapter must pass it.
//   - Script is a model whose answers are Go functions, for tests above the adapters.
//   - Server serves the real protocols over HTTP, with faults on request, for tests of the adapters.
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

// ErrOver is returned by InOrder after the last answer.
var ErrOver = errors.New("the script has no more answers")

// Reply returns the answer of a scripted model. An empty Finish or Usage is derived from the answer.
type Reply func(ctx context.Context, r llm.Request) (llm.Answer, error)

// Script is an llm.Model in this process. It records its requests.
type Script struct {
	info  llm.Info
	reply Reply

	mu   sync.Mutex
	seen []llm.Request
}

// NewScript returns a model that answers with reply. Several goroutines may call reply at once.
func NewScript(reply Reply) *Script {
	return &Script{
		info:  llm.Info{Provider: "script", Model: "script", Context: 200_000, MaxOutput: 8192},
		reply: reply,
	}
}

// As sets the model's info and returns the model. Call it before the model is used.
func (s *Script) As(info llm.Info) *Script {
	s.info = info
	return s
}

// Always answers every request with f, without errors.
func Always(f func(llm.Request) llm.Answer) Reply {
	return func(_ context.Context, r llm.Request) (llm.Answer, error) { return f(r), nil }
}

// InOrder returns each answer once, then ErrOver.
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

// Say returns an answer with a text.
func Say(text string) llm.Answer { return llm.Answer{Text: text} }

// Use returns an answer that calls a tool with these arguments in JSON.
func Use(tool, args string) llm.Answer {
	return llm.Answer{Calls: []llm.Call{{ID: "call_1", Name: tool, Args: json.RawMessage(args)}}}
}

// UseAll returns an answer with the calls of several answers.
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

// Info implements llm.Model.
func (s *Script) Info() llm.Info { return s.info }

// Answer implements llm.Model. It passes the text to delta word by word.
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

// Requests returns the requests so far, oldest first.
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Pieces splits a text after each space.
func Pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// completed derives the finish reason and an approximate usage where the script has none.
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

// textLength returns the length of all texts of a request.
func textLength(r llm.Request) int {
	n := 0
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			n += len(p.Text)
		}
	}
	return n
}
