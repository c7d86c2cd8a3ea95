package catalog_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/llm/llmtest"
	"hob/daemon/llm/openai"
	"hob/daemon/sys"
)

// mind is a scripted model that does each part of a trial in a way that the test sets.
type mind struct {
	files  llm.Files
	talk   func() (llm.Answer, error)
	call   func() (llm.Answer, error)
	result func(receipt string) (llm.Answer, error)
	see    func(colour string) (llm.Answer, error)
}

func says(text string) func() (llm.Answer, error) {
	return func() (llm.Answer, error) { return llmtest.Say(text), nil }
}

func fails(f llm.Fault, text string) func() (llm.Answer, error) {
	return func() (llm.Answer, error) { return llm.Answer{}, &llm.Error{Fault: f, Status: 400, Text: text} }
}

func calls(tool, args string) func() (llm.Answer, error) {
	return func() (llm.Answer, error) { return llmtest.Use(tool, args), nil }
}

// able is a model that can do everything.
func able() *mind {
	return &mind{
		talk: says("It warns ships."), call: calls("report_number", `{"number":4817}`),
		result: func(receipt string) (llm.Answer, error) { return llmtest.Say("The receipt is " + receipt + "."), nil },
		see:    func(colour string) (llm.Answer, error) { return llmtest.Say(colour), nil },
	}
}

// answer looks at what is asked, as a model does.
func (m *mind) answer(ctx context.Context, r llm.Request) (llm.Answer, error) {
	last := r.Messages[len(r.Messages)-1]
	for _, p := range last.Parts {
		if p.Kind == event.Image {
			return m.see(look(ctx, m.files, p.Artifact))
		}
	}
	switch {
	case last.Role == llm.ToolRole:
		var result struct{ Receipt json.Number }
		if err := json.Unmarshal([]byte(event.TextOf(last.Parts)), &result); err != nil {
			return llm.Answer{}, err
		}
		return m.result(result.Receipt.String())
	case len(r.Tools) > 0:
		return m.call()
	default:
		return m.talk()
	}
}

// look names what a picture shows: the colour of its right half, if the left one is white.
func look(ctx context.Context, files llm.Files, artifact string) string {
	data, err := files.Bytes(ctx, artifact)
	if err != nil {
		return err.Error()
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return err.Error()
	}
	size := img.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			want := color.RGBA{255, 255, 255, 255}
			if x >= size.X/2 {
				want = color.RGBA{255, 128, 0, 255}
			}
			if got := color.RGBAModel.Convert(img.At(x, y)); got != want {
				return fmt.Sprintf("%v at %d, %d", got, x, y)
			}
		}
	}
	if size.X < 64 || size.X != size.Y {
		return "something small" // some models take no smaller pictures
	}
	return "Orange."
}

// try puts a mind to a trial, and returns what it was asked too.
func try(ctx context.Context, m *mind) (catalog.Report, []llm.Request) {
	script := llmtest.NewScript(m.answer)
	r := catalog.Trial(ctx, func(files llm.Files) (llm.Model, error) {
		m.files = files
		return script, nil
	}, sys.RealClock())
	return r, script.Requests()
}

// outcomes are those of the four checks.
func outcomes(r catalog.Report) string {
	return fmt.Sprint(r.Text.Outcome, " ", r.Call.Outcome, " ", r.Result.Outcome, " ", r.Vision.Outcome)
}

