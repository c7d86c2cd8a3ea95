package fs_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"hob/tools/fs"
)

// read shows a text in another encoding and names it, in the middle of a long file too. (8.3, 8.4, 13.4)
func TestReadNamesTheEncoding(t *testing.T) {
	d := newFixture(t)
	for _, c := range []struct{ name, label, text, says string }{
		{"8.3, GBK of Notepad", "gbk", "你好，世界。\n今天天气很好。\n", "(GBK)"},
		{"Big5 of Excel", "big5", "你好，世界。\n今天天氣很好。\n", "(Big5)"},
		{"Shift_JIS of Excel", "shift_jis", "こんにちは世界。\n今日は良い天気です。\n", "(Shift_JIS)"},
		{"EUC-KR of Hangul", "euc-kr", "안녕하세요 세계.\n오늘은 날씨가 좋습니다.\n", "(EUC-KR)"},
		{"windows-1251 of 1C", "windows-1251", "Привет, мир.\nСегодня хорошая погода.\n", "(windows-1251)"},
		{"windows-1252 of DATEV", "windows-1252", "Größe;Straße\nKäufer für €\n", "(windows-1252)"},
		{"UTF-16 of regedit", "utf-16le", "Windows Registry Editor\nVersion 5.00\n", "(UTF-16)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := htmlindex.Get(c.label)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := table.NewEncoder().String(c.text)
			if err != nil {
				t.Fatal(err)
			}
			first, second, _ := strings.Cut(strings.TrimSuffix(c.text, "\n"), "\n")
			d.put(t, "a.txt", raw)
			res := d.do(t, d.read, args{"path": "a.txt"})
			p, _ := res.Data.(fs.ReadOutput)
			if res.IsError || p.Text != first+"\n"+second || !strings.HasSuffix(res.Content, c.says) || p.Encoding == "" || p.Lines != 2 {
				t.Errorf("%s %+v", res.Content, p)
			}
			if p, _ := d.do(t, d.read, args{"path": "a.txt", "offset": 1}).Data.(fs.ReadOutput); p.Text != second {
				t.Errorf("%+v", p)
			}
			if c.label == "utf-16le" {
				return
			}
			d.put(t, "long.txt", strings.Repeat("plain ASCII\n", 20_000)+raw)
			if p, _ := d.do(t, d.read, args{"path": "long.txt", "offset": 20_000}).Data.(fs.ReadOutput); p.Text != first+"\n"+second {
				t.Errorf("%+v", p)
			}
		})
	}
	// Lines that end in CR alone are lines, and are named as such.
	d.put(t, "mac.txt", "one\rtwo\rthree\r")
	res := d.do(t, d.read, args{"path": "mac.txt"})
	if p, _ := res.Data.(fs.ReadOutput); p.Text != "one\ntwo\nthree" || p.Lines != 3 || p.CRLF || !strings.HasSuffix(res.Content, "(UTF-8, lines end in CR)") {
		t.Errorf("%s %+v", res.Content, p)
	}
	// Guards: a progress bar has lone CRs within lines, and binary data, or a text with two readings, is not shown.
	d.put(t, "bar.txt", "10 %\r20 %\r\ndone\n")
	if p, _ := d.do(t, d.read, args{"path": "bar.txt"}).Data.(fs.ReadOutput); p.Lines != 2 || p.Encoding != "" {
		t.Errorf("%+v", p)
	}
	for _, raw := range []string{"\x81\xf7\x90\xd5\x8f\x03\xfe\x81\x8d\x9d", "\x93\x8c\x8b\x9e\x93\x73\x8d\x60\x8b\xe6", "\xff\xfe\x00\x00a\x00\x00\x00"} {
		d.put(t, "odd.bin", raw)
		if res := d.do(t, d.read, args{"path": "odd.bin"}); !res.IsError {
			t.Errorf("%q: %s", raw, res.Content)
		}
	}
	// What macOS has unpacked is found by the name that people type.
	d.put(t, "Mu\u0308ller.txt", "hi\n")
	if res := d.do(t, d.read, args{"path": "M\u00fcller.txt"}); res.IsError {
		t.Error(res.Content)
	}
}
