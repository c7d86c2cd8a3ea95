package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	facts "hob/daemon/text"
)

// A summary that has a forgotten fact is made anew without it, by a model and without one; what was said stays.
func TestNoSummaryHasAForgottenFact(t *testing.T) {
	for _, byModel := range []bool{true, false} {
		t.Run(fmt.Sprint("by a model: ", byModel), func(t *testing.T) {
			bubble(t, nil, func(r *harness) {
				long := strings.Repeat("abcd efg ", 44)
				talk := func(n int, now string) string {
					for i := range n {
						r.ask(fmt.Sprintf("message %d %s", i, long))
						if i%5 == 0 {
							r.ask(now)
						}
					}
					list := r.model.(*llmtest.Script).Requests()
					return requestText(list[len(list)-1])
				}
				if text := talk(70, "the heron code is 4711"); !strings.Contains(text[:4000], "4711") || !strings.Contains(text, "[summary") {
					t.Fatalf("the test looks in the wrong place: %.4000s", text)
				}
				r.ask("forget the heron code 4711")
				f, err := r.store.Sessions.ForgetFact(t.Context(), facts.FactOf("The heron code is 4711."), int64(len(r.turns())))
				if err != nil || f.Summaries == 0 || len(f.Marked) < 5 {
					t.Fatalf("%+v, %v", f, err)
				}
				asked := len(r.model.(*llmtest.Script).Requests())
				if text := talk(100, "and on"); strings.Contains(text, "4711") || !strings.Contains(text, "[summary") {
					t.Errorf("the fact came back: %.4000s", text)
				}
				for _, q := range r.model.(*llmtest.Script).Requests()[asked:] {
					if isSummaryRequest(q) && strings.Contains(requestText(q), "4711") {
						t.Errorf("a summary is made of it: %s", requestText(q))
					}
				}
				if n := r.count("SELECT count(*) FROM items WHERE parts LIKE '%the heron code is 4711%'"); n < 14 {
					t.Errorf("%d items are left of what was said", n)
				}
			}, func(r *harness) {
				r.model = smallWindow(func(_ context.Context, q llm.Request) (llm.Answer, error) {
					switch {
					case !isSummaryRequest(q):
						return llmtest.Say("yes"), nil
					case byModel && strings.Contains(requestText(q), "4711"):
						return llmtest.Say("Goals: remember that the heron code is 4711."), nil
					case byModel:
						return llmtest.Say("Goals: none."), nil
					}
					return llm.Answer{}, errors.New("down")
				})
			})
		})
	}
}
