package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"

	"go.uber.org/goleak"
)

func TestStatuses(t *testing.T) {
	object := func(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) }
	for _, c := range []struct {
		status int
		body   string
		want   llm.Fault
		text   string
	}{
		{400, object("bad"), llm.BadRequest, "bad"},
		{422, `{"detail":"bad"}`, llm.BadRequest, "bad"},
		{422, `{"detail":[{"msg":"bad"}]}`, llm.BadRequest, `[{"msg":"bad"}]`},
		{418, "tea", llm.BadRequest, "tea"},
		{401, object("key sk-secret is wrong"), llm.Auth, "key [the key] is wrong"},
		{403, `{"error":"no"}`, llm.Forbidden, "no"},
		{402, object("pay"), llm.Payment, "pay"},
		{429, `{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}`, llm.Payment, "You exceeded your quota"},
		{404, `{"message":"no model m"}`, llm.NotFound, "no model m"},
		{404, "<html>not here</html>", llm.NotFound, "a web page came instead of an answer; check base_url"},
		{413, "", llm.TooLarge, ""},
		{400, `{"error":{"message":"x","code":"context_length_exceeded"}}`, llm.TooLarge, "x"},
		{400, object("This model's maximum context length is 8192 tokens"), llm.TooLarge, "This model's maximum context length is 8192 tokens"},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.TooLarge, "the request exceeds the available context size"},
		{400, object("prompt is too long: 300000 tokens > 200000 maximum"), llm.TooLarge, "prompt is too long: 300000 tokens > 200000 maximum"},
		{500, object("input is too long for the context window"), llm.TooLarge, "input is too long for the context window"},
		{429, object("slow down"), llm.RateLimit, "slow down"},
		{429, object("too many tokens, wait"), llm.RateLimit, "too many tokens, wait"},
		{429, object("Request too large for m on tokens per min"), llm.TooLarge, "Request too large for m on tokens per min"},
		{408, "", llm.Overloaded, ""},
		{409, "", llm.Overloaded, ""},
		{500, "oops", llm.Overloaded, "oops"},
		{502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"down","provider_name":"X"}}}`, llm.Overloaded, "Provider returned error: down"},
		{503, "", llm.Overloaded, ""},
		{529, "", llm.Overloaded, ""},
		{204, "", llm.Malformed, ""},
		{500, "a\xffb\n c", llm.Overloaded, "a\uFFFDb c"},
		{500, strings.Repeat("ü", 9000), llm.Overloaded, strings.Repeat("ü", 500)},
		{500, strings.Repeat("x", 1<<20), llm.Overloaded, strings.Repeat("x", 500)},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.body[:min(len(c.body), 40)]), func(t *testing.T) {
			_, err := open(t, config(canned{status: c.status, body: c.body})).Answer(t.Context(), hello(), nil)
			e := faultIn(t, err, c.want)
			if e.Status != c.status || e.Text != c.text || !utf8.ValidString(e.Text) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestOneTryOnly(t *testing.T) {
	s := serve(t, llmtest.Failed(500, "down"), llmtest.Streamed(llmtest.Say("up")))
	_, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
	faultIn(t, err, llm.Overloaded)
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests were made", n)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", http.Header{}, 0},
		{"seconds", http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{"part of a second", http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{"milliseconds", http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, 250 * time.Millisecond},
		{"date by the server's clock", http.Header{"Retry-After": {date(time.Hour + 30*time.Second)}, "Date": {date(time.Hour)}}, 30 * time.Second},
		{"date by our clock", http.Header{"Retry-After": {date(45 * time.Second)}}, 45 * time.Second},
		{"date in the past", http.Header{"Retry-After": {date(-time.Hour)}}, 0},
		{"too long", http.Header{"Retry-After": {"1e300"}}, 24 * time.Hour},
		{"negative", http.Header{"Retry-After": {"-5"}}, 0},
		{"nonsense", http.Header{"Retry-After": {"soon"}}, 0},
		{"no number", http.Header{"Retry-After": {"NaN"}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(canned{status: 429, header: c.header})
			cfg.Now = func() time.Time { return now }
			_, err := open(t, cfg).Answer(t.Context(), hello(), nil)
			if e := faultIn(t, err, llm.RateLimit); e.RetryAfter != c.want {
				t.Errorf("got %v, want %v", e.RetryAfter, c.want)
			}
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       llm.Fault
		text       string
	}{
		{"empty", "", llm.Broken, "without a finish reason"},
		{"no finish reason", data(says("a")), llm.Broken, "without a finish reason"},
		{"only the end mark", data("[DONE]"), llm.Broken, "without a finish reason"},
		{"finish reason in half an event", strings.TrimSuffix(data(says("a"), stopped), "\n\n"), llm.Broken, "without a finish reason"},
		{"error as the reason", data(`{"choices":[{"delta":{},"finish_reason":"error"}]}`), llm.Broken, "with an error"},
		{"web page", "<!doctype html>\n<p>hello", llm.NotFound, "a web page came instead"},
		{"JSON", `{"choices":[{"message":{"content":"a"}}]}`, llm.Malformed, `not a stream: {"choices"`},
		{"JSON without a finish reason", `{"object":"chat.completion","choices":[{"message":{"content":"a"},"finish_reason":null}]}`, llm.Malformed, "not a stream"},
		{"JSON, cut off", whole("a")[:90], llm.Malformed, `not a stream: {"id"`},
		{"JSON, another choice", strings.Replace(whole("a"), `"index":0`, `"index":1`, 1), llm.Malformed, "not a stream"},
		{"JSON without an end", "{" + strings.Repeat(`"a":1,`+"\n", 3<<20), llm.Endless, "longer than 16 MB"},
		{"JSON on lines", "{\n\"a\":1\n}\n", llm.Malformed, `not a stream: { "a":1 }`},
		{"JSON error", `{"error":{"message":"busy","code":503}}` + "\n", llm.Overloaded, "busy"},
		{"JSON error without a code", `{"error":"busy"}`, llm.Broken, "busy"},
		{"text", "hello", llm.Malformed, "not a stream: hello"},
		{"bare CR", strings.ReplaceAll(data(says("a"), stopped), "\n", "\r"), llm.Malformed, "bare CR"},
		{"bare CR and a line", strings.ReplaceAll(data(says("a"), stopped), "\n", "\r") + "\n", llm.Malformed, "bare CR"},
		{"no JSON", data("{"), llm.Malformed, ""},
		{"other JSON", data("[]"), llm.Malformed, ""},
		{"no JSON after the finish", data(stopped, "{"), llm.Malformed, ""},
		{"error chunk", data(says("a"), `{"error":{"message":"gone","code":"server_error"}}`), llm.Broken, "gone"},
		{"error chunk with a status", data(says("a"), `{"error":{"message":"slow down","code":429}}`), llm.RateLimit, "slow down"},
		{"error chunk, overflow", data(`{"error":{"message":"x","code":"context_length_exceeded"}}`), llm.TooLarge, "x"},
		{"error chunk after the finish", data(stopped, `{"error":{"message":"gone"}}`), llm.Broken, "gone"},
		{"error event", "event: error\n" + data(`{"message":"gone sk-secret"}`), llm.Broken, "gone [the key]"},
		{"call without a name", data(callsTool(`{"index":0,"id":"a","function":{"arguments":"{}"}}`), stopped), llm.Malformed, ""},
		{"one endless line", "data: " + strings.Repeat("x", 17<<20), llm.Endless, "longer than 16 MB"},
		{"endless lines", strings.Repeat(": wait\n", 3<<20), llm.Endless, "longer than 16 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := open(t, config(canned{body: c.body})).Answer(t.Context(), hello(), nil)
			e := faultIn(t, err, c.want)
			if !strings.Contains(e.Text, c.text) || a.Text != "" {
				t.Errorf("got %+v with the answer %+v", e, a)
			}
		})
	}
}

// endless is a body that is made while it is read: a head, and then the same piece again and again.
type endless struct {
	head, piece string
	left        int // bytes
	read        int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && e.left > 0 {
		from := e.head
		if e.read >= len(e.head) {
			from = e.piece[(e.read-len(e.head))%len(e.piece):]
		} else {
			from = from[e.read:]
		}
		k := copy(p[n:], from[:min(len(from), e.left)])
		n, e.read, e.left = n+k, e.read+k, e.left-k
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := canned{}.RoundTrip(r)
	if res != nil {
		res.Body = io.NopCloser(e)
	}
	return res, err
}

// TestAnswersWithoutEnd sends 100 MB that are never held anywhere, and looks how much of them is taken.
func TestAnswersWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("much data, which .ci/run sends without the race detector")
	}
	thousand := strings.Repeat("x", 1000)
	field := func(name string) string {
		return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{%q:%q}}]}`, name, thousand))
	}
	for _, c := range []struct {
		name, head, piece string
		limit, asked      int // tokens
		most              int // bytes that may be taken, with the chunks around the text and what is read ahead
	}{
		{"text", "", data(says(thousand)), 0, 0, 1_300_000},
		{"reasoning", "", field("reasoning"), 0, 0, 1_300_000},
		{"thoughts in tags", data(says("<think>")), data(says(thousand)), 0, 0, 1_300_000},
		{"refusal", "", field("refusal"), 0, 0, 1_300_000},
		{"arguments", data(callsTool(`{"index":0,"id":"a","function":{"name":"x","arguments":""}}`)), data(callsTool(`{"index":0,"function":{"arguments":"` + thousand + `"}}`)), 0, 0, 1_300_000},
		{"a high limit", "", data(says(thousand)), 100_000, 0, 3_700_000},
		{"a low limit asked", "", data(says(thousand)), 100_000, 5, 1_300_000},
		{"a limit beyond reason", "", data(says(thousand)), 1 << 30, 0, 16<<20 + 64<<10},
		{"comments", "", ": wait\n", 0, 0, 16<<20 + 64<<10},
		{"chunks that say nothing", "", data(`{"choices":[{"index":0,"delta":{}}]}`), 0, 0, 16<<20 + 64<<10},
		{"one line", "data: ", thousand, 0, 0, 16<<20 + 64<<10},
		{"one object", `{"choices":"`, thousand, 0, 0, 16<<20 + 64<<10},
		{"one object on lines", "{\n", thousand + "\n", 0, 0, 16<<20 + 64<<10},
		{"a page", "<html>\n", thousand + "\n", 0, 0, 200_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := &endless{head: c.head, piece: c.piece, left: 100 << 20}
			cfg := config(body)
			cfg.MaxOutput = c.limit
			r := hello()
			r.MaxOutput = c.asked
			_, err := open(t, cfg).Answer(t.Context(), r, nil)
			want := llm.Endless
			if c.name == "a page" {
				want = llm.Malformed
			}
			if e := faultIn(t, err, want); llm.Retryable(&e) != (want == llm.Malformed) {
				t.Errorf("%v is not to be tried again", e)
			}
			if body.read > c.most {
				t.Errorf("%d bytes were taken", body.read)
			}
		})
	}
}

