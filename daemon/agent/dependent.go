package agent

import (
	"slices"

	"hob/daemon/agent/turn"
	"hob/daemon/policy"
	"hob/tools"
)

// judgedLater marks a call whose intent can only be computed after earlier calls of the same answer have run, such as reading a
// file that an earlier call creates. Until then only its arguments are known.
func judgedLater(j Judged) Judged {
	j.Fault, j.IntentFailed = nil, true
	j.Intent = tools.Intent{Effect: tools.Once, Summary: j.Call.Name + " " + truncate(string(j.Call.Args), 200), Canonical: append([]byte("after the calls before it: "), j.Call.Args...)}
	j.Decision = policy.Decision{Verdict: policy.Allow, Reason: "what it touches depends on the calls before it: it is looked at when they have run"}
	return j
}

// coveredByQuestion returns the later calls to a tool that the question already asks about. They would ask too when they run,
// so the one question covers them, and their steps wait for its answer.
func coveredByQuestion(steps []turn.Step, asks, later []Judged) (more []Judged) {
	for _, j := range later {
		if !slices.ContainsFunc(asks, func(a Judged) bool { return a.Call.Name == j.Call.Name }) {
			continue
		}
		for i := range steps {
			if steps[i].CallID == j.Call.ID {
				steps[i].State, steps[i].Question = turn.StepAsked, turn.Asks
			}
		}
		more = append(more, j)
	}
	return more
}

// ranSinceAsked reports whether a call of the same answer has run since the question about this call was asked, and may have
// changed something.
func ranSinceAsked(steps []turn.Step, a turn.Execute) bool {
	ran := false
	for _, s := range steps {
		switch {
		case s.N >= a.Step.N:
			return ran
		case s.Kind != turn.ToolStep:
			ran = false // another answer
		default:
			ran = ran || s.Effect != tools.Read && !s.Started.IsZero() && a.Approved != nil && !s.Ended.Before(a.Approved.Asked)
		}
	}
	return ran
}

// inOwnRows reports whether a call touches only hob's own rows, such as jobs. An approval of such a call is bound to its
// arguments alone, since there are no files, hosts or addresses.
func inOwnRows(i tools.Intent) bool {
	return policy.Ordinary(i) && len(i.Paths)+len(i.Addresses)+len(i.Hosts)+len(i.Links)+len(i.Unbound) == 0 &&
		!slices.ContainsFunc(i.Scopes, func(s tools.Scope) bool { return s != tools.Schedule && s != tools.Sessions })
}
