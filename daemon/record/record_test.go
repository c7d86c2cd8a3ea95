package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/record"
	"hob/daemon/secret"
)

// key is a secret of the tests, and held another one, which only an answer has.
const key = "canary-4711-<key>&more"

// hob is what a recorder needs of it.
type hob struct {
	*record.Recorder
	now time.Time
	log bytes.Buffer
}

func newHob(t *testing.T, dir string) *hob {
	t.Helper()
	var r secret.Redactor
	r.Add("key", key)
	h := &hob{now: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)}
	h.Recorder = &record.Recorder{Dir: dir, Version: "1.0", Hide: r.Text, Now: func() time.Time { return h.now }, Log: slog.New(slog.NewTextHandler(&h.log, nil))}
	return h
}

// start begins a recording of the model.
func (h *hob) start(t *testing.T) record.State {
	t.Helper()
	s, err := h.Start(record.Head{Subject: "model"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// send posts a body to a server through the recorder and returns the answer's.
func (h *hob) send(t *testing.T, answer http.HandlerFunc, body string) string {
	t.Helper()
	s := httptest.NewServer(answer)
	defer s.Close()
	return h.sendTo(t, s.URL, body)
}

func (h *hob) sendTo(t *testing.T, url, body string) string {
	t.Helper()
	web := &http.Client{Transport: h.Web("model", nil)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Cookie", "session=unknown")
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// stop ends the recording and reads it.
func (h *hob) stop(t *testing.T) (record.Log, string) {
	t.Helper()
	s, err := h.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return read(t, s.File)
}

func read(t *testing.T, file string) (record.Log, string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := record.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return l, string(raw)
}

// answer returns the answer to the first request.
func answer(l record.Log) *record.Entry { return l.Exchanges()[0].Answer }

// says answers with a body.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// Issue 33, 7: no secret is in a file, in whatever form it passes.
func TestNoSecretIsRecorded(t *testing.T) {
	asJSON, err := json.Marshal(map[string]string{"a": key})
	if err != nil {
		t.Fatal(err)
	}
	delta := func(format, piece string) string {
		b, err := json.Marshal(piece)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("data: "+format+"\n\n", b)
	}
	content, call := `{"choices":[{"index":0,"delta":{"content":%s}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":%s}}]}}]}`
	after := strings.ReplaceAll(call, `"index":1,"function":{"arguments":%s}`, `"function":{"arguments":%s},"index":1`)
	beside := strings.ReplaceAll(after, `"index":1`, `"index":0`)
	both := strings.ReplaceAll(call, `[{"index":1`, `[{"index":0,"function":{"arguments":"{"}},{"index":1`)
	other := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}}]}`
	escaped := ""
	for _, c := range key {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	for name, body := range map[string]string{
		"as it is": "the key is " + key, "in JSON": string(asJSON), "with escapes": `{"a":["` + escaped + `"]}`, "with escapes, in a stream": `data: {"a":"` + escaped + "\"}\n\n",
		"in two pieces":   delta(content, "It is "+key[:9]) + delta(content, key[9:]),
		"in three pieces": delta(content, key[:3]) + ": a comment\n\n" + delta(content, key[3:15]) + delta(content, key[15:]),
		"index after it":  delta(after, key[:9]) + delta(beside, "{}") + delta(after, key[9:]),
		"two in an event": delta(call, key[:9]) + delta(both, key[9:]),
		"key of a form":   "token=" + url.QueryEscape(key) + "&a=b",
		"side by side":    delta(call, key[:9]) + delta(other, "{}") + delta(call, key[9:]) + delta(other, " "),
		"without data:":   `{"message":"` + key[:9] + `"}` + "\n" + `{"message":` + strings.TrimPrefix(delta("%s", key[9:]), "data: ") + "}\n",
		"of a sign-in":    `{"access_token": "canary-unknown", "expires_in": 3600}`,
		"of a login":      `{"op": 2, "d": {"token": "canary-unknown.part_of-it"}}`,
		"of a button":     `{"type":"interactive","token" : "canary-unknown","response_url":"https:\/\/hooks.test\/actions\/canary-unknown"}`,
		"to a button":     "POST https://discord.test/api/v10/interactions/17/canary-unknown/callback",
		"with a slash":    "code=1&signature=a/canary-unknown",
		"with a quote":    `{"password": "4\"canary-unknown", "a": 1}`,
		"of a form":       "client_secret=canary-unknown&a=b&refresh_token=canary-unknown",
		"at the cut":      strings.Repeat("x", 1<<20+64<<10-10) + key + strings.Repeat("x", 1<<20),
		"often before it": strings.Repeat(key, 60_000),
	} {
		h := newHob(t, t.TempDir())
		h.start(t)
		if got := h.send(t, says(body), body); got != body {
			t.Errorf("%s: the answer was changed", name)
		}
		l, raw := h.stop(t)
		if len(l.Entries) != 2 || l.Entries[0].Bytes != len(body) || l.Entries[1].Bytes != len(body) {
			t.Errorf("%s: %d entries", name, len(l.Entries))
		}
		for _, part := range []string{"canary", "4711", "u0063", "session=", "Bearer"} {
			if name == "without data:" && part == "canary" {
				continue // another place in each event, so that the pieces are no text
			}
			if i := strings.Index(raw, part); i >= 0 {
				t.Errorf("%s: the file has %q", name, raw[max(0, i-100):min(len(raw), i+100)])
			}
		}
	}
}

// A secret in an address is none either: telegram's token is in the path.
func TestAddressesWithoutSecrets(t *testing.T) {
	var r secret.Redactor
	r.Add("token", "12345:canary-token")
	h := newHob(t, t.TempDir())
	h.Hide = r.Text
	h.start(t)
	s := httptest.NewServer(says("ok"))
	defer s.Close()
	h.sendTo(t, strings.Replace(s.URL, "http://", "http://me:canary-password@", 1)+"/bot12345:canary-token/getMe?access_token=canary-query&a=b", "")
	l, raw := h.stop(t)
	if strings.Contains(raw, "canary") || !strings.HasSuffix(l.Entries[0].URL, "/bot[secret token]/getMe?access_token=[secret]&a=b") {
		t.Errorf("the file has %s", raw)
	}
}

// What is longer than 1 MB is cut, and said to be; what is no text is in base64.
func TestLongAndBinaryBodies(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		cut    bool
		base64 bool
	}{
		"short": {body: "grüße"}, "a megabyte": {body: strings.Repeat("x", 1<<20)}, "more": {body: strings.Repeat("ü", 1<<20), cut: true},
		"half a character at the cut": {body: "x" + strings.Repeat("ü", 1<<20), cut: true}, "binary": {body: "\x00\xff\xfe", base64: true},
		"binary and long": {body: strings.Repeat("\xff", 3<<20), cut: true, base64: true},
	} {
		h := newHob(t, t.TempDir())
		h.start(t)
		if got := h.send(t, says(c.body), "a"); got != c.body {
			t.Errorf("%s: the answer was changed", name)
		}
		l, _ := h.stop(t)
		e := answer(l)
		got := string(e.Content())
		if e.Cut != c.cut || e.Base64 != c.base64 || e.Bytes != len(c.body) || !strings.HasPrefix(c.body, got) || c.cut != (len(got) < len(c.body)) || len(got) > 1<<20 || len(got) < min(len(c.body), 1<<19) {
			t.Errorf("%s: cut %v, base64 %v, %d of %d bytes", name, e.Cut, e.Base64, len(got), e.Bytes)
		}
	}
}

