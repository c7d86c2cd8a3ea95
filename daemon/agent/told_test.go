package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// exits is the data of a command's result.
type exits struct {
	Code int `json:"code" jsonschema:"the code"`
}

func (e exits) Ran() (string, *int) { return "/", &e.Code }

// withExec has a tool exec whose commands all end with exit code 3.
func withExec(r *harness) {
	r.with(tools.New[args, exits](tools.Spec{Name: "exec", Group: "test", Description: "Runs."},
		func(context.Context, tools.Call, args) (tools.Intent, error) {
			return tools.Intent{Effect: tools.Once}, nil
		},
		func(context.Context, tools.Call, args, tools.Intent) (tools.Result, error) {
			return tools.Result{Content: "exit code 3 (1ms)\nno rule", Data: exits{3}}, nil
		}))
}

// V6: a run whose last command ended with a code has failed, its message begins with that, and neither the audit nor why calls it ok.
func TestARunWhoseCommandFailedIsFailed(t *testing.T) {
	bubble(t, llmtest.InOrder(use("exec", "x"), use("look", "x"), llmtest.Say("Nothing is on.")), func(r *harness) {
		r.runLimited(`{}`)
		r.wantBodies("This run failed: exec ended with exit code 3.\n\nNothing is on.")
		runs, err := r.rows().FireRows(context.Background(), event.Filter{})
		if err != nil || len(runs) != 1 || runs[0].Outcome != "failed" || runs[0].Reason != "exec ended with exit code 3" {
			t.Errorf("the run: %+v, %v", runs, err)
		}
		if a := r.turn(1).Audit[0]; a.Outcome != "exit code 3" {
			t.Errorf("the audit says %q", a.Outcome)
		}
		why, err := r.rows().Why(context.Background(), "last")
		calls := func(n api.Node) bool { return n.Kind == "call" && strings.HasPrefix(n.Title, "exec") }
		for _, n := range why.Nodes {
			if calls(n) && !strings.HasSuffix(n.Detail, ", exit code 3") {
				t.Errorf("why says %q", n.Detail)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}, withExec)
}

// V6: the lines are in the message of any channel, for the owner; a turn that has nothing to say sends none. A program at the endpoint gets the
// answer alone.
func TestTheLinesReachTheOwnerOnly(t *testing.T) {
	line := "\n\n(hob: exec ended with exit code 3)"
	for name, c := range map[string]struct {
		in     event.In
		answer llm.Answer
		want   []string
	}{
		"the owner":             {ownerSays("go"), llmtest.Say("Done."), []string{"Done." + line}},
		"nothing to say":        {ownerSays("go"), llmtest.Say("NO_REPLY"), nil},
		"somebody else":         {stranger("go"), llmtest.Say("Done."), []string{"Done.\n\n(hob: calls that did not work: 1)"}},
		"a program":             {program("go"), llmtest.Say("Done."), []string{"Done."}},
		"it cannot finish":      {ownerSays("go"), llm.Answer{Finish: llm.Filtered}, []string{"I could not finish this: the model refused to answer." + line}},
		"the owner, in a group": {group("go"), llmtest.Say("Done."), []string{"Done.\n\n(hob: calls that did not work: 1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, llmtest.InOrder(use("exec", "x"), c.answer), func(r *harness) {
				r.post(c.in)
				r.settle()
				if c.in.ReplyTo.Channel() == event.Endpoint {
					if got := r.turns()[0].Text; got != c.want[0] {
						t.Errorf("the program gets %q", got)
					}
					return
				}
				r.wantBodies(c.want...)
				if got := r.finishedLine(); got != strings.TrimSpace(line) {
					t.Errorf("the event says %q", got)
				}
			}, withExec, func(r *harness) { r.mode = "open" })
		})
	}
}

func program(text string) event.In {
	in := ownerSays(text)
	in.Source, in.ReplyTo = event.Endpoint, event.Endpoint+":1"
	return in
}

func group(text string) event.In {
	in := ownerSays(text)
	in.ReplyTo = "chat:group"
	return in
}

// A late run is always reported (README): behind a turn that holds the thread, the message of the run says so to the owner. Nothing is added if the
// delay is normal, if the report about the time in which hob was not running names the run, or if somebody else reads it.
func TestARunBehindABusyThreadSaysThatItIsLate(t *testing.T) {
	for name, c := range map[string]struct {
		busy   time.Duration
		told   int
		kind   string
		to     event.Address
		prompt string
		want   string
	}{
		"a timer":             {67 * time.Second, 0, "job", chat, "say: stretch", "stretch\n\n(hob: this run began 1 min 7 s late)"},
		"a job that asks":     {67 * time.Second, 0, "job", chat, "what is new?", "hello\n\n(hob: this run began 1 min 7 s late)"},
		"a normal delay":      {time.Minute, 0, "job", chat, "say: stretch", "stretch"},
		"reported already":    {67 * time.Second, 1, "job", chat, "say: stretch", "stretch"},
		"a webhook":           {67 * time.Second, 0, "hook", chat, "say: stretch", "stretch"},
		"for somebody else":   {67 * time.Second, 0, "job", "chat:7", "say: stretch", "stretch"},
		"with nothing to say": {67 * time.Second, 0, "job", chat, "NO_REPLY", ""},
	} {
		t.Run(name, func(t *testing.T) {
			slow := func(_ context.Context, q llm.Request) (llm.Answer, error) {
				switch text := event.TextOf(q.Messages[len(q.Messages)-1].Parts); {
				case strings.Contains(text, "hold"):
					<-time.After(c.busy)
				case strings.Contains(text, "NO_REPLY"):
					return llmtest.Say("NO_REPLY"), nil
				}
				return llmtest.Say("hello"), nil
			}
			bubble(t, slow, func(r *harness) {
				r.ask("hold the thread")
				now := r.clock.Wall().UnixMicro()
				r.sql(`INSERT INTO triggers (id, kind, name, body, version) VALUES (1, ?, 'b', '{}', 1)`, c.kind)
				r.sql(`INSERT INTO fires (id, trigger, key, due, created, state, told) VALUES (1, 1, 'k', ?, ?, 'queued', ?)`, now, now, c.told)
				r.post(event.In{Source: "cron", ExtID: "job:1:k", Session: "main", Kind: event.Fire, Rank: event.RankSchedule, Trust: event.Owner, ReplyTo: c.to, Fire: 1, Typed: true, Parts: event.Say(c.prompt)})
				<-time.After(c.busy)
				r.settle()
				want := []string{"hello"}
				if c.want != "" {
					want = append(want, c.want)
				}
				r.wantBodies(want...)
			})
		})
	}
}
