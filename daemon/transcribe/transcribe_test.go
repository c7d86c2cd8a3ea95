package transcribe_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/modelapi"
	"hob/daemon/transcribe"
	"hob/daemon/transcribe/transcribetest"
)

func serve(t *testing.T, script ...transcribetest.Reply) *transcribetest.Server {
	t.Helper()
	s := transcribetest.NewServer(script...)
	t.Cleanup(s.Close)
	return s
}

func at(s *transcribetest.Server) transcribe.Endpoint {
	server := modelapi.Server{Name: "the endpoint", URL: s.URL, Key: "sk-canary", Most: 1 << 20, HTTP: &http.Client{}}
	return transcribe.Endpoint{Server: server, Model: "whisper-1", Timeout: 20 * time.Second}
}

func recording(data string) transcribe.Recording {
	return transcribe.Recording{Name: "voice.ogg", MIME: "audio/ogg", Size: int64(len(data)), Body: strings.NewReader(data)}
}

// A request is as OpenAI's reference has it, with the file's bytes.
func TestRequest(t *testing.T) {
	s := serve(t, transcribetest.Reply{Text: " buy milk\n", Usage: map[string]any{"type": "duration", "seconds": 12}})
	e := at(s)
	e.URL, e.Language = s.URL+"/", "de"
	w, err := e.Transcribe(t.Context(), recording("OggS spoken words"))
	if err != nil || w != (transcribe.Words{Text: "buy milk", Seconds: 12}) {
		t.Errorf("%+v, %v", w, err)
	}
	want := transcribetest.Request{
		Path: "/v1/audio/transcriptions", Key: "sk-canary", Model: "whisper-1", Language: "de", Format: "json",
		Name: "voice.ogg", MIME: "audio/ogg", Data: "OggS spoken words",
	}
	if got := s.Requests(); len(got) != 1 || got[0] != want {
		t.Errorf("asked %+v, want %+v", got, want)
	}
}

// What fails is tried again where that can help, whole each time, and told in a sentence that names no secret.
func TestFailures(t *testing.T) {
	ok := transcribetest.Reply{Text: "hello"}
	for _, tc := range []struct {
		name   string
		script []transcribetest.Reply
		asked  int
		says   string // "": it works in the end
	}{
		{"busy", []transcribetest.Reply{{Status: 429, Text: "slow down"}, ok}, 2, ""},
		{"busy for long", []transcribetest.Reply{{Status: 429, Text: "slow down", Header: http.Header{"Retry-After": {"600"}}}}, 1, "no more requests at the moment"},
		{"broken, then cut", []transcribetest.Reply{{Status: 503, Text: "maintenance"}, {Cut: true}, ok}, 3, ""},
		{"broken for long", []transcribetest.Reply{{Status: 500, Text: "sk-canary leaks"}}, 3, "HTTP 500"},
		{"key", []transcribetest.Reply{{Status: 401, Text: "Incorrect API key provided: sk-canary"}}, 1, "does not accept the key (HTTP 401)"},
		{"model", []transcribetest.Reply{{Status: 404, Text: "there is no model whisper-9"}}, 1, "no such address or model (HTTP 404): there is no model whisper-9"},
		{"file", []transcribetest.Reply{{Status: 400, Text: "Invalid\nfile format."}}, 1, "HTTP 400: Invalid file format."},
		{"size", []transcribetest.Reply{{Status: 413, Raw: "<html>"}}, 1, "requests of this size"},
		{"moved", []transcribetest.Reply{{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}}, 1, "HTTP 307"},
		{"a page", []transcribetest.Reply{{Raw: "<html>"}}, 3, "not a transcription (check base_url)"},
		{"no text", []transcribetest.Reply{{Raw: `{"words": "hello"}`}}, 3, "not a transcription"},
		{"too much", []transcribetest.Reply{{Raw: `{"text": "` + strings.Repeat("x", 1<<20) + `"}`}}, 3, "more than 1 MB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tc.script...)
			w, err := at(s).Transcribe(t.Context(), recording("OggS"))
			got := s.Requests()
			if (err == nil) != (tc.says == "") || err == nil && w.Text != "hello" || len(got) != tc.asked {
				t.Fatalf("%q, %v after %d requests", w.Text, err, len(got))
			}
			if err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it says %q, want %q", err, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), "sk-canary") && tc.name == "key" {
				t.Errorf("the key stands in %q", err)
			}
			for _, r := range got {
				if r.Data != "OggS" {
					t.Errorf("a try had %q", r.Data)
				}
			}
		})
	}
}

