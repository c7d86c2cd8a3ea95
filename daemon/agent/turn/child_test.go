package turn_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/tools"
)

// A sub-agent has half of what the others of its family leave, its parent all that its sub-agents leave.
func TestLimitsOfAFamily(t *testing.T) {
	child := &turn.ChildSpec{Timeout: 5 * time.Minute}
	for _, tc := range []struct {
		relations turn.Relations
		all       turn.Limits
		want      turn.Limits
	}{
		{turn.Relations{}, turn.Limits{Requests: 50, Running: 15 * time.Minute}, turn.Limits{Requests: 50, Running: 15 * time.Minute}},
		{turn.Relations{Requests: 20}, turn.Limits{Requests: 50}, turn.Limits{Requests: 30}},
		{turn.Relations{Requests: 60}, turn.Limits{Requests: 50}, turn.Limits{Requests: 1}},
		{turn.Relations{Requests: 60}, turn.Limits{}, turn.Limits{}},
		{turn.Relations{Requests: 1, Spec: child}, turn.Limits{Requests: 50, Running: 15 * time.Minute}, turn.Limits{Requests: 24, Running: 5 * time.Minute}},
		{turn.Relations{Requests: 49, Spec: child}, turn.Limits{Requests: 50}, turn.Limits{Requests: 1, Running: 5 * time.Minute}},
		{turn.Relations{Spec: child}, turn.Limits{Running: time.Minute}, turn.Limits{Running: time.Minute}},
	} {
		if got := tc.relations.Limits(tc.all); got != tc.want {
			t.Errorf("%+v of %+v: %+v, want %+v", tc.relations, tc.all, got, tc.want)
		}
	}
}

// However requests fall, a family makes no more than one turn may, and its parent has something left; but for the one that each
// sub-agent has, however late it begins.
func TestAFamilyStaysWithinOneTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := turn.Limits{Requests: rapid.IntRange(4, 60).Draw(t, "limit")}
		made := make([]int, rapid.IntRange(1, 4).Draw(t, "children"))
		sum := 1 // the parent's, that spawned them
		for range 200 {
			i := rapid.IntRange(0, len(made)-1).Draw(t, "who")
			if made[i] < (turn.Relations{Spec: &turn.ChildSpec{}, Requests: sum - made[i]}).Limits(all).Requests {
				made[i]++
				sum++
			}
		}
		late := 0
		for _, n := range made {
			if n == 1 {
				late++
			}
		}
		if sum > all.Requests-1+late {
			t.Fatalf("%d requests of %d are made, by sub-agents %v: the parent has none left", sum, all.Requests, made)
		}
	})
}

// forChild is a turn whose call has waited for a sub-agent.
func forChild(w turn.Wait, relations turn.Relations) turn.Snapshot {
	w.CallID, w.Kind = "t1_1", tools.ForChild
	return turn.Snapshot{
		Items: []llm.Item{{Kind: llm.CallItem, CallID: "t1_1", Tool: "sessions_spawn"}}, Relations: relations,
		Steps: []turn.Step{{N: 2, Kind: turn.ToolStep, State: turn.StepParked, CallID: "t1_1"}}, Waits: []turn.Wait{w},
	}
}

func TestOutcomeOfAChild(t *testing.T) {
	met := turn.Wait{Subject: "t1_1", Met: time.Unix(1, 0), How: "2"}
	for _, tc := range []struct {
		name  string
		child turn.Child
		code  tools.Code
		want  string
	}{
		{"done", turn.Child{State: turn.Done, Text: "found"}, "", "found"},
		{"silent", turn.Child{State: turn.Done}, "", "said nothing"},
		{"stopped", turn.Child{State: turn.Stopped, Agent: "t1_1", Why: "by the owner"}, tools.Cancelled, "sub-agent t1_1 was stopped: by the owner"},
		{"late", turn.Child{State: turn.Failed, Agent: "t1_1", Running: time.Minute, Timeout: time.Minute}, tools.Timeout, "ran for 1m0s, its limit"},
		{"failed", turn.Child{State: turn.Failed, Agent: "t1_1", Why: "no model answered", Timeout: time.Minute}, tools.Unknown, "did not finish: no model answered"},
		{"dead", turn.Child{State: turn.Dead, Agent: "t1_1", Why: "three attempts", Timeout: time.Minute}, tools.Unknown, "did not finish: three attempts"},
	} {
		for _, tainted := range []bool{false, true} {
			tc.child.Tainted = tainted
			a, ok := turn.Next(forChild(met, turn.Relations{Children: map[string]turn.Child{"t1_1": tc.child}})).(turn.Resolve)
			if !ok || a.Result.Code != tc.code || !strings.Contains(a.Result.Content, tc.want) || (a.Result.Foreign != "") != tainted {
				t.Errorf("%s, tainted %v: %+v", tc.name, tainted, a.Result)
			}
		}
	}
	late, ok := turn.Next(forChild(turn.Wait{Subject: "t1_9", Met: time.Unix(1, 0), How: "timer"}, turn.Relations{})).(turn.Resolve)
	if !ok || late.Result.IsError || late.Result.Content != "the time is up; sub-agent t1_9 goes on" {
		t.Errorf("a wait that ended by time: %+v", late.Result)
	}
	if _, ok := turn.Next(forChild(turn.Wait{Subject: "t1_1"}, turn.Relations{})).(turn.Park); !ok {
		t.Error("a turn goes on before its sub-agent has ended")
	}
}

func TestAnswersOfChildrenAreCut(t *testing.T) {
	const most = 32 << 10
	for _, text := range []string{"short", strings.Repeat("x", most)} {
		if turn.TruncateChild(text) != text {
			t.Errorf("%d bytes were cut", len(text))
		}
	}
	for _, text := range []string{strings.Repeat("x", most+1), strings.Repeat("漢", most)} {
		got := turn.TruncateChild(text)
		if len(got) > most || len(got) < most-100 || !utf8.ValidString(got) || !strings.Contains(got, "(cut: the answer has") {
			t.Errorf("%d bytes became %d: %q", len(text), len(got), got[len(got)-40:])
		}
	}
}
