package gates_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"hob/daemon/sandbox"
	"hob/scheduler"
	"hob/scheduler/gate"
)

// page serves one content, with validators or without, and remembers what it was asked.
type page struct {
	body, etag, modified string
	status               int
	header               http.Header
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.header = r.Header.Clone()
	if p.etag != "" {
		w.Header().Set("ETag", p.etag)
	}
	if p.modified != "" {
		w.Header().Set("Last-Modified", p.modified)
	}
	switch {
	case p.status != 0:
		w.Header().Set("Location", "https://elsewhere.example/")
		w.WriteHeader(p.status)
	case p.etag != "" && r.Header.Get("If-None-Match") == p.etag, p.modified != "" && r.Header.Get("If-Modified-Since") == p.modified:
		w.WriteHeader(http.StatusNotModified)
	default:
		_, _ = w.Write([]byte(p.body))
	}
}

func TestPage(t *testing.T) {
	const yesterday = "Fri, 20 Nov 2026 08:00:00 GMT"
	for name, c := range map[string]page{"an ETag": {etag: `"v1"`}, "a date": {modified: yesterday}, "both": {etag: `W/"v1"`, modified: yesterday}} {
		t.Run(name, func(t *testing.T) {
			p, at := newPlace(t, sandbox.Auto), &c
			at.body = "one"
			server := httptest.NewServer(at)
			defer server.Close()
			p.networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
			j := job(scheduler.Gate{URL: server.URL + "/feed"})
			first, err := p.Page(t.Context(), j, gate.Page{})
			if err != nil || first.Hash == "" || first.ETag != at.etag || first.Modified != at.modified || at.header.Get("If-None-Match") != "" {
				t.Fatalf("%+v, %v", first, err)
			}
			if again, err := p.Page(t.Context(), j, first); err != nil || again.Hash != "" || again.Link != first.Link {
				t.Errorf("not modified: %+v, %v", again, err)
			}
			j.Gate.URL = server.URL + "/other"
			if other, err := p.Page(t.Context(), j, first); err != nil || other.Hash != first.Hash || at.header.Get("If-None-Match") != "" {
				t.Errorf("another address is asked for by the old one's version: %+v, %v", other, err)
			}
		})
	}
}

func TestPageWithoutVersion(t *testing.T) {
	p, at := newPlace(t, sandbox.Auto), &page{body: "one"}
	server := httptest.NewServer(at)
	defer server.Close()
	j := job(scheduler.Gate{URL: server.URL})
	if _, err := p.Page(t.Context(), j, gate.Page{}); err == nil || !strings.Contains(err.Error(), "not in the public internet") {
		t.Errorf("a private network: %v", err)
	}
	p.networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	first, err := p.Page(t.Context(), j, gate.Page{})
	again, err2 := p.Page(t.Context(), j, first)
	if errors.Join(err, err2) != nil || first != again {
		t.Errorf("the same content: %+v, %+v, %v", first, again, errors.Join(err, err2))
	}
	at.body = "two"
	if again, err = p.Page(t.Context(), j, first); err != nil || first.Hash == again.Hash {
		t.Errorf("another content: %+v, %v", again, err)
	}
	for status, why := range map[int]string{404: "status 404", 500: "status 500", 304: "status 304", 302: "leads to https://elsewhere.example"} {
		at.status = status
		if got, err := p.Page(t.Context(), j, gate.Page{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%d: %+v, %v", status, got, err)
		}
	}
}

// A change at the end of a large page is seen, and of the page nothing is kept.
func TestLargePage(t *testing.T) {
	p, at := newPlace(t, sandbox.Auto), &page{body: strings.Repeat("x", 16<<20)}
	server := httptest.NewServer(at)
	defer server.Close()
	p.networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	j := job(scheduler.Gate{URL: server.URL})
	look := func(last gate.Page) gate.Page {
		t.Helper()
		got, err := p.Page(t.Context(), j, last)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := look(gate.Page{})
	sum := sha256.Sum256([]byte(at.body))
	if again := look(first); first.Hash != hex.EncodeToString(sum[:]) || again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	at.body = at.body[1:] + "y"
	if changed := look(first); changed.Hash == first.Hash {
		t.Error("a change of the last byte was not seen")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	look(first)
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 20<<20 { // half of it, or more, is the server's
		t.Errorf("a look at 16 MiB takes %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}
