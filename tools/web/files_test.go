package web_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/web"
)

// onePage is a PDF file of one page.
func onePage(text string) string {
	program := "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET"
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(program), program),
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	b.WriteString("xref\n0 6\n0000000000 65535 f \n")
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", table)
	return b.String()
}

// A PDF gives its text, and a picture itself, as somebody else's.
func TestFetchAFile(t *testing.T) {
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 2400, 30))); err != nil {
		t.Fatal(err)
	}
	kind, body := "", ""
	at, client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		write(t, w, body)
	})
	tool := newFetch(t, client)
	for i, c := range []struct {
		kind, body string
		want       []string
	}{
		{"application/pdf", onePage("minutes of May"), []string{"--- page 1 of 1 ---\nminutes of May"}},
		{"application/octet-stream", onePage("as a download"), []string{"as a download"}},
		{"image/png", drawn.String(), []string{"image/png, 2400 × 30 pixels", "shown as png, 2000 × 25"}},
		{"application/octet-stream", drawn.String(), []string{"2400 × 30 pixels"}},
	} {
		kind, body = c.kind, c.body
		_, res := do(t, tool, args{"url": fmt.Sprintf("%s/%d/file", at, i)})
		for _, want := range c.want {
			if res.IsError || !strings.Contains(res.Content, want) {
				t.Errorf("%d: %q is not in %s", i, want, res.Content)
			}
		}
		p, ok := res.Data.(web.FetchOutput)
		if strings.Contains(c.body, "PNG") {
			if len(res.Parts) != 1 || res.Parts[0].Kind != event.Image || res.Parts[0].Artifact != p.Artifact || !strings.HasPrefix(p.Artifact, "file from web: 127.0.0.1") {
				t.Errorf("%d: %+v %+v", i, res.Parts, p)
			}
		} else if !ok || p.Pages != 1 {
			t.Errorf("%d: %+v", i, p)
		}
	}
	kind, body = "image/png", drawn.String()[:200]
	if _, res := do(t, tool, args{"url": at + "/broken"}); res.Code != tools.IO || !strings.Contains(res.Content, "cannot be shown: not a picture") {
		t.Error(res.Content)
	}
	bare := web.NewFetch(web.FetchDeps{Client: client})
	kind, body = "application/pdf", onePage("x")
	if _, res := do(t, bare, args{"url": at + "/x"}); res.Code != tools.IO || !strings.Contains(res.Content, "no command for it") {
		t.Error(res.Content)
	}
	kind, body = "text/html", "<h1>One</h1><p>two"
	if _, res := do(t, bare, args{"url": at + "/y"}); res.IsError || !strings.Contains(res.Content, "One\ntwo") {
		t.Error(res.Content)
	}
}

// S7: pages that are made to take much memory come as bare text, whatever the helper says of them.
func TestFetchALargePage(t *testing.T) {
	body := ""
	at, client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		write(t, w, body)
	})
	tool := newFetch(t, client)
	for i, one := range []string{"<p>a", "<td>x", "<a href=x>word</a>"} {
		body = "<html>" + strings.Repeat(one, (4<<20)/len(one))
		_, res := do(t, tool, args{"url": fmt.Sprintf("%s/%s/%d", at, strings.Repeat("y", 4000), i)})
		if p, ok := res.Data.(web.FetchOutput); res.IsError || !ok || p.Chars < 100_000 {
			t.Errorf("%s: %.200s", one, res.Content)
		}
	}
}