// A server that says nothing is left after the time that was given; one that is not there is told of without its port.
func TestNobodyAnswers(t *testing.T) {
	e := at(serve(t, transcribetest.Reply{Hang: true}))
	e.Timeout = 50 * time.Millisecond
	if _, err := e.Transcribe(t.Context(), recording("x")); err == nil || !strings.Contains(err.Error(), "did not answer within 50ms") {
		t.Errorf("%v", err)
	}
	gone := transcribetest.NewServer()
	gone.Close()
	e = at(gone)
	if _, err := e.Transcribe(t.Context(), recording("x")); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%v", err)
	}
}

// sheet is a transcript in memory.
type sheet struct {
	notes []turn.VoiceNote
	heard []string
	err   error
}

func (s *sheet) UntranscribedNotes(context.Context, int64) ([]turn.VoiceNote, error) {
	return s.notes, s.err
}

func (s *sheet) StoreTranscript(_ context.Context, _ int64, _ turn.VoiceNote, text string) error {
	s.heard = append(s.heard, text)
	return s.err
}

// budget records the reservations and their corrections.
type budget struct {
	most, used []turn.Amount
	err        error
}

func (p *budget) Charge(_ context.Context, _ string, most turn.Amount) (int, error) {
	p.most = append(p.most, most)
	return len(p.most), p.err
}

func (p *budget) Correct(_ context.Context, _ int, used turn.Amount) error {
	p.used = append(p.used, used)
	return nil
}

// unclosed is a file that need not be closed.
type unclosed struct{ *strings.Reader }

func (unclosed) Close() error { return nil }

// far is a transport that leads every name to one server: so that an endpoint is not on this machine.
type far struct{ to string }

func (f far) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = f.to
	return http.DefaultTransport.RoundTrip(r)
}

func note(seconds int) turn.VoiceNote {
	return turn.VoiceNote{Item: 1, Part: event.Part{Kind: event.File, Voice: true, Seconds: seconds, Size: 4, Artifact: "a1", Name: "attachments/7/voice.ogg", MIME: "audio/ogg"}}
}

// service returns a service whose endpoint is s, a server on another host.
func service(s *transcribetest.Server, rows transcribe.Rows, p *budget, price int64) transcribe.Service {
	host := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/v1")
	return transcribe.Service{
		Rows: rows, Reserve: transcribe.Booked(p, "voice"), Log: slog.New(slog.DiscardHandler),
		Open: func(_ context.Context, id string) (io.ReadSeekCloser, error) {
			if id != "a1" {
				return nil, errors.New("no such artifact")
			}
			return unclosed{strings.NewReader("OggS")}, nil
		},
		Endpoint: func(context.Context) (transcribe.Endpoint, error) {
			return transcribe.Endpoint{
				Server: modelapi.Server{Name: "the endpoint", URL: "http://voice.example/v1", Most: 1 << 20, HTTP: &http.Client{Transport: far{host}}},
				Model:  "m", Timeout: 20 * time.Second, Price: price,
			}, nil
		},
	}
}

