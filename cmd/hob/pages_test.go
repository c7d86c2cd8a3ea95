package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	main "hob/cmd/hob"
	"hob/daemon/console"
)

// A share of the cap is not said of money that is unknown.
func TestUnknownMoneyHasNoShare(t *testing.T) {
	got, err := main.Pages()["budget"]([]byte(`{"budget":{"per_day_micros":5000000,"tokens_used":40,"tokens_per_day":100}}`), time.UTC, 0)
	if err != nil || !strings.Contains(got, "money   unknown used · 0.00 reserved · of 5.00\n") || !strings.Contains(got, "of 100 (40 %)\n") {
		t.Errorf("%v: %s", err, got)
	}
}

// TestPages draws each page at two widths with fixed times in a fixed zone.
func TestPages(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]string{"turn": "turn", "audit": "turn", "status": "status", "budget": "status", "why": "why"}
	for name, draw := range main.Pages() {
		raw, err := os.ReadFile(filepath.Join("testdata", "pages", data[name]+".json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{80, 200} {
			got, err := draw(raw, zone, width)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "pages", fmt.Sprintf("%s-%d.txt", name, width)), got)
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if n := console.Cells(line); n > width || strings.ContainsAny(line, "\x1b\r") {
					t.Errorf("%s: a line of %d cells in %d, or one that acts on the terminal: %q", name, n, width, line)
				}
			}
		}
	}
}

// What a request read from the provider's cache and what it wrote there are shown apart.
func TestTheCacheOfATurn(t *testing.T) {
	for usage, want := range map[string]string{
		`{"input":1200,"output":5}`:                                  "1,200 tokens in · 5 out",
		`{"input":1200,"cached":800,"output":5}`:                     "1,200 tokens in (800 cached) · 5 out",
		`{"input":1200,"cache_written":300,"output":5}`:              "1,200 tokens in (300 written to the cache) · 5 out",
		`{"input":1200,"cached":800,"cache_written":300,"output":5}`: "1,200 tokens in (800 cached, 300 written to the cache) · 5 out",
	} {
		page, err := main.Pages()["turn"]([]byte(`{"id":1,"state":"done","steps":[{"n":1,"kind":"model","state":"done","model":"m","usage":`+usage+`}]}`), time.UTC, 80)
		if err != nil || !strings.Contains(page, want) {
			t.Errorf("%s: %v\n%s", usage, err, page)
		}
	}
}

func TestLogLines(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	const at, shown = `"time":"2026-11-21T08:00:05.25Z"`, "2026-11-21 09:00:05.250 CET  "
	for _, c := range []struct {
		raw, want string
		color     bool
	}{
		{`{` + at + `,"level":"INFO","msg":"ready","after":"10ms","epoch":2}`, shown + "INFO   ready · after 10ms · epoch 2", false},
		{`{` + at + `,"level":"WARN","msg":"asking another model","model":"a/b","turn":12,"err":"refused"}`, shown + "WARN   asking another model · turn 12 · model a/b: refused", false},
		{`{` + at + `,"level":"ERROR","msg":"x","err":"bad"}`, shown + "\x1b[31mERROR\x1b[0m  x\x1b[31m: bad\x1b[0m", true},
		{`{` + at + `,"level":"WARN","msg":"x"}`, shown + "\x1b[33mWARN \x1b[0m  x", true},
		{`{` + at + `,"level":"ERROR","msg":"panic","stack":"a\nb\u001b[2J","list":["a"]}`, shown + "ERROR  panic · stack a\n    b\\x1b[2J · list [\"a\"]", false},
		{"no JSON \x1b[2J", `no JSON \x1b[2J`, false},
		{`{"level":"INFO","msg":"m","time":"soon"}`, "soon  INFO   m", false},
	} {
		if got := main.LogLine(c.raw, c.color, zone); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.raw, got, c.want)
		}
	}
}

func TestUptime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m 1s", time.Hour: "1h 0m", 25*time.Hour + 30*time.Minute: "1d 1h", 400 * 24 * time.Hour: "400d 0h",
	} {
		if got := main.Uptime(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestCaps: a cap means what it means in [budget].
func TestCaps(t *testing.T) {
	for most, want := range map[int64]string{-1: "without a cap", 0: "where nothing may be spent", 2_000_000: "of 2.00 (50 %)"} {
		raw := fmt.Sprintf(`{"budget":{"per_day_micros":%d,"used_micros":1000000,"tokens_per_day":-1}}`, most)
		if got, err := main.Pages()["budget"]([]byte(raw), time.UTC, 0); err != nil || !strings.Contains(got, "money   1.00 used · 0.00 reserved · "+want+"\n") {
			t.Errorf("%d: %s", most, got)
		}
	}
}

// TestLinesFit: a line is cut by what it shows, also with wide letters, and acts on nothing.
func TestLinesFit(t *testing.T) {
	for _, c := range []struct {
		text, want string
		width      int
	}{
		{"short", "short", 10},
		{"exactly ten", "exactly t…", 10},
		{"日本語日本語", "日本…", 6},
		{"a\nb\r\n\x1b[2J", `a ⏎ b ⏎ \x1b[2J`, 80},
		{strings.Repeat("x", 300), strings.Repeat("x", 199) + "…", 0},
	} {
		if got := main.Line(c.text, c.width); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// A cap that was set far below what is used already has no percentage that anybody could read.
func TestPercentOfACap(t *testing.T) {
	for _, c := range []struct {
		used, most int64
		want       string
	}{{1, -1, ""}, {1, 0, ""}, {0, 5, " (0 %)"}, {999, 100, " (999 %)"}, {1000, 100, " (over)"}, {1 << 62, 1, " (over)"}} {
		if got := main.PercentText(c.used, c.most); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.used, c.most, got, c.want)
		}
	}
}
