package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// anthropicError is a refusal in the protocol's form.
func anthropicError(message string) string {
	b, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": message}, "request_id": "req_1"})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Kind 7 of inputs.md in the Messages protocol, as Anthropic, Bedrock and the servers that speak it write their refusals.
func TestWhatIsRefusedByNameIsLeftOutOrFitted(t *testing.T) {
	for _, c := range []struct {
		name        string
		model       string
		thinking    string
		body        string
		has, hasNot string
	}{
		{"the longest answer", "claude-3-opus", "", anthropicError("max_tokens: 16384 > 4096, which is the maximum allowed number of output tokens for claude-3-opus-20240229"), `"max_tokens":4096,`, "16384"},
		{"Bedrock: the longest answer", "claude-3-opus", "", `{"message":"The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192."}`, `"max_tokens":8192,`, "16384"},
		{"the window", "claude-3-opus", "", anthropicError("input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000, decrease input length or `max_tokens` and try again"), `"max_tokens":8192,`, "16384"},
		{"hardly any room in the window", "claude-3-opus", "", anthropicError("input length and `max_tokens` exceed context limit: 199000 + 16384 > 200000, decrease input length or `max_tokens` and try again"), `"max_tokens":1000,`, "16384"},
		{"adaptive thinking", "claude-new", "high", anthropicError("adaptive thinking is not supported on this model"), `"output_config"`, `"thinking"`},
		{"a form of thinking", "claude-opus-4-5", "high", anthropicError("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."), `"max_tokens"`, `"thinking"`},
		{"the effort", "claude-new", "high", anthropicError("This model does not support the effort parameter."), `"thinking"`, "effort"},
		{"a level of effort", "claude-new", "xhigh", anthropicError("output_config.effort: Input should be 'low', 'medium' or 'high'"), `"output_config":{"effort":"high"}`, "xhigh"},
		{"the display of thinking", "claude-new", "high", anthropicError("thinking.adaptive.display: Extra inputs are not permitted"), `"thinking":{"type":"adaptive"}`, "display"},
		{"Bedrock: output_config", "claude-new", "high", `{"message":"output_config: Extra inputs are not permitted"}`, `"thinking"`, "output_config"},
		{"GitHub Copilot and Bedrock: the marks of the cache", "claude-new", "", `{"error":{"message":"system.0.cache_control.ephemeral: Extra inputs are not permitted","code":"invalid_request_body"}}`, `"max_tokens"`, `"system":[{"type":"text","text":"be kind","cache_control"`},
		{"a server that knows no cache", "claude-new", "", `{"error":"json: unknown field \"cache_control\""}`, `"max_tokens"`, "cache_control"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := llmtest.NewServer(llmtest.Turn{Status: 400, Body: c.body}, llmtest.Streamed(llmtest.Say("ok")))
			t.Cleanup(s.Close)
			m := open(t, llm.Config{Provider: "anthropic", Model: c.model, BaseURL: s.URL, APIKey: "sk-secret", Thinking: c.thinking})
			if _, err := m.Answer(t.Context(), hello(), nil); err != nil {
				t.Fatal(err)
			}
			sent := s.Requests()
			if len(sent) != 2 {
				t.Fatalf("%d requests", len(sent))
			}
			if got := string(sent[1].Body); !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) || !json.Valid(sent[1].Body) {
				t.Errorf("want %q and not %q in\n%s", c.has, c.hasNot, got)
			}
		})
	}
}

func TestOtherRefusalsFailAtOnce(t *testing.T) {
	for _, c := range []struct {
		message string
		want    llm.Fault
	}{
		{"prompt is too long: 200082 tokens > 200000 maximum", llm.TooLarge},
		{"input length and `max_tokens` exceed context limit: 199900 + 16384 > 200000, decrease input length or `max_tokens` and try again", llm.TooLarge},
		{"`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation", llm.BadRequest},
		{"messages.1.content.0.thinking: Extra inputs are not permitted", llm.BadRequest},
		{"messages.1.content.0.tool_use.input: Extra inputs are not permitted", llm.BadRequest},
		{"tools.0.custom.input_schema.properties.title: Extra inputs are not permitted", llm.BadRequest},
		{"messages: at least one message is required", llm.BadRequest},
		{"temperature: may only be set to 1 when thinking is enabled; other values are not supported", llm.BadRequest},
	} {
		s := llmtest.NewServer(llmtest.Turn{Status: 400, Body: anthropicError(c.message)}, llmtest.Streamed(llmtest.Say("ok")))
		t.Cleanup(s.Close)
		_, err := open(t, llm.Config{Provider: "anthropic", Model: "claude-new", BaseURL: s.URL, Thinking: "high"}).Answer(t.Context(), hello(), nil)
		if faultIn(t, err, c.want); len(s.Requests()) != 1 {
			t.Errorf("%d requests after %s", len(s.Requests()), c.message)
		}
	}
}
