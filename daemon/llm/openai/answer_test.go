package openai_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

func answer(t testing.TB, body string) llm.Answer {
	t.Helper()
	a, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), nil)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return a
}

func TestTextAndReasons(t *testing.T) {
	finish := func(reason string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
	}
	for _, c := range []struct {
		name, body, text, reasoning string
		finish                      llm.Finish
	}{
		{"plain", data(says("a"), says("b"), stopped), "ab", "", llm.Stop},
		{"carriage returns", strings.ReplaceAll(data(says("a"), stopped), "\n", "\r\n"), "a", "", llm.Stop},
		{"byte order mark, comments, names", "\uFEFF: hi\n\nevent: chunk\nid: 1\n" + data(says("a")) + ":\n\n" + data(stopped), "a", "", llm.Stop},
		{"unknown fields in the middle", data(says("a")) + "pace: slow\n\n" + data(stopped), "a", "", llm.Stop},
		{"no space", strings.ReplaceAll(data(says("a"), stopped), "data: ", "data:"), "a", "", llm.Stop},
		{"several lines", "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", "a", "", llm.Stop},
		{"long line", data(says(strings.Repeat("x", 100_000)), stopped), strings.Repeat("x", 100_000), "", llm.Stop},
		{"parts", data(`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"thinking"}]}}]}`, stopped), "a", "", llm.Stop},
		{"reasoning_content", data(`{"choices":[{"delta":{"reasoning_content":"r","content":null}}]}`, says("a"), stopped), "a", "r", llm.Stop},
		{"reasoning", data(`{"choices":[{"delta":{"reasoning":"r"}}]}`, says("a"), stopped), "a", "r", llm.Stop},
		{"both", data(`{"choices":[{"delta":{"reasoning":"r","reasoning_content":"r"}}]}`, says("a"), stopped), "a", "r", llm.Stop},
		{"thinking", data(`{"choices":[{"delta":{"thinking":"r"}}]}`, says("a"), stopped), "a", "r", llm.Stop},
		{"thoughts among the parts", data(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]}}]}`, stopped), "a", "r", llm.Stop},
		{"reasoning_details", data(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"r"},{"type":"reasoning.summary","summary":"s"},{"type":"reasoning.encrypted","data":"x"}]}}]}`, says("a"), stopped), "a", "rs", llm.Stop},
		{"reasoning_details that repeat", data(`{"choices":[{"delta":{"reasoning":"r","reasoning_details":[{"text":"r"}]}}]}`, `{"choices":[{"delta":{"reasoning_details":[{"text":"r","signature":"s"}]}}]}`, says("a"), stopped), "a", "r", llm.Stop},
		{"reasoning that is no text", data(`{"choices":[{"delta":{"reasoning":{"effort":"low"},"thinking":true,"reasoning_content":7,"reasoning_details":[1]}}]}`, says("a"), stopped), "a", "", llm.Stop},
		{"not streamed", whole("a"), "a", "", llm.Stop},
		{"not streamed, on lines", "\n  \n" + strings.ReplaceAll(whole("a"), ",", ",\r\n\t") + "\n", "a", "", llm.Stop},
		{"not streamed, in a stream", data(whole("a"), "[DONE]"), "a", "", llm.Stop},
		{"not streamed, with thoughts", strings.Replace(whole("<think>r</think>a"), `"content"`, `"reasoning_content":"q","content"`, 1), "a", "qr", llm.Stop},
		{"invalid bytes in two names", data("{\"choices\":[{\"delta\":{\"content\":\"a\xc3\",\"reasoning\":\"\xff\"}}]}", stopped), "a\uFFFD", "\uFFFD", llm.Stop},
		{"length", data(says("a"), finish("length")), "a", "", llm.Length},
		{"filtered", data(says("a"), finish("content_filter")), "a", "", llm.Filtered},
		{"refusal", data(`{"choices":[{"delta":{"refusal":"no"}}]}`, stopped), "no", "", llm.Filtered},
		{"other choices", data(`{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"length"}]}`, says("a"), stopped), "a", "", llm.Stop},
		{"no end mark", data(says("a"), stopped), "a", "", llm.Stop},
		{"after the end", data(says("a"), stopped, "[DONE]", "rubbish"), "a", "", llm.Stop},
		{"unknown reason", data(says("a"), finish("eos")), "a", "", llm.Stop},
		{"empty", data(stopped), "", "", llm.Stop},
		{"invalid bytes", data("{\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}", stopped), "a\uFFFD", "", llm.Stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := answer(t, c.body)
			if a.Text != c.text || a.Reasoning != c.reasoning || a.Finish != c.finish || a.Calls != nil {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	want := []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(`{"p":1}`)}, {ID: "b", Name: "exec", Args: json.RawMessage(`{"c":2}`)}}
	twins := []llm.Call{want[0], {ID: "a_2", Name: "exec", Args: want[1].Args}}
	for _, c := range []struct {
		name   string
		chunks []string
		want   []llm.Call
	}{
		{"by index, interleaved", []string{
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":""}},{"index":1,"id":"b","function":{"name":"exec","arguments":"{"}}`),
			callsTool(`{"index":0,"function":{"arguments":"{\"p\":"}}`),
			callsTool(`{"index":1,"function":{"arguments":"\"c\":2}"}}`),
			callsTool(`{"index":0,"function":{"arguments":"1}"}}`),
		}, want},
		{"always index 0", []string{
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
			callsTool(`{"index":0,"id":"b","function":{"name":"exec","arguments":"{\"c\":"}}`),
			callsTool(`{"index":0,"function":{"arguments":"2}"}}`),
		}, want},
		{"no index", []string{
			callsTool(`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
			callsTool(`{"id":"b","function":{"name":"exec","arguments":"{\"c\":2}"}}`),
		}, want},
		{"name and id repeated", []string{
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`),
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}`),
		}, want[:1]},
		{"neither index nor id", []string{
			callsTool(`{"function":{"name":"read","arguments":"{\"p\":1}"}},{"function":{"name":"exec","arguments":"{\"c\":2}"}}`),
		}, []llm.Call{{ID: "call_1", Name: "read", Args: want[0].Args}, {ID: "call_2", Name: "exec", Args: want[1].Args}}},
		{"an object", []string{callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":{"p":1}}}`)}, want[:1]},
		{"nothing", []string{callsTool(`{"index":0,"id":"a","function":{"name":"read"}}`)}, []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage("{}")}}},
		{"malformed", []string{callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p"}}`)}, []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(`{"p`)}}},
		{"a huge index", []string{callsTool(`{"index":999999999,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`)}, want[:1]},
		{"a negative index", []string{callsTool(`{"index":-1,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`)}, want[:1]},
		{"malformed and with space", []string{callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":" {\"p\":1}}\n"}}`)}, []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(" {\"p\":1}}\n")}}},
		{"a list", []string{callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":[{"text":"p"}]}}`)}, []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(`[{"text":"p"}]`)}}},
		{"an object with invalid bytes", []string{callsTool("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":{\"p\":\"\xff\"}}}")}, []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage("{\"p\":\"\uFFFD\"}")}}},
		{"one id, two indexes", []string{
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
			callsTool(`{"index":1,"id":"a","function":{"name":"exec","arguments":"{\"c\":2}"}}`),
		}, twins},
		{"one id, no index", []string{
			callsTool(`{"id":"a","function":{"name":"read","arguments":"{\"p\":"}}`),
			callsTool(`{"id":"a","function":{"name":"read","arguments":"1}"}}`),
			callsTool(`{"id":"a","function":{"name":"exec","arguments":"{\"c\":2}"}}`),
		}, twins},
		{"one id, one index", []string{
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
			callsTool(`{"index":0,"id":"a","function":{"name":"exec","arguments":""}}`),
			callsTool(`{"index":0,"id":"a","function":{"name":"exec","arguments":"{\"c\":2}"}}`),
		}, twins},
		{"an id that is made up is taken", []string{
			callsTool(`{"index":0,"id":"call_2","function":{"name":"read","arguments":"{\"p\":1}"}},{"index":1,"function":{"name":"exec","arguments":"{\"c\":2}"}}`),
		}, []llm.Call{{ID: "call_2", Name: "read", Args: want[0].Args}, {ID: "call_2_2", Name: "exec", Args: want[1].Args}}},
		{"braces in strings close nothing", []string{
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":\"\\\"}"}}`),
			callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"\"}"}}`),
		}, []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(`{"p":"\"}"}`)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := answer(t, data(append(c.chunks, stopped)...))
			if a.Finish != llm.ToolCall || !reflect.DeepEqual(a.Calls, c.want) {
				t.Errorf("got %+v\nwant %+v", a, c.want)
			}
		})
	}
}

