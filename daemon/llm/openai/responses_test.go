package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"

	"go.uber.org/goleak"
)

// signedIn is a model of the backend codex that has an account.
func signedIn(rt http.RoundTripper) llm.Config {
	c := config(rt)
	c.Provider, c.APIKey = "codex", ""
	c.Auth = func(context.Context) (llm.Credentials, error) {
		return llm.Credentials{Token: "tok-secret", Account: "acc-1"}, nil
	}
	return c
}

// wire writes events; each is the type and the rest of its fields.
func wire(events ...[2]string) string {
	var b strings.Builder
	for _, e := range events {
		rest := e[1]
		if rest != "" {
			rest = "," + rest
		}
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", e[0], e[0], rest)
	}
	return b.String()
}

func added(index int, item string) [2]string {
	return [2]string{"response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item)}
}

func done(index int, item string) [2]string {
	return [2]string{"response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item)}
}

func grows(kind string, index int, text string) [2]string {
	return [2]string{"response." + kind + ".delta", fmt.Sprintf(`"output_index":%d,"delta":%q`, index, text)}
}

func ended(fields string) [2]string {
	return [2]string{"response.completed", `"response":{"status":"completed"` + fields + `}`}
}

func incomplete(reason string) [2]string {
	return [2]string{"response.incomplete", fmt.Sprintf(`"response":{"status":"incomplete","incomplete_details":{"reason":%q}}`, reason)}
}

const (
	messageItem = `{"type":"message","id":"msg","role":"assistant","content":[]}`
	callA       = `{"type":"function_call","id":"fc_a","call_id":"a","name":"read","arguments":""}`
	callB       = `{"type":"function_call","id":"fc_b","call_id":"b","name":"exec","arguments":""}`
)

func messageOf(text string) string {
	return fmt.Sprintf(`{"type":"message","id":"msg","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text)
}

// hear sends a stream to the model and returns the answer with what the listener heard.
func hear(t testing.TB, body string) (a llm.Answer, text, thought string) {
	t.Helper()
	a, err := open(t, signedIn(canned{body: body})).Answer(t.Context(), hello(), func(d llm.Delta) {
		text += d.Text
		thought += d.Reasoning
	})
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return a, text, thought
}

func TestResponsesSuite(t *testing.T) {
	s := serve(t)
	s.Otherwise(func(r llmtest.Request) llmtest.Turn {
		if strings.HasSuffix(r.Last(), "use tools") {
			return llmtest.Streamed(llmtest.UseAll(llmtest.Use("read", `{"path":"a"}`), llmtest.Use("exec", `{"command":"b"}`)))
		}
		a := llmtest.Say("hello to you, über all")
		a.Reasoning = "they said hello"
		return llmtest.Streamed(a)
	})
	m := codexAt(t, s)
	llmtest.Suite(t, func(*testing.T) llmtest.Subject {
		return llmtest.Subject{
			Model: m, Plain: hello(),
			Calls: llm.Request{Tools: conversation().Tools, Messages: []llm.Message{user("use tools")}},
		}
	})
}

func codexAt(t testing.TB, s *llmtest.Server) llm.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := signedIn(transport)
	c.BaseURL = s.URL
	return open(t, c)
}

func TestResponsesText(t *testing.T) {
	head := added(0, messageItem)
	a, b := grows("output_text", 0, "a"), grows("output_text", 0, "b")
	summary := func(part int, text string) [2]string {
		return [2]string{"response.reasoning_summary_text.delta", fmt.Sprintf(`"output_index":0,"summary_index":%d,"delta":%q`, part, text)}
	}
	for _, c := range []struct {
		name            string
		events          [][2]string
		text, reasoning string
		finish          llm.Finish
	}{
		{"in pieces", [][2]string{{"response.created", `"response":{}`}, head, a, b, done(0, messageOf("ab")), ended("")}, "ab", "", llm.Stop},
		{"never said to be done", [][2]string{head, a, b, ended("")}, "ab", "", llm.Stop},
		{"no head", [][2]string{a, b, ended("")}, "ab", "", llm.Stop},
		{"only whole", [][2]string{done(0, messageOf("ab")), ended("")}, "ab", "", llm.Stop},
		{"whole, without an index", [][2]string{{"response.output_item.done", `"item":` + messageOf("ab")}, ended("")}, "ab", "", llm.Stop},
		{"pieces without an index", [][2]string{{"response.output_text.delta", `"delta":"a"`}, {"response.output_text.delta", `"delta":"b"`}, ended("")}, "ab", "", llm.Stop},
		{"pieces by id", [][2]string{{"response.output_text.delta", `"item_id":"msg","delta":"a"`}, {"response.output_item.done", `"item":` + messageOf("ab")}, ended("")}, "ab", "", llm.Stop},
		{"another id in each event", [][2]string{
			{"response.output_text.delta", `"output_index":0,"item_id":"x","delta":"a"`},
			{"response.output_text.delta", `"output_index":0,"item_id":"y","delta":"b"`},
			done(0, messageOf("ab")), ended(""),
		}, "ab", "", llm.Stop},
		{"the last event has it all", [][2]string{ended(`,"output":[` + messageOf("ab") + `]`)}, "ab", "", llm.Stop},
		{"the last event repeats it", [][2]string{head, a, b, done(0, messageOf("ab")), ended(`,"output":[` + messageOf("ab") + `]`)}, "ab", "", llm.Stop},
		{"done twice", [][2]string{done(0, messageOf("ab")), done(0, messageOf("ab")), ended("")}, "ab", "", llm.Stop},
		{"pieces behind the whole", [][2]string{done(0, messageOf("ab")), b, ended("")}, "ab", "", llm.Stop},
		{"the whole has more", [][2]string{head, a, done(0, messageOf("ab")), ended("")}, "ab", "", llm.Stop},
		{"two messages", [][2]string{done(0, messageOf("ab")), done(1, messageOf("c")), ended("")}, "ab\n\nc", "", llm.Stop},
		{"two messages, one index", [][2]string{done(0, messageOf("ab")), done(0, strings.Replace(messageOf("c"), "msg", "msg2", 1)), ended("")}, "ab\n\nc", "", llm.Stop},
		{"an empty message", [][2]string{done(0, messageItem), done(1, messageOf("c")), ended("")}, "c", "", llm.Stop},
		{"reasoning", [][2]string{summary(0, "r"), summary(0, "s"), summary(1, "t"), done(1, messageOf("a")), ended("")}, "a", "rs\n\nt", llm.Stop},
		{"reasoning, whole", [][2]string{done(0, `{"type":"reasoning","summary":[{"type":"summary_text","text":"r"},{"type":"summary_text","text":"s"}]}`), done(1, messageOf("a")), ended("")}, "a", "r\n\ns", llm.Stop},
		{"open reasoning", [][2]string{{"response.reasoning_text.delta", `"output_index":0,"content_index":0,"delta":"r"`}, done(0, `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"r"}]}`), done(1, messageOf("a")), ended("")}, "a", "r", llm.Stop},
		{"reasoned twice", [][2]string{done(0, `{"type":"reasoning","summary":[{"text":"r"}]}`), done(1, `{"type":"reasoning","summary":[{"text":"s"}]}`), done(2, messageOf("a")), ended("")}, "a", "r\n\ns", llm.Stop},
		{"refusal", [][2]string{head, grows("refusal", 0, "no"), ended("")}, "no", "", llm.Filtered},
		{"refusal, whole", [][2]string{done(0, `{"type":"message","content":[{"type":"refusal","refusal":"no"}]}`), ended("")}, "no", "", llm.Filtered},
		{"cut by the limit", [][2]string{head, a, incomplete("max_output_tokens")}, "a", "", llm.Length},
		{"filtered", [][2]string{head, a, incomplete("content_filter")}, "a", "", llm.Filtered},
		{"unknown events and items", [][2]string{
			{"response.in_progress", `"response":{"status":"in_progress"}`},
			{"response.audio.delta", `"delta":{"x":1}`},
			{"keepalive", ""},
			added(0, `{"type":"web_search_call","status":"searching","content":"?"}`), done(0, `{"type":"web_search_call","summary":7}`),
			done(1, messageOf("a")), ended(""),
		}, "a", "", llm.Stop},
		{"nothing", [][2]string{ended("")}, "", "", llm.Stop},
		{"an end without a response", [][2]string{a, {"response.completed", ""}}, "a", "", llm.Stop},
		{"after the end", [][2]string{a, ended(""), b, {"error", `"message":"late"`}}, "a", "", llm.Stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, text, thought := hear(t, wire(c.events...))
			if got.Text != c.text || got.Reasoning != c.reasoning || got.Finish != c.finish || got.Calls != nil {
				t.Errorf("got %+v", got)
			}
			if text != c.text || thought != c.reasoning {
				t.Errorf("heard %q and %q", text, thought)
			}
		})
	}
}

func TestResponsesWholeItemWins(t *testing.T) {
	a, heard, _ := hear(t, wire(added(0, messageItem), grows("output_text", 0, "a garbled"), done(0, messageOf("the text")), ended("")))
	if a.Text != "the text" || heard != "a garbled" {
		t.Errorf("got %q, heard %q", a.Text, heard)
	}
	args := strings.Replace(callA, `"arguments":""`, `"arguments":"{\"p\":2}"`, 1)
	a, _, _ = hear(t, wire(added(0, callA), grows("function_call_arguments", 0, `{"p":1}`), done(0, args), ended("")))
	if len(a.Calls) != 1 || string(a.Calls[0].Args) != `{"p":2}` {
		t.Errorf("got %+v", a.Calls)
	}
}

func TestResponsesNumberedTwice(t *testing.T) {
	numbered := func(n int, text string) [2]string {
		e := grows("output_text", 0, text)
		e[1] += fmt.Sprintf(`,"sequence_number":%d`, n)
		return e
	}
	a, heard, _ := hear(t, wire(numbered(0, "a"), numbered(2, "c"), numbered(2, "c"), numbered(0, "a"), numbered(1, "b"), ended("")))
	if a.Text != "acb" || heard != "acb" {
		t.Errorf("got %q, heard %q", a.Text, heard)
	}
	s := serve(t, llmtest.Turn{Answer: llmtest.Say("a b"), Twice: true})
	if a, err := codexAt(t, s).Answer(t.Context(), hello(), nil); err != nil || a.Text != "a b" {
		t.Errorf("got %q, %v", a.Text, err)
	}
}

func TestResponsesCalls(t *testing.T) {
	whole := func(item, args string) string {
		return strings.Replace(item, `"arguments":""`, fmt.Sprintf(`"arguments":%q`, args), 1)
	}
	piece := func(index int, text string) [2]string { return grows("function_call_arguments", index, text) }
	all := func(index int, text string) [2]string {
		return [2]string{"response.function_call_arguments.done", fmt.Sprintf(`"output_index":%d,"arguments":%q`, index, text)}
	}
	want := []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(`{"p":1}`)}, {ID: "b", Name: "exec", Args: json.RawMessage(`{"c":2}`)}}
	only := func(args string) []llm.Call { return []llm.Call{{ID: "a", Name: "read", Args: json.RawMessage(args)}} }
	for _, c := range []struct {
		name   string
		events [][2]string
		want   []llm.Call
		finish llm.Finish
	}{
		{"interleaved", [][2]string{
			added(0, callA), added(1, callB), piece(0, `{"p"`), piece(1, `{"c":`), piece(0, `:1}`), piece(1, `2}`),
			done(1, whole(callB, `{"c":2}`)), done(0, whole(callA, `{"p":1}`)), ended(""),
		}, want, llm.ToolCall},
		{"in pieces alone", [][2]string{added(0, callA), added(1, callB), piece(0, `{"p":1}`), piece(1, `{"c":2}`), ended("")}, want, llm.ToolCall},
		{"arguments at once", [][2]string{added(0, callA), all(0, `{"p":1}`), added(1, callB), all(1, `{"c":2}`), ended("")}, want, llm.ToolCall},
		{"pieces behind the whole", [][2]string{added(0, callA), all(0, `{"p":1}`), piece(0, `{"p":1}`), ended("")}, want[:1], llm.ToolCall},
		{"whole", [][2]string{done(0, whole(callA, `{"p":1}`)), done(1, whole(callB, `{"c":2}`)), ended("")}, want, llm.ToolCall},
		{"whole, one index", [][2]string{done(0, whole(callA, `{"p":1}`)), done(0, whole(callB, `{"c":2}`)), ended("")}, want, llm.ToolCall},
		{"whole, one index, and all again at the end", [][2]string{
			done(0, whole(callA, `{"p":1}`)), done(0, whole(callB, `{"c":2}`)), ended(`,"output":[` + whole(callA, `{"p":1}`) + "," + whole(callB, `{"c":2}`) + `]`),
		}, want, llm.ToolCall},
		{"begun, one index", [][2]string{
			added(0, callA), piece(0, `{"p":1}`), done(0, whole(callA, `{"p":1}`)),
			added(0, callB), piece(0, `{"c":2}`), done(0, whole(callB, `{"c":2}`)), ended(""),
		}, want, llm.ToolCall},
		{"whole, no index", [][2]string{{"response.output_item.done", `"item":` + whole(callA, `{"p":1}`)}, {"response.output_item.done", `"item":` + whole(callB, `{"c":2}`)}, ended("")}, want, llm.ToolCall},
		{"behind a text", [][2]string{done(0, messageOf("x")), done(1, whole(callA, `{"p":1}`)), ended("")}, want[:1], llm.ToolCall},
		{"an object", [][2]string{done(0, strings.Replace(callA, `"arguments":""`, `"arguments":{"p":1}`, 1)), ended("")}, want[:1], llm.ToolCall},
		{"nothing", [][2]string{done(0, callA), ended("")}, only(`{}`), llm.ToolCall},
		{"malformed", [][2]string{done(0, whole(callA, `{"p`)), ended("")}, only(`{"p`), llm.ToolCall},
		{"no id", [][2]string{done(0, strings.Replace(callA, `"call_id":"a",`, "", 1)), ended("")}, []llm.Call{{ID: "call_1", Name: "read", Args: json.RawMessage(`{}`)}}, llm.ToolCall},
		{"one id for two", [][2]string{done(0, whole(callA, `{"p":1}`)), done(1, strings.Replace(whole(callB, `{"c":2}`), `"call_id":"b"`, `"call_id":"a"`, 1)), ended("")}, []llm.Call{want[0], {ID: "a_2", Name: "exec", Args: want[1].Args}}, llm.ToolCall},
		{"cut in the second", [][2]string{added(0, callA), all(0, `{"p":1}`), added(1, callB), piece(1, `{"c"`), incomplete("max_output_tokens")}, want[:1], llm.Length},
		{"cut in front of the arguments", [][2]string{added(0, callA), incomplete("max_output_tokens")}, nil, llm.Length},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _, _ := hear(t, wire(c.events...))
			if a.Finish != c.finish || !reflect.DeepEqual(a.Calls, c.want) {
				t.Errorf("got %+v\nwant %+v", a, c.want)
			}
		})
	}
}

func TestResponsesUsage(t *testing.T) {
	said := done(0, messageOf("four"))
	price := llm.Price{Input: 3_000_000, Cached: 300_000, Output: 15_000_000}
	for _, c := range []struct {
		name, usage string
		price       llm.Price
		want        llm.Usage
	}{
		{"counted", `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5}}`, llm.Price{}, llm.Usage{Input: 100, Cached: 60, Output: 20, Reasoning: 5}},
		{"by price", `{"input_tokens":1000,"input_tokens_details":{"cached_tokens":400},"output_tokens":10}`, price, llm.Usage{Input: 1000, Cached: 400, Output: 10, Cost: 1800 + 120 + 150, Priced: true}},
		{"nonsense", `{"input_tokens":10.0,"input_tokens_details":{"cached_tokens":99},"output_tokens":-4,"output_tokens_details":{"reasoning_tokens":3}}`, llm.Price{}, llm.Usage{Input: 10, Cached: 10}},
		{"no details", `{"input_tokens":10,"input_tokens_details":null,"output_tokens":2}`, llm.Price{}, llm.Usage{Input: 10, Output: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := signedIn(canned{body: wire(said, ended(`,"usage":`+c.usage))})
			cfg.Price = c.price
			a, err := open(t, cfg).Answer(t.Context(), hello(), nil)
			if err != nil || a.Usage != c.want {
				t.Errorf("got %+v, %v\nwant %+v", a.Usage, err, c.want)
			}
		})
	}
}

// A usage that cannot be read does not cost the answer.
func TestResponsesUsageOfAnotherType(t *testing.T) {
	for _, usage := range []string{`"many"`, `[]`, `{"input_tokens":"10","output_tokens":"2"}`} {
		a, err := open(t, signedIn(canned{body: wire(done(0, messageOf("four")), ended(`,"usage":`+usage))})).Answer(t.Context(), hello(), nil)
		if err != nil || a.Text != "four" || !a.Usage.Estimated {
			t.Errorf("%s: %+v, %v", usage, a, err)
		}
	}
}

func TestResponsesUsageIsEstimatedWhenNoneIsSent(t *testing.T) {
	turn := llmtest.Turn{Answer: llmtest.Use("read", `{"p":1}`), NoUsage: true}
	turn.Answer.Text, turn.Answer.Reasoning = "12345678", "1234"
	s := serve(t, turn)
	a, err := codexAt(t, s).Answer(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Usage{Input: (len(s.Requests()[0].Body) + 3) / 4, Output: (8 + 4 + 4 + 7 + 3) / 4, Reasoning: 1, Estimated: true}
	if a.Usage != want {
		t.Errorf("got %+v, want %+v", a.Usage, want)
	}
}

func TestResponsesUsageAgreesWithTheBill(t *testing.T) {
	counted := llmtest.Say("a b c")
	counted.Usage = llm.Usage{Input: 100, Cached: 10, Output: 30, Reasoning: 3}
	s := serve(t, llmtest.Streamed(counted), llmtest.Streamed(llmtest.Say("x")))
	m := codexAt(t, s)
	var sum llm.Usage
	for range 2 {
		a, err := m.Answer(t.Context(), hello(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum.Input += a.Usage.Input
		sum.Cached += a.Usage.Cached
		sum.Output += a.Usage.Output
		sum.Reasoning += a.Usage.Reasoning
	}
	if got := s.Billed(); got != sum || got.Cached != 10 {
		t.Errorf("server %+v, client %+v", got, sum)
	}
}

// TestResponsesEveryTruncation cuts a stream at every byte, as a proper end and as a broken transfer: there is an error or the
// whole answer.
func TestResponsesEveryTruncation(t *testing.T) {
	turn := llmtest.Streamed(llmtest.Use("read", `{"path":"ü"}`))
	turn.Answer.Text, turn.Answer.Reasoning = "I look", "hm"
	turn.Answer.Usage = llm.Usage{Input: 10, Output: 20}
	stream := turn.ResponsesWire(0)
	ask := func(body string, end error) (llm.Answer, error) {
		return open(t, signedIn(canned{body: body, err: end})).Answer(t.Context(), hello(), nil)
	}
	all, err := ask(stream, nil)
	if err != nil || len(all.Calls) != 1 || all.Usage != turn.Answer.Usage {
		t.Fatalf("the whole stream gives %+v, %v", all, err)
	}
	for cut := range len(stream) {
		for _, end := range []error{nil, io.ErrUnexpectedEOF} {
			a, err := ask(stream[:cut], end)
			if err == nil {
				t.Fatalf("cut at %d of %d gave %+v", cut, len(stream), a)
			}
			faultIn(t, err, llm.Broken)
		}
	}
	a, err := ask(stream, io.ErrUnexpectedEOF)
	if err != nil || !reflect.DeepEqual(a, all) {
		t.Errorf("whole, but for the end of the transfer: %+v, %v", a, err)
	}
}

func TestResponsesBrokenConnections(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []struct {
		name string
		turn llmtest.Turn
		want llm.Fault
	}{
		{"cut", llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Cut, At: 300}, llm.Broken},
		{"drop", llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Drop, At: 300}, llm.Broken},
		{"reset", llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Reset, At: 300}, llm.Broken},
		{"no end", llmtest.Turn{Answer: llmtest.Say("a b c"), NoFinish: true}, llm.Broken},
		{"failed", llmtest.Turn{Answer: llmtest.Say("a b c"), Finish: "failed"}, llm.Overloaded},
		{"status", llmtest.Failed(503, "busy"), llm.Overloaded},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.turn)
			_, err := codexAt(t, s).Answer(t.Context(), hello(), nil)
			if e := faultIn(t, err, c.want); !llm.Retryable(&e) {
				t.Error("it is worth another try")
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}

func TestResponsesEndless(t *testing.T) {
	flood := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		name  string
		limit int
		kind  string
		times int // as many pieces are still an answer
	}{
		{"text, at least a megabyte", 10, "output_text", 16},
		{"reasoning", 10, "reasoning_summary_text", 16},
		{"arguments", 10, "function_call_arguments", 16},
		{"by the limit", 64 << 10, "output_text", 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := added(0, callA)
			if c.kind != "function_call_arguments" {
				head = [2]string{"response.created", ""}
			}
			events := [][2]string{head}
			for range c.times {
				events = append(events, grows(c.kind, 0, flood))
			}
			cfg := signedIn(canned{body: wire(append(events, ended(""))...)})
			cfg.MaxOutput = c.limit
			if _, err := open(t, cfg).Answer(t.Context(), hello(), nil); err != nil {
				t.Errorf("an answer as long as its limit: %v", err)
			}
			cfg = signedIn(canned{body: wire(append(events, grows(c.kind, 0, "x"), ended(""))...)})
			cfg.MaxOutput = c.limit
			_, err := open(t, cfg).Answer(t.Context(), hello(), nil)
			faultIn(t, err, llm.Endless)
		})
	}
	cfg := signedIn(canned{body: wire(done(0, messageOf(strings.Repeat(flood, 17))), ended(""))})
	cfg.MaxOutput = 8192
	_, err := open(t, cfg).Answer(t.Context(), hello(), nil)
	faultIn(t, err, llm.Endless)
}

func FuzzResponses(f *testing.F) {
	turn := llmtest.Streamed(llmtest.Use("read", `{"path":"a"}`))
	turn.Answer.Text, turn.Answer.Reasoning = "hello", "hm"
	f.Add(turn.ResponsesWire(0))
	f.Add(wire(added(0, callA), grows("function_call_arguments", 0, "{}"), added(0, messageItem), incomplete("content_filter")))
	f.Add(wire(done(-7, `{"type":"reasoning","summary":null,"content":[{"text":"r"}],"encrypted_content":"e"}`), ended(`,"usage":{"input_tokens":1e308},"output":[null,{}]`)))
	f.Add(wire([2]string{"error", `"error":{"code":7,"resets_at":1e300,"resets_in_seconds":-1},"status":"x"`}))
	f.Add(wire([2]string{"response.failed", `"response":{"error":{"code":"rate_limit_exceeded","message":"try again in 1e9h"}}`}))
	f.Add("data: {\"sequence_number\":1}\n\nevent: response.completed\ndata: {\"sequence_number\":1}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		var heard strings.Builder
		a, err := open(t, signedIn(canned{body: body})).Answer(t.Context(), hello(), func(d llm.Delta) { heard.WriteString(d.Text) })
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) || !utf8.ValidString(e.Text) || utf8.RuneCountInString(e.Text) > 500 || e.RetryAfter < 0 {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if !strings.Contains(body, "response.completed") && !strings.Contains(body, "response.incomplete") && !strings.Contains(body, `\u`) {
			t.Fatalf("an answer without its end: %+v", a)
		}
		if a.Finish == "" || !utf8.ValidString(a.Text) || a.Usage.Cached > a.Usage.Input || a.Text != "" && heard.Len() == 0 || a.Raw != nil && !json.Valid(a.Raw) {
			t.Fatalf("answer %+v, heard %q", a, heard.String())
		}
		for _, c := range a.Calls {
			if c.ID == "" || c.Name == "" || len(c.Args) == 0 {
				t.Fatalf("call %+v", c)
			}
		}
	})
}
