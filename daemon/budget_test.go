package daemon_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"hob/daemon/llm/llmtest"
)

// mostOfRequest is what every request carries before anything is said, at most, in tokens: the tools of the core and the system text.
const mostOfRequest = 3200

// tokens estimates, on the high side: four bytes of English or JSON are about one.
func tokens(text []byte) int { return (len(text) + 3) / 4 }

// TestEveryRequestCarriesLittle counts what is really sent, by a home without any files of the owner's.
func TestEveryRequestCarriesLittle(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	seen := make(chan llmtest.Request, 1)
	model.Otherwise(func(r llmtest.Request) llmtest.Turn {
		select {
		case seen <- r:
		default:
		}
		return llmtest.Streamed(llmtest.Say("hello"))
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	start(t, home).say("good morning")
	r := <-seen
	var body struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	var list []string
	sum := tokens([]byte(r.Messages[0].Content))
	if r.Messages[0].Role != "system" || sum < 100 {
		t.Fatalf("the first message is of %q, %d tokens", r.Messages[0].Role, sum)
	}
	list = append(list, fmt.Sprintf("%4d system text", sum))
	for i, tool := range body.Tools {
		sum += tokens(tool)
		list = append(list, fmt.Sprintf("%4d %s", tokens(tool), r.Tools[i]))
	}
	slices.Sort(list)
	slices.Reverse(list)
	for _, line := range list {
		t.Log(line)
	}
	if sum > mostOfRequest {
		t.Errorf("%d tokens in all, want at most %d", sum, mostOfRequest)
	}
	for _, name := range []string{
		"read", "write", "edit", "apply_patch", "grep", "glob", "ls", "exec", "process", "cron", "message", "ask", "sessions_spawn", "memory_search", "memory_get",
		"result_read", "todo", "web_fetch", "tool",
	} {
		if !slices.Contains(r.Tools, name) {
			t.Errorf("%s is of the core, and not sent", name)
		}
	}
	t.Logf("%d tokens in all", sum)
}
