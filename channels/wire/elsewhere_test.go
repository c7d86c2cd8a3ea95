package wire_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/wire"
)

func TestElsewhere(t *testing.T) {
	large := strings.Repeat("x", channels.MaxFile+1)
	var at string
	at, _ = server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			_, _ = io.WriteString(w, "milk") // a reader that has gone is no trouble here
		case "/most":
			_, _ = io.WriteString(w, large[1:])
		case "/large":
			_, _ = io.WriteString(w, large)
		case "/round":
			to := "127.0.0.1"
			if strings.HasPrefix(r.Host, to) {
				to = "localhost"
			}
			w.Header().Set("Location", "http://"+to+r.Host[strings.LastIndex(r.Host, ":"):]+"/round")
			w.WriteHeader(http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	const ours, public = "https://matrix.lan:8448/x", "https://matrix.example.org"
	for _, tc := range []struct {
		name, home, link string
		size             int
		lost             bool
		why              string // of the error; "": there is none
	}{
		{"a file", ours, at + "/file", 4, false, ""},
		{"as large as can be", ours, at + "/most", channels.MaxFile, false, ""},
		{"too large", ours, at + "/large", 0, true, "too large"},
		{"not for hob", ours, at + "/no", 0, true, "says 403"},
		{"busy", ours, at + "/busy", 0, false, "says 429"},
		{"broken", ours, at + "/broken", 0, false, "says 502"},
		{"moved without end", ours, at + "/round", 0, true, "again and again"},
		{"nobody there", ours, "http://127.0.0.1:1/", 0, false, "refused"},
		{"a private network for a public platform", public, at + "/file", 0, true, "not in the public internet"},
		{"a platform without an address", "http://[", at + "/file", 0, false, "platform's address"},
		{"no address", ours, "ftp://matrix.lan/file", 0, true, "http"},
	} {
		body, err := wire.Elsewhere(t.Context(), tc.home, tc.link+"?sig=key")
		if (err == nil) != (tc.why == "") || errors.Is(err, wire.ErrLost) != tc.lost || err != nil && !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: %v, want %q, lost: %t", tc.name, err, tc.why, tc.lost)
		}
		if err != nil {
			if strings.Contains(err.Error(), "sig=key") {
				t.Errorf("%s: the address is in %v", tc.name, err)
			}
			continue
		}
		if data, err := io.ReadAll(body); len(data) != tc.size || err != nil || body.Close() != nil {
			t.Errorf("%s: read %d bytes, %v; want %d", tc.name, len(data), err, tc.size)
		}
	}
}