func TestAThousandCalls(t *testing.T) {
	var parts []llm.Answer
	for i := range 1000 {
		parts = append(parts, llmtest.Use("read", fmt.Sprintf(`{"path":"f%d"}`, i)))
	}
	for _, zero := range []bool{false, true} {
		s := serve(t, llmtest.Turn{Answer: llmtest.UseAll(parts...), ZeroAt: zero})
		a, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
		if err != nil || len(a.Calls) != 1000 {
			t.Fatalf("got %d calls, %v", len(a.Calls), err)
		}
		for i, c := range a.Calls {
			if string(c.Args) != fmt.Sprintf(`{"path":"f%d"}`, i) {
				t.Fatalf("call %d has %s", i, c.Args)
			}
		}
	}
}

func TestAThousandCallsWithOneID(t *testing.T) {
	var pieces []string
	for i := range 1000 {
		pieces = append(pieces, fmt.Sprintf(`{"id":"a","function":{"name":"read","arguments":"[%d]"}}`, i))
	}
	a := answer(t, strings.NewReplacer(`"content":"a"`, `"tool_calls":[`+strings.Join(pieces, ",")+`]`).Replace(whole("a")))
	if len(a.Calls) != 1000 || string(a.Calls[999].Args) != "[999]" || a.Finish != llm.ToolCall {
		t.Fatalf("got %d calls, %s", len(a.Calls), a.Finish)
	}
	checkAnswer(t, a)
	if a.Usage.Input != 3 || a.Usage.Output != 2 {
		t.Errorf("usage %+v", a.Usage)
	}
}

