package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// maxAnswer limits each answer of a trial, in tokens. It is more than a sentence needs, because a model may think first.
const maxAnswer = 2048

// Limits of what a report quotes, in characters.
const (
	maxText = 500
	maxName = 200
)

// Outcome is the result of one check.
type Outcome string

// Outcomes of a check.
const (
	Yes     Outcome = "yes"             // the model can do it
	No      Outcome = "no"              // it answered but cannot do it
	Wrong   Outcome = "wrong_arguments" // it called the tool with wrong arguments
	Refused Outcome = "refused"         // the server rejects such a request
	Failed  Outcome = "failed"          // there was no answer to judge
	Skipped Outcome = "skipped"         // the check was not made
)

// Check is the result of one ability.
type Check struct {
	Outcome Outcome   `json:"outcome"`
	Fault   llm.Fault `json:"fault,omitempty"` // the kind of the error; "" without one
	Error   string    `json:"error,omitempty"` // why the outcome is not "yes"
	TookMS  int64     `json:"took_ms"`
	Wait    int64     `json:"retry_after_seconds,omitempty"` // the wait that the server asked for
}

// Talk is the result of the check with plain text.
type Talk struct {
	Check
	Text    string  `json:"text,omitempty"` // the answer, safe to show
	FirstMS int64   `json:"first_ms"`       // time to the first piece of reasoning or text
	Pieces  int     `json:"pieces"`
	Streams bool    `json:"streams"`                     // the answer came in more than one piece
	Speed   float64 `json:"tokens_per_second,omitempty"` // after the first piece; over the whole answer without streaming
}

// Counting is the source of the token count.
type Counting string

// Sources of the token count.
const (
	ByServer   Counting = "server"
	ByEstimate Counting = "estimate"
	ByNobody   Counting = "none"
)

// Report is the result of a trial.
type Report struct {
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Text     Talk      `json:"text"`
	Call     Check     `json:"tool_call"`   // it calls a tool with the given number
	Result   Check     `json:"tool_result"` // it uses the tool's result
	Vision   Check     `json:"vision"`      // it sees a picture
	Usage    llm.Usage `json:"usage"`       // the sum; priced only if every request is
	Counted  Counting  `json:"counted"`
	Context  int       `json:"context_tokens,omitempty"` // the largest request
	Few      bool      `json:"few_tools,omitempty"`      // requests describe few tools
	TookMS   int64     `json:"took_ms"`
	Dialect  []string  `json:"dialect,omitempty"` // what its answers write otherwise than the protocol says, with what helps
	Learned  []string  `json:"learned,omitempty"` // what its server has refused by name, and what is sent instead
}

// Trial tests a model with at most four real requests: a sentence, a tool call, the use of its result, a picture. It repeats none. open
// creates the model, which must read files through the given llm.Files. If the first request shows that no other can work (wrong key, name
// or address), the trial ends. Only ctx limits the time.
func Trial(ctx context.Context, open func(llm.Files) (llm.Model, error), c sys.Clock) Report {
	skipped := Check{Outcome: Skipped}
	t := &trial{clock: c, report: Report{Text: Talk{Check: skipped}, Call: skipped, Result: skipped, Vision: skipped}, priced: true, guessed: true}
	start := c.Mono()
	t.run(ctx, open)
	t.report.TookMS = (c.Mono() - start).Milliseconds()
	t.report.Usage.Priced = t.priced && t.answers > 0
	t.report.Counted = t.counted()
	return t.report
}

// trial is a running trial.
type trial struct {
	model   llm.Model
	clock   sys.Clock
	report  Report
	answers int
	priced  bool // so far every request has a price
	guessed bool // so far every count is an estimate
}

// run tries a text, then a tool call with its result, then an image, and stops where the rest cannot work.
func (t *trial) run(ctx context.Context, open func(llm.Files) (llm.Model, error)) {
	var err error
	if t.model, err = open(picture{}); err != nil {
		t.report.Text.Check = failure(err, 0)
		return
	}
	info := t.model.Info()
	t.report.Provider, t.report.Model = info.Provider, llm.Printable(info.Model, maxName)
	t.report.Text = t.talk(ctx)
	defer func() { t.report.Context, t.report.Few = t.model.Info().Context, t.model.Info().Few }() // a refusal may have told another window
	// After these faults no other request can work.
	switch t.report.Text.Fault {
	case llm.OverBudget, llm.Auth, llm.Forbidden, llm.NotFound, llm.Network, llm.Untrusted:
		return
	}
	if ctx.Err() == nil {
		t.report.Call, t.report.Result = t.tool(ctx)
	}
	if ctx.Err() == nil {
		t.report.Vision = t.see(ctx)
	}
}

