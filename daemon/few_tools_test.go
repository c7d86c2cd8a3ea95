package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
)

// lastRequest is a model server that says hello, and knows its newest request.
func lastRequest(t *testing.T) (url string, last func() llmtest.Request) {
	var mu sync.Mutex
	var seen llmtest.Request
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(r llmtest.Request) llmtest.Turn {
		mu.Lock()
		defer mu.Unlock()
		seen = r
		return llmtest.Streamed(llmtest.Say("hello"))
	})
	return model.URL, func() llmtest.Request {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// mostOfSmallRequest is the most that a request to a model with a small window begins with, in tokens.
const mostOfSmallRequest = 2000

// A window below 16,384 tokens makes few tools, and [model] tools decides otherwise, also while hob runs (33.3). hob model list and test say it.
func TestSmallWindowsGetFewTools(t *testing.T) {
	url, last := lastRequest(t)
	home := t.TempDir()
	section := func(keys string) string {
		return fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n%s\n", url, keys)
	}
	if err := os.MkdirAll(filepath.Join(home, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "workspace", "MEMORY.md"), []byte(strings.Repeat("- Anna has a boat.\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, home, section("context_tokens = 8192\nmax_output_tokens = 2048"))
	r := start(t, home)
	for i, c := range []struct {
		keys string
		few  bool
	}{
		{"context_tokens = 8192\nmax_output_tokens = 2048", true},
		{"context_tokens = 8192\nmax_output_tokens = 2048\ntools = \"all\"", false},
		{"context_tokens = 16383", true},
		{"context_tokens = 16384", false},
		{"context_tokens = 16384\ntools = \"few\"", true},
		{"context_tokens = 8192\nmax_output_tokens = 2048\n[tools]\ncore = [\"read\", \"tool\"]", false},
		{"", false},
	} {
		write(t, home, section(c.keys))
		shows := func() (api.Model, api.SessionPrompt) {
			roster, err := client.Show(t.Context(), r.client, api.ShowRoster, "")
			if err != nil {
				t.Fatal(err)
			}
			prompt, err := client.Show(t.Context(), r.client, api.ShowPrompt, "main")
			if err != nil {
				t.Fatal(err)
			}
			return roster.Models[0], prompt
		}
		r.until("the config", func() bool {
			m, prompt := shows()
			return m.Few == c.few && strings.Contains(prompt.System, "Few tools are described here") == c.few &&
				strings.Contains(c.keys+"context_tokens = 32768", fmt.Sprintf("context_tokens = %d", m.Context))
		})
		r.say(fmt.Sprintf("good morning %d", i))
		q := last()
		if few := slices.Contains(q.Tools, "tool") && len(q.Tools) > 8 && len(q.Tools) < 12; few != c.few || few != strings.Contains(q.Messages[0].Content, "Few tools are described here") {
			t.Errorf("%s: the tools are %q", c.keys, q.Tools)
		}
		if _, shown := shows(); shown.System != q.Messages[0].Content || len(shown.Tools) != len(q.Tools) {
			t.Errorf("%s: hob sessions prompt shows %d tools", c.keys, len(shown.Tools))
		}
		if i > 0 {
			continue
		}
		var body struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(q.Body, &body); err != nil {
			t.Fatal(err)
		}
		sum := tokens([]byte(q.Messages[0].Content[:strings.Index(q.Messages[0].Content, "# MEMORY.md")]))
		for _, tool := range body.Tools {
			sum += tokens(tool)
		}
		t.Logf("%d tokens in all without the workspace files", sum)
		if sum > mostOfSmallRequest || len(q.Messages[0].Content) > 5500 {
			t.Errorf("a request begins with %d tokens and %d bytes of text, want at most %d", sum, len(q.Messages[0].Content), mostOfSmallRequest)
		}
		trial, err := client.Do(t.Context(), r.client, api.TestModel, "first", api.None{})
		if err != nil || !trial.Few || trial.Context != 8192 {
			t.Errorf("the trial says %v, %d, %v", trial.Few, trial.Context, err)
		}
	}
}

// A window that a refusal has told counts from the next request on.
func TestAWindowThatARefusalTells(t *testing.T) {
	model := llmtest.NewServer(llmtest.Failed(400, "This model's maximum context length is 8192 tokens. However, you requested 11192 tokens (3000 in the messages, 8192 in the completion)."))
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("hello")) })
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	r := start(t, home)
	r.say("good morning")
	r.say("and good evening")
	all := model.Requests()
	if first, last := len(all[0].Tools), len(all[len(all)-1].Tools); first < 20 || last > 12 {
		t.Errorf("the first request had %d tools, the last %d", first, last)
	}
}

// With few tools a search finds those of the core too, and without it does not repeat them.
func TestTheCoreIsFound(t *testing.T) {
	for _, tools := range []string{"few", "all"} {
		model := llmtest.NewServer(llmtest.Streamed(llmtest.Use("tool", `{"action":"search","query":"text in files pattern"}`)))
		t.Cleanup(model.Close)
		var found string
		model.Otherwise(func(r llmtest.Request) llmtest.Turn {
			found = r.Last()
			return llmtest.Streamed(llmtest.Say("hello"))
		})
		home := t.TempDir()
		write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\ntools = %q\n", model.URL, tools))
		start(t, home).say("good morning")
		if strings.Contains(found, "grep: ") != (tools == "few") {
			t.Errorf("%s: found %q", tools, found)
		}
	}
}
