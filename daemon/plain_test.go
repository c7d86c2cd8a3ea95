package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// N41, F5: what was made while no model was connected, and the interpreter understands, asks no model when one comes. The owner can change that.
func TestPlainRunsStayPlainWhenAModelComes(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("from the model")) })
	home := t.TempDir()
	r := start(t, home)
	add := func(tool, args string) string {
		out := r.run(tool, args)
		if !out.Success {
			t.Fatalf("%s %s: %+v", tool, args, out)
		}
		return out.Message
	}
	if got := add("cron", `{"action": "add", "name": "old", "schedule": "every 24h", "prompt": "list files in ."}`); !strings.Contains(got, event.NoModelAsked) || !strings.Contains(got, "free") {
		t.Errorf("a plain job is added with %q", got)
	}
	for tool, args := range map[string]string{
		"cron":     `{"action": "add", "name": "brief", "schedule": "every 24h", "prompt": "brief me"}`,
		"watch":    `{"action": "add", "name": "papers", "paths": ["."], "prompt": "sum up what is new"}`,
		"task_add": `{"prompt": "sort my photos", "not_before": "1000h"}`,
	} {
		if got := add(tool, args); !strings.Contains(got, event.NeedsModel) || strings.Contains(got, "free") {
			t.Errorf("%s without a model: %q", tool, got)
		}
	}
	if made, err := client.Do(t.Context(), r.client, api.AddWebhook, "deploys", api.WebhookDraft{Prompt: "sum up {{.service}}", Kind: "none"}); err != nil || !made.NeedsModel {
		t.Errorf("a webhook without a model: %+v, %v", made, err)
	}
	add("watch", `{"action": "add", "name": "tidy", "paths": ["."], "prompt": "list files in ."}`)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	r = start(t, home)
	// A new one asks the model, unless it is made as plain.
	add("cron", `{"action": "add", "name": "new", "schedule": "every 24h", "prompt": "list files in ."}`)
	add("cron", `{"action": "add", "name": "wanted", "schedule": "every 24h", "prompt": "list files in .", "plain": true}`)
	if got := add("task_add", `{"prompt": "read notes.md", "plain": true}`); !strings.Contains(got, ", plain") {
		t.Errorf("a plain task is added with %q", got)
	}
	if out := r.run("cron", `{"action": "add", "schedule": "every 24h", "prompt": "brief me", "plain": true}`); out.Success || !strings.Contains(fmt.Sprint(out), "does not understand") {
		t.Errorf("a plain job that the interpreter does not understand: %+v", out)
	}
	if got := add("cron", `{"action": "list"}`); strings.Count(got, ", plain |") != 2 {
		t.Errorf("the list shows\n%s", got)
	}
	if got := add("watch", `{"action": "list"}`); strings.Count(got, ", plain |") != 1 {
		t.Errorf("the list shows\n%s", got)
	}
	ended := func(job string) {
		r.run("cron", `{"action": "run", "name": "`+job+`"}`)
		r.until(job+" has run", func() bool { s := r.slots(job); return len(s) > 0 && s[0].State == "done" })
	}
	asked := func() int { return len(model.Requests()) }
	for _, job := range []string{"old", "wanted"} {
		if ended(job); asked() != 0 {
			t.Errorf("%s has asked the model", job)
		}
	}
	r.until("the task has run", func() bool {
		return strings.Contains(add("task_list", `{"state": "failed"}`)+add("task_list", `{"state": "done"}`), "read notes.md")
	})
	if asked() != 0 {
		t.Error("the task has asked the model")
	}
	if ended("new"); asked() != 1 {
		t.Errorf("%d requests after a run for the model, want 1", asked())
	}
	add("cron", `{"action": "update", "name": "old", "plain": false}`)
	if ended("old"); asked() != 2 {
		t.Errorf("%d requests after a run that is no longer plain, want 2", asked())
	}
	// A new prompt that the interpreter does not understand is for the model.
	add("cron", `{"action": "update", "name": "wanted", "prompt": "brief me"}`)
	if ended("wanted"); asked() != 3 {
		t.Errorf("%d requests after a new prompt, want 3", asked())
	}
}