func TestTrial(t *testing.T) {
	said := func(text string) func(string) (llm.Answer, error) {
		return func(string) (llm.Answer, error) { return llmtest.Say(text), nil }
	}
	failed := func(f llm.Fault) func(string) (llm.Answer, error) {
		return func(string) (llm.Answer, error) { return fails(f, "not so")() }
	}
	finished := func(text string, f llm.Finish) func() (llm.Answer, error) {
		return func() (llm.Answer, error) { return llm.Answer{Text: text, Finish: f}, nil }
	}
	for _, c := range []struct {
		name string
		make func(*mind)
		want string // outcomes
		text string // of the error of the check that is not "yes"
		asks int
	}{
		{"can do everything", func(*mind) {}, "yes yes yes yes", "", 4},
		{"says nothing", func(m *mind) { m.talk = says(" ") }, "no yes yes yes", `it said ""`, 4},
		{"thinks to the limit", func(m *mind) { m.talk = finished("", llm.Length) }, "no yes yes yes", "cut at", 4},
		{"is filtered", func(m *mind) { m.talk = finished("", llm.Filtered) }, "refused yes yes yes", "refused to answer", 4},
		{"breaks off once", func(m *mind) { m.talk = fails(llm.Broken, "") }, "failed yes yes yes", "broke off", 4},
		{"wants a key", func(m *mind) { m.talk = fails(llm.Auth, "bad key") }, "failed skipped skipped skipped", "bad key", 1},
		{"is not there", func(m *mind) { m.talk = fails(llm.NotFound, "no m") }, "failed skipped skipped skipped", "no m", 1},
		{"has no line", func(m *mind) { m.talk = fails(llm.Network, "") }, "failed skipped skipped skipped", "cannot be reached", 1},
		{"talks instead of a call", func(m *mind) { m.call = says("report_number(4817)") }, "yes no skipped yes", `it said "report_number(4817)"`, 3},
		{"takes no tools", func(m *mind) { m.call = fails(llm.BadRequest, "m does not support tools") }, "yes refused skipped yes", "does not support tools", 3},
		{"is routed to nobody", func(m *mind) { m.call = fails(llm.NotFound, "no endpoints") }, "yes refused skipped yes", "no endpoints", 3},
		{"is busy", func(m *mind) { m.call = fails(llm.Overloaded, "busy") }, "yes failed skipped yes", "busy", 3},
		{"calls with another number", func(m *mind) { m.call = calls("report_number", `{"number":1}`) }, "yes wrong_arguments skipped yes", `{"number":1}`, 3},
		{"calls with a text", func(m *mind) { m.call = calls("report_number", `{"number":"4817"}`) }, "yes wrong_arguments skipped yes", `"4817"`, 3},
		{"calls with too much", func(m *mind) { m.call = calls("report_number", `{"number":4817,"n":1}`) }, "yes wrong_arguments skipped yes", `"n"`, 3},
		{"calls in other case", func(m *mind) { m.call = calls("report_number", `{"Number":4817}`) }, "yes wrong_arguments skipped yes", "Number", 3},
		{"calls with half of it", func(m *mind) { m.call = calls("report_number", `{"number":4817`) }, "yes wrong_arguments skipped yes", "4817", 3},
		{"calls with nothing", func(m *mind) { m.call = calls("report_number", `null`) }, "yes wrong_arguments skipped yes", "null", 3},
		{"calls something else", func(m *mind) { m.call = calls("report\x1b", `{"number":4817}`) }, "yes wrong_arguments skipped yes", "called report_ with", 3},
		{"writes it as it likes", func(m *mind) { m.call = calls("report_number", ` {"number": 4.817e3}`) }, "yes yes yes yes", "", 4},
		{"does not read the result", func(m *mind) { m.result = said("Done.") }, "yes yes no yes", `it said "Done."`, 4},
		{"calls again and again", func(m *mind) {
			m.result = func(string) (llm.Answer, error) { return m.call() }
		}, "yes yes no yes", "it called report_number instead of an answer", 4},
		{"takes no results", func(m *mind) { m.result = failed(llm.BadRequest) }, "yes yes refused yes", "not so", 4},
		{"is blind", func(m *mind) { m.see = said("None.") }, "yes yes yes no", `it said "None."`, 4},
		{"sees wrongly", func(m *mind) { m.see = said("Red") }, "yes yes yes no", `it said "Red"`, 4},
		{"takes no pictures", func(m *mind) { m.see = failed(llm.NoImages) }, "yes yes yes refused", "not so", 4},
		{"finds pictures wrong", func(m *mind) { m.see = failed(llm.BadRequest) }, "yes yes yes refused", "not so", 4},
		{"falls silent", func(m *mind) { m.see = failed(llm.Idle) }, "yes yes yes failed", "not so", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := able()
			c.make(m)
			r, asked := try(t.Context(), m)
			if got := outcomes(r); got != c.want || len(asked) != c.asks {
				t.Errorf("%s after %d requests: %+v", got, len(asked), r)
			}
			all := r.Text.Error + r.Call.Error + r.Result.Error + r.Vision.Error
			if !strings.Contains(all, c.text) || (c.text == "") != (all == "") {
				t.Errorf("the errors are %q", all)
			}
		})
	}
}

