package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// parked lets the model call shell, which asks, when the owner says "run it", and answers everything else.
func parked(_ context.Context, q llm.Request) (llm.Answer, error) {
	last := q.Messages[len(q.Messages)-1]
	switch {
	case isSummaryRequest(q):
		return llmtest.Say("Goals: none."), nil
	case last.Role == llm.User && strings.Contains(requestText(llm.Request{Messages: q.Messages[len(q.Messages)-1:]}), "run it"):
		return use("shell", "1"), nil
	default:
		return llmtest.Say("yes"), nil
	}
}

// While a turn waits for the owner's answer, nothing after its beginning can be summarised. The conversation goes on all the same:
// requests get a shorter form that is not committed. After the answer it is compacted as usual.
func TestAParkedTurnDoesNotEndTheConversation(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.ask("run it")
		r.wantStates(turn.Waiting)
		code := r.code()
		for i := range 150 {
			r.ask(fmt.Sprintf("message %d %s", i, strings.Repeat("abcd efg ", 44)))
			if r.lastBody() != "yes" {
				t.Fatalf("message %d: %s", i, r.lastBody())
			}
		}
		if n := r.count("SELECT count(*) FROM compactions WHERE cut > 0"); n != 0 {
			t.Errorf("%d summaries cross a parked turn", n)
		}
		r.ask("/compact")
		if text := r.lastBody(); !strings.Contains(text, "There is nothing to summarise: a turn waits") || !strings.Contains(text, "/approve "+code) {
			t.Errorf("/compact says %q", text)
		}
		if r.count("SELECT count(*) FROM sessions WHERE compact = 1") != 0 {
			t.Error("the compaction stays asked for")
		}
		// One message that no compaction can make fit: the error names it, and the question.
		r.ask("huge " + strings.Repeat("abcd efg ", 8_000))
		for _, want := range []string{"a message (send it in parts, or as a file), 71 KB", "question " + code + " waits (/approve " + code} {
			if !strings.Contains(r.lastBody(), want) {
				t.Errorf("%q is missing in %s", want, r.lastBody())
			}
		}
		r.ask("/approve " + code)
		if r.ran["shell"] != 1 {
			t.Errorf("the call ran %d times", r.ran["shell"])
		}
		r.ask("and now?")
		if r.lastBody() != "yes" || r.count("SELECT count(*) FROM compactions WHERE cut > 0") == 0 {
			t.Errorf("said %q after the answer", r.lastBody())
		}
	}, func(r *harness) { r.model = smallWindow(parked) })
}

// A request shows only a part of a long text file, so the file does not make the conversation too long.
func TestALongFileFits(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		in := ownerSays("what went wrong?")
		in.Parts = append(in.Parts, event.Part{Kind: event.File, Artifact: "a1", Name: "attachments/1/log.txt", Size: 121 << 10})
		r.post(in)
		r.settle()
		r.wantBodies("yes")
	}, func(r *harness) {
		r.model = smallWindow(llmtest.Always(func(llm.Request) llm.Answer { return llmtest.Say("yes") }))
	})
}

// /compact says at once when there is nothing to cover, and does not stay asked for.
func TestNothingToCompact(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.ask("/compact")
		r.wantBodies("There is nothing to summarise: the conversation is empty.")
		r.ask("hello")
		r.ask("/compact the harbour")
		if r.count("SELECT count(*) FROM sessions WHERE compact = 1 AND compact_note = 'the harbour'") != 1 {
			t.Errorf("said %q", r.lastBody())
		}
	}, func(r *harness) { r.model = smallWindow(parked) })
}

// A result of which only the beginning is in the transcript has an artifact already: its handle names that one, and nothing is
// stored twice.
func TestAHandleNamesTheWholeResult(t *testing.T) {
	n := 0
	bubble(t, nil, func(r *harness) {
		r.ask("read the books")
		if r.lastBody() != "read" {
			t.Fatalf("said %q", r.lastBody())
		}
		if len(r.shelved) != 12 {
			t.Errorf("%d artifacts for 12 results", len(r.shelved))
		}
		if n := r.count("SELECT count(*) FROM items WHERE handle LIKE '[result of book, 274 KB, artifact a%: page with result_read]'"); n == 0 || n != r.count("SELECT count(*) FROM items WHERE handle <> ''") {
			t.Errorf("%d handles name the whole", n)
		}
	}, func(r *harness) {
		r.model = smallWindow(llmtest.Always(func(q llm.Request) llm.Answer {
			if n++; n > 12 {
				return llmtest.Say("read")
			}
			return use("book", fmt.Sprint(n))
		}))
		r.with(r.reader("book", tools.Intent{Effect: tools.Read}, func(context.Context, tools.Call, string) (tools.Result, error) {
			return tools.Result{Content: strings.Repeat("a book ", 40_000)}, nil
		}))
	})
}

// The estimate follows the model that is asked: the count of another model is used only until this one has answered.
func TestEachModelCountsForItself(t *testing.T) {
	down := false
	counts := func(name string, n int) *llmtest.Script {
		return llmtest.NewScript(func(_ context.Context, q llm.Request) (llm.Answer, error) {
			if name == "first" && down {
				return llm.Answer{}, &llm.Error{Fault: llm.Auth, Text: "no"}
			}
			return llm.Answer{Text: name, Usage: llm.Usage{Input: n, Output: 10}}, nil
		}).As(llm.Info{Provider: "p", Model: name, Context: 8192, MaxOutput: 1024, Local: true})
	}
	bubble(t, nil, func(r *harness) {
		r.ask("hello") // the first counts little
		down = true
		r.ask("again") // the second counts as much as nearly fills the first one's window
		down = false
		r.chain.Wake(func(llm.Info) bool { return true })
		r.ask("once more")
		r.wantBodies("first", "second", "first")
		if n := r.count("SELECT count(*) FROM compactions"); n != 0 {
			t.Errorf("%d compactions, though the first model counts 100 tokens", n)
		}
	}, func(r *harness) { r.model, r.others = counts("first", 100), []llm.Model{counts("second", 7_000)} })
}