func TestLongAnswersWithinTheLimit(t *testing.T) {
	for _, c := range []struct{ tokens, bytes int }{{10, 1 << 20}, {100_000, 3_200_000}} {
		cfg := config(canned{body: data(says(strings.Repeat("x", c.bytes)), stopped)})
		cfg.MaxOutput = c.tokens
		if a, err := open(t, cfg).Answer(t.Context(), hello(), nil); err != nil || len(a.Text) != c.bytes {
			t.Errorf("%d bytes of %d tokens: got %d, %v", c.bytes, c.tokens, len(a.Text), err)
		}
		cfg.HTTP = &http.Client{Transport: canned{body: data(says(strings.Repeat("x", c.bytes+1)), stopped)}}
		_, err := open(t, cfg).Answer(t.Context(), hello(), nil)
		faultIn(t, err, llm.Endless)
	}
}

// TestEveryTruncation cuts a stream at every byte, as a proper end and as a broken transfer: there is an error or the
// whole answer.
func TestEveryTruncation(t *testing.T) {
	turn := llmtest.Streamed(llmtest.UseAll(llmtest.Use("read", `{"path":"a"}`), llmtest.Use("exec", `{"command":"b"}`)))
	turn.Answer.Text, turn.Answer.Reasoning = "I will look, über there", "hm"
	turn.Answer.Usage = llm.Usage{Input: 10, Output: 20}
	for _, wire := range []string{turn.Wire(0), strings.ReplaceAll(turn.Wire(0), "\n", "\r\n")} {
		whole := answer(t, wire)
		complete := 0
		for cut := range len(wire) {
			for _, end := range []error{nil, io.ErrUnexpectedEOF} {
				a, err := open(t, config(canned{body: wire[:cut], err: end})).Answer(t.Context(), hello(), nil)
				if err != nil {
					faultIn(t, err, llm.Broken)
					continue
				}
				complete++
				if a.Text != whole.Text || a.Reasoning != whole.Reasoning || a.Finish != whole.Finish || fmt.Sprint(a.Calls) != fmt.Sprint(whole.Calls) {
					t.Fatalf("cut at %d of %d gave %+v", cut, len(wire), a)
				}
			}
		}
		if complete == 0 || complete > len(wire) {
			t.Errorf("%d cuts of %d bytes were complete", complete, len(wire))
		}
	}
}

