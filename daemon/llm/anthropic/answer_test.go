package anthropic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/llm"
)

const (
	thinking = `{"type":"thinking","thinking":"","signature":""}`
	sealed   = `{"type":"redacted_thinking","data":"c2VhbGVk"}`
)

func thinks(index int, words, signature string) []string {
	return []string{
		starts(index, thinking),
		grows(index, `{"type":"thinking_delta","thinking":"`+words+`"}`),
		grows(index, `{"type":"signature_delta","signature":"`+signature+`"}`),
		ends(index),
	}
}

// thoughtful is an answer that thinks, says something, thinks again and calls a tool.
func thoughtful() string {
	return data(append(append([]string{started}, thinks(0, "hm", "s1")...),
		starts(1, sealed), ends(1), starts(2, text), says(2, "I look."), ends(2), starts(3, thinking), grows(3, `{"type":"signature_delta","signature":"s2"}`), ends(3),
		starts(4, tool("t1", "read")), input(4, `{"path":"a"}`), ends(4), finished("tool_use"), stopped)...)
}

// sentMessages are the messages of a request: the type of each block, with what matters of it.
func sentMessages(t *testing.T, body string) []string {
	t.Helper()
	var req struct {
		Messages []struct {
			Role    string
			Content []struct{ Type, Text, Thinking, Signature, Data, ID, Name string }
		}
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range req.Messages {
		line := m.Role + ":"
		for _, b := range m.Content {
			line += " " + b.Type + "(" + b.Text + b.Thinking + b.Signature + b.Data + b.ID + b.Name + ")"
		}
		list = append(list, line)
	}
	return list
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Thinking goes back with its signature and in its place, to the model that thought it and to no other.
func TestThinkingGoesBackToItsModel(t *testing.T) {
	r := &recorder{bodies: []string{thoughtful(), data(started, starts(0, text), says(0, "done"), ends(0), finished("end_turn"), stopped)}}
	a, err := open(t, config(r)).Answer(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Text != "I look." || a.Reasoning != "hm" || len(a.Calls) != 1 || a.Finish != llm.ToolCall {
		t.Fatalf("the answer is %+v", a)
	}
	next := hello()
	next.Messages = append(next.Messages, spoken(a), result("t1", "it says b"))
	ask := func(model string) []string {
		c := config(r)
		c.Model = model
		if _, err := open(t, c).Answer(t.Context(), next, nil); err != nil {
			t.Fatal(err)
		}
		return sentMessages(t, r.last())
	}
	same(t, ask("claude-sonnet-4-6"), "user: text(hello)", "assistant: thinking(hms1) redacted_thinking(c2VhbGVk) text(I look.) thinking(s2) tool_use(t1read)", "user: tool_result()")
	same(t, ask("claude-opus-5"), "user: text(hello)", "assistant: text(I look.) tool_use(t1read)", "user: tool_result()")
}

// Thinking that the server does not accept any more is left out of the next request, which may be sent at once.
func TestThinkingThatIsRefused(t *testing.T) {
	refused := `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid signature in thinking block"}}`
	done := data(started, starts(0, text), says(0, "done"), ends(0), finished("end_turn"), stopped)
	r := &recorder{bodies: []string{refused, done}, status: http.StatusBadRequest}
	m := open(t, config(r))
	next := hello()
	next.Messages = append(next.Messages, spoken(answer(t, thoughtful())), result("t1", "it says b"))
	_, err := m.Answer(t.Context(), next, nil)
	if faultIn(t, err, llm.Overloaded); !llm.Retryable(err) || llm.Billable(err) {
		t.Errorf("%v may be sent again: %v; is paid for: %v", err, llm.Retryable(err), llm.Billable(err))
	}
	if _, err := m.Answer(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	same(t, sentMessages(t, r.last()), "user: text(hello)", "assistant: text(I look.) tool_use(t1read)", "user: tool_result()")
}

// An answer that pauses is sent back as it was, and goes on; what both requests cost is counted. One that pauses for ever ends.
func TestPauses(t *testing.T) {
	search := `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}`
	paused := data(append(append([]string{started}, thinks(0, "hm", "s1")...), starts(1, text), says(1, "I search."), ends(1),
		starts(2, search), input(2, `{"query":"x"}`), ends(2), finished("pause_turn"), stopped)...)
	found := data(started, starts(0, text), says(0, "Found."), ends(0), finished("end_turn"), stopped)
	r := &recorder{bodies: []string{paused, found}}
	var said strings.Builder
	a, err := open(t, config(r)).Answer(t.Context(), hello(), func(d llm.Delta) { said.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if want := "I search.\n\nFound."; a.Text != want || said.String() != want || a.Finish != llm.Stop || a.Usage.Input != 20 || a.Usage.Output != 10 {
		t.Errorf("the answer is %+v, its pieces %q", a, said.String())
	}
	same(t, sentMessages(t, r.last()), "user: text(hello)", "assistant: thinking(hms1) text(I search.) server_tool_use(srv_1web_search)")

	r = &recorder{bodies: []string{paused}}
	if a, err = open(t, config(r)).Answer(t.Context(), hello(), nil); err != nil || len(r.sent) != 5 || a.Usage.Input != 50 {
		t.Errorf("an answer that pauses for ever took %d requests: %+v, %v", len(r.sent), a, err)
	}
}

// What was paid for before a pause stays paid for when the rest is refused.
func TestAPauseThatFails(t *testing.T) {
	s := serve(t)
	rest := http.Header{"Retry-After": {"7"}}
	pause := data(started, starts(0, text), says(0, "so far"), ends(0), finished("pause_turn"), stopped)
	for i, turn := range []string{pause, ""} {
		s.Push(turnOf(turn, []int{200, 529}[i], rest))
	}
	_, err := at(t, s).Answer(t.Context(), hello(), nil)
	if e := faultIn(t, err, llm.Overloaded); !e.Begun || !llm.Billable(err) || e.RetryAfter != 7*time.Second {
		t.Errorf("%+v", e)
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]llm.Finish{
		"end_turn": llm.Stop, "stop_sequence": llm.Stop, "max_tokens": llm.Length, "model_context_window_exceeded": llm.Length, "refusal": llm.Filtered, "of another day": llm.Stop,
	} {
		if a := answer(t, data(started, starts(0, text), says(0, "so"), ends(0), finished(reason), stopped)); a.Finish != want || a.Text != "so" {
			t.Errorf("%s: %+v", reason, a)
		}
	}
	call := []string{started, starts(0, tool("t", "read")), input(0, `{"a":1}`), ends(0)}
	for reason, want := range map[string]int{"tool_use": 1, "end_turn": 1, "max_tokens": 1, "refusal": 0} {
		if a := answer(t, data(append(call, finished(reason), stopped)...)); len(a.Calls) != want {
			t.Errorf("%s: the calls %v", reason, a.Calls)
		}
	}
}

// The tokens of each kind are told apart, and each costs what it costs. The last count of a field holds.
func TestUsage(t *testing.T) {
	counted := func(first, last string) llm.Usage {
		return answer(t, data(`{"type":"message_start","message":{"usage":`+first+`}}`, starts(0, text), says(0, "so"), ends(0),
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+last+`}`, stopped)).Usage
	}
	const m = 1_000_000
	for _, c := range []struct {
		name, first, last string
		want              llm.Usage
	}{
		{"plain", `{"input_tokens":100,"output_tokens":1}`, `{"output_tokens":10}`, llm.Usage{Input: 100, Output: 10, Cost: (100*3*m + 10*15*m) / m}},
		{
			"all kinds", `{"input_tokens":100,"cache_read_input_tokens":2000,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_1h_input_tokens":100},"output_tokens":1}`,
			`{"output_tokens":10,"output_tokens_details":{"thinking_tokens":4}}`,
			llm.Usage{Input: 2400, Cached: 2000, Written: 300, Written1h: 100, Output: 10, Reasoning: 4, Cost: 300 + 600 + 750 + 600 + 150},
		},
		{"counted again", `{"input_tokens":100,"cache_read_input_tokens":0,"output_tokens":1}`, `{"input_tokens":150,"cache_read_input_tokens":50,"output_tokens":10}`, llm.Usage{Input: 200, Cached: 50, Output: 10, Cost: 450 + 15 + 150}},
		{"more thinking than output", `{"input_tokens":100}`, `{"output_tokens":10,"output_tokens_details":{"thinking_tokens":400}}`, llm.Usage{Input: 100, Output: 10, Reasoning: 10, Cost: 450}},
	} {
		c.want.Priced = true
		if got := counted(c.first, c.last); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for name, first := range map[string]string{
		"none": "null", "texts": `{"input_tokens":"100","cache_read_input_tokens":500}`, "a text": `"many"`, "a list": `[]`, "zero": `{"input_tokens":0}`, "huge": `{"input_tokens":1e18}`, "negative": `{"input_tokens":-5,"cache_read_input_tokens":-1}`,
		"a huge cache": `{"input_tokens":5,"cache_read_input_tokens":1e300}`, "beyond all": `{"cache_creation_input_tokens":9007199254740993}`,
	} {
		last := `{"output_tokens":0}`
		if got := counted(first, last); !got.Estimated || got.Input <= 0 || got.Input > 1000 || got.Cached != 0 || got.Written != 0 {
			t.Errorf("%s: %+v is believed", name, got)
		}
	}
}

// The type of an error in a stream says what it is, as its status would have.
func TestErrorsOfAStream(t *testing.T) {
	for kind, want := range map[string]llm.Fault{
		"overloaded_error": llm.Overloaded, "api_error": llm.Overloaded, "timeout_error": llm.Overloaded, "rate_limit_error": llm.RateLimit, "authentication_error": llm.Auth,
		"permission_error": llm.Forbidden, "billing_error": llm.Payment, "not_found_error": llm.NotFound, "request_too_large": llm.TooLarge, "invalid_request_error": llm.BadRequest, "new_error": llm.Broken,
	} {
		body := data(started, `{"type":"error","error":{"type":"`+kind+`","message":"no sk-secret"}}`)
		_, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), nil)
		if e := faultIn(t, err, want); strings.Contains(e.Text, "sk-secret") {
			t.Errorf("%s tells the key: %v", kind, e)
		}
	}
}

// The same for refusals, with the id by which the server's people find a request.
func TestErrorsByStatus(t *testing.T) {
	for _, c := range []struct {
		status      int
		kind, words string
		want        llm.Fault
	}{
		{400, "invalid_request_error", "bad field", llm.BadRequest},
		{400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", llm.TooLarge},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", llm.Payment},
		{401, "authentication_error", "invalid x-api-key", llm.Auth},
		{402, "billing_error", "pay", llm.Payment},
		{403, "permission_error", "no", llm.Forbidden},
		{404, "not_found_error", "model: x", llm.NotFound},
		{413, "request_too_large", "Request exceeds the maximum size", llm.TooLarge},
		{429, "rate_limit_error", "slow down", llm.RateLimit},
		{500, "api_error", "oops", llm.Overloaded},
		{529, "overloaded_error", "Overloaded", llm.Overloaded},
	} {
		h := http.Header{"Retry-After": {"20"}, "Request-Id": {"req_7"}}
		body := `{"type":"error","error":{"type":"` + c.kind + `","message":"` + c.words + `"}}`
		_, err := open(t, config(canned{body: body, status: c.status, header: h})).Answer(t.Context(), hello(), nil)
		if e := faultIn(t, err, c.want); e.Status != c.status || e.RetryAfter != 20*time.Second || !strings.Contains(e.Text, c.words+" (request req_7)") || e.Begun {
			t.Errorf("%d %s: %+v", c.status, c.kind, e)
		}
	}
}
