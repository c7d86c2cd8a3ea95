package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"

	api "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// spoken is what the stream of the decoding benchmarks says.
var spoken = strings.Repeat("word ", 1000)

func thousandChunks() string { return llmtest.Streamed(llmtest.Say(spoken)).Wire(0) }

// BenchmarkDecode reads an answer of 1,000 chunks; BenchmarkDecodeAnchor reads the same with the library's stream and
// accumulator. Both send a request first, and both must end with the whole text.
func BenchmarkDecode(b *testing.B) {
	m := open(b, config(canned{body: thousandChunks()}))
	b.ReportAllocs()
	for b.Loop() {
		a, err := m.Answer(b.Context(), hello(), func(llm.Delta) {})
		if err != nil || a.Text != spoken {
			b.Fatalf("%d bytes, %v", len(a.Text), err)
		}
	}
}

func BenchmarkDecodeAnchor(b *testing.B) {
	chat := api.NewChatService(option.WithBaseURL("http://model.test/v1"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: canned{body: thousandChunks()}}))
	b.ReportAllocs()
	for b.Loop() {
		stream := chat.Completions.NewStreaming(b.Context(), api.ChatCompletionNewParams{
			Model: "m", Messages: []api.ChatCompletionMessageParamUnion{api.SystemMessage("be kind"), api.UserMessage("hello")},
		})
		var acc api.ChatCompletionAccumulator
		for stream.Next() {
			acc.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil || acc.Choices[0].Message.Content != spoken {
			b.Fatal(err)
		}
	}
}

// errTaken is how the transport of the encoding benchmark ends a request whose body it has seen.
var errTaken = errors.New("taken")

type taker struct{}

func (taker) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return nil, errTaken
}

// longTalk is a transcript of 40 turns, each with a call and its result, and 20 tools; once as hob holds it, once as the
// library does.
func longTalk() (llm.Request, api.ChatCompletionNewParams) {
	const schema = `{"type":"object","properties":{"path":{"type":"string","description":"where it is"},"limit":{"type":"integer","minimum":1}},"required":["path"]}`
	var parameters shared.FunctionParameters
	if err := json.Unmarshal([]byte(schema), &parameters); err != nil {
		panic(err) // the text above is JSON
	}
	r := llm.Request{System: strings.Repeat("Be kind & brief. ", 500)}
	p := api.ChatCompletionNewParams{
		Model: "m", MaxTokens: api.Int(8192), StreamOptions: api.ChatCompletionStreamOptionsParam{IncludeUsage: api.Bool(true)},
		Messages: []api.ChatCompletionMessageParamUnion{api.SystemMessage(r.System)},
	}
	for i := range 20 {
		name, about := fmt.Sprintf("tool_%d", i), "Does one thing, and does it well."
		r.Tools = append(r.Tools, llm.Tool{Name: name, Description: about, Parameters: json.RawMessage(schema)})
		p.Tools = append(p.Tools, api.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Description: api.String(about), Parameters: parameters}))
	}
	for i := range 40 {
		question, result, reply := fmt.Sprintf("%d: what does \"a/b\" say?", i), strings.Repeat("line of a file\n", 70), strings.Repeat("It says so. ", 20)
		id, args := fmt.Sprintf("t%d_1", i), `{"path":"a/b","limit":10}`
		r.Messages = append(r.Messages, user(question),
			llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: id, Name: "tool_1", Args: json.RawMessage(args)}}},
			llm.Message{Role: llm.ToolRole, CallID: id, Parts: event.Say(result)},
			llm.Message{Role: llm.Assistant, Parts: event.Say(reply)})
		call := api.ChatCompletionMessageFunctionToolCallParam{ID: id, Function: api.ChatCompletionMessageFunctionToolCallFunctionParam{Name: "tool_1", Arguments: args}}
		p.Messages = append(p.Messages, api.UserMessage(question),
			api.ChatCompletionMessageParamUnion{OfAssistant: &api.ChatCompletionAssistantMessageParam{ToolCalls: []api.ChatCompletionMessageToolCallUnionParam{{OfFunction: &call}}}},
			api.ToolMessage(result, id), api.AssistantMessage(reply))
	}
	return r, p
}

func TestTheAnchorEncodesTheSameRequest(t *testing.T) {
	r, p := longTalk()
	anchor, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var ours, theirs map[string]any
	if err := errors.Join(json.Unmarshal([]byte(sent(t, config(nil), r)), &ours), json.Unmarshal(anchor, &theirs)); err != nil {
		t.Fatal(err)
	}
	delete(ours, "stream") // the library adds it when it sends
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("ours\n%.2000v\ntheirs\n%.2000v", ours, theirs)
	}
}

// Each request sends all messages again, so writing one message must cost little, with the head of the owner's messages too.
func TestCostOfAMessage(t *testing.T) {
	m := open(t, config(taker{}))
	r, _ := longTalk()
	for i := range r.Messages {
		if r.Messages[i].Role == llm.User {
			r.Messages[i].Envelope = &llm.Envelope{Source: "telegram", Sender: "sam", Trust: event.Owner, Typed: true, Zone: "UTC"}
		}
	}
	allocations := func(r llm.Request) float64 {
		return testing.AllocsPerRun(20, func() {
			if _, err := m.Answer(t.Context(), r, nil); !errors.Is(err, errTaken) {
				t.Fatal(err)
			}
		})
	}
	one := allocations(r)
	longer := r
	longer.Messages = slices.Concat(r.Messages, r.Messages)
	if each := (allocations(longer) - one) / float64(len(r.Messages)); each > 4.5 {
		t.Errorf("%.1f allocations for each message", each)
	}
}

// BenchmarkEncode writes a request and hands it to the client; BenchmarkEncodeAnchor only marshals the same request with the
// library's types.
func BenchmarkEncode(b *testing.B) {
	r, _ := longTalk()
	m := open(b, config(taker{}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Answer(b.Context(), r, nil); !errors.Is(err, errTaken) {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeAnchor(b *testing.B) {
	_, p := longTalk()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(p); err != nil {
			b.Fatal(err)
		}
	}
}
