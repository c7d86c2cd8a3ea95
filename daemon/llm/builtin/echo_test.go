package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
)

// told returns the answer to a call of cron whose result is text. It is Saturday, 21 November 2026, 9:20.
func told(t *testing.T, args, text string) string {
	t.Helper()
	m := builtin.New(builtin.Options{Phrases: phrases{}, Now: func() time.Time { return time.Date(2026, 11, 21, 9, 20, 0, 0, time.UTC) }})
	call := llm.Call{ID: "b1", Name: "cron", Args: json.RawMessage(args)}
	a, err := m.Answer(t.Context(), llm.Request{Tools: allTools(), Messages: []llm.Message{typed(1, "remind me in 20m to stretch"), called(1, call), result(1, "b1", text, false)}}, nil)
	if err != nil || len(a.Calls) > 0 {
		t.Fatal(a, err)
	}
	return a.Text
}

// U25: a new reminder or job is confirmed in one sentence. Only what was chosen or costs something follows it.
func TestEchoOfAJob(t *testing.T) {
	const rest = "\nprompt: say: stretch\nanswers go to: cli:main\none run, free"
	for _, c := range []struct{ args, result, want string }{
		{`{"action":"add","schedule":"in 20m","prompt":"say: stretch"}`, "added: stretch: at 2026-11-21T09:40:00Z, Etc/UTC\nnext: Sat 2026-11-21 09:40" + rest, "I will remind you today at 09:40: stretch"},
		{`{"action":"add","schedule":"in 20m","prompt":"say: stretch"}`, "added: x\nnext: Sat 2026-11-21 09:40:16" + rest, "I will remind you today at 09:40: stretch"},
		{`{"action":"add","schedule":"in 10s","prompt":"say: stretch"}`, "added: x\nnext: Sat 2026-11-21 09:20:10" + rest, "I will remind you today at 09:20:10: stretch"},
		{`{"action":"add","schedule":"tomorrow at 5","prompt":"say: x"}`, "added: x\nnext: Sun 2026-11-22 05:00\n05:00 in the morning is assumed; write 5pm for the evening" + rest, "I will remind you tomorrow at 05:00: x\n05:00 in the morning is assumed; write 5pm for the evening"},
		{`{"action":"add","schedule":"friday at 9","prompt":"say: x"}`, "added: x\nnext: Fri 2026-11-27 09:00" + rest, "I will remind you on Friday at 09:00: x"},
		{`{"action":"add","schedule":"saturday at 9","prompt":"say: x"}`, "added: x\nnext: Sat 2026-11-28 09:00" + rest, "I will remind you on Saturday, 28 November at 09:00: x"},
		{`{"action":"add","schedule":"in 3 months","prompt":"say: x"}`, "added: x\nnext: Sun 2027-02-21 09:20" + rest, "I will remind you on Sunday, 21 February 2027 at 09:20: x"},
		{`{"action":"add","schedule":"Every weekday at 9","prompt":"say: up"}`, "added: x\nnext: Mon 2026-11-23 09:00, Tue 2026-11-24 09:00" + rest, "I will remind you every weekday at 9, first on Monday at 09:00: up"},
		{`{"action":"add","schedule":"0 9 * * *","prompt":"run date"}`, "added: x\nnext: Sun 2026-11-22 09:00, Mon 2026-11-23 09:00" + rest, `I will do this on the schedule "0 9 * * *", first tomorrow at 09:00: run date`},
		{`{"action":"add","schedule":"every day","prompt":"run date"}`, "added: x\nnext: Sun 2026-11-22 09:00, Mon 2026-11-23 09:00\nno time was given: 9:00 is assumed\nprompt: run date\nanswers go to: owner\nabout 30 runs a month, about $0.40", "I will do this every day, first tomorrow at 09:00: run date\nno time was given: 9:00 is assumed\nabout 30 runs a month, about $0.40"},
		{`{"action":"list"}`, "#2 a | once | next Sat 21 Nov 2026 09:20:36 | say: a\n#1 b | every 3h | next Sat 21 Nov 2026 12:00:10, failed 2 in a row | b", "#2 a | once | next in 36 s | say: a\n#1 b | every 3h | next today 12:00, failed 2 in a row | b"},
		{`{"action":"runs"}`, "stretch, newest first:", "stretch, newest first:"},
		{`{"action":"remove","name":"x"}`, "the job x is removed", "The job x is removed"},
	} {
		if got := told(t, c.args, c.result); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.args, got, c.want)
		}
	}
}

// The first text that is not understood gets examples, the next ones get one line.
func TestExamplesAreShownOnce(t *testing.T) {
	m := newModel()
	r := llm.Request{Tools: allTools(), Messages: []llm.Message{typed(1, "what is the weather like?")}}
	first, err := m.Answer(t.Context(), r, nil)
	if err != nil || strings.Count(first.Text, "\n  ") != 3 {
		t.Fatal(first.Text, err)
	}
	answer := untold(first.Text)
	answer.Role, answer.Step.Turn = llm.Assistant, 1
	r.Messages = append(r.Messages, answer, typed(2, "tell me a joke"))
	second, err := m.Answer(t.Context(), r, nil)
	if err != nil || second.Text != "I did not understand that. help lists what I can do without a language model; hob setup connects one." {
		t.Error(second.Text, err)
	}
}

// When a model is set up but cannot be used, the owner is told why with each answer, and nobody else is.
func TestWhyNoModelAnswers(t *testing.T) {
	m := builtin.New(builtin.Options{Phrases: phrases{}, Why: "The model at http://10.0.0.7 does not answer."})
	in := typed(1, "what is the weather like?")
	a, err := m.Answer(t.Context(), llm.Request{Tools: allTools(), Messages: []llm.Message{in}}, nil)
	if err != nil || !strings.Contains(a.Text, "10.0.0.7") {
		t.Error(a.Text, err)
	}
	in.Envelope.Trust = "known"
	if a, err = m.Answer(t.Context(), llm.Request{Tools: allTools(), Messages: []llm.Message{in}}, nil); err != nil || strings.Contains(a.Text, "10.0.0.7") {
		t.Error(a.Text, err)
	}
}

// A skill is text for a model. The owner is told so, and none of its lines is taken for a command.
func TestSkillNeedsAModel(t *testing.T) {
	in := typed(1, "/tidy notes")
	skill := event.Say("say hello")[0]
	skill.Skill = &event.Skill{Name: "tidy"}
	in.Parts = append(in.Parts, skill)
	for why, want := range map[string]string{"": "connect a language model with hob setup", "The model at http://10.0.0.7 does not answer.": "10.0.0.7"} {
		m := builtin.New(builtin.Options{Phrases: phrases{}, Why: why})
		a, err := m.Answer(t.Context(), llm.Request{Tools: allTools(), Messages: []llm.Message{in}}, nil)
		if err != nil || !strings.HasPrefix(a.Text, "The skill tidy needs a language model. ") || !strings.Contains(a.Text, want) {
			t.Errorf("%q, %v", a.Text, err)
		}
	}
}