func TestBrokenConnections(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []struct {
		name string
		turn llmtest.Turn
		want llm.Fault
	}{
		{"cut", llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Cut, At: 300}, llm.Broken},
		{"drop", llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Drop, At: 300}, llm.Broken},
		{"reset", llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Reset, At: 300}, llm.Broken},
		{"no finish", llmtest.Turn{Answer: llmtest.Say("a b c"), NoFinish: true}, llm.Broken},
		{"error", llmtest.Failed(503, "busy"), llm.Overloaded},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.turn)
			_, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
			if e := faultIn(t, err, c.want); !llm.Retryable(&e) {
				t.Error("it is worth another try")
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	s := llmtest.NewServer()
	s.Close()
	_, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
	if e := faultIn(t, err, llm.Network); e.Err == nil {
		t.Error("the cause is lost")
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other := serve(t, llmtest.Streamed(llmtest.Say("a")))
	s := serve(t, llmtest.Turn{Status: 307, Header: http.Header{"Location": {other.URL + "/chat/completions"}}})
	_, err := at(t, s, "compatible").Answer(t.Context(), hello(), nil)
	e := faultIn(t, err, llm.NotFound)
	if !strings.Contains(e.Text, "set base_url") || len(other.Requests()) != 0 {
		t.Errorf("got %+v, and %d requests elsewhere", e, len(other.Requests()))
	}
}

func TestStopInTheMiddle(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := llmtest.NewServer(llmtest.Turn{Answer: llmtest.Say("a b c"), Break: llmtest.Hang, At: 450})
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	m := open(t, llm.Config{Provider: "compatible", Model: "m", BaseURL: s.URL, HTTP: &http.Client{Transport: transport}})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user said stop")
	_, err := m.Answer(ctx, hello(), func(llm.Delta) { cancel(stop) })
	if !errors.Is(err, stop) || llm.Retryable(err) {
		t.Errorf("got %v", err)
	}
}

// paced is a transport that sends pieces with pauses in front of them.
type paced struct {
	head   time.Duration
	pieces []pause
}

type pause struct {
	wait time.Duration
	text string
}

func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := sleep(r.Context(), p.head); err != nil {
		return nil, err
	}
	res, err := canned{}.RoundTrip(r)
	if res != nil {
		res.Body = io.NopCloser(&pacedBody{ctx: r.Context(), pieces: p.pieces})
	}
	return res, err
}

