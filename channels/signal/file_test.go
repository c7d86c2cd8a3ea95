package signal_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/url"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// A file is sent as a complete data URI with its name.
func TestSendsFiles(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	for i, tc := range []struct{ name, mime, data, head string }{
		{"notes.txt", "text/plain", "milk", "data:text/plain;filename=notes.txt;base64,"},
		{"für Änne; a+b,=.png", "image/png", "\x89PNG", "data:image/png;filename=f%C3%BCr+%C3%84nne%3B+a%2Bb%2C%3D.png;base64,"},
		{"large", "", strings.Repeat("x", 3<<20), "data:application/octet-stream;filename=large;base64,"},
	} {
		d := channels.Delivery{To: "signal:" + sam, Nonce: "n", File: channelstest.Enclosed(tc.name, tc.mime, tc.data)}
		if i == 1 {
			d.Body = "\n\n(may be a repeat)"
		}
		if id, err := ch.Send(t.Context(), d); err != nil || id == "" {
			t.Fatalf("%s: %q, %v", tc.name, id, err)
		}
		got := f.Sent()[i]
		if want := tc.head + base64.StdEncoding.EncodeToString([]byte(tc.data)); len(got.Files) != 1 || got.Files[0] != want || got.To != sam || got.Text != strings.TrimSpace(d.Body) {
			t.Errorf("arrived %.200q with %q, want %.200q", got.Files, got.Text, want)
		}
	}
	var carrier channels.Carrier = ch
	if carrier.MaxFile() != 20<<20 {
		t.Errorf("at most %d bytes", carrier.MaxFile())
	}
}

// A file fails like a text; a file that has changed is never sent.
func TestFailuresOfFiles(t *testing.T) {
	f := server(t)
	d := channels.Delivery{To: "signal:" + home, Nonce: "n", File: channelstest.Enclosed("a", "text/plain", "milk")}
	f.Fail("send", channelstest.SignalFault{Cut: "after"})
	if _, err := open(t, f).Send(t.Context(), d); kindOf(err) != "unknown" || len(f.Sent()) != 1 {
		t.Errorf("%v, %d arrived", err, len(f.Sent()))
	}
	d.File.Size = 5
	if _, err := open(t, f).Send(t.Context(), d); kindOf(err) != "permanent" || len(f.Sent()) != 1 {
		t.Errorf("another size: %v, %d arrived", err, len(f.Sent()))
	}
	d.File.Open = func(context.Context) (io.ReadSeekCloser, error) { return nil, channels.ErrPermanent }
	if _, err := open(t, f).Send(t.Context(), d); kindOf(err) != "permanent" || len(f.Sent()) != 1 {
		t.Errorf("not there: %v, %d arrived", err, len(f.Sent()))
	}
}

// shown returns the files that arrived.
func shown(f *channelstest.Signal) (list []channelstest.Shown) {
	for _, m := range f.Sent() {
		for _, uri := range m.Files {
			head, data, _ := strings.Cut(uri, ";base64,")
			kind, name, _ := strings.Cut(strings.TrimPrefix(head, "data:"), ";filename=")
			plain, err := url.QueryUnescape(name)
			content, derr := base64.StdEncoding.DecodeString(data)
			if err == nil && derr == nil {
				list = append(list, channelstest.Shown{Name: plain, MIME: kind, Caption: m.Text, Content: content})
			}
		}
	}
	return list
}