func TestUsage(t *testing.T) {
	withUsage := func(u string) string { return data(says("four"), stopped, `{"choices":[],"usage":`+u+`}`) }
	price := llm.Price{Input: 3_000_000, Cached: 300_000, Output: 15_000_000}
	for _, c := range []struct {
		name, body string
		price      llm.Price
		want       llm.Usage
	}{
		{"counted", withUsage(`{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":5}}`), llm.Price{}, llm.Usage{Input: 100, Cached: 60, Output: 20, Reasoning: 5}},
		{"cost told", withUsage(`{"prompt_tokens":100,"completion_tokens":20,"cost":0.00014}`), price, llm.Usage{Input: 100, Output: 20, Cost: 140, Priced: true}},
		{"no cost told to be free", withUsage(`{"prompt_tokens":1,"completion_tokens":1,"cost":0}`), price, llm.Usage{Input: 1, Output: 1, Priced: true}},
		{"part of a millionth", withUsage(`{"prompt_tokens":1,"completion_tokens":1,"cost":0.0000001}`), price, llm.Usage{Input: 1, Output: 1, Cost: 1, Priced: true}},
		{"own key", withUsage(`{"prompt_tokens":1,"completion_tokens":1,"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}}`), price, llm.Usage{Input: 1, Output: 1, Cost: 21_000, Priced: true}},
		{"impossible cost", withUsage(`{"prompt_tokens":1,"completion_tokens":0,"cost":-1}`), llm.Price{}, llm.Usage{Input: 1}},
		{"by price", withUsage(`{"prompt_tokens":1000,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":400}}`), price, llm.Usage{Input: 1000, Cached: 400, Output: 10, Cost: 1800 + 120 + 150, Priced: true}},
		{"by price, cached not known", withUsage(`{"prompt_tokens":3,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":3}}`), llm.Price{Input: 500_000, Output: 1}, llm.Usage{Input: 3, Cached: 3, Cost: 2, Priced: true}},
		{"deepseek", withUsage(`{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":7}`), llm.Price{}, llm.Usage{Input: 10, Cached: 7, Output: 1}},
		{"floats and nonsense", withUsage(`{"prompt_tokens":10.0,"completion_tokens":-4,"prompt_tokens_details":{"cached_tokens":99}}`), llm.Price{}, llm.Usage{Input: 10, Cached: 10}},
		{"in every chunk", data(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`), llm.Price{}, llm.Usage{Input: 5, Output: 2}},
		{"null", data(`{"choices":[{"delta":{"content":"a"}}],"usage":null}`, stopped, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}`), llm.Price{}, llm.Usage{Input: 5, Output: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(canned{body: c.body})
			cfg.Price = c.price
			a, err := open(t, cfg).Answer(t.Context(), hello(), nil)
			if err != nil || a.Usage != c.want {
				t.Errorf("got %+v, %v\nwant %+v", a.Usage, err, c.want)
			}
		})
	}
}