// What a request costs at most is booked before it; what the endpoint tells replaces that, and what it does not tell stays booked.
func TestMoney(t *testing.T) {
	for _, tc := range []struct {
		name    string
		reply   transcribetest.Reply
		seconds int
		price   int64
		most    turn.Amount
		used    []turn.Amount
	}{
		// 12 s of 15 tokens, and 100 around them.
		{"nothing is known", transcribetest.Reply{Text: "x"}, 12, 0, turn.Amount{Tokens: 280}, nil},
		{"tokens are told", transcribetest.Reply{Text: "x", Usage: map[string]any{"total_tokens": 40}}, 12, 0, turn.Amount{Tokens: 280}, []turn.Amount{{Tokens: 40}}},
		{"seconds are told", transcribetest.Reply{Text: "x", Usage: map[string]any{"seconds": 3}}, 12, 0, turn.Amount{Tokens: 280}, []turn.Amount{{Tokens: 145}}},
		{"money is told", transcribetest.Reply{Text: "x", Usage: map[string]any{"cost": 0.0004, "seconds": 3}}, 12, 0, turn.Amount{Tokens: 280}, []turn.Amount{{Micros: 400}}},
		// 0.006 a minute are 100 millionths a second.
		{"the price is known", transcribetest.Reply{Text: "x"}, 12, 6_000, turn.Amount{Micros: 1_200}, nil},
		{"price and seconds", transcribetest.Reply{Text: "x", Usage: map[string]any{"seconds": 3}}, 12, 6_000, turn.Amount{Micros: 1_200}, []turn.Amount{{Micros: 300}}},
		// 4 bytes have less than two seconds: 1.004 × 15 + 100, rounded up.
		{"the length is not known", transcribetest.Reply{Text: "x"}, 0, 0, turn.Amount{Tokens: 116}, nil},
		{"refused", transcribetest.Reply{Status: 400, Text: "no"}, 12, 0, turn.Amount{Tokens: 280}, []turn.Amount{{}}},
		{"broken", transcribetest.Reply{Status: 500, Text: "no"}, 12, 0, turn.Amount{Tokens: 280}, nil},
		{"nonsense", transcribetest.Reply{Text: "x", Usage: map[string]any{"seconds": -3, "total_tokens": -5, "cost": -1}}, 12, 0, turn.Amount{Tokens: 280}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, rows := &budget{}, &sheet{notes: []turn.VoiceNote{note(tc.seconds)}}
			if err := service(serve(t, tc.reply), rows, p, tc.price).Hear(t.Context(), 1); err != nil || len(rows.heard) != 1 {
				t.Fatalf("%v, heard %q", err, rows.heard)
			}
			if len(p.most) != 1 || p.most[0] != tc.most || len(p.used) != len(tc.used) || len(tc.used) > 0 && p.used[0] != tc.used[0] {
				t.Errorf("booked %+v and used %+v, want %+v and %+v", p.most, p.used, tc.most, tc.used)
			}
		})
	}
}

// A note always gets a text: its transcript, or the reason why there is none.
func TestHear(t *testing.T) {
	none := func(context.Context) (transcribe.Endpoint, error) { return transcribe.Endpoint{}, transcribe.ErrNone }
	long := strings.Repeat("ä", 20<<10)
	for _, tc := range []struct {
		name  string
		reply transcribetest.Reply
		spoil func(*transcribe.Service, *budget, *turn.VoiceNote)
		want  string
	}{
		{"words", transcribetest.Reply{Text: "buy milk"}, nil, "buy milk"},
		{"nowhere", transcribetest.Reply{}, func(d *transcribe.Service, _ *budget, _ *turn.VoiceNote) { d.Endpoint = none }, "[voice note 0:12 was not transcribed: no [voice] endpoint is configured]"},
		{"an unknown length", transcribetest.Reply{}, func(d *transcribe.Service, _ *budget, n *turn.VoiceNote) { d.Endpoint, n.Seconds = none, 0 }, "[voice note was not transcribed: no [voice] endpoint is configured]"},
		{"silence", transcribetest.Reply{Text: " "}, nil, "[voice note 0:12 was not transcribed: nothing could be understood]"},
		{"refused", transcribetest.Reply{Status: 415, Text: "no such format"}, nil, "[voice note 0:12 was not transcribed: the endpoint answers with HTTP 415: no such format]"},
		{"no money", transcribetest.Reply{Text: "x"}, func(_ *transcribe.Service, p *budget, _ *turn.VoiceNote) { p.err = turn.ErrBudget }, "[voice note 0:12 was not transcribed: today's budget is used up (hob budget show)]"},
		{"no file", transcribetest.Reply{Text: "x"}, func(_ *transcribe.Service, _ *budget, n *turn.VoiceNote) { n.Artifact = "a2" }, "[voice note 0:12 was not transcribed: its file cannot be opened]"},
		{"much", transcribetest.Reply{Text: long}, nil, strings.Repeat("ä", 16<<10) + "\n[cut here: 32 KB of 40 KB are shown]"},
	} {
		n, p := note(12), &budget{}
		s := serve(t, tc.reply)
		d := service(s, nil, p, 0)
		if tc.spoil != nil {
			tc.spoil(&d, p, &n)
		}
		rows := &sheet{notes: []turn.VoiceNote{n}}
		d.Rows = rows
		if err := d.Hear(t.Context(), 1); err != nil || len(rows.heard) != 1 || rows.heard[0] != tc.want {
			t.Errorf("%s: %v, heard %.200q, want %.200q", tc.name, err, rows.heard, tc.want)
		}
		if asked := len(s.Requests()); p.err != nil && asked > 0 {
			t.Errorf("%s: asked %d times without money", tc.name, asked)
		}
	}
}