// Two calls of one answer are each answered, in order, right behind it.
func TestTrialAnswersEachCall(t *testing.T) {
	m := able()
	m.call = func() (llm.Answer, error) {
		a := llmtest.UseAll(llmtest.Use("report_number", `{"number":4817}`), llmtest.Use("report_number", `{"number":4817}`))
		a.Text, a.Raw = "I will.", json.RawMessage(`{"kept":1}`)
		return a, nil
	}
	r, asked := try(t.Context(), m)
	if r.Result.Outcome != catalog.Yes {
		t.Fatalf("got %+v", r)
	}
	var got []string
	for _, msg := range asked[2].Messages {
		got = append(got, fmt.Sprint(msg.Role, " ", len(msg.Calls), " ", msg.CallID, " ", string(msg.Raw)))
	}
	want := []string{"user 0  ", `assistant 2  {"kept":1}`, "tool 0 call_1 ", "tool 0 call_2 "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
}

func TestTrialWithoutAModel(t *testing.T) {
	r := catalog.Trial(t.Context(), func(llm.Files) (llm.Model, error) { return nil, errors.New("no such\nbackend") }, sys.RealClock())
	if outcomes(r) != "failed skipped skipped skipped" || r.Text.Error != "no such backend" || r.Counted != catalog.ByNobody {
		t.Errorf("got %+v", r)
	}
}

func TestTrialIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := able()
	m.call = func() (llm.Answer, error) {
		cancel()
		return llm.Answer{}, context.Canceled
	}
	r, asked := try(ctx, m)
	if outcomes(r) != "yes failed skipped skipped" || len(asked) != 2 {
		t.Errorf("got %+v after %d requests", r, len(asked))
	}
}

func TestTrialHasOnePicture(t *testing.T) {
	m := able()
	try(t.Context(), m)
	if data, err := m.files.Bytes(t.Context(), "other"); err == nil {
		t.Errorf("another artifact has %d bytes", len(data))
	}
}

// paced is a model that answers in the time that it is told to.
type paced struct {
	llm.Model

	deltas []llm.Delta // one each second, beginning with the first second
	answer llm.Answer
}

func (p paced) Answer(_ context.Context, _ llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	for _, d := range p.deltas {
		time.Sleep(time.Second)
		delta(d)
	}
	time.Sleep(500 * time.Millisecond)
	return p.answer, nil
}

// What a busy server asks for reaches the owner.
func TestTrialTellsTheWait(t *testing.T) {
	m := able()
	m.talk = func() (llm.Answer, error) {
		return llm.Answer{}, &llm.Error{Fault: llm.RateLimit, Status: 429, RetryAfter: 29500 * time.Millisecond}
	}
	if r, _ := try(t.Context(), m); r.Text.Fault != llm.RateLimit || r.Text.Wait != 30 {
		t.Errorf("got %+v", r.Text)
	}
}

func TestTrialTakesTime(t *testing.T) {
	text, thought := llm.Delta{Text: "a"}, llm.Delta{Reasoning: "hm"}
	usage := llm.Usage{Input: 10, Output: 30, Reasoning: 20}
	for _, c := range []struct {
		name   string
		deltas []llm.Delta
		usage  llm.Usage
		first  int64
		took   int64
		speed  float64
	}{
		{"streams", []llm.Delta{text, text, text}, llm.Usage{Output: 30}, 1000, 3500, 12}, // 30 in 2.5 s
		{"thinks aloud", []llm.Delta{thought, text, text}, usage, 1000, 3500, 12},
		{"thinks in silence", []llm.Delta{text, text, text}, usage, 1000, 3500, 4}, // 10 in 2.5 s
		{"in one piece", []llm.Delta{text}, llm.Usage{Output: 30}, 1000, 1500, 20}, // 30 in 1.5 s
		{"without pieces", nil, llm.Usage{Output: 30}, 0, 500, 60},
		{"without a count", []llm.Delta{text, text}, llm.Usage{}, 1000, 2500, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := paced{llmtest.NewScript(nil), c.deltas, llm.Answer{Text: "aaa", Usage: c.usage}}
				r := catalog.Trial(t.Context(), func(llm.Files) (llm.Model, error) { return m, nil }, sys.RealClock())
				got := r.Text
				if got.FirstMS != c.first || got.TookMS != c.took || got.Speed != c.speed || got.Pieces != len(c.deltas) || got.Streams != (len(c.deltas) > 1) {
					t.Errorf("got %+v", got)
				}
				if r.TookMS != 3*c.took || r.Vision.TookMS != c.took { // the call's check ends with its first answer
					t.Errorf("in all %d ms", r.TookMS)
				}
			})
		})
	}
}