func TestUsageIsEstimatedWhenNoneIsSent(t *testing.T) {
	s := serve(t, llmtest.Turn{Answer: llmtest.Say("12345678"), NoUsage: true})
	a, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Usage{Input: (len(s.Requests()[0].Body) + 3) / 4, Output: 2, Estimated: true}
	if a.Usage != want {
		t.Errorf("got %+v, want %+v", a.Usage, want)
	}
}

func TestUsageAgreesWithTheServersBill(t *testing.T) {
	priced := llmtest.Say("a b c")
	priced.Usage = llm.Usage{Input: 100, Cached: 10, Output: 30, Reasoning: 3, Cost: 123, Priced: true}
	s := serve(t, llmtest.Streamed(priced), llmtest.Streamed(llmtest.Say("x")))
	m := at(t, s, "compatible")
	var sum llm.Usage
	for range 2 {
		a, err := m.Answer(t.Context(), hello(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum.Input += a.Usage.Input
		sum.Output += a.Usage.Output
		sum.Cost += a.Usage.Cost
	}
	if got := s.Billed(); got.Input != sum.Input || got.Output != sum.Output || got.Cost != sum.Cost || got.Cached != 10 {
		t.Errorf("server %+v, client %+v", got, sum)
	}
}

func TestWhatTheProviderWantsToSeeAgain(t *testing.T) {
	stream := data(
		`{"choices":[{"delta":{"reasoning_content":"I ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I "}]}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"think","reasoning_details":[{"type":"reasoning.text","index":0,"text":"think","signature":"s"}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"d"}]}}]}`,
		callsTool(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`),
		callsTool(`{"index":1,"id":"b","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"g"}}}`),
		stopped,
	)
	a := answer(t, stream)
	r := llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Calls: a.Calls, Raw: a.Raw}}}
	got := sent(t, config(nil), r)
	for _, want := range []string{
		`"reasoning_content":"I think"`,
		`"reasoning_details":[{"index":0,"signature":"s","text":"I think","type":"reasoning.text"},{"data":"d","index":1,"type":"reasoning.encrypted"}]`,
		`"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"g"}}}]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
	if strings.Count(got, "extra_content") != 1 {
		t.Errorf("the first call has none: %s", got)
	}
	other := config(nil)
	other.Model = "another"
	if got := sent(t, other, r); strings.Contains(got, "reasoning") || strings.Contains(got, "extra_content") {
		t.Errorf("another model sees it: %s", got)
	}
	if a := answer(t, data(says("a"), stopped)); a.Raw != nil {
		t.Errorf("nothing to keep, got %s", a.Raw)
	}
}

func TestTextChunksThatComeTwiceAreKept(t *testing.T) {
	s := serve(t, llmtest.Turn{Answer: llmtest.Say("a b"), Twice: true})
	a, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
	if err != nil || a.Text != "a a bb" {
		t.Errorf("got %q, %v", a.Text, err)
	}
}