// A stop of the turn stops the transcription. Nothing is stored about the note, and it is transcribed when the turn continues.
func TestHearStops(t *testing.T) {
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	rows, s := &sheet{notes: []turn.VoiceNote{note(1)}}, serve(t, transcribetest.Reply{Hang: true})
	d := service(s, rows, &budget{}, 0)
	open := d.Open
	d.Open = func(ctx context.Context, id string) (io.ReadSeekCloser, error) {
		cancel(stop)
		return open(ctx, id)
	}
	if err := d.Hear(ctx, 1); !errors.Is(err, stop) || len(rows.heard) > 0 {
		t.Errorf("%v, heard %q", err, rows.heard)
	}
	full := errors.New("disk full")
	if err := service(s, &sheet{err: full}, &budget{}, 0).Hear(t.Context(), 1); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// An endpoint on this machine costs nothing.
func TestLocal(t *testing.T) {
	for url, want := range map[string]bool{
		"http://127.0.0.1:8000/v1": true, "http://localhost/v1": true, "http://[::1]:9/": true,
		"https://api.openai.com/v1": false, "http://127.0.0.1.example.org/": false, "http://10.0.0.5/v1": false, "::": false,
	} {
		if got := (modelapi.Server{URL: url}).Local(); got != want {
			t.Errorf("%s is local: %v", url, got)
		}
	}
	p, rows := &budget{}, &sheet{notes: []turn.VoiceNote{note(12)}}
	s := serve(t, transcribetest.Reply{Text: "x"})
	d := service(s, rows, p, 0)
	d.Endpoint = func(context.Context) (transcribe.Endpoint, error) { return at(s), nil }
	if err := d.Hear(t.Context(), 1); err != nil || len(p.most) > 0 || rows.heard[0] != "x" {
		t.Errorf("%v, booked %v, heard %q", err, p.most, rows.heard)
	}
}

func TestConfig(t *testing.T) {
	resolve := func(_ context.Context, name, ref string) (string, error) {
		if ref != "env:KEY" || name != "voice.api_key" {
			return "", errors.New("sk-canary is not set")
		}
		return "secret", nil
	}
	for text, want := range map[string]string{
		"": transcribe.ErrNone.Error(),
		"[voice]\nbase_url = \"https://x.example/v1\"\napi_key = \"env:NONE\"": "the key of [voice] cannot be read (hob doctor)",
		"[voice]\nbase_url = \"https://x.example/v1\"\ntimeout = \"0s\"":       "the section [voice] of the config has a mistake (hob config validate)",
		"[voice]\nbase_url = \"x.example/v1\"":                                 "the section [voice] of the config has a mistake (hob config validate)",
		"[voice]\nbase_url = \"https://x.example/v1\"\nlanguage = \"German\"":  "the section [voice] of the config has a mistake (hob config validate)",
		"[voice]\nbase_url = \"https://x.example/v1\"\napi_key = \"env:KEY\"":  "",
		"[voice]\nmodel = \"\"": "the section [voice] of the config has a mistake (hob config validate)",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := config.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := transcribe.Of(t.Context(), c, resolve, &http.Client{})
		switch {
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%q: %v, want %s", text, err, want)
		case want == "" && (err != nil || e.Key != "secret" || e.Model != "whisper-1" || e.Timeout != time.Minute || e.URL != "https://x.example/v1"):
			t.Errorf("%q: %+v, %v", text, e, err)
		}
	}
}