// bill is a model whose answers cost what it is told.
func bill(m *mind, info llm.Info, usage ...llm.Usage) catalog.Report {
	n := 0
	script := llmtest.NewScript(func(ctx context.Context, r llm.Request) (llm.Answer, error) {
		a, err := m.answer(ctx, r)
		a.Usage = usage[min(n, len(usage)-1)]
		n++
		return a, err
	}).As(info)
	return catalog.Trial(context.Background(), func(files llm.Files) (llm.Model, error) {
		m.files = files
		return script, nil
	}, sys.RealClock())
}

func TestTrialCost(t *testing.T) {
	cost := func(micros int64) llm.Usage {
		return llm.Usage{Input: 100, Cached: 10, Output: 20, Reasoning: 5, Cost: micros, Priced: true}
	}
	r := bill(able(), llm.Info{}, cost(1), cost(20), cost(300), cost(4000))
	if want := (llm.Usage{Input: 400, Cached: 40, Output: 80, Reasoning: 20, Cost: 4321, Priced: true}); r.Usage != want {
		t.Errorf("got %+v", r.Usage)
	}
	unpriced := llm.Usage{Input: 100, Output: 20}
	if r := bill(able(), llm.Info{}, cost(1), unpriced, cost(300)); r.Usage.Priced || r.Usage.Cost != 601 {
		t.Errorf("one price is missing: %+v", r.Usage)
	}
	if r := bill(able(), llm.Info{Local: true}, unpriced); !r.Usage.Priced || r.Usage.Cost != 0 {
		t.Errorf("a local model costs nothing: %+v", r.Usage)
	}
	broken, refused := able(), able()
	broken.call, refused.call = fails(llm.Broken, ""), fails(llm.BadRequest, "")
	if r := bill(broken, llm.Info{}, cost(1)); r.Usage.Priced || r.Usage.Cost != 2 {
		t.Errorf("nobody knows what a broken stream costs: %+v", r.Usage)
	}
	if r := bill(refused, llm.Info{}, cost(1)); !r.Usage.Priced || r.Usage.Cost != 2 {
		t.Errorf("a refusal costs nothing: %+v", r.Usage)
	}
	locked := able()
	locked.talk = fails(llm.Auth, "")
	if r := bill(locked, llm.Info{}, cost(1)); r.Usage.Priced {
		t.Errorf("nothing was answered: %+v", r.Usage)
	}
}

// overTheWire makes a trial of a server, which is given no pictures.
func overTheWire(t *testing.T, s *llmtest.Server) catalog.Report {
	t.Helper()
	t.Cleanup(s.Close)
	return catalog.Trial(t.Context(), func(llm.Files) (llm.Model, error) {
		return openai.New(llm.Config{Provider: "compatible", Model: "m", BaseURL: s.URL})
	}, sys.RealClock())
}

func TestTrialOverTheWire(t *testing.T) {
	counted := func(a llm.Answer) llmtest.Turn {
		a.Usage = llm.Usage{Input: 50, Output: 25}
		return llmtest.Streamed(a)
	}
	s := llmtest.NewServer(counted(llmtest.Say("It warns ships.")), counted(llmtest.Use("report_number", `{"number":4817}`)))
	s.Otherwise(func(r llmtest.Request) llmtest.Turn {
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" && last.CallID == "call_1" {
			return counted(llmtest.Say("Its number is 731"))
		}
		return counted(llmtest.Say("none"))
	})
	r := overTheWire(t, s)
	if outcomes(r) != "yes yes yes no" || !r.Text.Streams || r.Text.Pieces != 3 || r.Text.Text != "It warns ships." || r.Counted != catalog.ByServer {
		t.Errorf("got %+v", r)
	}
	if r.Provider != "compatible" || r.Model != "m" || r.Usage.Input != 200 || r.Usage.Output != 100 {
		t.Errorf("got %+v", r)
	}
	asked := s.Requests()
	if len(asked) != 4 || len(asked[0].Tools) != 0 || len(asked[1].Tools) != 1 || !strings.Contains(string(asked[1].Body), "4817") ||
		strings.Contains(string(asked[1].Body), "731") || strings.Contains(string(asked[3].Body), "orange") {
		t.Error("the questions are not what they should be")
	}
}

