package transcribe_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/transcribe"
	"hob/daemon/transcribe/transcribetest"
)

// TestCheck asks endpoints that are right and wrong in every way: once, with the key, and without a recording.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name      string
		reply     transcribetest.Reply
		says      string // "": it is fine
		temporary bool
	}{
		{"OpenAI", transcribetest.Reply{Status: 400, Text: "Could not parse multipart form"}, "", false},
		{"FastAPI", transcribetest.Reply{Status: 422, Raw: `{"detail":[{"loc":["body","file"],"msg":"field required"}]}`}, "", false},
		{"one that takes anything", transcribetest.Reply{Text: "hello"}, "", false},
		{"a wrong key", transcribetest.Reply{Status: 401, Text: "Incorrect API key provided: sk-canary"}, "does not accept the key (HTTP 401)", false},
		{"a key without the right", transcribetest.Reply{Status: 403, Text: "no"}, "does not accept the key (HTTP 403)", false},
		{"a wrong address", transcribetest.Reply{Status: 404, Raw: "<html>"}, "no such address or model (HTTP 404)", false},
		{"a page", transcribetest.Reply{Raw: "<html>welcome</html>"}, "not a transcription (check base_url)", false},
		{"another place", transcribetest.Reply{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, "HTTP 307", false},
		{"no such method", transcribetest.Reply{Status: 405, Raw: "x"}, "HTTP 405", false},
		{"busy", transcribetest.Reply{Status: 429, Text: "slow down"}, "no more requests at the moment", true},
		{"broken", transcribetest.Reply{Status: 503, Text: "maintenance"}, "HTTP 503: maintenance", true},
		{"cut off", transcribetest.Reply{Cut: true}, "cannot be reached", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.reply)
			e := at(s)
			e.Language = "de"
			d := transcribe.Service{Log: slog.New(slog.DiscardHandler), Endpoint: func(context.Context) (transcribe.Endpoint, error) { return e, nil }}
			got := d.Look(t.Context())
			if got.BaseURL != s.URL || got.Model != "whisper-1" || !got.Key || got.Temporary != tc.temporary || (got.Error == "") != (tc.says == "") || !strings.Contains(got.Error, tc.says) {
				t.Errorf("%+v, want %q, temporary: %v", got, tc.says, tc.temporary)
			}
			if strings.Contains(got.Error, "sk-canary") {
				t.Errorf("the key stands in %q", got.Error)
			}
			want := transcribetest.Request{Path: "/v1/audio/transcriptions", Key: "sk-canary", Model: "whisper-1", Language: "de", Format: "json"}
			if asked := s.Requests(); tc.name != "cut off" && (len(asked) != 1 || asked[0] != want) { // net/http repeats what was cut off
				t.Errorf("asked %+v, want %+v once", asked, want)
			}
		})
	}
}

var errNoKey = errors.New("the key of [voice] cannot be read")

// TestCheckOfNobody compares the states without an endpoint, without its key, and with an endpoint that does not answer.
func TestCheckOfNobody(t *testing.T) {
	look := func(e transcribe.Endpoint, err error) transcribe.State {
		d := transcribe.Service{Log: slog.New(slog.DiscardHandler), Endpoint: func(context.Context) (transcribe.Endpoint, error) { return e, err }}
		return d.Look(t.Context())
	}
	if got := look(transcribe.Endpoint{}, transcribe.ErrNone); got != (transcribe.State{}) {
		t.Errorf("none: %+v", got)
	}
	if got := look(transcribe.Endpoint{}, errNoKey); got.Error != errNoKey.Error() || got.Temporary {
		t.Errorf("no key: %+v", got)
	}
	e := at(serve(t, transcribetest.Reply{Hang: true}))
	e.Timeout = 50 * time.Millisecond
	if got := look(e, nil); !strings.Contains(got.Error, "did not answer within 50ms") {
		t.Errorf("silent: %+v", got)
	}
	open := at(serve(t, transcribetest.Reply{Status: 400, Raw: "{}"}))
	open.Key = ""
	if got := look(open, nil); got.Key || got.Error != "" {
		t.Errorf("without a key: %+v", got)
	}
	gone := transcribetest.NewServer()
	gone.Close()
	if got := look(at(gone), nil); !strings.Contains(got.Error, "cannot be reached") || got.Temporary {
		t.Errorf("gone: %+v", got)
	}
}
