package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// A list of very many empty elements is small on the wire and large in memory.
func TestListsOfNothing(t *testing.T) {
	for name, line := range map[string]string{
		"choices": `{"choices":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"calls":   `{"choices":[{"delta":{"tool_calls":[` + strings.Repeat("{},", 1<<20) + `{}]}}]}`,
		"parts":   `{"choices":[{"delta":{"content":[` + strings.Repeat("{},", 1<<20) + `{}]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, config(canned{body: "data: " + line + "\n\n"}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := m.Answer(t.Context(), hello(), nil)
			runtime.ReadMemStats(&after)
			faultIn(t, err, llm.Malformed)
			if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
				t.Errorf("%d MB were allocated for a line of %d MB", got>>20, len(line)>>20)
			}
		})
	}
}

// chatty is a server that goes on after a complete answer: it never ends.
type chatty struct{ first string }

func (c chatty) RoundTrip(r *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	go func() {
		_, err := io.WriteString(writer, c.first)
		for err == nil {
			select {
			case <-time.After(500 * time.Millisecond):
				_, err = io.WriteString(writer, ": ping\n\n")
			case <-r.Context().Done():
				err = r.Context().Err()
			}
		}
		writer.CloseWithError(err)
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: reader, Request: r}, nil
}

func TestAServerThatGoesOnTalking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, config(chatty{llmtest.Streamed(llmtest.Say("that is all")).Wire(0)}))
		start := time.Now()
		a, err := m.Answer(t.Context(), hello(), nil)
		if err != nil || a.Text != "that is all" || time.Since(start) > 6*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(start), a, err)
		}
	})
}

// A count that cannot be true is not believed: it would use up the day's budget, or none of it.
func TestIncredibleCounts(t *testing.T) {
	for _, usage := range []llm.Usage{{Input: 1_000_000_000, Output: 1}, {Input: 10, Output: 1_000_000_000}, {}} {
		turn := llmtest.Streamed(llmtest.Say("12345678"))
		turn.NoUsage = true
		doc, err := json.Marshal(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": usage.Input, "completion_tokens": usage.Output}})
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Replace(turn.Wire(0), "data: [DONE]", "data: "+string(doc)+"\n\ndata: [DONE]", 1)
		a, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), nil)
		if err != nil || !a.Usage.Estimated || a.Usage.Output != 2 {
			t.Errorf("%+v was taken as %+v, %v", usage, a.Usage, err)
		}
	}
}

// What a server says is not kept as it came, wherever it says it.
func TestWordsOfAServerAreCleaned(t *testing.T) {
	evil := "sk-secret \u001b[31mred\u202e " + strings.Repeat("x", 1<<20)
	reason, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	body := `data: {"type":"response.incomplete","response":{"incomplete_details":{"reason":` + string(reason) + "}}}\n\n"
	c := llm.Config{Provider: "codex", Model: "m", BaseURL: "http://model.test/v1", APIKey: "sk-secret", HTTP: &http.Client{Transport: canned{body: body}}}
	_, err = open(t, c).Answer(t.Context(), hello(), nil)
	if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "sk-secret") || strings.ContainsAny(err.Error(), "\u001b\u202e") {
		t.Errorf("got %.300q", err)
	}
}

// A token that was revoked before its time is renewed, once.
func TestASpoiledToken(t *testing.T) {
	s := serve(t, llmtest.Failed(http.StatusUnauthorized, "revoked"), llmtest.Streamed(llmtest.Say("hello")), llmtest.Failed(http.StatusUnauthorized, "no"), llmtest.Failed(http.StatusUnauthorized, "no"))
	token := "one"
	var rejected []string
	c := llm.Config{Provider: "codex", Model: "m", BaseURL: s.URL}
	c.Auth = func(context.Context) (llm.Credentials, error) { return llm.Credentials{Token: token}, nil }
	c.Rejected = func(t string) { rejected, token = append(rejected, t), "two" }
	m := open(t, c)
	if a, err := m.Answer(t.Context(), hello(), nil); err != nil || a.Text != "hello" || strings.Join(rejected, " ") != "one" {
		t.Errorf("%+v, %v; rejected %q", a, err, rejected)
	}
	_, err := m.Answer(t.Context(), hello(), nil)
	faultIn(t, err, llm.Auth)
	if got := s.Requests()[1].Header.Get("Authorization"); len(s.Requests()) != 4 || got != "Bearer two" {
		t.Errorf("%d requests, the second with %q", len(s.Requests()), got)
	}
}

func FuzzDecode(f *testing.F) {
	turn := llmtest.Streamed(llmtest.Use("read", `{"path":"a"}`))
	turn.Answer.Text = "hello"
	f.Add(turn.Wire(0))
	f.Add(data(says("a"), stopped, "[DONE]"))
	f.Add(data(callsTool(`{"id":"a","function":{"name":"x","arguments":{"a":[1]}}},{"index":-3}`), stopped))
	f.Add(data(`{"choices":[{"delta":{"reasoning_details":[{"index":0,"text":"a"},{"index":0,"text":"b"}],"content":["a"]},"finish_reason":"stop"}],"usage":{"cost":1e308}}`))
	f.Add("event: error\ndata: {\"message\":1}\n\n")
	f.Add("{\"error\":[]}")
	f.Add("\uFEFFdata: \r\n\r\n\rdata")
	f.Add(data(says("<think>a</thi"), says("nk> b"), stopped))
	f.Add(data(`{"choices":[{"delta":{"thinking":"a","content":[{"type":"thinking","thinking":[{"text":"b"}]},{"text":"c"}]}}]}`, stopped))
	f.Add(data(callsTool(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"x","arguments":{"a":"\xff"}}}`), stopped))
	f.Add(whole("a"))
	f.Add(data(says("a\n<tool_call>x"), stopped))
	f.Fuzz(func(t *testing.T, body string) {
		var text, thought strings.Builder
		a, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), func(d llm.Delta) {
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
		})
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) || !utf8.ValidString(e.Text) || utf8.RuneCountInString(e.Text) > 500 {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if !strings.Contains(strings.ToLower(body), "finish_reason") && !strings.Contains(body, `\u`) && !strings.Contains(body, "[DONE]") {
			t.Fatalf("answer %+v without an end", a)
		}
		if len(a.Repaired) == 0 && (!streamed(text.String(), a.Text) || a.Reasoning != thought.String()) {
			t.Fatalf("deltas %q and %q, answer %+v", text.String(), thought.String(), a)
		}
		checkAnswer(t, a)
	})
}

// streamed reports whether an answer is what was streamed. A block that is no call was held back and is part of the answer.
func streamed(text, answer string) bool {
	if text == answer || !strings.ContainsAny(answer, "<[") {
		return text == answer
	}
	for _, r := range text {
		_, rest, ok := strings.Cut(answer, string(r))
		if !ok {
			return false
		}
		answer = rest
	}
	return true
}