func TestTrialWithoutUsage(t *testing.T) {
	silent := func(a llm.Answer) llmtest.Turn { return llmtest.Turn{Answer: a, NoUsage: true} }
	s := llmtest.NewServer(silent(llmtest.Say("It warns ships.")), silent(llmtest.Use("report_number", `{"number":4817}`)), silent(llmtest.Say("731")), silent(llmtest.Say("none")))
	if r := overTheWire(t, s); r.Counted != catalog.ByEstimate || r.Usage.Output == 0 {
		t.Errorf("got %+v", r)
	}
}

func TestTrialOfALockedServer(t *testing.T) {
	s := llmtest.NewServer(llmtest.Failed(401, "who are you?"))
	r := overTheWire(t, s)
	if outcomes(r) != "failed skipped skipped skipped" || r.Text.Fault != llm.Auth || !strings.Contains(r.Text.Error, "who are you?") || len(s.Requests()) != 1 {
		t.Errorf("got %+v", r)
	}
}

// The picture goes the whole way: out of the trial's files, through the adapter, to a server that finds it in the request.
func TestTrialShowsThePictureOverTheWire(t *testing.T) {
	f := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		answer := llmtest.Say("It warns ships.")
		if _, rest, ok := strings.Cut(string(body), "data:image/png;base64,"); ok {
			code, _, _ := strings.Cut(rest, `"`)
			answer = llmtest.Say(look(r.Context(), sent(code), ""))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, llmtest.Streamed(answer).Wire(len(body)))
	}))
	t.Cleanup(f.Close)
	r := catalog.Trial(t.Context(), func(files llm.Files) (llm.Model, error) {
		return openai.New(llm.Config{Provider: "compatible", Model: "m", BaseURL: f.URL + "/v1", Files: files})
	}, sys.RealClock())
	if outcomes(r) != "yes no skipped yes" {
		t.Errorf("got %+v", r)
	}
}

// sent is a picture as a request carries it.
type sent string

func (s sent) Bytes(context.Context, string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(string(s))
}

// Scripts read the report: its names stay.
func TestReportNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := paced{llmtest.NewScript(nil).As(llm.Info{Provider: "p", Model: "m"}), []llm.Delta{{Text: "a"}, {Text: "b"}}, llm.Answer{Text: "ab", Usage: llm.Usage{Input: 1, Output: 30}}}
		r := catalog.Trial(t.Context(), func(llm.Files) (llm.Model, error) { return m, nil }, sys.RealClock())
		same(t, r, json.RawMessage(`{"provider":"p","model":"m",`+
			`"text":{"outcome":"yes","took_ms":2500,"text":"ab","first_ms":1000,"pieces":2,"streams":true,"tokens_per_second":20},`+
			`"tool_call":{"outcome":"no","error":"it said \"ab\"","took_ms":2500},"tool_result":{"outcome":"skipped","took_ms":0},`+
			`"vision":{"outcome":"no","error":"it said \"ab\"","took_ms":2500},`+
			`"counted":"server","took_ms":7500,"usage":{"input":3,"cached":0,"output":90,"reasoning":0,"priced":false,"cost_micros":null}}`))
	})
}

// same compares through JSON, which follows pointers.
func same(t *testing.T, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// A trial names what a server sends otherwise than the protocol says, with what helps, and judges the call by what hob reads.
func TestTrialNamesTheDialect(t *testing.T) {
	s := llmtest.NewServer(llmtest.Streamed(llmtest.Say("<think>ships</think>It warns ships.")),
		llmtest.Streamed(llmtest.Say(`<tool_call>{"name":"functions.report_number","arguments":"{\"number\":4817}"}</tool_call>`)))
	s.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("731 orange")) })
	r := overTheWire(t, s)
	if outcomes(r) != "yes yes yes yes" {
		t.Errorf("got %+v", r)
	}
	all := strings.Join(r.Dialect, "\n")
	for _, want := range []string{"thinking inside the text: hob takes it out. Start vLLM", "written as text: the server has no parser for the tool calls", "--jinja", `the name "functions.report_number"`} {
		if strings.Count(all, want) != 1 {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if able := overTheWire(t, llmtest.NewServer(llmtest.Streamed(llmtest.Say("It warns ships.")))); len(able.Dialect) > 0 {
		t.Errorf("a server that keeps to the protocol has %q", able.Dialect)
	}
}
