package llmtest_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// respond sends a request of the Responses protocol.
func respond(t *testing.T, s *llmtest.Server, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestResponsesWire(t *testing.T) {
	const want = `event: response.created
data: {"response":{"id":"resp_1","status":"in_progress"},"sequence_number":0,"type":"response.created"}

event: response.output_item.added
data: {"item":{"content":[],"id":"msg_0","role":"assistant","type":"message"},"output_index":0,"sequence_number":1,"type":"response.output_item.added"}

event: response.output_text.delta
data: {"content_index":0,"delta":"hi","item_id":"msg_0","output_index":0,"sequence_number":2,"summary_index":0,"type":"response.output_text.delta"}

event: response.output_item.done
data: {"item":{"content":[{"text":"hi","type":"output_text"}],"id":"msg_0","role":"assistant","type":"message"},"output_index":0,"sequence_number":3,"type":"response.output_item.done"}

event: response.completed
data: {"response":{"id":"resp_1","status":"completed"},"sequence_number":4,"type":"response.completed"}

`
	turn := llmtest.Turn{Answer: llmtest.Say("hi"), NoUsage: true}
	if got := turn.ResponsesWire(0); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := (llmtest.Turn{Raw: "rubbish"}).ResponsesWire(0); got != "rubbish" {
		t.Errorf("got %q", got)
	}
}

func TestResponsesWireVariants(t *testing.T) {
	answer := llmtest.Use("read", `{"p":1}`)
	answer.Reasoning = "hm"
	refused, cut := llmtest.Say("no"), llmtest.Say("no")
	refused.Finish, cut.Finish = llm.Filtered, llm.Length
	for _, c := range []struct {
		name        string
		turn        llmtest.Turn
		has, hasNot string
	}{
		{"reasoning", llmtest.Turn{Answer: answer}, `"encrypted_content":"` + llmtest.Sealed("hm") + `"`, "output_text"},
		{"call", llmtest.Turn{Answer: answer}, `"arguments":"{\"p\":1}","call_id":"call_1"`, ""},
		{"usage", llmtest.Turn{Answer: answer}, `"usage":{"input_tokens":`, ""},
		{"no usage", llmtest.Turn{Answer: answer, NoUsage: true}, "response.completed", "usage"},
		{"no end", llmtest.Turn{Answer: answer, NoFinish: true}, "response.output_item.done", "response.completed"},
		{"refused", llmtest.Turn{Answer: refused}, `"refusal":"no"`, "output_text"},
		{"cut", llmtest.Turn{Answer: cut}, `"incomplete_details":{"reason":"max_output_tokens"}`, "response.completed"},
		{"another reason", llmtest.Turn{Answer: cut, Finish: "content_filter"}, `"incomplete_details":{"reason":"content_filter"}`, "max_output_tokens"},
		{"failed", llmtest.Turn{Answer: answer, Finish: "failed"}, `"type":"response.failed"`, "usage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.turn.ResponsesWire(0)
			if !strings.Contains(got, c.has) || c.hasNot != "" && strings.Contains(got, c.hasNot) {
				t.Errorf("want %s and not %s in\n%s", c.has, c.hasNot, got)
			}
		})
	}
	once, twice := llmtest.Turn{Answer: answer}.ResponsesWire(0), llmtest.Turn{Answer: answer, Twice: true}.ResponsesWire(0)
	if n := strings.Count(once, "data: "); strings.Count(twice, "data: ") != 2*n || strings.Count(twice, `"sequence_number":3,`) != 2 {
		t.Errorf("twice is\n%s", twice)
	}
}

func TestServerSpeaksResponses(t *testing.T) {
	const body = `{"model":"m","stream":true,"instructions":"be kind","tools":[{"type":"function","name":"read"}],"input":[` +
		`{"role":"user","content":"short"},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image"},{"type":"input_text","text":"b"}]},` +
		`{"type":"reasoning","encrypted_content":"x"},` +
		`{"type":"function_call","call_id":"t1_1","name":"read","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"t1_1","output":"A"}]}`
	turn := llmtest.Streamed(llmtest.Say("hi"))
	s := llmtest.NewServer(turn, llmtest.Failed(503, "busy"))
	defer s.Close()
	if status, got := respond(t, s, body); status != http.StatusOK || got != turn.ResponsesWire(len(body)) {
		t.Errorf("got %d %s", status, got)
	}
	if status, got := respond(t, s, body); status != http.StatusServiceUnavailable || got != `{"error":{"message":"busy"}}` {
		t.Errorf("got %d %s", status, got)
	}
	call := llmtest.Call{ID: "t1_1"}
	call.Function.Name, call.Function.Arguments = "read", "{}"
	want := []llmtest.Message{
		{Role: "system", Content: "be kind"},
		{Role: "user", Content: "short"},
		{Role: "user", Content: "ab"},
		{Role: "assistant", Calls: []llmtest.Call{call}},
		{Role: "tool", Content: "A", CallID: "t1_1"},
	}
	r := s.Requests()[0]
	if !reflect.DeepEqual(r.Messages, want) || r.Model != "m" || len(r.Tools) != 1 || r.Tools[0] != "read" || string(r.Body) != body || r.Last() != "A" {
		t.Errorf("got %+v", r)
	}
	if u := s.Billed(); u.Input != len(body)/4+1 {
		t.Errorf("one stream was begun, %+v is billed", u)
	}
	for _, bad := range []string{"{", `{"stream":false}`, `{"stream":true,"input":[{"role":"user","content":7}]}`, body} { // for the last one there is no turn
		if status, _ := respond(t, s, bad); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
}
