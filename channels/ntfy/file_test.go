package ntfy_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/ntfy"
)

// A small file is published with its name, a mark is its message, and Find recognises it.
func TestSendsFiles(t *testing.T) {
	n := server(t)
	n.Protect("out", "tk_secret")
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "out", Token: "env:TOKEN"})
	d := channels.Delivery{To: "alerts:out", Nonce: "n1", Urgent: true, Body: "\n\n(may be a repeat)", File: channelstest.Enclosed("für Änne.txt", "text/plain", "milk\n")}
	if id, err := ch.Send(t.Context(), d); err != nil || id != n.Received()[0].ID {
		t.Fatalf("%q, %v", id, err)
	}
	m := n.Received()[0]
	if m.Attachment == nil || m.Attachment.Name != "für Änne.txt" || m.Attachment.Data != "milk\n" || m.Message != "(may be a repeat)" || m.Sequence != "n1" || m.Priority != 4 {
		t.Errorf("arrived %+v with %+v", m, m.Attachment)
	}
	if id, found, err := ch.Find(t.Context(), d); err != nil || !found || id != m.ID {
		t.Errorf("found %q %v, %v", id, found, err)
	}
	var carrier channels.Carrier = ch
	if carrier.MaxFile() != 2<<20 {
		t.Errorf("at most %d bytes", carrier.MaxFile())
	}
}

// A file fails like a text.
func TestFailuresOfFiles(t *testing.T) {
	n := server(t)
	ch := open(t, ntfy.Config{Server: n.URL(), Topic: "out"})
	d := channels.Delivery{To: "alerts:out", Nonce: "n1", File: channelstest.Enclosed("a.txt", "text/plain", "milk")}
	n.FailPublish(channelstest.NtfyFault{Status: 413}, channelstest.NtfyFault{Cut: "after"})
	if _, err := ch.Send(t.Context(), d); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("too large: %v", err)
	}
	if _, err := ch.Send(t.Context(), d); !errors.Is(err, channels.ErrUnknown) || len(n.Received()) != 1 {
		t.Errorf("cut: %v, %d arrived", err, len(n.Received()))
	}
	d.File.Open = func(context.Context) (io.ReadSeekCloser, error) { return nil, channels.ErrPermanent }
	if _, err := ch.Send(t.Context(), d); !errors.Is(err, channels.ErrPermanent) || len(n.Received()) != 1 {
		t.Errorf("not there: %v", err)
	}
}

// shown returns the published files.
func shown(n *channelstest.Ntfy) (list []channelstest.Shown) {
	for _, m := range n.Received() {
		if m.Attachment != nil {
			list = append(list, channelstest.Shown{Name: m.Attachment.Name, MIME: m.Attachment.Type, Caption: m.Message, Content: []byte(m.Attachment.Data)})
		}
	}
	return list
}