// heard is an answer with its timing.
type heard struct {
	llm.Answer
	took, first time.Duration // first is 0 if nothing was streamed
	pieces      int
	thought     bool // the reasoning was streamed, too
}

// ask makes one request and adds its usage to the report.
func (t *trial) ask(ctx context.Context, tools []llm.Tool, messages ...llm.Message) (heard, error) {
	var h heard
	start := t.clock.Mono()
	a, err := t.model.Answer(ctx, llm.Request{Tools: tools, Messages: messages, MaxOutput: maxAnswer}, func(d llm.Delta) {
		if h.pieces == 0 {
			h.first = t.clock.Mono() - start
		}
		h.pieces++
		h.thought = h.thought || d.Reasoning != ""
	})
	a.ReadCalls(func(name string) (json.RawMessage, bool) { return json.RawMessage(toolSchema), name == toolName }, func() []string { return []string{toolName} })
	h.Answer, h.took = a, t.clock.Mono()-start
	if err != nil {
		// A failed request that may have been billed has an unknown cost, and so has the sum.
		t.priced = t.priced && (!llm.Billable(err) || t.model.Info().Local)
		return h, err
	}
	t.book(a)
	for _, what := range a.Repaired {
		if what += remedy(what); !slices.Contains(t.report.Dialect, what) {
			t.report.Dialect = append(t.report.Dialect, what)
		}
	}
	return h, nil
}

// remedy is what a dialect costs and how to start a server without it; "" where it costs nothing.
func remedy(what string) string {
	switch what {
	case llm.CallsAsText:
		return ": the server has no parser for the tool calls of this model, so hob reads them, and a call that is cut off or mixed with text is lost. " +
			"Start vLLM with --enable-auto-tool-choice --tool-call-parser NAME, SGLang with --tool-call-parser NAME, llama.cpp with --jinja"
	case llm.ThinkingInText:
		return ": hob takes it out. Start vLLM or SGLang with --reasoning-parser NAME, llama.cpp with --reasoning-format auto"
	case llm.TemplateWords:
		return ": the server runs the model with another model's chat template, which costs quality. Choose the template of this model"
	}
	return ""
}

// MarshalJSON writes an unknown cost as null.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	type sum struct {
		llm.Usage
		Cost *int64 `json:"cost_micros"`
	}
	doc := struct {
		plain
		Usage sum `json:"usage"`
	}{plain(r), sum{Usage: r.Usage}}
	if r.Usage.Priced {
		doc.Usage.Cost = &r.Usage.Cost
	}
	return json.Marshal(doc)
}

// book adds the usage of an answer to the sum.
func (t *trial) book(a llm.Answer) {
	t.report.Usage = t.report.Usage.Add(a.Usage)
	t.report.Usage.Estimated = false // Counted tells it
	t.answers++
	t.priced = t.priced && (a.Usage.Priced || t.model.Info().Local)
	t.guessed = t.guessed && a.Usage.Estimated
}

// counted returns the source of the count.
func (t *trial) counted() Counting {
	switch {
	case t.report.Usage.Tokens() == 0:
		return ByNobody
	case t.guessed:
		return ByEstimate
	default:
		return ByServer
	}
}

// talk asks for one sentence.
func (t *trial) talk(ctx context.Context) Talk {
	h, err := t.ask(ctx, nil, say("Tell me in one short sentence what a lighthouse is for."))
	if err != nil {
		return Talk{Check: failure(err, h.took), FirstMS: h.first.Milliseconds(), Pieces: h.pieces, Streams: h.pieces > 1}
	}
	return Talk{
		Check: judge(h, strings.TrimSpace(h.Text) != ""), Text: llm.Printable(h.Text, maxText),
		FirstMS: h.first.Milliseconds(), Pieces: h.pieces, Streams: h.pieces > 1, Speed: h.speed(),
	}
}

// speed returns tokens per second; 0 if it cannot be measured. Reasoning that was not streamed does not count.
func (h heard) speed() float64 {
	tokens, span := h.Usage.Output, h.took
	if !h.thought {
		tokens -= h.Usage.Reasoning
	}
	// The wait for the first piece is loading and reading the prompt, not writing.
	if h.pieces > 1 {
		span -= h.first
	}
	if tokens <= 0 || span <= 0 {
		return 0
	}
	return math.Round(float64(tokens)/span.Seconds()*10) / 10
}

