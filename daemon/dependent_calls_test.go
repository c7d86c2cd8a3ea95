package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// TestCallsThatBuildOnEachOther: the real tools, in one answer: a job that is added and paused, a file that is written and searched, one that is
// written and edited.
func TestCallsThatBuildOnEachOther(t *testing.T) {
	thinks := llmtest.NewServer()
	t.Cleanup(thinks.Close)
	calls := 0
	thinks.Otherwise(func(r llmtest.Request) llmtest.Turn {
		if calls++; calls > 1 {
			return llmtest.Streamed(llm.Answer{Text: "done"})
		}
		a := llm.Answer{}
		for i, c := range [][2]string{
			{"cron", `{"action":"add","name":"tea","schedule":"every 30m","prompt":"say: tea"}`},
			{"cron", `{"action":"pause","name":"tea"}`},
			{"write", `{"path":"new/notes.md","content":"needle\n"}`},
			{"grep", `{"pattern":"needle","path":"new","output_mode":"content"}`},
			{"edit", `{"path":"new/notes.md","old_text":"needle","new_text":"thread"}`},
			{"read", `{"path":"new/notes.md"}`},
		} {
			a.Calls = append(a.Calls, llm.Call{ID: fmt.Sprint("c", i), Name: c[0], Args: []byte(c[1])})
		}
		return llmtest.Streamed(a)
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", thinks.URL))
	r := start(t, home)
	r.say("go")
	view, err := client.Show(t.Context(), r.client, api.ShowTurn, "1")
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, i := range view.Items {
		if i.Kind == "result" {
			results = append(results, i.Text)
		}
	}
	for i, want := range []string{"tea", "paused", "notes.md", "needle", "thread", "thread"} {
		if i >= len(results) || !strings.Contains(results[i], want) {
			t.Fatalf("result %d has no %q: %q", i, want, results)
		}
	}
	for _, a := range view.Audit {
		if a.Outcome != "ok" || a.Decision != "allow" {
			t.Errorf("%+v", a)
		}
	}
}
