package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// raw is a stream of these events, written as JSON.
func raw(events ...string) llmtest.Turn {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return llmtest.Turn{Raw: b.String()}
}

const (
	saysSoFar = `{"choices":[{"index":0,"delta":{"content":"so far"},"finish_reason":null}]}`
	stops     = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	callsOnce = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"note","arguments":"{\"what\":\"it\"}"}}]},"finish_reason":null}]}`
	callsEnd  = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

// events are the events of a stream in the Messages protocol, written as JSON.
func events(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		b.WriteString("event: " + kind + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

// or adds the same fault in the Messages protocol to a turn.
func or(t llmtest.Turn, list ...string) llmtest.Turn {
	t.RawMessages = events(list...)
	return t
}

const (
	messageStart = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"large","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`
	messageStop  = `{"type":"message_stop"}`
	textBlock    = `{"type":"text","text":""}`
	noteBlock    = `{"type":"tool_use","id":"call_1","name":"note","input":{}}`
)

func blockStart(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func blockDelta(index int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta)
}

func blockStop(index int) string {
	return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)
}

func messageEnd(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":4}}`, reason)
}

// Pieces of answers in the Messages protocol.
var (
	soFarBlock = []string{messageStart, blockStart(0, textBlock), blockDelta(0, `{"type":"text_delta","text":"so far"}`)}
	noteInput  = blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"what\":\"it\"}"}`)
	noteCall   = []string{messageStart, blockStart(0, noteBlock), noteInput, blockStop(0)}
)

// gone is the error event of the Messages protocol, with the key in it.
func gone(kind string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"upstream is gone (key %s)"}}`, kind, theKey)
}

// breaks is the error object of a stream that breaks off, with the key in it.
func breaks(code string) string {
	return fmt.Sprintf(`{"error":{"message":"upstream is gone (key %s)","code":%s}}`, theKey, code)
}

// typed is a turn whose body is said to be of a type.
func typed(kind string, t llmtest.Turn) llmtest.Turn {
	t.Header = http.Header{"Content-Type": {kind}}
	return t
}

