package turn_test

import (
	"encoding/json"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/tools"
)

// answered is the result of a call of ask that was answered.
func answered(args, text string) string {
	a, ok := turn.Next(turn.Snapshot{
		Items:     []llm.Item{{Kind: llm.CallItem, CallID: "c", Tool: "ask", Args: json.RawMessage(args)}},
		Steps:     []turn.Step{{N: 1, Kind: turn.ToolStep, State: turn.StepParked, CallID: "c", Tool: "ask"}},
		Waits:     []turn.Wait{{CallID: "c", Kind: tools.ForQuestion, Question: 1, Met: time.Unix(1, 0)}},
		Questions: map[int64]turn.Question{1: {State: turn.Answered, Answer: text}},
	}).(turn.Resolve)
	if !ok {
		return "no result"
	}
	return a.Result.Content
}

// F11: an answer to several questions of one ask is divided among them, or given as it is.
func TestAnswers(t *testing.T) {
	args := `{"questions":[{"question":"Which tea?","options":[{"label":"green"},{"label":"black"}]},{"question":"When?","options":[{"label":"now"},{"label":"at five"},{"label":"never"}]}]}`
	whole := "the owner answered these 2 questions with one text, which does not say which part is for which: "
	both := func(text, tea, when string) string {
		return "the owner answered: " + text + "\n1. Which tea?: " + tea + "\n2. When?: " + when
	}
	for text, want := range map[string]string{
		"1a 2b":                        both("1a 2b", "green", "at five"),
		"1B,2C":                        both("1B,2C", "black", "never"),
		"1 a, 2 b and c":               both("1 a, 2 b and c", "green", "at five, never"),
		"1a,b 2a":                      both("1a,b 2a", "green, black", "now"),
		"1. white, please\n2. at noon": both("1. white, please\n2. at noon", "white, please", "at noon"),
		"2b":                           both("2b", "no answer", "at five"),
		"1d 2a":                        both("1d 2a", "d", "now"),
		"no; a and b":                  both("no; a and b", "no", "now, at five"),
		"b\nc":                         both("b\nc", "black", "never"),
		"yes":                          whole + "yes",
		"2 cups at 17:00":              whole + "2 cups at 17:00",
		"2b 1a":                        whole + "2b 1a",
		"3a 4b":                        whole + "3a 4b",
		"take 1a 2b":                   whole + "take 1a 2b",
		"":                             whole,
	} {
		if got := answered(args, text); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
	for _, args := range []string{`{"questions":[{"question":"Which?"}]}`, `{}`, `[`, ""} {
		if got := answered(args, "1a 2b"); got != "the owner answered: 1a 2b" {
			t.Errorf("%s: %q", args, got)
		}
	}
}
