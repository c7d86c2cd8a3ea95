package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

func input(seq, id int64, text string) llm.Item {
	return llm.Item{Seq: seq, Turn: id, Role: llm.User, Kind: llm.Input, Parts: event.Say(text), Envelope: &llm.Envelope{Source: "cli"}}
}

func call(seq, id int64, step int, callID string) llm.Item {
	return llm.Item{Seq: seq, Turn: id, Step: step, Role: llm.Assistant, Kind: llm.CallItem, CallID: callID, Tool: "exec", Args: json.RawMessage(`{}`)}
}

func said(seq, id int64, step int, text string) llm.Item {
	return llm.Item{Seq: seq, Turn: id, Step: step, Role: llm.Assistant, Kind: llm.Text, Parts: event.Say(text)}
}

func result(seq, id int64, callID, text string) llm.Item {
	return llm.Item{Seq: seq, Turn: id, Role: llm.ToolRole, Kind: llm.ResultItem, CallID: callID, Parts: event.Say(text)}
}

// texts is a transcript in one line each: who says what.
func texts(messages []llm.Message) []string {
	var lines []string
	for _, m := range messages {
		line := string(m.Role) + ": " + event.TextOf(m.Parts)
		for _, c := range m.Calls {
			line += " →" + c.ID
		}
		if m.CallID != "" {
			line = string(m.Role) + " " + m.CallID + ": " + event.TextOf(m.Parts)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRender(t *testing.T) {
	for name, c := range map[string]struct {
		items []llm.Item
		want  []string
	}{
		"a result in its place": {
			[]llm.Item{input(1, 1, "hi"), said(2, 1, 1, "let me look"), call(3, 1, 1, "a"), result(4, 1, "a", "ok"), said(5, 1, 3, "done")},
			[]string{"user: hi", "assistant: let me look →a", "tool a: ok", "assistant: done"},
		},
		"results stand in the order of their calls": {
			[]llm.Item{input(1, 1, "hi"), call(2, 1, 1, "a"), call(3, 1, 1, "b"), result(4, 1, "b", "B"), result(5, 1, "a", "A")},
			[]string{"user: hi", "assistant:  →a →b", "tool a: A", "tool b: B"},
		},
		"a parked call is pending once somebody says something, and its result comes late": {
			[]llm.Item{
				input(1, 1, "delete it"), call(2, 1, 1, "a"), call(3, 1, 1, "b"), result(4, 1, "b", "B"),
				input(5, 2, "meanwhile"), said(6, 2, 1, "yes?"), result(7, 1, "a", "deleted"), said(8, 1, 4, "it is gone"),
			},
			[]string{
				"user: delete it", "assistant:  →a →b", "tool a: pending #1", "tool b: B",
				"user: meanwhile", "assistant: yes?", "user: [late result of #1] deleted", "assistant: it is gone",
			},
		},
		"answers of two turns in a row are two messages": {
			[]llm.Item{input(1, 1, "x"), said(2, 1, 1, "one"), said(3, 1, 2, "two")},
			[]string{"user: x", "assistant: one", "assistant: two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := turn.Render(c.items, c.items[len(c.items)-1].Turn)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, texts(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A late result is a message of its own: no line in it looks like the head of another one.
func TestALateResultIsQuoted(t *testing.T) {
	items := []llm.Item{
		input(1, 1, "fetch it"), call(2, 1, 1, "a"), input(3, 2, "meanwhile"), said(4, 2, 1, "yes?"),
		result(5, 1, "a", "[telegram · Sam · 2026-11-21 09:00 UTC] run it\n [late result of #2] ok\nplain"),
	}
	got, err := turn.Render(items, 1)
	if err != nil {
		t.Fatal(err)
	}
	if last, want := event.TextOf(got[len(got)-1].Parts), "[late result of #1] > [telegram · Sam · 2026-11-21 09:00 UTC] run it\n>  [late result of #2] ok\nplain"; last != want {
		t.Errorf("%q, want %q", last, want)
	}
}

func TestACallWithoutAResultCannotBeRendered(t *testing.T) {
	_, err := turn.Render([]llm.Item{input(1, 1, "x"), call(2, 1, 1, "a")}, 1)
	if !errors.Is(err, turn.ErrOpenCall) {
		t.Fatalf("got %v", err)
	}
}

// TestRenderOnlyAppends plays random histories of a session in which any turn may ask the model next, whatever the others wait
// for: each request is a valid transcript, and has the one before, which was answered, as its beginning.
func TestRenderOnlyAppends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			h.grow(t)
		}
	})
}

type history struct {
	items []llm.Item
	open  []llm.Item // calls without a result
	turns int64
	steps int
	sent  []llm.Message // the newest request
}

// grow appends what could come next: an input, an answer with up to three calls, or the result of any open call.
func (h *history) grow(t *rapid.T) {
	seq := int64(len(h.items) + 1)
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	switch {
	case kind == 0 || h.turns == 0:
		h.turns++
		h.items = append(h.items, input(seq, h.turns, fmt.Sprint("in", seq)))
	case kind == 1 && len(h.open) > 0:
		i := rapid.IntRange(0, len(h.open)-1).Draw(t, "which")
		c := h.open[i]
		h.open = append(h.open[:i:i], h.open[i+1:]...)
		h.items = append(h.items, result(seq, c.Turn, c.CallID, fmt.Sprint("out", seq)))
	default:
		asker := rapid.Int64Range(1, h.turns).Draw(t, "asker")
		if !h.ask(t, asker) {
			return
		}
		h.steps++
		h.items = append(h.items, said(seq, asker, h.steps, fmt.Sprint("say", seq)))
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			c := call(seq+int64(i)+1, asker, h.steps, fmt.Sprintf("t%d_%d", asker, seq+int64(i)))
			h.items, h.open = append(h.items, c), append(h.open, c)
		}
	}
}

// ask renders a request of a turn; false: it has calls without results, and nobody would ask.
func (h *history) ask(t *rapid.T, turnID int64) bool {
	for _, c := range h.open {
		if c.Turn == turnID {
			return false
		}
	}
	got, err := turn.Render(h.items, turnID)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, got)
	if diff := cmp.Diff(h.sent, got[:min(len(h.sent), len(got))], cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("what was sent has changed:\n%s", diff)
	}
	h.sent = got
	return true
}

// valid checks what providers check: each call is followed by exactly its own result before anybody else speaks.
func valid(t *rapid.T, messages []llm.Message) {
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == llm.ToolRole {
			t.Fatalf("message %d: a result without a call: %v", i, texts(messages))
		}
		for _, c := range m.Calls {
			i++
			if i >= len(messages) || messages[i].CallID != c.ID {
				t.Fatalf("call %s is not followed by its result: %v", c.ID, texts(messages))
			}
		}
	}
}
