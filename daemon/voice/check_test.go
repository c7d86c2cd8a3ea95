package voice_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/voice"
	"hob/daemon/voice/voicetest"
)

// TestCheck asks endpoints that are right and wrong in every way: once, with the key, and without a recording.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name    string
		reply   voicetest.Reply
		says    string // "": it is fine
		passing bool
	}{
		{"OpenAI", voicetest.Reply{Status: 400, Text: "Could not parse multipart form"}, "", false},
		{"FastAPI", voicetest.Reply{Status: 422, Raw: `{"detail":[{"loc":["body","file"],"msg":"field required"}]}`}, "", false},
		{"one that takes anything", voicetest.Reply{Text: "hello"}, "", false},
		{"a wrong key", voicetest.Reply{Status: 401, Text: "Incorrect API key provided: sk-canary"}, "does not take the key (HTTP 401)", false},
		{"a key without the right", voicetest.Reply{Status: 403, Text: "no"}, "does not take the key (HTTP 403)", false},
		{"a wrong address", voicetest.Reply{Status: 404, Raw: "<html>"}, "no such address or model (HTTP 404)", false},
		{"a page", voicetest.Reply{Raw: "<html>welcome</html>"}, "no transcription (check base_url)", false},
		{"another place", voicetest.Reply{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, "HTTP 307", false},
		{"no such method", voicetest.Reply{Status: 405, Raw: "x"}, "HTTP 405", false},
		{"busy", voicetest.Reply{Status: 429, Text: "slow down"}, "no more requests at the moment", true},
		{"broken", voicetest.Reply{Status: 503, Text: "maintenance"}, "HTTP 503: maintenance", true},
		{"cut off", voicetest.Reply{Cut: true}, "cannot be reached", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.reply)
			e := at(s)
			e.Language = "de"
			d := voice.Desk{Log: slog.New(slog.DiscardHandler), Endpoint: func(context.Context) (voice.Endpoint, error) { return e, nil }}
			got := d.Look(t.Context())
			if got.BaseURL != s.URL || got.Model != "whisper-1" || !got.Key || got.Passing != tc.passing || (got.Error == "") != (tc.says == "") || !strings.Contains(got.Error, tc.says) {
				t.Errorf("%+v, want %q, passing: %v", got, tc.says, tc.passing)
			}
			if strings.Contains(got.Error, "sk-canary") {
				t.Errorf("the key stands in %q", got.Error)
			}
			want := voicetest.Request{Path: "/v1/audio/transcriptions", Key: "sk-canary", Model: "whisper-1", Language: "de", Format: "json"}
			if asked := s.Requests(); tc.name != "cut off" && (len(asked) != 1 || asked[0] != want) { // net/http repeats what was cut off
				t.Errorf("asked %+v, want %+v once", asked, want)
			}
		})
	}
}

var errNoKey = errors.New("the key of [voice] cannot be read")

// TestCheckOfNobody is what is said without an endpoint, without its key, and where nobody answers.
func TestCheckOfNobody(t *testing.T) {
	look := func(e voice.Endpoint, err error) voice.State {
		d := voice.Desk{Log: slog.New(slog.DiscardHandler), Endpoint: func(context.Context) (voice.Endpoint, error) { return e, err }}
		return d.Look(t.Context())
	}
	if got := look(voice.Endpoint{}, voice.ErrNone); got != (voice.State{}) {
		t.Errorf("none: %+v", got)
	}
	if got := look(voice.Endpoint{}, errNoKey); got.Error != errNoKey.Error() || got.Passing {
		t.Errorf("no key: %+v", got)
	}
	e := at(serve(t, voicetest.Reply{Hang: true}))
	e.Timeout = 50 * time.Millisecond
	if got := look(e, nil); !strings.Contains(got.Error, "did not answer within 50ms") {
		t.Errorf("silent: %+v", got)
	}
	open := at(serve(t, voicetest.Reply{Status: 400, Raw: "{}"}))
	open.Key = ""
	if got := look(open, nil); got.Key || got.Error != "" {
		t.Errorf("without a key: %+v", got)
	}
	gone := voicetest.NewServer()
	gone.Close()
	if got := look(at(gone), nil); !strings.Contains(got.Error, "cannot be reached") || got.Passing {
		t.Errorf("gone: %+v", got)
	}
}
