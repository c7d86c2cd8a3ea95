package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// tools are two tools.
func tools() []llm.Tool {
	var list []llm.Tool
	for _, name := range []string{"read", "exec"} {
		list = append(list, llm.Tool{Name: name, Description: "Does " + name + ".", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	}
	return list
}

func TestSuite(t *testing.T) {
	s := serve(t)
	s.Otherwise(func(r llmtest.Request) llmtest.Turn {
		if strings.HasSuffix(r.Last(), "use tools") {
			return llmtest.Streamed(llmtest.UseAll(llmtest.Use("read", `{"path":"a"}`), llmtest.Use("exec", `{"command":"b"}`)))
		}
		a := llmtest.Say("hello to you, über all")
		a.Reasoning = "they said hello"
		return llmtest.Streamed(a)
	})
	m := at(t, s)
	llmtest.Suite(t, func(*testing.T) llmtest.Subject {
		return llmtest.Subject{Model: m, Plain: hello(), Calls: llm.Request{Tools: tools(), Messages: []llm.Message{user("use tools")}}}
	})
}
