package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	chanall "hob/channels/all"
	"hob/daemon/event"
	"hob/daemon/llm"
	llmall "hob/daemon/llm/all"
	"hob/daemon/mcp"
	"hob/daemon/record"
)

// Replayed is what hob reads in a recording.
type Replayed struct {
	record.Head
	Cut  string          `json:"cut,omitempty"` // the beginning of its last line, if that is not complete
	Read []*record.Heard `json:"read"`

	// Of an MCP server: the tools that it lists, those that hob leaves out, and what of its output is no message.
	Tools   []string `json:"tools,omitempty"`
	LeftOut []string `json:"left_out,omitempty"`
	Skipped []string `json:"skipped,omitempty"`
}

// Replay reads a recording and gives its responses to the parser that they were for. It needs no daemon and sends nothing.
func Replay(ctx context.Context, path string) (Replayed, error) {
	log, err := record.Read(path)
	if err != nil {
		return Replayed{}, err
	}
	r := Replayed{Head: log.Head, Cut: log.Cut}
	switch kind, name, _ := strings.Cut(log.Subject, "."); kind {
	case "mcp":
		err = caught(func() error {
			r.Read, r.Tools, r.LeftOut, r.Skipped = mcp.Replay(ctx, name, log)
			return nil
		})
	case "channels":
		r.Read, err = replayChannel(ctx, name, log, chanall.All())
	default:
		r.Read, err = replayModel(ctx, log, llmall.All())
	}
	return r, cmp.Or(ctx.Err(), err)
}

// caught runs a parser. Its panic is an error like any other, as in the daemon.
func caught(parse func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("hob panicked: %v", r)
		}
	}()
	return parse()
}

// replayModel asks the backend again, once for each request for an answer, with the tools that the request offered. The backend may send a
// request once more, for example after a refusal by name: then the next response is the one to that.
func replayModel(ctx context.Context, log record.Log, backends []llm.Backend) ([]*record.Heard, error) {
	i := slices.IndexFunc(backends, func(b llm.Backend) bool { return b.Name == log.Backend })
	if i < 0 {
		return nil, event.NewFault(event.Invalid, "use the hob that wrote it, "+log.Version, "this hob has no backend %q", log.Backend)
	}
	list := log.Exchanges()
	for left := list; len(left) > 0 && ctx.Err() == nil; {
		h := left[0]
		request, ok := offered(h.Asked)
		if !ok || h.Answer == nil {
			left = left[1:]
			continue
		}
		begun := len(left)
		tape := &record.Tape{Next: func(*http.Request) *record.Heard {
			if len(left) == 0 {
				return nil
			}
			if next := left[0]; next != h {
				h.Fault, h = fmt.Sprintf("continued in request %d", next.N), next
			}
			left = left[1:]
			return h
		}}
		model, err := backends[i].New(llm.Config{
			Provider: log.Backend, Model: log.Model, BaseURL: "http://recording.invalid/v1", APIKey: "recorded",
			HTTP: &http.Client{Transport: tape}, Now: func() time.Time { return h.Asked.At },
		})
		if err != nil {
			return nil, err
		}
		var a llm.Answer
		err = caught(func() (err error) {
			a, err = model.Answer(ctx, request, nil)
			return err
		})
		if len(left) == begun { // it was refused before it was sent
			left = left[1:]
		}
		h.Parsed, h.Text, h.Thinking, h.Repaired = true, a.Text, len([]rune(a.Reasoning)), a.Repaired
		for _, c := range a.Calls {
			h.Calls = append(h.Calls, c.Name+" "+string(c.Args))
		}
		if h.Fault = ""; err != nil {
			h.Fault = err.Error()
		}
	}
	return list, nil
}

// tool is a tool in a request, in each of the protocols.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Input       json.RawMessage `json:"input_schema"`
	Function    *tool           `json:"function"`
}

// offered reads the tools of a request. false: it is no request for an answer.
func offered(e record.Entry) (r llm.Request, ok bool) {
	var body struct {
		Messages, Input json.RawMessage
		Tools           []tool
	}
	r.Messages = []llm.Message{{Role: llm.User, Parts: []event.Part{{Kind: event.Text, Text: "Replay."}}}}
	if err := json.Unmarshal(e.Content(), &body); err != nil {
		return r, e.Cut // a long one; its answer can be read without the tools
	}
	for _, t := range body.Tools {
		if t.Function != nil {
			t = *t.Function
		}
		if t.Name != "" { // not one that the server runs itself
			r.Tools = append(r.Tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: slices.Concat(t.Parameters, t.Input)})
		}
	}
	return r, body.Messages != nil || body.Input != nil
}
