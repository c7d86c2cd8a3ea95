package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/llm"
)

// Streams that make no sense are errors; oddities that harm nothing are not.
func TestHostileStreams(t *testing.T) {
	end := []string{finished("end_turn"), stopped}
	for _, c := range []struct {
		name   string
		events []string
		want   llm.Fault // "": an answer
		text   string
	}{
		{"an index of 2^31", append([]string{started, starts(1<<31, text), says(1<<31, "so"), ends(1 << 31)}, end...), "", "so"},
		{"an index below zero", append([]string{started, starts(-1, text), says(-1, "so"), ends(-1)}, end...), "", "so"},
		{"an index that is no number", []string{started, `{"type":"content_block_start","index":1e300,"content_block":{"type":"text","text":""}}`}, llm.Malformed, ""},
		{"a piece before its block", []string{started, says(0, "so")}, llm.Malformed, ""},
		{"a piece after its block", []string{started, starts(0, text), ends(0), says(0, "so")}, llm.Malformed, ""},
		{"a block again after its end", []string{started, starts(0, text), says(0, "so"), ends(0), starts(0, tool("t", "read")), input(0, "{}")}, llm.Malformed, ""},
		{"the end before the start", []string{finished("end_turn"), started, starts(0, text), says(0, "so"), ends(0), stopped}, "", "so"},
		{"no start", append([]string{starts(0, text), says(0, "so"), ends(0)}, end...), "", "so"},
		{"blocks among each other", append([]string{started, starts(1, text), starts(0, text), says(0, "b"), says(1, "a"), ends(0), ends(1)}, end...), "", "ab"},
		{"text after the end", append([]string{started, starts(0, text), says(0, "so"), ends(0)}, append(end, starts(1, text), says(1, " and more"))...), "", "so"},
		{"an end of no block", append([]string{started, ends(7), starts(0, text), says(0, "so")}, end...), "", "so"},
		{"pieces of another kind", append([]string{started, starts(0, text), grows(0, `{"type":"thinking_delta","thinking":"hm"}`), says(0, "so"), ends(0)}, end...), "", "so"},
		{"blocks and events that nobody knows", append([]string{started, `{"type":"of_another_day","x":{}}`, starts(0, `{"type":"new_block","x":[1]}`), grows(0, `{"type":"new_delta"}`), ends(0), starts(1, text), says(1, "so"), ends(1)}, end...), "", "so"},
		{"a block that is none", []string{started, starts(0, `[]`)}, llm.Malformed, ""},
		{"no block at all", append([]string{started, `{"type":"content_block_start","index":0}`}, end...), llm.Malformed, ""},
		{"too many blocks", append([]string{started}, blocksOf(5000)...), llm.Malformed, ""},
		{"no JSON", []string{started, `{"type":`}, llm.Malformed, ""},
		{"deep JSON", []string{started, starts(0, strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000))}, llm.Malformed, ""},
		{"nothing", nil, llm.Broken, ""},
		{"only a start", []string{started}, llm.Broken, ""},
		{"an end mark without a reason", []string{started, starts(0, text), says(0, "so"), ends(0), stopped}, llm.Broken, ""},
		{"a call without an end", []string{started, starts(0, tool("t", "read")), input(0, `{"a`), finished("tool_use"), stopped}, llm.Malformed, ""},
		{"a call without a name", []string{started, starts(0, tool("t", "")), input(0, `{}`), ends(0), finished("tool_use"), stopped}, llm.Malformed, ""},
	} {
		a, err := open(t, config(canned{body: data(c.events...)})).Answer(t.Context(), hello(), nil)
		switch {
		case c.want != "":
			if e, ok := asFault(err); !ok || e != c.want {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		case err != nil || a.Text != c.text:
			t.Errorf("%s: %q, %v; want %q", c.name, a.Text, err, c.text)
		}
	}
}

func asFault(err error) (llm.Fault, bool) { f := llm.FaultOf(err); return f, f != "" }

func blocksOf(n int) []string {
	var list []string
	for i := range n {
		list = append(list, starts(i, text), ends(i))
	}
	return list
}

// A million tiny pieces are cut off by their bytes, long before the last one.
func TestAMillionTinyPieces(t *testing.T) {
	body := data(started, starts(0, text)) + strings.Repeat(data(says(0, "a")), 1_000_000)
	_, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), nil)
	faultIn(t, err, llm.Endless)
}

// Arguments that are no JSON go to the agent, which tells the model; they go back to the server as an object.
func TestArgumentsThatAreNoObject(t *testing.T) {
	for _, args := range []string{`{"a": it}`, `"text"`, `[1]`, `null`, `{"a":1}{"a":1}`} {
		a := answer(t, data(started, starts(0, tool("t", "read")), input(0, args), ends(0), finished("tool_use"), stopped))
		if len(a.Calls) != 1 || string(a.Calls[0].Args) != args {
			t.Errorf("%s: the calls are %+v", args, a.Calls)
			continue
		}
		r := &recorder{bodies: []string{data(started, starts(0, text), says(0, "so"), finished("end_turn"), stopped)}}
		next := hello()
		next.Messages = append(next.Messages, spoken(a), result("t", "no"))
		if _, err := open(t, config(r)).Answer(t.Context(), next, nil); err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Messages []struct {
				Content []struct{ Input map[string]any }
			}
		}
		if err := json.Unmarshal([]byte(r.last()), &sent); err != nil || sent.Messages[1].Content[0].Input == nil {
			t.Errorf("%s goes back as %s: %v", args, r.last(), err)
		}
	}
}

// Two calls with one id are told apart.
func TestCallsWithOneID(t *testing.T) {
	a := answer(t, data(started, starts(0, tool("t", "read")), ends(0), starts(1, tool("t", "read")), ends(1), starts(2, tool("", "read")), ends(2), finished("tool_use"), stopped))
	if len(a.Calls) != 3 || a.Calls[0].ID == a.Calls[1].ID || a.Calls[2].ID == "" || string(a.Calls[0].Args) != "{}" {
		t.Errorf("the calls are %+v", a.Calls)
	}
}

// Whatever a server streams, hob ends with an answer or a known error, and an answer can go back as JSON.
func FuzzStream(f *testing.F) {
	f.Add(thoughtful())
	f.Add(data(started, starts(0, text), says(0, "so"), ends(0), finished("end_turn"), stopped))
	f.Add(`{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`)
	f.Add(data(started, starts(0, tool("t", "read")), input(0, `{"a`), finished("max_tokens"), stopped))
	f.Add("event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		var said strings.Builder
		a, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), func(d llm.Delta) { said.WriteString(d.Text) })
		if err != nil {
			if llm.FaultOf(err) == "" {
				t.Fatalf("%v is no known error", err)
			}
			return
		}
		if !utf8.ValidString(a.Text) || a.Text != said.String() || a.Usage.Input < 0 || a.Usage.Output < 0 || a.Usage.Cost < 0 {
			t.Fatalf("%+v after %q", a, said.String())
		}
		next, r := hello(), &recorder{bodies: []string{""}}
		next.Messages = append(next.Messages, spoken(a))
		for _, c := range a.Calls {
			next.Messages = append(next.Messages, result(c.ID, "done"))
		}
		_, _ = open(t, config(r)).Answer(t.Context(), next, nil) // only what it sends matters
		if len(r.sent) != 1 || !json.Valid([]byte(r.last())) {
			t.Fatalf("%+v goes back as %s", a, fmt.Sprint(r.sent))
		}
	})
}
