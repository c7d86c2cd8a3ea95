package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/daemon/llm"
)

// Subject is a model under test, with requests that it is known to answer.
type Subject struct {
	Model llm.Model
	Plain llm.Request // it answers with text and no calls
	Calls llm.Request // it answers with two calls or more
}

// Suite checks the contract of llm.Model. open is called for each test; its model must be able to answer eight requests.
func Suite(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	t.Run("info stays the same", func(t *testing.T) { infoStays(t, open(t)) })
	t.Run("deltas make the text", func(t *testing.T) { deltasMakeText(t, open(t)) })
	t.Run("deltas are optional", func(t *testing.T) { plain(t, open(t), nil) })
	t.Run("calls are whole", func(t *testing.T) { callsAreWhole(t, open(t)) })
	t.Run("an ended context ends it", func(t *testing.T) { endedContext(t, open(t)) })
	t.Run("the request stays as it was", func(t *testing.T) { requestStays(t, open(t)) })
	t.Run("several at once", func(t *testing.T) {
		s := open(t)
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				plain(t, s, func(llm.Delta) {})
			})
		}
	})
}

// infoStays checks that Info does not change and names the model.
func infoStays(t *testing.T, s Subject) {
	t.Helper()
	before := s.Model.Info()
	plain(t, s, nil)
	if before.Provider == "" || before.Model == "" {
		t.Errorf("info %+v has no name", before)
	}
	if after := s.Model.Info(); after != before {
		t.Errorf("info changed from %+v to %+v", before, after)
	}
}

// plain sends the plain request and checks that the answer is a text.
func plain(t *testing.T, s Subject, delta func(llm.Delta)) llm.Answer {
	t.Helper()
	a, err := s.Model.Answer(t.Context(), s.Plain, delta)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	if a.Text == "" || a.Finish != llm.Stop || len(a.Calls) != 0 {
		t.Fatalf("want text and nothing else, got %+v", a)
	}
	return a
}

// deltasMakeText checks that the deltas together are the answer.
func deltasMakeText(t *testing.T, s Subject) {
	t.Helper()
	var text, thought strings.Builder
	a := plain(t, s, func(d llm.Delta) {
		text.WriteString(d.Text)
		thought.WriteString(d.Reasoning)
	})
	if text.String() != a.Text || thought.String() != a.Reasoning {
		t.Errorf("deltas %q and %q, answer %q and %q", text.String(), thought.String(), a.Text, a.Reasoning)
	}
}

// callsAreWhole checks that calls have JSON arguments, ids of their own and the names of offered tools.
func callsAreWhole(t *testing.T, s Subject) {
	t.Helper()
	a, err := s.Model.Answer(t.Context(), s.Calls, nil)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	if a.Finish != llm.ToolCall || len(a.Calls) < 2 {
		t.Fatalf("want two calls, got %+v", a)
	}
	offered := map[string]bool{}
	for _, tool := range s.Calls.Tools {
		offered[tool.Name] = true
	}
	ids := map[string]bool{}
	for _, c := range a.Calls {
		var args map[string]any
		if err := json.Unmarshal(c.Args, &args); err != nil {
			t.Errorf("arguments %s: %v", c.Args, err)
		}
		if !offered[c.Name] || c.ID == "" || ids[c.ID] {
			t.Errorf("call %+v: want a tool that was offered and an id of its own", c)
		}
		ids[c.ID] = true
	}
}

// endedContext checks that an ended context ends the request and is not to be retried.
func endedContext(t *testing.T, s Subject) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Model.Answer(ctx, s.Plain, nil)
	if !errors.Is(err, context.Canceled) || llm.Retryable(err) {
		t.Errorf("want context.Canceled, not to be tried again, got %v", err)
	}
}

// requestStays checks that the model does not change the request.
func requestStays(t *testing.T, s Subject) {
	t.Helper()
	before, err := json.Marshal(s.Calls)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Model.Answer(t.Context(), s.Calls, nil); err != nil {
		t.Fatalf("answer: %v", err)
	}
	after, err := json.Marshal(s.Calls)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Errorf("the request was changed:\n%s\n%s", before, after)
	}
}
