package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/daemon/llm"
)

// TestThinking is the whole table: what is sent for each of the config's words to each backend.
func TestThinking(t *testing.T) {
	words := []string{"", "off", "minimal", "low", "medium", "high", "xhigh"}
	all := []string{"", "none", "minimal", "low", "medium", "high", "xhigh"}
	few := []string{"", "none", "low", "low", "medium", "high", "high"}
	for backend, want := range map[string][]string{"openai": all, "openrouter": all, "lmstudio": few, "ollama": few, "compatible": few, "my own": few} {
		for i, word := range words {
			cfg := config(nil)
			cfg.Provider, cfg.Thinking = backend, word
			var got struct {
				Effort    *string `json:"reasoning_effort"`
				Reasoning *struct {
					Effort string `json:"effort"`
				} `json:"reasoning"`
			}
			body := sent(t, cfg, hello())
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			effort := ""
			switch {
			case backend == "openrouter" && got.Reasoning != nil && got.Effort == nil:
				effort = got.Reasoning.Effort
			case backend != "openrouter" && got.Effort != nil && got.Reasoning == nil:
				effort = *got.Effort
			case got.Effort != nil || got.Reasoning != nil:
				t.Errorf("%s at %q: the wrong field in %s", backend, word, body)
			}
			if effort != want[i] {
				t.Errorf("%s at %q: sent %q, want %q", backend, word, effort, want[i])
			}
		}
	}
}

// TestThinkTags cuts each answer into two pieces at every place, and into single bytes.
func TestThinkTags(t *testing.T) {
	for _, c := range []struct{ name, content, text, reasoning string }{
		{"none", "hello", "hello", ""},
		{"at the start", "<think>hm</think>hello", "hello", "hm"},
		{"white space around", " \n<think>\nhm\n</think>\n\n hello\n", "hello\n", "\nhm\n"},
		{"not closed", "<think>hm</thin", "", "hm</thin"},
		{"only opened", "<think>", "", ""},
		{"half a tag", "<thin", "<thin", ""},
		{"almost a tag", "<thinker>a</thinker>", "<thinker>a</thinker>", ""},
		{"not at the start", "a <think>b</think>", "a <think>b</think>", ""},
		{"twice", "<think>a</think>b<think>c</think>d", "bd", "ac"}, // MiniMax M2 thinks between its sentences
		{"<thinking>", "<thinking>a</thinking>b", "b", "a"},
		{"<thought> (Gemini's compatible API)", "<thought>\na\n</thought>b", "b", "\na\n"},
		{"Magistral", "[THINK]a[/THINK]b", "b", "a"},
		{"Seed-OSS", "<seed:think>a</seed:think>b", "b", "a"},
		{"Kimi-VL", "◁think▷a◁/think▷b", "b", "a"},
		{"Command A", "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b", "b", "a"},
		{"Gemma 4", "<|channel>thought\na<channel|>b", "b", "\na"},
		{"harmony", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "b", "a"},
		{"on a line of its own, later", "b\n<think>\na\n</think>\nc", "b\nc", "\na\n"},
		{"later and not closed", "b\n<think>\na", "b\n", "\na"},
		{"a line that begins with its name", "b\n<think> is a tag", "b\n<think> is a tag", ""},
		{"in a fence", "```\n<think>\na\n</think>\n```\nb", "```\n<think>\na\n</think>\n```\nb", ""},
		{"in code", "use `<think>` and `</think>` around it", "use `<think>` and `</think>` around it", ""},
		{"tags in the thought", "<think>a<think></thi</think>b", "b", "a<think></thi"},
		{"nothing behind", "<think>a</think>\n", "", "a"},
		{"white space only", " \n", " \n", ""},
		{"much white space", strings.Repeat(" ", 65) + "<think>a", strings.Repeat(" ", 65) + "<think>a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			single := strings.Split(c.content, "")
			for cut := range cuts(c.content) {
				checkTags(t, []string{c.content[:cut], c.content[cut:]}, c.text, c.reasoning)
			}
			checkTags(t, single, c.text, c.reasoning)
		})
	}
}

func checkTags(t *testing.T, pieces []string, text, reasoning string) {
	t.Helper()
	var chunks []string
	for _, p := range pieces {
		chunks = append(chunks, says(p))
	}
	for _, backend := range []string{"lmstudio", "ollama", "compatible"} {
		cfg := config(canned{body: data(append(chunks, stopped)...)})
		cfg.Provider = backend
		var said, thought strings.Builder
		a, err := open(t, cfg).Answer(t.Context(), hello(), func(d llm.Delta) {
			said.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
		})
		if err != nil || a.Text != text || a.Reasoning != reasoning || said.String() != text || thought.String() != reasoning {
			t.Fatalf("%s, %q: got %+v, deltas %q and %q, %v", backend, pieces, a, said.String(), thought.String(), err)
		}
	}
}

func TestThinkTagsOfServersWithAField(t *testing.T) {
	for _, backend := range []string{"openai", "openrouter"} {
		cfg := config(canned{body: data(says("<think>a</think>b"), stopped)})
		cfg.Provider = backend
		a, err := open(t, cfg).Answer(t.Context(), hello(), nil)
		if err != nil || a.Text != "<think>a</think>b" || a.Reasoning != "" {
			t.Errorf("%s: got %+v, %v", backend, a, err)
		}
	}
}

// A server that repeats the whole message beside each piece says nothing twice, even where the first pieces are held back.
func TestMessagesBesideThePieces(t *testing.T) {
	for _, c := range []struct{ content, text, reasoning string }{{"<think>hm</think>hello", "hello", "hm"}, {"<b>", "<b>", ""}} {
		var chunks []string
		for i, r := range c.content {
			both := map[string]any{"delta": map[string]string{"content": string(r)}, "message": map[string]string{"content": c.content[:i+1]}}
			chunk, err := json.Marshal(map[string]any{"choices": []any{both}})
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, string(chunk))
		}
		var streamed strings.Builder
		a, err := open(t, config(canned{body: data(append(chunks, stopped)...)})).Answer(t.Context(), hello(), func(d llm.Delta) { streamed.WriteString(d.Text) })
		if err != nil || a.Text != c.text || a.Reasoning != c.reasoning || streamed.String() != c.text {
			t.Errorf("%q: %+v, streamed %q, %v", c.content, a, streamed.String(), err)
		}
	}
}

// Thinking that came in a field of its own has ended, so a mark within the text is a quotation. At the beginning it is the template's.
func TestTheEndOfThinkingBehindAField(t *testing.T) {
	for content, want := range map[string]string{"The page says foo</think>\nok": "The page says foo</think>\nok", "</think>\n\nok": "ok"} {
		if a := answer(t, data(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`, says(content), stopped)); a.Text != want || a.Reasoning != "hm" {
			t.Errorf("%q: %+v", content, a)
		}
	}
}