// A stream passes on at once, also one that has no end; what has come of it is in the file when the recording ends.
func TestStreamsPassAtOnce(t *testing.T) {
	h := newHob(t, t.TempDir())
	h.start(t)
	ctx, leave := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.Web("model", nil).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first\n" {
		t.Fatalf("%q, %v", first, err) // or it hangs
	}
	l, _ := h.stop(t)
	if e := answer(l); e == nil || e.Body != "first\n" || e.End != "the recording ended" {
		t.Errorf("the file has %+v", e)
	}
}

// The connection that a 101 opens is handed over as it is.
func TestSwitchedProtocolsPass(t *testing.T) {
	h := newHob(t, t.TempDir())
	h.start(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = both.Flush()
		_, _ = io.Copy(conn, both)
		_ = conn.Close()
	}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := h.Web("model", nil).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	both, ok := resp.Body.(io.ReadWriter)
	if !ok {
		t.Fatalf("the body is a %T", resp.Body)
	}
	got := make([]byte, 4)
	if _, err := io.WriteString(both, "ping"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(both, got); err != nil || string(got) != "ping" {
		t.Errorf("%q, %v", got, err)
	}
	if l, _ := h.stop(t); answer(l) == nil || answer(l).Status != 101 {
		t.Errorf("the file has %+v", l.Entries)
	}
}

// A recording ends by itself at its limits; requests go on.
func TestLimits(t *testing.T) {
	h := newHob(t, t.TempDir())
	file := h.start(t).File
	h.now = h.now.Add(time.Hour + time.Second)
	if h.send(t, says("late"), "a") != "late" {
		t.Error("the answer was changed")
	}
	if s := h.Show(); s.Why != "an hour is over" || s.Ended.IsZero() || s.Exchanges != 0 {
		t.Errorf("after an hour: %+v", s)
	}
	if l, _ := read(t, file); len(l.Entries) != 0 {
		t.Errorf("the file has %d entries", len(l.Entries))
	}
	h.start(t)
	six := strings.Repeat("\x01", 1<<20) // in the file six times as long
	for range 4 {
		h.send(t, says(six), six)
	}
	s := h.Show()
	if info, err := os.Stat(s.File); err != nil || info.Size() > 32<<20 || info.Size() < 30<<20 || info.Size() != s.Bytes || s.Why != "it has reached 32 MB" {
		t.Errorf("%+v, %v", s, err)
	}
	if l, _ := read(t, s.File); l.Cut != "" || len(l.Entries) != 5 {
		t.Errorf("the file has %d entries, cut %v", len(l.Entries), l.Cut)
	}
	if !strings.Contains(h.log.String(), "it has reached 32 MB") {
		t.Errorf("the log has %s", h.log.String())
	}
}

// Recordings begin and end beside requests, which never notice. Each file can be read, is what its state says, and has no answer of a request that began in
// another recording.
func TestStartAndStopBesideRequests(t *testing.T) {
	h := newHob(t, t.TempDir())
	h.Now = time.Now
	s := httptest.NewServer(says("answer"))
	defer s.Close()
	ctx, end := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if got := h.sendTo(t, s.URL, "question"); got != "answer" {
					t.Errorf("got %q", got)
				}
				h.Line("model", record.Sent, []byte("line"))
			}
		})
	}
	states := []record.State{}
	for range 20 {
		h.start(t)
		for h.Show().Exchanges < 5 {
			runtime.Gosched()
		}
		state, err := h.Stop()
		if err != nil {
			t.Error(err)
		}
		states = append(states, state)
	}
	end()
	group.Wait()
	for _, state := range states {
		l, raw := read(t, state.File)
		asked, exchanges := map[int]bool{}, 0
		for _, e := range l.Entries {
			switch e.What {
			case record.Request:
				asked[e.N] = true
				exchanges++
			case record.Sent:
				exchanges++
			default:
				if !asked[e.N] {
					t.Errorf("%s has an answer to nothing: %+v", state.File, e)
				}
			}
		}
		if l.Cut != "" || state.Exchanges != exchanges || state.Bytes != int64(len(raw)) {
			t.Errorf("%+v; the file has %d exchanges, %d bytes, cut %q", state, exchanges, len(raw), l.Cut)
		}
	}
}

