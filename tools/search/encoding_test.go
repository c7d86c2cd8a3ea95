package search_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// grep finds and shows text in the encodings that read shows, and names them. Files and patterns are found by names in either normal form.
func TestGrepDecodes(t *testing.T) {
	d := newFixture(t)
	in := func(label, s string) string {
		table, err := htmlindex.Get(label)
		must(t, err)
		raw, err := table.NewEncoder().String(s)
		must(t, err)
		return raw
	}
	d.put(
		t, "gbk.txt", in("gbk", "你好，世界。\n今天天气很好。\n"), "sjis.csv", in("shift_jis", "こんにちは世界。\n今日は良い天気です。\n"), "latin.txt", in("windows-1252", "Käufer für Größe\n"),
		"wide.txt", in("utf-16le", "Windows Registry Editor\n"), "mac.txt", "one\rtwo\rthree\r", "long.txt", strings.Repeat(in("gbk", "你好，世界。今天天气很好。\n"), 200_000),
		"Mu\u0308ller.md", "needle\n",
	)
	for _, c := range []struct{ pattern, path, want string }{
		{"今天", "gbk.txt", "gbk.txt:2:今天天气很好。\n(gbk.txt is GBK)"},
		{"今日", ".", "sjis.csv:2:今日は良い天気です。\n(sjis.csv is Shift_JIS)"},
		{"Größe", ".", "latin.txt:1:Käufer für Größe\n(latin.txt is windows-1252)"},
		{"Registry", ".", "wide.txt:1:Windows Registry Editor\n(wide.txt is UTF-16)"},
		{"tw", ".", "mac.txt:2:two\n(mac.txt is UTF-8, lines end in CR)"},
		{"needle", "M\u00fcller.md", "1:needle"},
	} {
		if res := d.do(t, d.grep, args{"pattern": c.pattern, "path": c.path}); res.IsError || !strings.Contains(res.Content, c.want) || c.path == "." && strings.Count(res.Content, "\n") != 1 && c.pattern != "今天" {
			t.Errorf("%s: %s", c.pattern, res.Content)
		}
	}
	if res := d.do(t, d.grep, args{"pattern": "世界", "path": "long.txt", "output_mode": "count"}); !strings.Contains(res.Content, "long.txt:200000") {
		t.Error(res.Content)
	}
	if res := d.do(t, d.grep, args{"pattern": "needle", "include": "M\u00fcller.*"}); !strings.Contains(res.Content, "needle") {
		t.Error(res.Content)
	}
	for _, pattern := range []string{"M\u00fcller.md", "Mu\u0308ller.md", "*\u00fcller*"} {
		if res := d.do(t, d.glob, args{"pattern": pattern}); !strings.Contains(res.Content, "ller.md") {
			t.Errorf("%+q: %s", pattern, res.Content)
		}
	}
}
