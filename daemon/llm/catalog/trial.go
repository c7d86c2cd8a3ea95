package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// maxAnswer is the output limit of a trial's requests, in tokens: much for a sentence, but a model may think before it.
const maxAnswer = 2048

// Limits of what a report quotes, in characters.
const (
	maxText = 500
	maxName = 200
)

// Outcome is what came of one check.
type Outcome string

// The outcomes of checks.
const (
	Yes     Outcome = "yes"             // it can
	No      Outcome = "no"              // it answered, and cannot
	Wrong   Outcome = "wrong_arguments" // it called the tool, but not as asked
	Refused Outcome = "refused"         // the server takes no such request
	Failed  Outcome = "failed"          // there was no answer to judge
	Skipped Outcome = "skipped"         // it was not tried
)

// Check is one thing that a model was put to.
type Check struct {
	Outcome Outcome   `json:"outcome"`
	Fault   llm.Fault `json:"fault,omitempty"` // the kind of the error, where there is one
	Error   string    `json:"error,omitempty"` // why it is not "yes"
	TookMS  int64     `json:"took_ms"`
}

// Talk is the check of plain text.
type Talk struct {
	Check
	Text    string  `json:"text,omitempty"` // what it said, safe to show
	FirstMS int64   `json:"first_ms"`       // until the first piece, be it thought or text
	Pieces  int     `json:"pieces"`
	Streams bool    `json:"streams"`                     // it came in more than one piece
	Speed   float64 `json:"tokens_per_second,omitempty"` // behind the first piece; of the whole where it does not stream
}

// Counting says who has counted tokens.
type Counting string

// The ways of counting tokens.
const (
	ByServer   Counting = "server"
	ByEstimate Counting = "estimate"
	ByNobody   Counting = "none"
)

// Report is what a trial has shown.
type Report struct {
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Text     Talk      `json:"text"`
	Call     Check     `json:"tool_call"`   // it calls a tool with the number that it was given
	Result   Check     `json:"tool_result"` // it uses what the tool returned
	Vision   Check     `json:"vision"`      // it sees a picture
	Usage    llm.Usage `json:"usage"`       // the sum; priced only if every request is
	Counted  Counting  `json:"counted"`
	TookMS   int64     `json:"took_ms"`
}

// Trial puts a model to real calls, four at most, and never repeats one: a sentence, a tool's call, the use of its result,
// a picture. open makes the model; it must read files through the ones it is given. A first call that shows that no other
// can work (the key, the name, the line) ends the trial; so does ctx, which is the only limit of time.
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

// trial is a trial under way.
type trial struct {
	model   llm.Model
	clock   sys.Clock
	report  Report
	answers int
	priced  bool // so far every request has a price
	guessed bool // so far every count is an estimate
}

func (t *trial) run(ctx context.Context, open func(llm.Files) (llm.Model, error)) {
	var err error
	if t.model, err = open(picture{}); err != nil {
		t.report.Text.Check = failure(err, 0)
		return
	}
	info := t.model.Info()
	t.report.Provider, t.report.Model = info.Provider, llm.Printable(info.Model, maxName)
	t.report.Text = t.talk(ctx)
	switch t.report.Text.Fault {
	case llm.Unfunded, llm.Auth, llm.Forbidden, llm.NotFound, llm.Network, llm.Untrusted:
		return
	}
	if ctx.Err() == nil {
		t.report.Call, t.report.Result = t.tool(ctx)
	}
	if ctx.Err() == nil {
		t.report.Vision = t.see(ctx)
	}
}

// heard is an answer and how it came.
type heard struct {
	llm.Answer
	took, first time.Duration // first is 0 without a piece
	pieces      int
	thought     bool // its thoughts came too
}

// ask makes one request and keeps the books.
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
	h.Answer, h.took = a, t.clock.Mono()-start
	if err != nil {
		t.priced = t.priced && (!llm.Billable(err) || t.model.Info().Local)
		return h, err
	}
	t.book(a)
	return h, nil
}

// MarshalJSON writes a cost that is not known as null.
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

// book adds an answer to the sum.
func (t *trial) book(a llm.Answer) {
	sum := &t.report.Usage
	sum.Input += a.Usage.Input
	sum.Cached += a.Usage.Cached
	sum.Output += a.Usage.Output
	sum.Reasoning += a.Usage.Reasoning
	sum.Cost += a.Usage.Cost
	t.answers++
	t.priced = t.priced && (a.Usage.Priced || t.model.Info().Local)
	t.guessed = t.guessed && a.Usage.Estimated
}

// counted says who has counted.
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

// talk asks for a sentence.
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

// speed is in tokens per second, 0 when there is nothing to tell it by. Thoughts that did not come are no part of it.
func (h heard) speed() float64 {
	tokens, span := h.Usage.Output, h.took
	if !h.thought {
		tokens -= h.Usage.Reasoning
	}
	if h.pieces > 1 {
		span -= h.first
	}
	if tokens <= 0 || span <= 0 {
		return 0
	}
	return math.Round(float64(tokens)/span.Seconds()*10) / 10
}

const (
	toolName = "report_number"
	number   = 4817 // what the tool is to be called with
	receipt  = "731"
)

// tool asks for a call, and hands over its result. The tool's answer stands nowhere else: who repeats it has read it.
func (t *trial) tool(ctx context.Context) (call, result Check) {
	result = Check{Outcome: Skipped}
	tools := []llm.Tool{{
		Name: toolName, Description: "Reports a number and returns the number of its receipt.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"],"additionalProperties":false}`),
	}}
	question := say(fmt.Sprintf("Report the number %d with the tool %s. Then tell me the number of the receipt.", number, toolName))
	h, err := t.ask(ctx, tools, question)
	if err != nil {
		return refusal(err, h.took), result
	}
	if call = called(h); call.Outcome != Yes || ctx.Err() != nil {
		return call, result
	}
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

// called judges the answer that should have called the tool.
func called(h heard) Check {
	check := Check{Outcome: Wrong, TookMS: h.took.Milliseconds()}
	if len(h.Calls) == 0 {
		return judge(h, false)
	}
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

// see shows a picture.
func (t *trial) see(ctx context.Context) Check {
	question := say("The left half of this picture is white. Which colour has its right half? Answer in one word; if you see no picture, answer: none.")
	question.Parts = append(question.Parts, event.Part{Kind: event.Image, Artifact: pictureID, Name: "picture.png", MIME: "image/png"})
	h, err := t.ask(ctx, nil, question)
	if err != nil {
		return refusal(err, h.took)
	}
	return judge(h, strings.Contains(strings.ToLower(h.Text), pictureColour))
}

// judge makes a check of an answer that is as it should be, or is not.
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

// failure makes a check of a request that came to nothing.
func failure(err error, took time.Duration) Check {
	return Check{Outcome: Failed, Fault: llm.FaultOf(err), Error: llm.Printable(err.Error(), maxText), TookMS: took.Milliseconds()}
}

// refusal is a failure of a request that asks for more than text. Plain text has worked by then, so a server that finds this one
// wrong takes no tools, or no pictures; some say that no such model is there.
func refusal(err error, took time.Duration) Check {
	check := failure(err, took)
	switch check.Fault {
	case llm.BadRequest, llm.NotFound, llm.NoImages:
		check.Outcome = Refused
	}
	return check
}

func say(text string) llm.Message { return llm.Message{Role: llm.User, Parts: event.Say(text)} }
