package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// things is a tool of hob's own rows: "add X" makes a thing, "pause X" needs it. A store is a file that "put" writes, "see" reads and "start" runs.
func things(r *harness, file *string) {
	made := map[string]bool{}
	r.with(
		tools.New[args, nothing](tools.Spec{Name: "thing", Group: "test", Description: "Makes and pauses things."},
			func(_ context.Context, _ tools.Call, in args) (tools.Intent, error) {
				verb, name, _ := strings.Cut(in.What, " ")
				if verb == "pause" && !made[name] {
					return tools.Intent{}, tools.Refuse(tools.NotFound, "", "there is no thing %s", name)
				}
				return tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}, Summary: "thing " + in.What, Canonical: []byte("thing " + in.What)}, nil
			},
			r.run("thing", func(_ context.Context, _ tools.Call, what string) (tools.Result, error) {
				verb, name, _ := strings.Cut(what, " ")
				made[name] = true
				return tools.Result{Content: verb + " " + name + " is done"}, nil
			})),
		r.tool("put", tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/x/f", Write: true, Area: tools.Outside}}}, func(_ context.Context, _ tools.Call, what string) (tools.Result, error) {
			*file = what
			return tools.Result{Content: "put " + what}, nil
		}),
		tools.New[args, nothing](tools.Spec{Name: "see", Group: "test", Description: "Reads the file."},
			func(context.Context, tools.Call, args) (tools.Intent, error) {
				if *file == "" {
					return tools.Intent{}, tools.Refuse(tools.NotFound, "", "there is no file")
				}
				return tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: "/ws/f", Area: tools.Workspace}}}, nil
			},
			r.run("see", func(context.Context, tools.Call, string) (tools.Result, error) {
				return tools.Result{Content: "saw " + *file}, nil
			})),
		tools.New[args, nothing](tools.Spec{Name: "start", Group: "test", Description: "Runs the file."},
			r.intent("start", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}}, func() string {
				time.Sleep(time.Millisecond) // nothing real is judged in no time
				return " of " + *file
			}),
			r.run("start", func(context.Context, tools.Call, string) (tools.Result, error) {
				return tools.Result{Content: "ran " + *file}, nil
			})),
	)
	foreignTools(r)
}

// chain is a bubble whose model answers "go" with calls, after it has read foreign text when it is to be tainted.
func chain(t *testing.T, foreign bool, calls []llm.Answer, body func(r *harness, file *string)) {
	t.Helper()
	file := new(string)
	reply := script(func(last string, _ llm.Request) llm.Answer {
		switch last {
		case "go":
			return llmtest.UseAll(calls...)
		case "fetch":
			return use("fetch", "x")
		default:
			return llmtest.Say("heard: " + last)
		}
	})
	bubble(t, reply, func(r *harness) {
		if foreign {
			r.ask("fetch")
		}
		r.ask("go")
		passing(r)
		body(r, file)
	}, func(r *harness) { things(r, file) })
}

// passing lets the time pass that judging takes.
func passing(r *harness) {
	time.Sleep(time.Second)
	r.settle()
}

func approve(r *harness) {
	r.t.Helper()
	r.ask("/approve " + r.code())
	passing(r)
}

// TestCallsOfOneAnswerSeeEachOther: a call that names what the call before it makes is judged when that one has run.
func TestCallsOfOneAnswerSeeEachOther(t *testing.T) {
	chain(t, false, []llm.Answer{use("thing", "add tea"), use("thing", "pause tea"), use("thing", "pause milk"), use("look", "x")}, func(r *harness, _ *string) {
		r.wantStates(turn.Done)
		if want := []string{"add tea is done", "pause tea is done"}; !slices.Equal(r.results(1)[:2], want) {
			t.Errorf("%q", r.results(1))
		}
		contains(t, r.results(1)[2], "there is no thing milk")
		if len(r.questions()) != 0 || r.times("look") != 1 {
			t.Errorf("%+v", r.questions())
		}
	})
	chain(t, false, []llm.Answer{use("put", "new"), use("see", "x")}, func(r *harness, _ *string) {
		approve(r)
		if want := []string{"put new", "saw new"}; !slices.Equal(r.results(1), want) || len(r.questions()) != 1 {
			t.Errorf("%q %+v", r.results(1), r.questions())
		}
	})
	chain(t, false, []llm.Answer{use("see", "x"), use("look", "y")}, func(r *harness, _ *string) { // nothing before it changes anything
		contains(t, r.results(1)[0], "there is no file")
	})
}

// TestOneQuestionForCallsThatBuildOnEachOther: where the first one asks, the second one is in the same question, with its arguments, and a no
// is a no to both.
func TestOneQuestionForCallsThatBuildOnEachOther(t *testing.T) {
	both := []llm.Answer{use("thing", "add tea"), use("thing", "pause tea")}
	chain(t, true, both, func(r *harness, _ *string) {
		body := r.lastBody()
		contains(t, body, "2 calls; one answer is for all of them")
		contains(t, body, `{"what":"pause tea"}`)
		contains(t, body, "it is looked at when they have run")
		approve(r)
		r.wantStates(turn.Done, turn.Done)
		if want := []string{"add tea is done", "pause tea is done"}; !slices.Equal(r.results(2), want) || len(r.questions()) != 1 {
			t.Errorf("%q %+v", r.results(2), r.questions())
		}
	})
	chain(t, true, both, func(r *harness, _ *string) {
		r.ask("/deny " + r.code())
		if r.times("thing") != 0 || len(r.questions()) != 1 {
			t.Errorf("ran %v, %+v", r.ran, r.questions())
		}
	})
}

// TestWhatWasApprovedIsWhatRuns: a call that an approved call before it has changed asks again, with what it would do now; one that something else
// has changed does not run.
func TestWhatWasApprovedIsWhatRuns(t *testing.T) {
	write := []llm.Answer{use("put", "new"), use("start", "x")}
	chain(t, false, write, func(r *harness, file *string) {
		*file = "old"
		approve(r)
		if r.times("put") != 1 || r.times("start") != 0 {
			t.Errorf("ran %v", r.ran)
		}
		contains(t, r.lastBody(), " of new")
		contains(t, r.lastBody(), "the calls before it have changed what it would touch")
		*file = "evil" // not by a call: the second approval is bound to what was shown
		approve(r)
		contains(t, r.results(1)[1], "has changed since it was approved")
		if r.times("start") != 0 {
			t.Errorf("it ran %s", *file)
		}
	})
	chain(t, false, write, func(r *harness, _ *string) {
		approve(r)
		approve(r)
		r.wantStates(turn.Done)
		if want := []string{"put new", "ran new"}; !slices.Equal(r.results(1), want) {
			t.Errorf("%q", r.results(1))
		}
	})
	chain(t, false, []llm.Answer{use("look", "a"), use("start", "x")}, func(r *harness, file *string) { // a call that reads changes nothing
		*file = "evil"
		approve(r)
		contains(t, r.results(1)[1], "has changed since it was approved")
	})
}