type pacedBody struct {
	ctx    context.Context
	pieces []pause
}

func (b *pacedBody) Read(buf []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	p := b.pieces[0]
	if err := sleep(b.ctx, p.wait); err != nil {
		return 0, err
	}
	b.pieces = b.pieces[1:]
	return copy(buf, p.text), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSilence(t *testing.T) {
	const s = time.Second
	whole := data(says("a"), stopped)
	for _, c := range []struct {
		name  string
		model paced
		want  llm.Fault // empty: an answer
		after time.Duration
	}{
		{"no head", paced{head: time.Hour}, llm.Idle, 120 * s},
		{"late head", paced{119 * s, []pause{{0, whole}}}, "", 119 * s},
		{"head but no byte", paced{100 * s, []pause{{time.Hour, whole}}}, llm.Idle, 120 * s},
		{"first byte in time", paced{60 * s, []pause{{59 * s, whole}}}, "", 119 * s},
		{"stops in the middle", paced{0, []pause{{100 * s, data(says("a"))}, {time.Hour, whole}}}, llm.Idle, 160 * s},
		{"slow", paced{0, []pause{{100 * s, data(says("a"))}, {59 * s, data(says("a"))}, {59 * s, whole}}}, "", 218 * s},
		{"R9e: only comments", paced{0, []pause{{50 * s, ": wait\n\n"}, {59 * s, ": wait\n\n"}, {59 * s, whole}}}, llm.Idle, 120 * s},
		{"R9e: comments first", paced{0, []pause{{50 * s, ": wait\n\n"}, {59 * s, ": wait\n\n"}, {10 * s, whole}}}, "", 119 * s},
		{"R9e: comments in the middle", paced{0, []pause{{50 * s, data(says("a"))}, {40 * s, ": wa"}, {10 * s, "it\n\n"}, {40 * s, whole}}}, llm.Idle, 110 * s},
		{"V4: only pings", paced{0, slices.Repeat([]pause{{s, "event: ping\ndata: {\"type\":\"ping\"}\n\n"}}, 500)}, llm.Idle, 120 * s},
		{"V4: pings after text", paced{0, append([]pause{{0, data(says("a"))}}, slices.Repeat([]pause{{s, "event: ping\ndata: {}\n\n"}}, 500)...)}, llm.Idle, 60 * s},
		{"V4: only empty deltas", paced{0, append([]pause{{0, data(says("a"))}}, slices.Repeat([]pause{{s, data(says(""))}}, 500)...)}, llm.Idle, 60 * s},
		{"V4: one byte at a time", paced{0, bytewise(data(says(strings.Repeat("a", 500))), s)}, llm.Idle, 120 * s},
		{"V4: one letter at a time", paced{0, append(slices.Repeat([]pause{{59 * s, data(says("a"))}}, 5), pause{59 * s, whole})}, "", 6 * 59 * s},
		{"never closes", paced{0, []pause{{0, whole}, {time.Hour, ""}}}, "", 5 * s},
		{"never closes after the end mark", paced{0, []pause{{0, whole + data("[DONE]")}, {time.Hour, ""}}}, "", 5 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := open(t, config(c.model)).Answer(t.Context(), hello(), nil)
				if c.want == "" && err != nil {
					t.Fatalf("answer: %v", err)
				}
				if c.want != "" {
					faultIn(t, err, c.want)
				}
				if took := time.Since(start); took != c.after { // the bubble's clock
					t.Errorf("it took %v, want %v", took, c.after)
				}
			})
		})
	}
}

func TestASlowListenerIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, config(paced{0, []pause{{0, data(says("a"))}, {0, data(stopped)}}}))
		_, err := m.Answer(t.Context(), hello(), func(llm.Delta) { <-time.After(time.Hour) })
		if err != nil {
			t.Errorf("answer: %v", err)
		}
	})
}

// whole is an answer that is not streamed.
func whole(content string) string {
	return fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, content)
}

// checkAnswer asserts what holds for every answer.
func checkAnswer(t *testing.T, a llm.Answer) {
	t.Helper()
	if a.Finish == "" || !utf8.ValidString(a.Text+a.Reasoning+string(a.Raw)) || a.Usage.Cost < 0 || a.Usage.Cached > a.Usage.Input {
		t.Fatalf("answer %+v", a)
	}
	ids := map[string]bool{}
	for _, c := range a.Calls {
		if c.ID == "" || ids[c.ID] || c.Name == "" || len(c.Args) == 0 || !utf8.Valid(c.Args) {
			t.Fatalf("call %+v of %+v", c, a.Calls)
		}
		ids[c.ID] = true
	}
}
