package agent_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm/llmtest"
)

// refuses answers with a status and words that give the key away.
func refuses(status int, words string) llmtest.Turn {
	return llmtest.Failed(status, words+" (key "+theKey+")")
}

// waits answers with a status and asks for a wait.
func waits(status int, retryAfter string) llmtest.Turn {
	t := refuses(status, "slow down")
	t.Header = http.Header{"Retry-After": {retryAfter}}
	return t
}

// until answers 429 and asks for a wait until a moment, counted from now.
func until(d time.Duration) func(int) llmtest.Turn {
	return func(int) llmtest.Turn {
		return waits(http.StatusTooManyRequests, time.Now().Add(d).UTC().Format(http.TimeFormat))
	}
}

// coded answers with a status and an error object that has a code.
func coded(status int, code, words string) llmtest.Turn {
	return llmtest.Turn{Status: status, Body: `{"error":{"message":"` + words + `","code":"` + code + `"}}`}
}

func TestFaultsByStatus(t *testing.T) {
	const (
		tooLong  = "the conversation is too long for the model (/new begins a new one)"
		overload = "the model's server is overloaded or broken"
		limited  = "the model's server limits requests (HTTP 429): slow down"
		page     = "<html><body>Bad gateway</body></html>"
	)
	playAll(t, []fault{
		// What another try cannot mend.
		{name: "400", turn: refuses(400, "bad field"), asks: 1, says: "the model's server refused the request (HTTP 400): bad field (key [the key])"},
		{name: "401", turn: refuses(401, "wrong key"), asks: 1, says: "refused the key (HTTP 401): wrong key (key [the key]) (check api_key in the config; hob model test tries it)"},
		{name: "402", turn: refuses(402, "no credits"), asks: 1, says: "wants to be paid (HTTP 402): no credits (key [the key]) (the account at the provider needs money)"},
		{name: "403", turn: refuses(403, "not for you"), asks: 1, says: "the model's server does not allow this (HTTP 403): not for you"},
		{name: "404", turn: refuses(404, "nothing here"), asks: 1, says: "no such model or address (HTTP 404): nothing here (key [the key]) (hob model list shows what the server has)"},
		{name: "404 with a web page", turn: llmtest.Turn{Status: 404, Body: page}, asks: 1, says: "check base_url"},
		{name: "413", turn: refuses(413, "too large"), asks: 1, says: tooLong},
		{name: "422", turn: refuses(422, "no such field"), asks: 1, says: "refused the request (HTTP 422): no such field"},
		{name: "redirect", turn: llmtest.Turn{Status: 307, Header: http.Header{"Location": {"https://elsewhere.test/" + theKey}}}, asks: 1, says: "set base_url to where it really is"},
		{name: "the quota is used up", turn: coded(429, "insufficient_quota", "your quota is used up"), asks: 1, says: "the account at the provider needs money"},
		{name: "context overflow by code", turn: coded(400, "context_length_exceeded", "no"), asks: 1, says: tooLong},
		{name: "context overflow in words", turn: refuses(400, "This model's maximum context length is 8192 tokens"), asks: 1, says: tooLong},
		{name: "context overflow as 500", turn: refuses(500, "the request exceeds the available context size"), asks: 1, says: tooLong},
		{name: "a model renamed", turn: refuses(404, "The model large has been renamed to larger"), asks: 1, says: "The model large has been renamed to larger"},

		// What passes.
		{name: "408", turn: refuses(408, "late"), asks: allTries, takes: allWaits, says: overload + " (HTTP 408): late", once: 2, after: oneWait},
		{name: "409", turn: refuses(409, "busy"), asks: allTries, takes: allWaits, says: overload + " (HTTP 409): busy", once: 2, after: oneWait},
		{name: "429", turn: refuses(429, "slow down"), asks: allTries, takes: allWaits, says: limited, once: 2, after: oneWait},
		{name: "429 for 20 seconds", turn: waits(429, "20"), asks: allTries, takes: 160 * time.Second, says: limited, once: 2, after: 20 * time.Second},
		{name: "429 until in 20 seconds", play: until(20 * time.Second), asks: allTries, takes: 160 * time.Second, says: limited, once: 2, after: 20 * time.Second},
		{name: "429 until a moment ago", play: until(-time.Minute), asks: allTries, takes: allWaits, says: limited, once: 2, after: oneWait},
		{name: "429 for longer than a turn", turn: waits(429, "7200"), asks: 1, says: limited},
		{name: "429 for two minutes, over and over", turn: waits(429, "120"), asks: 8, takes: 7 * 2 * time.Minute, says: limited, once: 2, after: 2 * time.Minute},
		{name: "500", turn: refuses(500, "oops"), asks: allTries, takes: allWaits, says: overload + " (HTTP 500): oops", once: 2, after: oneWait},
		{name: "500 with the key in a wall of text", turn: refuses(500, strings.Repeat("x", 490)), asks: allTries, takes: allWaits, says: "xxx (key", once: 2, after: oneWait},
		{name: "502", turn: refuses(502, "no upstream"), asks: allTries, takes: allWaits, says: overload + " (HTTP 502): no upstream", once: 2, after: oneWait},
		{name: "503", turn: refuses(503, "loading"), asks: allTries, takes: allWaits, says: overload + " (HTTP 503): loading", once: 2, after: oneWait},
		{name: "503 for 5 seconds", turn: waits(503, "5"), asks: allTries, takes: 40 * time.Second, says: overload, once: 2, after: 5 * time.Second},
		{name: "529", turn: refuses(529, "overloaded"), asks: allTries, takes: allWaits, says: overload + " (HTTP 529): overloaded", once: 2, after: oneWait},
		{name: "429 for two hours, and the owner knows", turn: waits(429, "7200"), asks: 1, says: "2h"},
		{name: "502 with a web page", turn: llmtest.Turn{Status: 502, Body: page}, asks: allTries, takes: allWaits, says: overload + " (HTTP 502)", never: "base_url", once: 2, after: oneWait},
		{name: "the region is refused", turn: coded(403, "unsupported_country_region_territory", "your country is not supported"), asks: 1, says: "your country is not supported", never: "check api_key"},
	})
}

// The table itself can tell health from a fault; and a server may name a model more exactly than it was asked for.
func TestNoFaultAtAll(t *testing.T) {
	playAll(t, []fault{
		{name: "an answer", turn: streams("fine"), state: turn.Done, asks: 1, says: "fine"},
		{name: "an answer of another model than asked for", turn: or(llmtest.Turn{Raw: renamed}, strings.Replace(messageStart, "large", "large-2026-11-20", 1), blockStart(0, textBlock), blockDelta(0, `{"type":"text_delta","text":"hello from elsewhere"}`), blockStop(0), messageEnd("end_turn"), messageStop), state: turn.Done, asks: 1, says: "hello from elsewhere"},
	})
}

const renamed = `data: {"id":"c","object":"chat.completion.chunk","model":"large-2026-11-20","choices":[{"index":0,"delta":{"content":"hello from elsewhere"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","model":"large-2026-11-20","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}

data: [DONE]

`
