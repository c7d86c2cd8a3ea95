package edit_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// An edit and a patch keep a file's encoding, its mark and its line ends. (8.3, 8.4, 13.4)
func TestEditKeepsTheEncoding(t *testing.T) {
	in := func(label, s string) string {
		table, err := htmlindex.Get(label)
		must(t, err)
		raw, err := table.NewEncoder().String(s)
		must(t, err)
		return raw
	}
	const chinese, japanese, korean, french = "你好，世界。今天天气很好。\r\n", "こんにちは世界。今日は良い天気です。\n", "안녕하세요 세계. 오늘은 날씨가 좋습니다.\n", "café crème, garçon\n"
	for _, c := range []struct{ name, label, mark, text, old, put, says string }{
		{"8.3, GBK of Notepad", "gbk", "", chinese, "今天", "明天", "GBK"},
		{"Shift_JIS of Excel", "shift_jis", "", japanese, "今日", "明日", "Shift_JIS"},
		{"EUC-KR of Hangul", "euc-kr", "", korean, "오늘", "내일", "EUC-KR"},
		{"windows-1252 of a Java project", "windows-1252", "", french, "café", "thé à la menthe", "windows-1252"},
		{"8.4, UTF-16 of PowerShell's >", "utf-16le", "\xff\xfe", "one 1\r\ntwo €\r\n", "two", "zwei 😀", "UTF-16"},
		{"UTF-16 in big-endian", "utf-16be", "\xfe\xff", "one 1\ntwo €\n", "two", "zwei ü", "UTF-16"},
		{"UTF-16 without a mark", "utf-16le", "", "one line\r\ntwo lines\r\n", "two", "drei", "UTF-16"},
		{"UTF-8 with a mark", "utf-8", "\xef\xbb\xbf", "one ü\r\n", "one", "två", ""},
		{"13.4, lines in CR", "utf-8", "", "one\rtwo\rthree", "two", "zwei", "lines end in CR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.put(t, "a.txt", c.mark+in(c.label, c.text))
			res := f.do(t, f.edit, args{"path": "a.txt", "old_text": c.old, "new_text": c.put})
			want := c.mark + in(c.label, strings.Replace(c.text, c.old, c.put, 1))
			if got := f.get(t, "a.txt"); res.IsError || got != want || !strings.Contains(res.Content, c.says) || !strings.Contains(res.Content, "+") {
				t.Errorf("%q, want %q: %s", got, want, res.Content)
			}
			first, rest, _ := strings.Cut(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(c.text), "\n")
			f.put(t, "c.txt", c.mark+in(c.label, c.text))
			res = f.do(t, f.patch, args{"patch": "*** Begin Patch\n*** Update File: c.txt\n*** Move to: b.txt\n@@\n-" + first + "\n+a new line\n*** End Patch"})
			ending := "\n"
			if strings.Contains(c.text, "\r") {
				ending = strings.TrimLeft(c.text[strings.Index(c.text, "\r"):][:2], "abcdefghijklmnopqrstuvwxyz")
				ending = strings.TrimRight(ending, "abcdefghijklmnopqrstuvwxyz")
			}
			want = c.mark + in(c.label, "a new line"+ending+strings.ReplaceAll(rest, "\n", ending))
			if res.IsError {
				t.Fatal(res.Content)
			}
			if got := strings.TrimSuffix(f.get(t, "b.txt"), "\r"); got != strings.TrimSuffix(want, "\r") {
				t.Errorf("patch: %q, want %q: %s", got, want, res.Content)
			}
		})
	}
}

// A character that the encoding does not have is refused with its name, and nothing is written.
func TestEditSaysWhatAnEncodingCannotHold(t *testing.T) {
	for _, c := range []struct{ name, raw, old, put, says string }{
		{"GBK", "\xc4\xe3\xba\xc3 hello", "hello", "😀", "U+1F600) cannot be written in GBK"},
		{"windows-1252", "caf\xe9 hello", "hello", "Łódź", "U+0141) cannot be written in windows-1252"},
		{"unknown", "caf\x81\xff hello", "hello", "thé", "only ASCII"},
		{"one wrong byte in GBK", strings.Repeat("\xc4\xe3\xba\xc3\n", 20000) + "hello \xff", "hello", "x", "would change"},
	} {
		f := newFixture(t)
		f.put(t, "a.txt", c.raw)
		res := f.do(t, f.edit, args{"path": "a.txt", "old_text": c.old, "new_text": c.put})
		if !res.IsError || !strings.Contains(res.Content, c.says) || f.get(t, "a.txt") != c.raw {
			t.Errorf("%s: %s", c.name, res.Content)
		}
	}
	f := newFixture(t)
	f.put(t, "a.txt", "caf\x81\xff hello")
	if res := f.do(t, f.edit, args{"path": "a.txt", "old_text": "hello", "new_text": "bye"}); res.IsError || f.get(t, "a.txt") != "caf\x81\xff bye" {
		t.Error(res.Content)
	}
}