const (
	toolName   = "report_number"
	toolSchema = `{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"],"additionalProperties":false}`
	number     = 4817 // the argument that the model must use
	receipt    = "731"
)

// tool asks for a call and returns its result to the model. The receipt appears only in the tool's result, so a model that repeats it has
// read the result.
func (t *trial) tool(ctx context.Context) (call, result Check) {
	result = Check{Outcome: Skipped}
	tools := []llm.Tool{{
		Name: toolName, Description: "Reports a number and returns the number of its receipt.",
		Parameters: json.RawMessage(toolSchema),
	}}
	question := say(fmt.Sprintf("Report the number %d with the tool %s. Then tell me the number of the receipt.", number, toolName))
	h, err := t.ask(ctx, tools, question)
	if err != nil {
		return refusal(err, h.took), result
	}
	if call = called(h); call.Outcome != Yes || ctx.Err() != nil {
		return call, result
	}
	// Answer the calls as hob would, to see whether the model uses a result.
	spoken := llm.Message{Role: llm.Assistant, Calls: h.Calls, Raw: h.Raw}
	if h.Text != "" {
		spoken.Parts = event.Say(h.Text)
	}
	messages := []llm.Message{question, spoken}
	for _, c := range h.Calls {
		messages = append(messages, llm.Message{Role: llm.ToolRole, CallID: c.ID, Parts: event.Say(`{"receipt":` + receipt + `}`)})
	}
	h, err = t.ask(ctx, tools, messages...)
	if err != nil {
		return call, refusal(err, h.took)
	}
	return call, judge(h, strings.Contains(h.Text, receipt))
}

// called checks the calls of an answer.
func called(h heard) Check {
	check := Check{Outcome: Wrong, TookMS: h.took.Milliseconds()}
	if len(h.Calls) == 0 {
		return judge(h, false)
	}
	// Every call must be right: a model that adds a wrong one would do so in use, too.
	for _, c := range h.Calls {
		var args map[string]float64
		if err := json.Unmarshal(c.Args, &args); c.Name != toolName || err != nil || len(args) != 1 || args["number"] != number {
			check.Error = fmt.Sprintf("it called %s with %s", llm.Printable(c.Name, maxName), llm.Printable(string(c.Args), maxName))
			return check
		}
	}
	check.Outcome = Yes
	return check
}

// see asks about a picture.
func (t *trial) see(ctx context.Context) Check {
	question := say("The left half of this picture is white. Which colour has its right half? Answer in one word; if you see no picture, answer: none.")
	question.Parts = append(question.Parts, event.Part{Kind: event.Image, Artifact: pictureID, Name: "picture.png", MIME: "image/png"})
	h, err := t.ask(ctx, nil, question)
	if err != nil {
		return refusal(err, h.took)
	}
	return judge(h, strings.Contains(strings.ToLower(h.Text), pictureColour))
}

// judge returns the check of an answer.
func judge(h heard, right bool) Check {
	check := Check{Outcome: Yes, TookMS: h.took.Milliseconds()}
	switch {
	case right:
	case h.Finish == llm.Filtered:
		check.Outcome, check.Error = Refused, "it refused to answer"
	case h.Finish == llm.Length:
		check.Outcome, check.Error = No, fmt.Sprintf("its answer was cut at %d tokens: %q", h.Usage.Output, llm.Printable(h.Text, maxName))
	case len(h.Calls) > 0:
		check.Outcome, check.Error = No, fmt.Sprintf("it called %s instead of an answer", llm.Printable(h.Calls[0].Name, maxName))
	default:
		check.Outcome, check.Error = No, fmt.Sprintf("it said %q", llm.Printable(h.Text, maxName))
	}
	return check
}

// failure returns the check of a request that failed.
func failure(err error, took time.Duration) Check {
	check := Check{Outcome: Failed, Fault: llm.FaultOf(err), Error: llm.Printable(err.Error(), maxText), TookMS: took.Milliseconds()}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		check.Wait = int64(math.Ceil(e.RetryAfter.Seconds()))
	}
	return check
}

// refusal returns the check of a failed request with tools or a picture. Plain text has worked before, so a server that rejects this
// request does not support them; some report an unknown model instead.
func refusal(err error, took time.Duration) Check {
	check := failure(err, took)
	switch check.Fault {
	// These say that the server does not take such a request. Other faults say nothing about the ability.
	case llm.BadRequest, llm.NotFound, llm.NoImages, llm.NoTools:
		check.Outcome = Refused
	}
	return check
}

// say returns a message of the user without an envelope.
func say(text string) llm.Message { return llm.Message{Role: llm.User, Parts: event.Say(text)} }
