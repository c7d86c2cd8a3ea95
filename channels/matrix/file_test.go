package matrix_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func fileMessage(name, mime, data string) channels.Delivery {
	d := delivery("")
	d.File = channelstest.Enclosed(name, mime, data)
	return d
}

// A file is stored at the homeserver and shown by a separate message; pictures are shown as pictures.
func TestSendsFiles(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	for i, tc := range []struct{ name, mime, data, kind, caption, body string }{
		{"notes.txt", "text/plain", "milk", "m.file", "", "notes.txt"},
		{"für Änne & co.png", "image/png", "\x89PNG\r\n\x1a\n", "m.image", "\n\n(may be a repeat)", "(may be a repeat)"},
		{"blob", "", "\x00", "m.file", "", "blob"},
	} {
		d := fileMessage(tc.name, tc.mime, tc.data)
		d.Nonce, d.Body = tc.name, tc.caption
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		up, c := f.Uploads()[i], f.Sent()[i].Content
		if up.Name != tc.name || up.Data != tc.data || tc.mime != "" && up.MIME != tc.mime || tc.mime == "" && up.MIME != "application/octet-stream" {
			t.Errorf("stored %+v", up)
		}
		info, _ := c["info"].(map[string]any)
		url, _ := c["url"].(string)
		if c["msgtype"] != tc.kind || c["body"] != tc.body || c["filename"] != tc.name || info["size"] != float64(len(tc.data)) || !strings.HasPrefix(url, "mxc://hob.test/") {
			t.Errorf("sent %+v", c)
		}
	}
	var carrier channels.Carrier = ch
	if carrier.MaxFile() != 50<<20 {
		t.Errorf("at most %d bytes", carrier.MaxFile())
	}
}

// An upload without an answer is invisible: it is repeated, and the message is sent once.
func TestFailuresOfFiles(t *testing.T) {
	gone := func(context.Context) (io.ReadSeekCloser, error) {
		return nil, errors.Join(channels.ErrPermanent, os.ErrNotExist)
	}
	for _, tc := range []struct {
		name     string
		endpoint string
		fault    channelstest.MatrixFault
		spoil    func(*channels.Delivery)
		kind     string
		left     int
	}{
		{"too large", "upload", channelstest.MatrixFault{Status: 413, Code: "M_TOO_LARGE"}, nil, "permanent", 0},
		{"asked to come back", "upload", channelstest.MatrixFault{Status: 429, Code: "M_LIMIT_EXCEEDED", RetryMS: 3000}, nil, "later", 0},
		{"broken", "upload", channelstest.MatrixFault{Status: 500}, nil, "plain", 0},
		{"upload cut before", "upload", channelstest.MatrixFault{Cut: "before"}, nil, "plain", 0},
		{"upload cut after", "upload", channelstest.MatrixFault{Cut: "after"}, nil, "plain", 0},
		{"upload not understood", "upload", channelstest.MatrixFault{Raw: "{}"}, nil, "plain", 0},
		{"send cut after", "send", channelstest.MatrixFault{Cut: "after"}, nil, "unknown", 1},
		{"not there", "", channelstest.MatrixFault{}, func(d *channels.Delivery) { d.File.Open = gone }, "permanent", 0},
	} {
		f := server(t)
		ch := open(t, f)
		d := fileMessage("a.txt", "text/plain", "milk")
		if tc.spoil != nil {
			tc.spoil(&d)
		}
		if tc.endpoint != "" {
			f.Fail(tc.endpoint, tc.fault)
		}
		_, err := ch.Send(t.Context(), d)
		if got := channelstest.Kind(err); got != tc.kind || len(f.Sent()) != tc.left {
			t.Errorf("%s: %s (%v), %d arrived; want %s, %d", tc.name, got, err, len(f.Sent()), tc.kind, tc.left)
		}
		if tc.spoil == nil {
			if _, err := ch.Send(t.Context(), d); err != nil || len(f.Sent()) != 1 {
				t.Errorf("%s, again: %v, %d arrived", tc.name, err, len(f.Sent()))
			}
		}
	}
}

// shown returns the files in messages.
func shown(f *channelstest.Matrix) (list []channelstest.Shown) {
	uploads := f.Uploads()
	for _, m := range f.Sent() {
		name, ok := m.Content["filename"].(string)
		for _, up := range uploads {
			if ok && up.Name == name {
				list = append(list, channelstest.Shown{Name: name, MIME: up.MIME, Caption: m.Body(), Content: []byte(up.Data)})
				break
			}
		}
	}
	return list
}