// The exchanges of a crafted file are put together in one pass.
func TestManyExchanges(t *testing.T) {
	const many = 300_000
	var l record.Log
	for n := range many {
		l.Entries = append(l.Entries, record.Entry{What: record.Request, N: n})
	}
	for n := range many {
		l.Entries = append(l.Entries, record.Entry{What: record.Response, N: many - 1 - n, Status: many - 1 - n})
	}
	for n, h := range l.Exchanges() {
		if h.Answer == nil || h.Status != n {
			t.Fatalf("%d: %+v", n, h)
		}
	}
}

// A recorded WebSocket gives each message when hob has sent those before it, and then ends.
func TestRecordedSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frame := func(what, body string) record.Entry { return record.Entry{What: what, Body: body} }
		open := func(end func(), frames ...record.Entry) (*record.Heard, io.ReadWriteCloser) {
			h := &record.Heard{Answer: &record.Entry{What: record.Response, Status: 101}, Frames: frames}
			tape := &record.Tape{Next: func(*http.Request) *record.Heard { return h }, End: end}
			req := httptest.NewRequest(http.MethodGet, "http://h/", nil)
			req.Header.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==") // RFC 6455, section 1.3
			resp, err := tape.RoundTrip(req)                                //nolint:bodyclose // the connection is the body
			if err != nil || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
				t.Fatal(resp, err)
			}
			both, ok := resp.Body.(io.ReadWriteCloser)
			if !ok {
				t.Fatalf("the body is a %T", resp.Body)
			}
			return h, both
		}
		_, both := open(nil, frame(record.Received, "a"), frame(record.Sent, "b"), frame(record.Received, "c"))
		buf := make([]byte, 100)
		if n, err := both.Read(buf); err != nil || string(buf[:n]) != "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01a" {
			t.Errorf("%q, %v", buf[:n], err)
		}
		came := make(chan string)
		go func() {
			n, _ := both.Read(buf)
			came <- string(buf[:n])
		}()
		synctest.Wait()
		select {
		case early := <-came:
			t.Errorf("%q came before hob had sent anything", early)
		default:
		}
		if _, err := both.Write([]byte("b")); err != nil {
			t.Error(err)
		}
		if got := <-came; !strings.HasSuffix(got, "c") {
			t.Errorf("got %q", got)
		}
		if _, err := both.Read(buf); !errors.Is(err, io.EOF) {
			t.Errorf("after the last message: %v", err)
		}
		ended := false
		h, silent := open(func() { ended = true }, frame(record.Sent, "b"), frame(record.Received, "c"))
		go func() {
			_, err := silent.Read(buf)
			came <- fmt.Sprint(err)
		}()
		time.Sleep(time.Minute)
		if err := silent.Close(); err != nil {
			t.Error(err)
		}
		if got := <-came; got != "EOF" || !ended || !strings.Contains(h.Fault, "the rest was not read") {
			t.Errorf("hob sends nothing: %s, %v, %q", got, ended, h.Fault)
		}
	})
}
