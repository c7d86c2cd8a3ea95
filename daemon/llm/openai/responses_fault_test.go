package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"

	"go.uber.org/goleak"
)

func TestResponsesStatuses(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	usage := func(more string) string {
		return `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus"` + more + `}}`
	}
	const limit = "The usage limit has been reached"
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   llm.Fault
		text   string
		wait   time.Duration
	}{
		{"token", 401, nil, `{"detail":"Unauthorized"}`, llm.Auth, "Unauthorized", 0},
		{"token, with a code", 401, nil, `{"error":{"code":"server_error","message":"no"}}`, llm.Auth, "no", 0},
		{"token echoed", 401, nil, `{"error":{"message":"tok-secret is expired"}}`, llm.Auth, "[the token] is expired", 0},
		{"token in text", 500, nil, strings.Repeat("x", 496) + "tok-secret", llm.Overloaded, strings.Repeat("x", 496) + "[the", 0},
		{"web page", 403, nil, "<html>", llm.Forbidden, "a web page came instead of an answer; check base_url", 0},
		{"parameter", 400, nil, `{"detail":"Unsupported parameter: max_output_tokens"}`, llm.BadRequest, "Unsupported parameter: max_output_tokens", 0},
		{"overflow", 400, nil, `{"error":{"code":"context_length_exceeded","message":"x"}}`, llm.TooLarge, "x", 0},
		{"usage limit", 429, nil, usage(`,"resets_at":1,"resets_in_seconds":13872`), llm.RateLimit, limit, 13872 * time.Second},
		{"usage limit, its end", 429, nil, usage(fmt.Sprintf(`,"resets_at":%d`, now.Unix()+90)), llm.RateLimit, limit, 90 * time.Second},
		{"usage limit, its end is over", 429, nil, usage(fmt.Sprintf(`,"resets_at":%d`, now.Unix()-90)), llm.RateLimit, limit, 0},
		{"usage limit, for a week", 429, nil, usage(`,"resets_in_seconds":602705`), llm.RateLimit, limit, 24 * time.Hour},
		{"usage limit, with a header", 429, http.Header{"Retry-After": {"7"}}, usage(`,"resets_in_seconds":13872`), llm.RateLimit, limit, 7 * time.Second},
		{"usage limit as 404", 404, nil, usage(`,"resets_in_seconds":60`), llm.RateLimit, limit, time.Minute},
		{"not in the plan", 429, nil, `{"error":{"type":"usage_not_included","message":"x"}}`, llm.Payment, "x", 0},
		{"quota", 429, nil, `{"error":{"code":"insufficient_quota","message":"x"}}`, llm.Payment, "x", 0},
		{"limit", 429, nil, `{"error":{"message":"slow down"}}`, llm.RateLimit, "slow down", 0},
		{"overloaded", 503, nil, `{"error":{"code":"server_is_overloaded","message":"x"}}`, llm.Overloaded, "x", 0},
		{"no model", 404, nil, `{"detail":"Model not found"}`, llm.NotFound, "Model not found", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := signedIn(canned{status: c.status, header: c.header, body: c.body})
			cfg.Now = func() time.Time { return now }
			_, err := open(t, cfg).Answer(t.Context(), hello(), nil)
			e := faultIn(t, err, c.want)
			if e.Status != c.status || e.Text != c.text || e.RetryAfter != c.wait {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestResponsesBrokenStreams(t *testing.T) {
	a := grows("output_text", 0, "a")
	failed := func(code, message string) string {
		return wire(a, [2]string{"response.failed", fmt.Sprintf(`"response":{"status":"failed","error":{"code":%q,"message":%q}}`, code, message)})
	}
	event := func(fields string) string { return wire(a, [2]string{"error", fields}) }
	const limit = `"error":{"type":"usage_limit_reached","message":"used up","resets_in_seconds":300}`
	for _, c := range []struct {
		name, body string
		want       llm.Fault
		text       string
		wait       time.Duration
	}{
		{"empty", "", llm.Broken, "without a finish reason", 0},
		{"no end", wire(a, done(0, messageOf("a"))), llm.Broken, "without a finish reason", 0},
		{"another protocol's end", wire(a) + "data: [DONE]\n\n", llm.Broken, "without a finish reason", 0},
		{"incomplete for no known reason", wire(a, incomplete("tired")), llm.Broken, "incomplete: tired", 0},
		{"failed", failed("", ""), llm.Broken, "", 0},
		{"failed without a reason", wire(a, [2]string{"response.failed", `"response":{"error":null}`}), llm.Broken, "does not say why", 0},
		{"failed without a response", wire(a, [2]string{"response.failed", ""}), llm.Broken, "does not say why", 0},
		{"failed for no known reason", failed("odd", "gone"), llm.Broken, "gone", 0},
		{"rate limit", failed("rate_limit_exceeded", "Rate limit reached for m. Please try again in 11.054s. Visit x"), llm.RateLimit, "Rate limit", 11054 * time.Millisecond},
		{"rate limit, milliseconds", failed("rate_limit_exceeded", "try again in 20ms."), llm.RateLimit, "", 20 * time.Millisecond},
		{"rate limit, minutes", failed("rate_limit_exceeded", "try again in 6m0s"), llm.RateLimit, "", 6 * time.Minute},
		{"rate limit, in words", failed("rate_limit_exceeded", "Try again in 35 seconds."), llm.RateLimit, "", 35 * time.Second},
		{"rate limit, no number", failed("rate_limit_exceeded", "try again in a while"), llm.RateLimit, "", 0},
		{"rate limit, the request is too large", failed("rate_limit_exceeded", "Request too large for m on tokens per min"), llm.TooLarge, "", 0},
		{"overflow", failed("context_length_exceeded", "Your input exceeds the context window"), llm.TooLarge, "", 0},
		{"overflow, by its words", failed("odd", "Your input exceeds the context window"), llm.TooLarge, "", 0},
		{"quota", failed("insufficient_quota", "x"), llm.Payment, "", 0},
		{"not in the plan", failed("usage_not_included", "x"), llm.Payment, "", 0},
		{"server", failed("server_error", "x"), llm.Overloaded, "", 0},
		{"overloaded", failed("server_is_overloaded", "x"), llm.Overloaded, "", 0},
		{"prompt", failed("invalid_prompt", "x"), llm.BadRequest, "", 0},
		{"picture", failed("image_too_large", "x"), llm.BadRequest, "", 0},
		{"policy", failed("bio_policy", "x"), llm.BadRequest, "", 0},
		{"error event", event(`"code":"server_error","message":"gone tok-secret","param":null`), llm.Overloaded, "gone [the token]", 0},
		{"error event without a code", event(`"code":null,"message":"gone"`), llm.Broken, "gone", 0},
		{"error in an event", event(limit + `,"status_code":429`), llm.RateLimit, "used up", 5 * time.Minute},
		{"error in an event, no status", event(limit), llm.RateLimit, "used up", 5 * time.Minute},
		{"status of an error event", event(`"status":401,"error":{"type":"odd","message":"no"}`), llm.Auth, "no", 0},
		{"error without a type", "data: {\"error\":{\"code\":\"server_error\",\"message\":\"gone\"}}\n\n", llm.Overloaded, "gone", 0},
		{"JSON error", `{"error":{"message":"busy","code":503}}`, llm.Overloaded, "busy", 0},
		{"web page", "<!doctype html>\n<p>hello", llm.NotFound, "a web page came instead", 0},
		{"no JSON", "data: {\n\n", llm.Malformed, "", 0},
		{"other JSON", "data: []\n\n", llm.Malformed, "", 0},
		{"an item that is none", wire(done(0, `7`), ended("")), llm.Malformed, "", 0},
		{"a message that is none", wire(done(0, `{"type":"message","content":7}`), ended("")), llm.Malformed, "", 0},
		{"a piece that is none", wire([2]string{"response.output_text.delta", `"delta":[7]`}, ended("")), llm.Malformed, "", 0},
		{"an end that is none", wire([2]string{"response.completed", `"response":7`}), llm.Malformed, "", 0},
		{"call without a name", wire(done(0, `{"type":"function_call","call_id":"a","arguments":"{}"}`), ended("")), llm.Malformed, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := open(t, signedIn(canned{body: c.body})).Answer(t.Context(), hello(), nil)
			e := faultIn(t, err, c.want)
			if !strings.Contains(e.Text, c.text) || e.RetryAfter != c.wait || got.Text != "" {
				t.Errorf("got %+v with the answer %+v", e, got)
			}
		})
	}
}

func TestResponsesStopInTheMiddle(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := llmtest.NewServer(llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Hang, At: 500})
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := signedIn(transport)
	c.BaseURL = s.URL
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user said stop")
	_, err := open(t, c).Answer(ctx, hello(), func(llm.Delta) { cancel(stop) })
	if !errors.Is(err, stop) || llm.Retryable(err) {
		t.Errorf("got %v", err)
	}
}

func TestResponsesSilence(t *testing.T) {
	const s = time.Second
	a, end := wire(grows("output_text", 0, "a")), wire(ended(""))
	for _, c := range []struct {
		name  string
		model paced
		want  llm.Fault // empty: an answer
		after time.Duration
	}{
		{"no head", paced{head: time.Hour}, llm.Idle, 120 * s},
		{"stops in the middle", paced{0, []pause{{100 * s, a}, {time.Hour, end}}}, llm.Idle, 160 * s},
		{"slow", paced{0, []pause{{100 * s, a}, {59 * s, a}, {59 * s, end}}}, "", 218 * s},
		{"V4: only pings", paced{0, append([]pause{{0, a}}, slices.Repeat([]pause{{s, "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n"}}, 500)...)}, llm.Idle, 60 * s},
		{"never closes", paced{0, []pause{{0, a + end}, {time.Hour, ""}}}, "", 5 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := open(t, signedIn(c.model)).Answer(t.Context(), hello(), nil)
				if c.want == "" && err != nil {
					t.Fatalf("answer: %v", err)
				}
				if c.want != "" {
					faultIn(t, err, c.want)
				}
				if took := time.Since(start); took != c.after { // the bubble's clock
					t.Errorf("it took %v, want %v", took, c.after)
				}
			})
		})
	}
}

// bytewise is a body of which each byte comes after a pause.
func bytewise(body string, after time.Duration) (list []pause) {
	for i := range len(body) {
		list = append(list, pause{after, body[i : i+1]})
	}
	return list
}
