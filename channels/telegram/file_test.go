package telegram_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// content is a file in memory that counts how often it is opened and closed.
type content struct {
	*strings.Reader
	open *int
}

func (c content) Close() error {
	*c.open--
	return nil
}

// enclosed returns a delivery with a file.
func enclosed(t *testing.T, name, mime, data string) channels.Delivery {
	open := 0
	t.Cleanup(func() {
		if open != 0 {
			t.Errorf("%s was left open %d times", name, open)
		}
	})
	d := delivery("")
	d.File = &channels.File{Name: name, MIME: mime, Size: int64(len(data)), Open: func(context.Context) (io.ReadSeekCloser, error) {
		open++
		return content{strings.NewReader(data), &open}, nil
	}}
	return d
}

const png = "\x89PNG\r\n\x1a\n and what the picture shows"

func TestSendsFiles(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	ch := open(t, f)
	for _, d := range []channels.Delivery{
		enclosed(t, "notes.txt", "text/plain", "milk\r\n--x--\r\n"),
		enclosed(t, "view.png", "image/png", png),
		enclosed(t, "clip.gif", "image/gif", "GIF89a"),
		enclosed(t, "für Änne \"1\".pdf", "application/pdf", "%PDF-1.7"),
		enclosed(t, "blob", "", "\x00\x01"),
	} {
		id, err := ch.Send(t.Context(), d)
		sent := f.Sent()
		if err != nil || len(sent) == 0 || !strings.HasPrefix(id, "7001/42/") {
			t.Fatalf("%s: %q, %v", d.File.Name, id, err)
		}
	}
	want := []channelstest.SentFile{
		{Kind: "document", Name: "notes.txt", MIME: "text/plain", Data: "milk\r\n--x--\r\n"},
		{Kind: "photo", Name: "view.png", MIME: "image/png", Data: png},
		{Kind: "document", Name: "clip.gif", MIME: "image/gif", Data: "GIF89a"},
		{Kind: "document", Name: "für Änne \"1\".pdf", MIME: "application/pdf", Data: "%PDF-1.7"},
		{Kind: "document", Name: "blob", MIME: "application/octet-stream", Data: "\x00\x01"},
	}
	for i, m := range f.Sent() {
		if m.File == nil || *m.File != want[i] || m.Chat != sam {
			t.Errorf("arrived %+v, want %+v", m.File, want[i])
		}
	}
}

// A picture that Telegram rejects is sent as a document; a mark is its caption, and in a group it is a reply.
func TestFileInAGroupThatIsNoPicture(t *testing.T) {
	f := server(t)
	f.Knows(group)
	d := enclosed(t, "odd.png", "image/png", "no picture at all")
	d.To, d.ReplyRef, d.Body = "telegram:-1001/7", "7001/-1001/33", "\n\n(may be a repeat)"
	if _, err := open(t, f).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	m := f.Sent()[0]
	if m.File.Kind != "document" || m.File.Data != "no picture at all" || m.File.Caption != "(may be a repeat)" || m.ReplyTo != 33 || m.Thread != 7 || m.Chat != -1001 {
		t.Errorf("arrived %+v with %+v", m, m.File)
	}
	if f.Calls("sendPhoto") != 1 || f.Calls("sendDocument") != 1 {
		t.Errorf("asked %d and %d times", f.Calls("sendPhoto"), f.Calls("sendDocument"))
	}
}

// A file to a migrated group goes to the new id.
func TestFileToAGroupThatMoved(t *testing.T) {
	f := server(t)
	f.Knows(-1009)
	f.Fail("sendDocument", channelstest.TelegramFault{Status: http.StatusBadRequest, MigrateTo: -1009})
	d := enclosed(t, "a.txt", "text/plain", "x")
	d.To = "telegram:-1001"
	if id, err := open(t, f).Send(t.Context(), d); err != nil || !strings.HasPrefix(id, "7001/-1009/") || f.Sent()[0].Chat != -1009 {
		t.Errorf("%q, %v, %+v", id, err, f.Sent())
	}
}

// A file fails like a text.
func TestFailuresOfFiles(t *testing.T) {
	gone := func(context.Context) (io.ReadSeekCloser, error) {
		return nil, errors.Join(channels.ErrPermanent, os.ErrNotExist)
	}
	for _, tc := range []struct {
		name  string
		fault channelstest.TelegramFault
		spoil func(d *channels.Delivery)
		kind  string
		left  int
	}{
		{"asked to come back", channelstest.TelegramFault{Status: 429, RetryAfter: 3}, nil, "later there", 0},
		{"blocked", channelstest.TelegramFault{Status: 403}, nil, "permanent", 0},
		{"too large", channelstest.TelegramFault{Status: 413}, nil, "permanent", 0},
		{"broken", channelstest.TelegramFault{Status: 500}, nil, "plain", 0},
		{"cut before", channelstest.TelegramFault{Cut: "before"}, nil, "unknown", 0},
		{"cut after", channelstest.TelegramFault{Cut: "after"}, nil, "unknown", 1},
		{"not understood", channelstest.TelegramFault{Raw: "<html>"}, nil, "unknown", 0},
		{"not there", channelstest.TelegramFault{}, func(d *channels.Delivery) { d.File.Open = gone }, "permanent", 0},
		{"shorter than it was", channelstest.TelegramFault{}, func(d *channels.Delivery) { d.File.Size += 5 }, "permanent", 0},
		{"longer than it was", channelstest.TelegramFault{}, func(d *channels.Delivery) { d.File.Size -= 5 }, "permanent", 0},
	} {
		f := server(t)
		f.Knows(sam)
		d := enclosed(t, "a.txt", "text/plain", strings.Repeat("bread and milk ", 1000))
		if tc.spoil != nil {
			tc.spoil(&d)
		}
		f.Fail("sendDocument", tc.fault)
		_, err := open(t, f).Send(t.Context(), d)
		if got := channelstest.Kind(err); got != tc.kind || len(f.Sent()) != tc.left {
			t.Errorf("%s: %s (%v), %d arrived; want %s, %d", tc.name, got, err, len(f.Sent()), tc.kind, tc.left)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the token stands in the error", tc.name)
		}
	}
}

// A large picture is sent as a document, and the size limit is that of the Bot API.
func TestSizesOfFiles(t *testing.T) {
	f := server(t)
	f.Knows(sam)
	ch := open(t, f)
	if _, err := ch.Send(t.Context(), enclosed(t, "large.png", "image/png", png+strings.Repeat("x", 10<<20))); err != nil || f.Sent()[0].File.Kind != "document" {
		t.Errorf("%v, %+v", err, f.Sent())
	}
	var carrier channels.Carrier = ch
	if carrier.MaxFile() != 50<<20 {
		t.Errorf("at most %d bytes", carrier.MaxFile())
	}
}

// shown returns the files that arrived.
func shown(f *channelstest.Telegram) (list []channelstest.Shown) {
	for _, m := range f.Sent() {
		if m.File != nil {
			list = append(list, channelstest.Shown{Name: m.File.Name, MIME: m.File.MIME, Caption: m.File.Caption, Content: []byte(m.File.Data)})
		}
	}
	return list
}
