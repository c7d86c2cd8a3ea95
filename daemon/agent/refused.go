package agent

import (
	"encoding/json"
	"reflect"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/policy"
	"hob/tools"
)

// refused denies a call that would ask, if the owner has said no to the same call in this turn: a no holds until the turn ends.
func (r toolCalls) refused(j Judged) Judged {
	if j.Fault != nil || j.Decision.Verdict != policy.Ask {
		return j
	}
	for _, s := range r.st.Steps {
		q := r.st.Questions[s.Question]
		if q.Answer != turn.AnswerNo || q.Subject != turn.AboutCalls || s.Hash != j.Hash() && !sameCall(callItem(r.st, s.CallID), j.Call) {
			continue
		}
		j.Decision = policy.Decision{Verdict: policy.Deny, Reason: "the owner said no to this call in this turn"}
		return j.refuse(tools.Fail(tools.Denied, "go on without it; this turn does not ask again", "the owner said no"))
	}
	return j
}

// sameCall reports whether a call of the transcript has the same tool and arguments, in any spelling.
func sameCall(it llm.Item, call tools.Call) bool {
	name, args := tools.Called(it.Tool, it.Args)
	var a, b any
	return name == call.Name && json.Unmarshal(args, &a) == nil && json.Unmarshal(call.Args, &b) == nil && reflect.DeepEqual(a, b)
}
