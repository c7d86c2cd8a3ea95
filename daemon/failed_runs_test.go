package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
	"hob/tools/tasks"
)

// outcome runs a job by hand and returns the slot of that run.
func (r *running) outcome(job string) api.Fire {
	r.t.Helper()
	before := len(r.slots(job))
	r.cron(map[string]any{"action": "run", "name": job})
	var last api.Fire
	r.until(job+" has run", func() bool {
		list := r.slots(job)
		if len(list) > before {
			last = list[0]
		}
		return len(list) > before && last.State == "done"
	})
	return last
}

// U33: a literal command that ends with another code than 0 is a failed run: in the table of fires, in the backoff, in the question after five, and in why.
func TestAFailedCommandIsAFailedRun(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[tools.exec]\nsandbox = \"off\"\n[guard]\nmode = \"open\"\n")
	r := start(t, home)
	add := func(name, prompt string) {
		r.cron(map[string]any{"action": "add", "name": name, "schedule": "every 24h", "prompt": prompt})
	}
	add("backup", "run echo from job; exit 3")
	add("fine", "run echo well")
	add("lost", "read no-such-file.txt")
	add("none", "find zzzz-nowhere in *.go")
	add("riddle", "what is the weather like")
	if s := r.outcome("fine"); s.Outcome != "ran" || strings.Contains(s.Reason, "exit") {
		t.Errorf("a good command: %+v", s)
	}
	if s := r.outcome("lost"); s.Outcome != "failed" || !strings.Contains(s.Reason, "NOT_FOUND") {
		t.Errorf("an error result at the end: %+v", s)
	}
	if s := r.outcome("riddle"); s.Outcome != "failed" || !strings.Contains(s.Reason, "could not do this") {
		t.Errorf("a prompt that nobody understands: %+v", s)
	}
	if s := r.outcome("none"); s.Outcome != "ran" {
		t.Errorf("a search without a hit: %+v", s)
	}
	for range 5 {
		if s := r.outcome("backup"); s.Outcome != "failed" || !strings.Contains(s.Reason, "exit code 3") {
			t.Fatalf("a command that failed: %+v", s)
		}
	}
	list, err := client.List(t.Context(), r.client, api.Jobs, event.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		if want := map[string]int{"backup": 5, "lost": 1, "riddle": 1}[j.Name]; j.Failures != want {
			t.Errorf("%s has failed %d times, want %d", j.Name, j.Failures, want)
		}
	}
	asked, err := client.List(t.Context(), r.client, api.Questions, event.Filter{State: "open"})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || !strings.Contains(asked[0].Text, "backup has failed 5 times") || !strings.Contains(asked[0].Text, "exit code 3") {
		t.Errorf("questions: %+v", asked)
	}
	if s := r.outcome("fine"); s.Outcome != "ran" {
		t.Errorf("another job: %+v", s)
	}
}

// A task fails as the run of a job does, and what waits for it stays blocked.
func TestAFailedTaskFreesNothing(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[tools.exec]\nsandbox = \"off\"\n[guard]\nmode = \"open\"\n")
	r := start(t, home)
	for _, c := range []struct {
		prompt, result string
		state          tasks.State
	}{
		{"read no-such-file.txt", "NOT_FOUND", tasks.Failed},
		{"run echo from task; exit 3", "exit code 3", tasks.Failed},
		{"what is the weather like", "could not do this", tasks.Failed},
		{"run echo well", "well", tasks.Done},
	} {
		var made tasks.Task
		for _, input := range []string{`{"prompt":%q}`, `{"prompt":"say: next","blocked_by":[%d]}`} {
			var of any = c.prompt
			if made.ID != 0 {
				of = made.ID
			}
			out, err := client.Do(t.Context(), r.client, api.CallTool, "task_add", client.ToolCall{Input: fmt.Appendf(nil, input, of)})
			if err != nil || !out.Success {
				t.Fatalf("%s: %+v, %v", c.prompt, out, err)
			}
			if made.ID == 0 {
				list, err := client.List(t.Context(), r.client, api.Tasks, event.Filter{})
				if err != nil {
					t.Fatal(err)
				}
				for _, task := range list {
					if task.Prompt == c.prompt {
						made = task
					}
				}
			}
		}
		next := tasks.Blocked
		if c.state == tasks.Done {
			next = tasks.Done
		}
		r.until(c.prompt+" and what waits for it", func() bool {
			list, err := client.List(t.Context(), r.client, api.Tasks, event.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, task := range list {
				if task.ID == made.ID && task.State == c.state && strings.Contains(task.Result, c.result) || len(task.BlockedBy) == 1 && task.BlockedBy[0] == made.ID && task.State == next {
					found++
				}
			}
			return found == 2
		})
	}
}

// U33: a model that runs the command and tells of it makes no success of it; its last word may not hide an error result either.
func TestAModelsWordsHideNoFailure(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n[tools.exec]\nsandbox = \"off\"\n[guard]\nmode = \"open\"\n", model.URL))
	r := start(t, home)
	for _, c := range []struct {
		name, prompt, tool, args, outcome, reason string
	}{
		{"literal", "run false", "exec", `{"command":"false"}`, "failed", "exit code 1"},
		{"looks", "look after the disk", "exec", `{"command":"false"}`, "failed", "exit code 1"},
		{"denied", "tell me of x", "read", `{"path":"nowhere.txt"}`, "failed", "read: NOT_FOUND"},
		{"searches", "tell me of y", "grep", `{"pattern":"zzzz-nowhere"}`, "ran", ""},
		{"gives-up", "tell me of z", "fail_task", `{"reason":"there is no z"}`, "failed", "there is no z"},
	} {
		r.cron(map[string]any{"action": "add", "name": c.name, "schedule": "every 24h", "prompt": c.prompt})
		model.Push(llmtest.Streamed(llmtest.Use(c.tool, c.args)))
		if c.tool != "fail_task" {
			model.Push(llmtest.Streamed(llmtest.Say("All is well.")))
		}
		if s := r.outcome(c.name); s.Outcome != c.outcome || !strings.Contains(s.Reason, c.reason) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// U33: a literal command that goes on in the background fails its run when its end is reported.
func TestACommandInTheBackgroundFailsItsRun(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("It runs.")) })
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n[tools.exec]\nsandbox = \"off\"\n[guard]\nmode = \"open\"\n", model.URL))
	r := start(t, home)
	r.cron(map[string]any{"action": "add", "name": "long", "schedule": "every 24h", "prompt": "run sleep 0.3; exit 4"})
	model.Push(llmtest.Streamed(llmtest.Use("exec", `{"command":"sleep 0.3; exit 4","background":true}`)))
	r.outcome("long")
	r.until("the run has failed", func() bool {
		s := r.slots("long")[0]
		return s.Outcome == "failed" && strings.Contains(s.Reason, "exit code 4")
	})
}

// U33: the report of a command that went on in the background says how the run ended.
func TestReportsOfLiteralCommands(t *testing.T) {
	for _, c := range []struct{ prompt, report, want string }{
		{"run backup.sh", "process p1 has ended: exit code 3 (4m 2s): backup.sh\nout", "the command ended with exit code 3"},
		{"run backup.sh", "process p1 has ended: exit code 0 (4m 2s): backup.sh", ""},
		{"make a backup", "process p1 has ended: exit code 3 (4m 2s): backup.sh", ""},
		{"run backup.sh", "sub-agent x: exit code 3 (", ""},
	} {
		if got := turn.ReportFault(c.prompt, c.report); got != c.want {
			t.Errorf("%q, %q: %q", c.prompt, c.report, got)
		}
	}
}
