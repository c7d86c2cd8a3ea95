package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"

	api "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func thousandChunks() string {
	return llmtest.Streamed(llmtest.Say(strings.Repeat("word ", 1000))).Wire(0)
}

// BenchmarkDecode reads an answer of 1,000 chunks; BenchmarkDecodeAnchor reads the same with the library's stream and
// accumulator.
func BenchmarkDecode(b *testing.B) {
	m := open(b, config(canned{body: thousandChunks()}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Answer(b.Context(), hello(), func(llm.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeAnchor(b *testing.B) {
	chat := api.NewChatService(option.WithBaseURL("http://model.test/v1"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: canned{body: thousandChunks()}}))
	b.ReportAllocs()
	for b.Loop() {
		stream := chat.Completions.NewStreaming(b.Context(), api.ChatCompletionNewParams{
			Model: "m", Messages: []api.ChatCompletionMessageParamUnion{api.UserMessage("hello")},
		})
		var acc api.ChatCompletionAccumulator
		for stream.Next() {
			acc.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			b.Fatal(err)
		}
	}
}
