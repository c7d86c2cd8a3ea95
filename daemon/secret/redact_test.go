package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/netguard"
	"hob/daemon/secret"
)

func TestText(t *testing.T) {
	tests := []struct {
		name, text, want string
		values           []string // named v0, v1, …
	}{
		{"nothing known", "plain", "plain", nil},
		{"one", "a canary-1 b canary-1", "a [secret v0] b [secret v0]", []string{"canary-1"}},
		{"too short", "a 12345 b", "a 12345 b", []string{"12345"}},
		{"six bytes", "a 123456 b", "a [secret v0] b", []string{"123456"}},
		{"six bytes inside words", "lollama ollamas ollama7 ollama_x ollama, (ollama)", "lollama ollamas ollama7 [secret v0]_x [secret v0], ([secret v0])", []string{"ollama"}},
		{"seven bytes beside letters of other alphabets", "ägeheim geheimж geheim", "ägeheim geheimж [secret v0]", []string{"geheim"}},
		{"eight bytes inside words", "xcanaries7", "x[secret v0]7", []string{"canaries"}},
		{"one inside the other", "canary-longer canary", "[secret v1] [secret v0]", []string{"canary", "canary-longer"}},
		{"white space around", "a canary-1 b", "a [secret v0] b", []string{" canary-1\n"}},
		{"in an address", "https://h/?t=" + url.QueryEscape("p&q r/s=1"), "https://h/?t=[secret v0]", []string{"p&q r/s=1"}},
		{"in JSON", `{"t":"a\"b\\c\nd"}`, `{"t":"[secret v0]"}`, []string{"a\"b\\c\nd"}},
		{"in base 64", base64.StdEncoding.EncodeToString([]byte("canary-1?>")), "[secret v0]", []string{"canary-1?>"}},
		{"an address", netguard.Defang("key=https://sam:pw.12@db.example.com:99/x?t=1 and ab.cdef@mail.example."), "key=[secret v0] and [secret v1].", []string{"https://sam:pw.12@db.example.com:99/x?t=1", "ab.cdef@mail.example"}},
		{"a part of an address", netguard.Defang("https://h.example/?t=eyJhbGci.eyJzdWIi.c2ln"), "https[:]//h[.]example/?t=[secret v0]", []string{"eyJhbGci.eyJzdWIi.c2ln"}},
		{"an address in disguise", netguard.Defang("see db。example。com/geheim here"), "see [secret v0] here", []string{"db。example。com/geheim"}},
		{"a picture", netguard.Defang("x ![a](https://p.example/1) y"), "x [secret v0] y", []string{"![a](https://p.example/1)"}},
		{"the longer one, in brackets", "canary[.]longer canary", "[secret v1] [secret v0]", []string{"canary", "canary.longer"}},
		{"brackets elsewhere", "[canary] [can][ary]", "[[secret v0]] [can][ary]", []string{"canary"}},
		{"the first name stays", "canary-1", "[secret v0]", []string{"canary-1", "canary-1"}},
	}
	for _, tt := range tests {
		var r secret.Redactor
		for i, v := range tt.values {
			r.Add(fmt.Sprintf("v%d", i), v)
		}
		if got := r.Text(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAddSaysWhenAValueIsTooShort(t *testing.T) {
	var r secret.Redactor
	if r.Add("x", "12345") || r.Add("x", "1234567") || !r.Add("x", "12345678") {
		t.Error("want false for five and seven bytes, and true for eight")
	}
}

// card hides its number from fmt and shows it in JSON.
type card struct{ number string }

func (c card) MarshalJSON() ([]byte, error) { return json.Marshal(c.number) }
func (card) String() string                 { return "a card" }

type lazy struct{}

func (lazy) LogValue() slog.Value { return slog.StringValue("canary-lazy") }

func TestHandlerRedactsEverySink(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var r secret.Redactor
		for i := range 50 {
			r.Add("k", fmt.Sprintf("canary-%02d", i))
		}
		r.Add("k", "canary-lazy")
		r.Add("k", "canary_12")
		var out bytes.Buffer
		options := &slog.HandlerOptions{Level: slog.LevelDebug}
		var h slog.Handler = slog.NewTextHandler(&out, options)
		if format == "json" {
			h = slog.NewJSONHandler(&out, options)
		}
		log := slog.New(r.Handler(h)).With("with", "canary-00").WithGroup("canary-01").With("in", "x canary-02 y")
		ctx := t.Context()
		log.InfoContext(ctx, "message canary-03", "key", "canary-04", "err", fmt.Errorf("get: %w", errors.New("canary-05")))
		log.WarnContext(ctx, "m", "any", struct{ A []string }{[]string{"canary-06"}}, "map", map[string]any{"a": "canary-07"},
			"bytes", []byte("canary-08"), "pointer", &struct{ P *card }{&card{"canary-09"}})
		log.ErrorContext(ctx, "m", slog.Group("g", slog.String("a", "canary-10"), slog.Group("h", "b", "canary-11")), "lazy", lazy{}, "canary_12", 1)
		got := out.String()
		if strings.Contains(got, "canary") {
			t.Errorf("%s: a value came through:\n%s", format, got)
		}
		if n := strings.Count(got, "[secret k]"); n < 12 {
			t.Errorf("%s: %d replacements:\n%s", format, n, got)
		}
	}
}

func TestHandlerLeavesTheRestAlone(t *testing.T) {
	var r secret.Redactor
	r.Add("k", "canary-00")
	line := func(wrap func(slog.Handler) slog.Handler) string {
		var out bytes.Buffer
		h := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		slog.New(wrap(h)).InfoContext(t.Context(), "m", "n", 1, "f", 1.5, "b", true, "s", "text", "err", errors.New("e"), "any", []int{1})
		return out.String()
	}
	plain, wrapped := line(func(h slog.Handler) slog.Handler { return h }), line(r.Handler)
	if plain != wrapped {
		t.Errorf("got %s want %s", wrapped, plain)
	}
}

// TestWriterAgreesWithText splits a text at random places and expects the result of Text for the whole.
func TestWriterAgreesWithText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r secret.Redactor
		word := rapid.StringMatching(`[ab][ab.]{4,7}[ab]`)
		values := rapid.SliceOfN(word, 0, 3).Draw(t, "values")
		for _, v := range values {
			r.Add("k", v)
		}
		piece := rapid.Custom(func(t *rapid.T) string {
			random := rapid.StringMatching(`[]ab .[-]{1,3}`).Draw(t, "random")
			if len(values) == 0 || rapid.Bool().Draw(t, "none") {
				return random
			}
			v := rapid.SampledFrom(values).Draw(t, "value")
			v = v[:rapid.IntRange(1, len(v)).Draw(t, "length")]
			if rapid.Bool().Draw(t, "defanged") {
				v = strings.ReplaceAll(v, ".", "[.]")
			}
			return v
		})
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			for _, v := range values {
				if len(v) < 8 { // inside a word it stays
					continue
				}
				if strings.Contains(out.String(), v) || strings.Contains(out.String(), strings.ReplaceAll(v, ".", "[.]")) {
					t.Fatalf("%q came through in %q", v, out.String())
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := r.Text(text); out.String() != want {
			t.Fatalf("%q: got %q, want %q", text, out.String(), want)
		}
	})
}

// TestWriterFindsAValueWhoseFirstBracketIsWritten: the bracket before the first dot of a value is no part of it, so it may be written alone.
func TestWriterFindsAValueWhoseFirstBracketIsWritten(t *testing.T) {
	var r secret.Redactor
	r.Add("k", ".canary")
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, part := range []string{"a [", ".]canary b"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a [[secret k] b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriterPassesWholeLinesOn(t *testing.T) {
	var r secret.Redactor
	r.Add("k", "canary-1")
	var out bytes.Buffer
	w := r.Writer(&out)
	if n, err := io.WriteString(w, "a canary-1 b\n"); err != nil || n != 13 {
		t.Errorf("got %d, %v", n, err)
	}
	if got := out.String(); got != "a [secret k] b\n" {
		t.Errorf("before Close: %q", got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterReportsErrors(t *testing.T) {
	var r secret.Redactor
	if _, err := io.WriteString(r.Writer(full{}), "text"); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

func TestRedactorIsSafeForConcurrentUse(t *testing.T) {
	var r secret.Redactor
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			value := fmt.Sprintf("canary-%d-value", i)
			r.Add("k", value)
			if got := r.Text("x " + value); got != "x [secret k]" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
}

func TestWriterWaitsForTheLongerOfTwoValues(t *testing.T) {
	for second, want := range map[string]string{
		"-longer!": "[secret long]!",
		"-other":   "[secret short]-other",
	} {
		var r secret.Redactor
		r.Add("short", "canary")
		r.Add("long", "canary-longer")
		var out bytes.Buffer
		w := r.Writer(&out)
		for _, part := range []string{"canary", second} {
			if _, err := io.WriteString(w, part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != want {
			t.Errorf("got %q, %v; want %q", out.String(), err, want)
		}
	}
}