func TestFaultsOfTheStream(t *testing.T) {
	const object = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"all at once"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`
	const message = `{"type":"message","role":"assistant","content":[{"type":"text","text":"all at once"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":4}}`
	const untyped = "\n\nevent: error\ndata: {\"message\":\"gone\"}\n\n"
	text := llmtest.Say("so far so good")
	playAll(t, []fault{
		{name: "no finish reason", turn: llmtest.Turn{Answer: text, NoFinish: true}, asks: allTries, takes: allWaits, says: "the model's answer broke off: the stream ended without a finish reason", once: 2, after: oneWait, billed: true},
		{name: "error for a finish reason", turn: llmtest.Turn{Answer: text, Finish: "error"}, asks: allTries, takes: allWaits, says: "the server ended the answer with an error", once: 2, after: oneWait, billed: true},
		{name: "error in the middle", turn: or(raw(saysSoFar, breaks(`"server_error"`)), append(soFarBlock, gone("stream_error"))...), asks: allTries, takes: allWaits, says: "broke off: upstream is gone (key [the key])", once: 2, after: oneWait, billed: true},
		{name: "error event in the middle", turn: llmtest.Turn{Raw: "data: " + saysSoFar + untyped, RawMessages: events(soFarBlock...) + untyped}, asks: allTries, takes: allWaits, says: "broke off: gone", once: 2, after: oneWait, billed: true},
		{name: "error after a call", turn: or(raw(callsOnce, breaks(`"server_error"`)), append(noteCall, gone("stream_error"))...), asks: allTries, takes: allWaits, says: "upstream is gone", once: 2, after: oneWait, billed: true, also: ran("note", 0)},
		{name: "overflow in the middle", turn: or(raw(breaks(`"context_length_exceeded"`)), `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`), asks: 1, says: "the conversation is too long for the model (/new begins a new one)"},
		{name: "no JSON", turn: or(raw(saysSoFar, "{"+theKey), append(soFarBlock, "{"+theKey)...), asks: allTries, takes: allWaits, says: "sent no valid answer", once: 2, after: oneWait, billed: true},
		{name: "a call without a name", turn: or(raw(strings.Replace(callsOnce, "note", "", 1), callsEnd), messageStart, blockStart(0, strings.Replace(noteBlock, "note", "", 1)), noteInput, blockStop(0), messageEnd("tool_use"), messageStop), asks: allTries, takes: allWaits, says: "a call without a tool's name", once: 2, after: oneWait, billed: true},

		{name: "a web page", turn: typed("text/html", llmtest.Turn{Raw: "<html>Log in</html>"}), asks: 1, says: "a web page came instead of an answer; check base_url (hob model list shows what the server has)."},
		{name: "plain text", turn: typed("text/plain", llmtest.Turn{Raw: "ok " + theKey + "\n"}), asks: allTries, takes: allWaits, says: "not a stream: ok [the key]", once: 2, after: oneWait, billed: true},
		{name: "an error object with 200", turn: typed("application/json", llmtest.Turn{Raw: `{"error":{"message":"no ` + theKey + `"}}`}), asks: allTries, takes: allWaits, says: "no [the key]", once: 2, after: oneWait, billed: true},
		{name: "a whole answer instead of a stream", turn: typed("application/json", llmtest.Turn{Raw: object, RawMessages: message}), state: turn.Done, asks: 1, says: "all at once"},
		{name: "a stream by another name", turn: typed("application/octet-stream", streams("fine")), state: turn.Done, asks: 1, says: "fine"},
		{name: "invalid UTF-8", turn: or(raw(strings.Replace(saysSoFar, "far", "f\xff\xc3r", 1), stops), soFarBlock[0], soFarBlock[1], strings.Replace(soFarBlock[2], "far", "f\xff\xc3r", 1), blockStop(0), messageEnd("end_turn"), messageStop), state: turn.Done, asks: 1, says: "so f\uFFFD"},
		{name: "invalid UTF-8 in arguments", play: atFirst(or(raw(strings.Replace(callsOnce, "it", "\xff", 1), callsEnd), messageStart, blockStart(0, noteBlock), strings.Replace(noteInput, "it", "\xff", 1), blockStop(0), messageEnd("tool_use"), messageStop)), state: turn.Done, asks: 2, says: "well", also: ran("note", 1)},
		{name: "chunks of text twice", turn: llmtest.Turn{Answer: llmtest.Say("good"), Twice: true}, state: turn.Done, asks: 1, says: "goodgood"},
		{name: "the end twice", turn: or(raw(saysSoFar, stops, stops, "[DONE]", "[DONE]"), append(soFarBlock, blockStop(0), blockStop(0), messageEnd("end_turn"), messageEnd("end_turn"), messageStop, messageStop)...), state: turn.Done, asks: 1, says: "so far"},
		{name: "no count of tokens", turn: llmtest.Turn{Answer: text, NoUsage: true}, state: turn.Done, asks: 1, says: "so far so good"},
		{name: "error in the middle with a code", turn: or(raw(saysSoFar, breaks("502")), append(soFarBlock, gone("overloaded_error"))...), asks: allTries, takes: allWaits, says: "upstream is gone", once: 2, after: oneWait, billed: true},
		{name: "the chunk of a call twice", play: atFirst(or(raw(callsOnce, callsOnce, callsEnd), messageStart, noteCall[1], noteCall[1], noteInput, blockStop(0), blockStop(0), messageEnd("tool_use"), messageEnd("tool_use"), messageStop)), state: turn.Done, asks: 2, says: "well", also: ran("note", 1)},
	})
}

// ran checks how often a tool ran.
func ran(tool string, times int) func(*testing.T, *wireHarness, int64) {
	return func(t *testing.T, w *wireHarness, _ int64) {
		if n := w.times(tool); n != times {
			t.Errorf("%s ran %d times, want %d", tool, n, times)
		}
	}
}

// atFirst is what a server says to the first request; to the others it says well.
func atFirst(first llmtest.Turn) func(int) llmtest.Turn {
	return func(n int) llmtest.Turn {
		if n == 0 {
			return first
		}
		return streams("well")
	}
}

// told checks what the model reads of its calls, in order.
func told(parts ...string) func(*testing.T, *wireHarness, int64) {
	return func(t *testing.T, w *wireHarness, id int64) {
		results := w.results(id)
		if len(results) < len(parts) {
			t.Fatalf("results %q, want %q", results, parts)
		}
		for i, p := range parts {
			contains(t, results[i], p)
		}
	}
}

// streamed is the stream of an answer that makes these calls; each has the id that it has.
func streamed(finish llm.Finish, calls ...llm.Call) llmtest.Turn {
	return llmtest.Streamed(llm.Answer{Calls: calls, Finish: finish})
}

func callOf(id, tool, args string) llm.Call {
	return llm.Call{ID: id, Name: tool, Args: json.RawMessage(args)}
}

func many(n int) llmtest.Turn {
	var calls []llm.Call
	for i := range n {
		calls = append(calls, callOf(fmt.Sprint("call_", i), "look", fmt.Sprintf(`{"what":"%d"}`, i)))
	}
	return streamed(llm.ToolCall, calls...)
}

// taking counts the tokens of an answer.
func taking(a llm.Answer) llmtest.Turn {
	a.Usage = llm.Usage{Input: 1000, Output: 40}
	return llmtest.Streamed(a)
}

// spent checks what the turn has cost: as much as the servers say.
func spent(tokens int64) func(*testing.T, *wireHarness, int64) {
	return func(t *testing.T, w *wireHarness, id int64) {
		if row := w.turn(id); row.Tokens != tokens {
			t.Errorf("the turn used %d tokens, want %d", row.Tokens, tokens)
		}
	}
}

func TestFaultsOfTheModel(t *testing.T) {
	const (
		same   = "it made the same call 3 times in a row"
		circle = "it made the same 2 calls over and over, with the same results"
	)
	cutCall := streamed(llm.Length, callOf("call_1", "note", `{"what":"a long sto`))
	pingPong := func(n int) llmtest.Turn {
		return streamed(llm.ToolCall, callOf("call_1", "look", fmt.Sprintf(`{"what":"%s"}`, []string{"left", "right"}[n%2])))
	}
	playAll(t, []fault{
		// Answers that say nothing are asked for twice more; each is paid for as it was counted.
		{name: "empty", turn: taking(llm.Answer{}), asks: 3, takes: twoWaits, says: "the model gave an empty answer", once: 2, after: oneWait, billed: true, also: spent(3 * 1040)},
		{name: "only space", turn: taking(llm.Answer{Text: " \n"}), asks: 3, takes: twoWaits, says: "the model gave an empty answer", once: 2, after: oneWait, billed: true, also: spent(3 * 1040)},
		{name: "only reasoning", turn: taking(llm.Answer{Reasoning: "let me think"}), asks: 3, takes: twoWaits, says: "the model gave an empty answer", once: 2, after: oneWait, billed: true, also: spent(3 * 1040)},
		{name: "refusal", turn: taking(llm.Answer{Finish: llm.Filtered}), asks: 1, says: "the model refused to answer", also: spent(1040)},
		{name: "refusal in words", turn: taking(llm.Answer{Text: "I will not.", Finish: llm.Filtered}), state: turn.Done, asks: 1, says: "I will not."},
		{name: "cut before a word", turn: taking(llm.Answer{Reasoning: "hm", Finish: llm.Length}), asks: 1, says: "its whole limit of 8192 tokens before it said anything (raise max_output_tokens, or lower thinking)"},
		{name: "cut in a sentence", turn: taking(llm.Answer{Text: "Once upon a", Finish: llm.Length}), state: turn.Done, asks: 1, says: "Once upon a\n(cut off: the answer reached its limit of tokens)"},

		// Calls that cannot run: the model is told why, and ends when it does not learn.
		{name: "malformed arguments", turn: streamed(llm.ToolCall, callOf("call_1", "note", `{"what": it}`)), asks: 3, says: same, once: 2, also: all(ran("note", 0), told("the arguments are not valid JSON", "not valid JSON"))},
		{name: "half of the arguments", turn: streamed(llm.ToolCall, callOf("call_1", "note", `{"wh`)), asks: 3, says: same, once: 2, also: all(ran("note", 0), told("not valid JSON"))},
		{name: "wrong types", turn: streamed(llm.ToolCall, callOf("call_1", "note", `{"what":["it"]}`)), asks: 3, says: same, once: 2, also: all(ran("note", 0), told("what"))},
		{name: "arguments that are no object", turn: streamed(llm.ToolCall, callOf("call_1", "note", `"it"`)), asks: 3, says: same, once: 2, also: ran("note", 0)},
		{name: "unknown tool", turn: streamed(llm.ToolCall, callOf("call_1", "nota", `{}`)), asks: 3, says: same, once: 2, also: told(`there is no tool named "nota"`)},
		{name: "cut inside a call", turn: cutCall, asks: 3, says: same, once: 2, also: all(ran("note", 0), told("not run: the answer was cut off at its limit"))},
		{name: "cut behind a call", turn: streamed(llm.Length, callOf("call_1", "note", `{"what":"it"}`)), asks: 3, says: same, once: 2, also: all(ran("note", 0), told("not run: the answer was cut off at its limit"))},

		// Calls that run, and lead nowhere.
		{name: "two calls with one id", turn: streamed(llm.ToolCall, callOf("call_1", "look", `{"what":"a"}`), callOf("call_1", "look", `{"what":"b"}`)), asks: 3, says: circle, once: 2, also: all(ran("look", 6), told("look did a", "look did b"))},
		{name: "two calls with one id and one index", compatible: true, turn: llmtest.Turn{Answer: streamed("", callOf("call_1", "look", `{"what":"a"}`)).Answer, Raw: twins}, asks: 3, says: circle, once: 2, also: all(ran("look", 6), told("look did a", "look did b"))},
		{name: "a thousand calls", turn: many(1000), with: func(r *harness) { r.limits.Requests = 2 }, asks: 2, says: "it needed more than 2 model requests", once: 2, also: ran("look", 2*64)},
		{name: "the same call for ever", turn: streamed(llm.ToolCall, callOf("call_1", "look", `{"what":"x"}`)), asks: 3, says: same, once: 2, also: ran("look", 2)},
		{name: "the same call with an effect for ever", turn: streamed(llm.ToolCall, callOf("call_1", "note", `{"what":"x"}`)), asks: 3, says: same, once: 2, also: ran("note", 2)},
		{name: "two calls in turns", play: pingPong, asks: 6, says: circle, once: 2, also: ran("look", 6)},
		{name: "a new call for ever", play: func(n int) llmtest.Turn {
			return streamed(llm.ToolCall, callOf("call_1", "look", fmt.Sprintf(`{"what":"%d"}`, n)))
		}, asks: 50, says: "it needed more than 50 model requests, the limit of one turn", once: 2, also: ran("look", 50)},
		{name: "cut inside a call, and the owner knows", turn: cutCall, asks: 3, says: "max_output_tokens", once: 2},
	})
}

// twins are two calls with the same id and index.
const twins = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"look","arguments":"{\"what\":\"a\"}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"look","arguments":"{\"what\":\"b\"}"}}]},"finish_reason":"tool_calls"}]}

