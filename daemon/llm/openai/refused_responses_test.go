package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// Kind 7 of inputs.md in the Responses protocol.
func TestResponsesLeavesOutWhatIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		name        string
		thinking    string
		status      int
		body        string
		has, hasNot string
	}{
		{"Codex: max_output_tokens", "", 400, `{"detail":"Unsupported parameter: max_output_tokens"}`, `"input"`, "max_output_tokens"},
		{"OpenAI, GPT-4o: the summary", "", 400, object("Unsupported parameter: 'reasoning.summary' is not supported with this model.", "reasoning.summary", "unsupported_parameter"), `"input"`, `"reasoning":`},
		{"OpenAI, an organisation that is not verified", "high", 400, object("Your organization must be verified to generate reasoning summaries: unsupported parameter.", "reasoning.summary", "unsupported_value"), `"reasoning":{"effort":"high"}`, "summary"},
		{"OpenAI, GPT-4.1: reasoning.effort", "high", 400, object("Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort", "unsupported_parameter"), `"reasoning":{"summary":"auto"}`, "effort"},
		{"OpenAI, GPT-5.1-codex: minimal becomes low", "minimal", 400, object("Unsupported value: 'minimal' is not supported with the 'gpt-5.1-codex' model. Supported values are: 'low', 'medium', and 'high'.", "reasoning.effort", "unsupported_value"), `"effort":"low"`, "minimal"},
		{"OpenAI, GPT-5-pro: low becomes high", "low", 400, object("Unsupported value: 'low' is not supported with the 'gpt-5-pro' model. Supported values are: 'high'.", "reasoning.effort", "unsupported_value"), `"effort":"high"`, `"low"`},
		{"OpenAI: the encrypted reasoning", "", 400, object("Encrypted content is not supported with this model.", "include", "invalid_value"), `"input"`, `"include"`},
		{"Azure: parallel_tool_calls", "", 400, object("Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", "parallel_tool_calls", "unsupported_parameter"), `"tools"`, "parallel_tool_calls"},
		{"LM Studio: tool_choice", "", 400, `{"error":{"message":"Unrecognized key(s) in object: 'tool_choice' is not supported","type":"invalid_request_error"}}`, `"tools"`, "tool_choice"},
		{"llama.cpp: the key of the cache", "", 400, `{"error":{"code":400,"message":"Unsupported param: prompt_cache_key","type":"invalid_request_error"}}`, `"tools"`, "prompt_cache_key"},
		{"Open Responses: strict", "", 422, `{"detail":[{"type":"extra_forbidden","loc":["body","tools",0,"function","strict"],"msg":"Extra inputs are not permitted","input":false}]}`, `"parameters":{"type":"object"}}`, "strict"},
		{"OpenAI: the longest answer", "", 400, object("Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 4096, but got 8192 instead.", "max_output_tokens", "integer_above_max_value"), `"max_output_tokens":4096`, "8192"},
		{"vLLM: the window", "", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 11192 tokens (3000 in the messages, 8192 in the completion).","type":"BadRequestError"}}`, `"max_output_tokens":4096`, "8192"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, refused(c.status, c.body), llmtest.Streamed(llmtest.Say("ok")), llmtest.Streamed(llmtest.Say("ok")))
			m := open(t, llm.Config{Provider: "codex", Model: "m", BaseURL: s.URL, APIKey: "sk-secret", Thinking: c.thinking})
			r := hello()
			r.Tools = conversation().Tools
			for range 2 {
				if _, err := m.Answer(t.Context(), r, nil); err != nil {
					t.Fatal(err)
				}
			}
			bodies := bodiesOf(s)
			if len(bodies) != 3 {
				t.Fatalf("%d requests", len(bodies))
			}
			// The window is the agent's to fit after that, by what Info says.
			if strings.HasSuffix(c.name, "window") && m.Info().Context == 8192 {
				bodies = bodies[:2]
			}
			for _, body := range bodies[1:] {
				if !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) || !json.Valid([]byte(body)) {
					t.Errorf("want %q and not %q in\n%s", c.has, c.hasNot, body)
				}
			}
		})
	}
}

func TestResponsesFailsAtOnceForTheRest(t *testing.T) {
	for _, body := range []string{
		object("Unsupported parameter: 'input' is not supported with this model.", "input", "unsupported_parameter"),
		object("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "input", ""),
		object("Invalid 'tools[0].name': string does not match pattern.", "tools[0].name", "invalid_value"),
		`{"detail":"Instructions are not valid"}`,
		`{"detail":"Stream must be set to true"}`,
	} {
		s := serve(t, refused(400, body), llmtest.Streamed(llmtest.Say("ok")))
		m := open(t, llm.Config{Provider: "codex", Model: "m", BaseURL: s.URL, APIKey: "sk-secret", Thinking: "high"})
		_, err := m.Answer(t.Context(), hello(), nil)
		if faultIn(t, err, llm.BadRequest); len(s.Requests()) != 1 {
			t.Errorf("%d requests after %s", len(s.Requests()), body)
		}
	}
}