`

func all(checks ...func(*testing.T, *wireHarness, int64)) func(*testing.T, *wireHarness, int64) {
	return func(t *testing.T, w *wireHarness, id int64) {
		for _, c := range checks {
			c(t, w, id)
		}
	}
}

// The cap holds, in tokens and in money, against faults that are paid for: no request is begun that could go over it. On the next
// day all is well.
func TestFaultsWithinTheBudget(t *testing.T) {
	const tokens, micros = 30_000, 400_000 // three requests each
	for _, c := range []struct {
		name  string
		turn  llmtest.Turn
		price llm.Price
	}{
		{"cut in the middle", llmtest.Turn{Answer: llmtest.Say("so far"), Break: llmtest.Cut, At: 300}, llm.Price{}},
		{"no finish reason", llmtest.Turn{Answer: llmtest.Say("so far"), NoFinish: true}, llm.Price{}},
		{"reset in the middle, in money", llmtest.Turn{Answer: llmtest.Say("so far"), Break: llmtest.Drop, At: 300}, llm.Price{Input: 3_000_000, Output: 15_000_000}},
		{"no JSON, in money", raw("{"), llm.Price{Input: 3_000_000, Output: 15_000_000}},
	} {
		for _, provider := range []string{"compatible", "anthropic"} {
			t.Run(provider+"/"+c.name, func(t *testing.T) {
				open := func(t *testing.T) []*host {
					return []*host{newHost(t, llm.Config{Provider: provider, Model: "large", MaxOutput: 8192, Price: c.price}, false)}
				}
				overWire(t, open, func(t *testing.T, w *wireHarness) {
					h := w.hosts[0]
					h.suffer(fault{turn: c.turn}, always, "well")
					got := w.finished(t, w.say("do it"))
					if came := h.heal(); came != 3 || got.State != turn.Failed {
						t.Errorf("the turn is %s after %d requests", got.State, came)
					}
					contains(t, w.final(t, got.ID), "today's budget is used up, or has no room for another request")
					if b := w.budget(); c.price.Known() != (b.Used.Micros() > micros*2/3) || c.price.Known() == (b.UsedTokens > tokens*2/3) {
						t.Errorf("spent is %+v", b)
					}
					w.sound(t)
					time.Sleep(24 * time.Hour)
					w.goesOn(t)
					for _, notice := range []string{"80 % of today's budget", "today's budget is used up"} {
						if n := strings.Count(strings.Join(w.bodies(), "\n"), notice); n != 1 {
							t.Errorf("%q was said %d times", notice, n)
						}
					}
				}, func(r *harness) { r.policy.PerDayTokens, r.policy.PerDayMicros = tokens, micros })
			})
		}
	}
}

// A call that a turn's end has left without a result is not pending for ever: the model reads why it did not run.
func TestAnEndedTurnLeavesNothingPending(t *testing.T) {
	overWire(t, fault{}.hosts, func(t *testing.T, w *wireHarness) {
		h := w.hosts[0]
		h.suffer(fault{turn: streamed(llm.ToolCall, callOf("call_1", "look", `{"what":"x"}`))}, always, "well")
		w.finished(t, w.say("do it"))
		h.heal()
		w.goesOn(t)
		var results []string
		for _, m := range h.server.Requests()[3].Messages {
			if m.Role == "tool" {
				results = append(results, m.Content)
			}
		}
		if want := []string{"look did x", "look did x", "not run: it made the same call 3 times in a row"}; !slices.Equal(results, want) {
			t.Errorf("the model reads %q, want %q", results, want)
		}
	})
}
