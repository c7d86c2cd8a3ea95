package text_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"hob/daemon/text"
)

// encoded returns a text in an encoding.
func encoded(t testing.TB, label, s string) []byte {
	t.Helper()
	table, err := htmlindex.Get(label)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := table.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(label, err)
	}
	return raw
}

// samples are undeclared texts with one credible reading: what programs write that know no Unicode, and who wrote them.
var samples = []struct{ from, label, name, text string }{
	{"Notepad on a Chinese Windows (8.3)", "gbk", "GBK", "你好，世界。今天天气很好。"},
	{"a contact list of Excel, Chinese", "gbk", "GBK", "姓名,年龄\n张三,30\n李四,25\n"},
	{"a comment of Keil, Chinese", "gbk", "GBK", "// 计算总和\nint sum = 0;\nreturn sum;\n"},
	{"a subtitle, Chinese", "gbk", "GBK", "1\n00:00:01,000 --> 00:00:02,000\n我不知道你在说什么\n"},
	{"two words, Chinese", "gbk", "GBK", "你好"},
	{"a letter, Taiwan", "big5", "Big5", "你好，世界。今天天氣很好。"},
	{"Excel, Taiwan", "big5", "Big5", "姓名,電話\n王小明,0912\n這是一個測試\n"},
	{"Excel, Japan", "shift_jis", "Shift_JIS", "こんにちは世界。今日は良い天気です。"},
	{"a log of Windows, Japan", "shift_jis", "Shift_JIS", "エラー: ファイルが見つかりません\n"},
	{"Emacs, Japan", "euc-jp", "EUC-JP", "こんにちは世界。今日は良い天気です。"},
	{"a mail, Japan", "iso-2022-jp", "ISO-2022-JP", "こんにちは世界。"},
	{"Notepad, Korea", "euc-kr", "EUC-KR", "안녕하세요 세계. 오늘은 날씨가 좋습니다."},
	{"Excel, Korea", "euc-kr", "EUC-KR", "이름,나이\n홍길동,30\n파일을 찾을 수 없습니다\n"},
	{"Notepad, German", "windows-1252", "windows-1252", "Der Käfer läuft über die Straße. Größe"},
	{"Java properties", "windows-1252", "windows-1252", "name = Müller\n"},
	{"a list, French", "windows-1252", "windows-1252", "café au lait, crème brûlée, été, à la carte, Noël\n"},
	{"a list, Spanish", "windows-1252", "windows-1252", "¿Qué tal? El niño comió piña. 25 °C\n"},
	{"a list, Italian", "windows-1252", "windows-1252", "perché è più buono, la città\n"},
	{"a list, Danish", "windows-1252", "windows-1252", "Rødgrød med fløde på en ø i Ærø\n"},
	{"Word", "windows-1252", "windows-1252", "“hi” € 5 – it’s 100 %…"},
	{"Notepad, Russian", "windows-1251", "windows-1251", "Привет, мир. Сегодня хорошая погода."},
	{"a mail, Russian", "koi8-r", "KOI8-R", "Привет, мир. Сегодня хорошая погода."},
	{"DOS, Russian", "ibm866", "IBM866", "Привет, мир. Сегодня хорошая погода."},
	{"Notepad, Ukrainian", "windows-1251", "windows-1251", "Привіт, світе. Сьогодні гарна погода, її люблять."},
	{"Notepad, Polish", "windows-1250", "windows-1250", "Zażółć gęślą jaźń. Dzień dobry państwu"},
	{"Linux before 2005, Polish", "iso-8859-2", "ISO-8859-2", "Zażółć gęślą jaźń. Dzień dobry państwu"},
	{"Notepad, Czech", "windows-1250", "windows-1250", "Příliš žluťoučký kůň úpěl ďábelské ódy"},
	{"Notepad, Greek", "windows-1253", "windows-1253", "Καλημέρα κόσμε. Σήμερα έχει καλό καιρό"},
	{"Notepad, Turkish", "windows-1254", "windows-1254", "Türkçe ığdır şehir güzel değil İstanbul"},
	{"Notepad, Hebrew", "windows-1255", "windows-1255", "שלום עולם. היום מזג האוויר יפה"},
	{"Notepad, Arabic", "windows-1256", "windows-1256", "مرحبا بالعالم. الطقس جميل اليوم"},
	{"regedit, without a mark", "utf-16le", "UTF-16", "Windows Registry Editor\r\n"},
	{"TextEdit of Mac OS 9", "utf-8", "UTF-8, lines end in CR", "one\rtwo\rthree\r"},
}

// Text that declares nothing is read where one reading is credible, and its bytes come back exactly. (8.3)
func TestDetect(t *testing.T) {
	for _, c := range samples {
		raw := encoded(t, c.label, c.text)
		e, ok := text.Detect(raw, true)
		got, exact := e.Exact(raw)
		if want := strings.ReplaceAll(c.text, "\r", "\n"); c.label == "utf-8" && string(got) == want {
			got = []byte(c.text)
		}
		if !ok || e.String() != c.name || string(got) != c.text || !exact {
			t.Errorf("%s: %v %q exact %v %q", c.from, ok, e, exact, got)
		}
	}
}

// The same in long files, whose sample ends anywhere, and where the first of it is ASCII.
func TestDetectSample(t *testing.T) {
	for _, c := range samples {
		if c.label == "utf-16le" || c.label == "iso-2022-jp" || c.label == "utf-8" {
			continue
		}
		raw := append(bytes.Repeat([]byte("plain line\n"), 9000), encoded(t, c.label, strings.Repeat(c.text+"\n", 4000))...)
		sample, whole, err := text.Sample(bytes.NewReader(raw), int64(len(raw)))
		if e, ok := text.Detect(sample, whole); err != nil || !ok || e.String() != c.name {
			t.Errorf("%s: %v %v %v", c.from, ok, e, err)
		}
	}
	// Each beginning of a text is read as something that is valid.
	for _, c := range samples {
		raw := encoded(t, c.label, c.text)
		for cut := range raw {
			if !utf8.ValidString(text.Declared("", false, raw[:cut])) {
				t.Errorf("%s: %d", c.from, cut)
			}
		}
		e, _ := text.Detect(raw, true)
		all, err := io.ReadAll(e.Reader(iotest.OneByteReader(bytes.NewReader(raw))))
		if err != nil || !bytes.Equal(all, e.Decode(raw)) {
			t.Errorf("%s: %v", c.from, err)
		}
	}
}

// Guards: nothing is guessed. Binary data, too little text and texts with several readings are no text in another encoding.
func TestDetectGuessesNothing(t *testing.T) {
	for name, raw := range map[string]string{
		"JPEG":                   "\xff\xd8\xff\xe0\x00\x10JFIF\x00",
		"random":                 "\x9d\xc4\x81\xf7\x90\xd5\x8f\x03\xfe\x81\x8d",
		"kanji only, Shift_JIS":  string(encoded(t, "shift_jis", "東京都港区")),
		"UTF-32":                 "\xff\xfe\x00\x00a\x00\x00\x00",
		"one broken byte":        "grüße \xff und mehr",
		"capitals only, Russian": string(encoded(t, "windows-1251", "ЁЖ")),
		"DOS box drawing":        "\xc9\xcd\xcd\xbb text",
	} {
		if e, ok := text.Detect([]byte(raw), true); ok {
			t.Errorf("%s: %s, %q", name, e, e.Decode([]byte(raw)))
		}
	}
	for _, plain := range []string{"", "ascii\n", "grüße, 你好, Привет", "\x1b[31mred\x1b[0m\n", "a\rb\nc\n"} {
		if e, ok := text.Detect([]byte(plain), true); !ok || !e.UTF8() {
			t.Errorf("%q: %s", plain, e)
		}
	}
}

// A text that may be Western or Croatian shows as Western, and takes only characters with the same bytes in both.
func TestEncodeKeepsTwoReadings(t *testing.T) {
	raw := encoded(t, "windows-1252", "ð ý þ Reykjavík") // or Turkish, but for its own letters
	e, ok := text.Detect(raw, true)
	if !ok || e.String() != "windows-1252" {
		t.Fatalf("%v %v", e, ok)
	}
	raw = []byte("k\xfdr\xfek\n") // kýrþk, or kırşk
	if e, ok = text.Detect(raw, true); !ok || !strings.Contains(e.String(), "windows-1254") {
		t.Fatalf("%v %v", e, ok)
	}
	was := e.Decode(raw)
	if _, err := e.Encode([]byte("kýrþk ü\n"), was); err != nil {
		t.Error(err)
	}
	if _, err := e.Encode([]byte("kýrþk ð\n"), was); err == nil || !strings.Contains(err.Error(), "different bytes") {
		t.Error(err)
	}
}

// What cannot be written is said with the character.
func TestEncodeNamesTheCharacter(t *testing.T) {
	for label, c := range map[string]string{"iso-8859-1": "ő", "shift_jis": "€", "euc-kr": "😀", "gbk": "😀", "koi8-r": "é", "big5": "ß"} {
		e, ok := text.Labelled(label)
		if _, err := e.Encode([]byte("a"+c), []byte("a")); !ok || err == nil || !strings.Contains(err.Error(), c) {
			t.Errorf("%s: %v %v", label, ok, err)
		}
	}
	if _, err := (text.Encoding{}).Encode([]byte("caf\xe9 \x81 ü"), []byte("caf\xe9 \x81")); err == nil {
		t.Error("UTF-8 was written into a text of an unknown encoding")
	}
	if _, err := (text.Encoding{}).Encode([]byte("grüße \xff ä"), []byte("grüße \xff")); err != nil {
		t.Error(err)
	}
}

// Labels are those of browsers, with the tables that the standard gives them.
func TestDeclared(t *testing.T) {
	for _, c := range []struct {
		name, label string
		markup      bool
		raw, want   string
	}{
		{"11.1, a mail of Outlook Express", "iso-8859-1", false, "\x93hi\x94 \x80 5", "“hi” € 5"},
		{"a label in quotes and capitals", `"ISO-8859-1"`, false, "\x85", "…"},
		{"us-ascii of an old mailer", "us-ascii", false, "na\xefve \x96", "naïve –"},
		{"latin1, Perl", "latin1", false, "\xe9", "é"},
		{"cp1252, Java", "cp1252", false, "\x80", "€"},
		{"x-sjis of a phone", "x-sjis", false, "\x82\xb1\x82\xf1", "こん"},
		{"ks_c_5601-1987 of Outlook", "ks_c_5601-1987", false, "\xb0\xa1", "가"},
		{"koi8-u", "KOI8-U", false, "\xc1\xa4", "ає"},
		{"UTF-8 that says us-ascii", "us-ascii", false, "ok", "ok"},
		{"UTF-8 by label and not by bytes", "utf-8", false, "caf\xe9", "café"},
		{"unknown label", "x-nothing", false, "caf\xe9", "café"},
		{"no label", "", false, "\x93hi\x94", "“hi”"},
		{"no label, GBK", "", false, string("\xc4\xe3\xba\xc3"), "你好"},
		{"a mark wins over the label", "iso-8859-1", false, "\xef\xbb\xbf\xc3\xa9", "é"},
		{"UTF-16 with a mark and a wrong label", "utf-8", false, "\xff\xfea\x00", "a"},
		{"meta", "", true, "<html><head><meta charset=\"gbk\"><p>\xc4\xe3", "<html><head><meta charset=\"gbk\"><p>你"},
		{"meta of old", "", true, "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=windows-1251'>\xcf", "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=windows-1251'>П"},
		{"meta after 2 KB of scripts", "", true, strings.Repeat(" ", 2048) + "<meta charset=shift_jis>\x82\xb1", strings.Repeat(" ", 2048) + "<meta charset=shift_jis>こ"},
		{"XML", "", true, "<?xml version=\"1.0\" encoding=\"euc-kr\"?><a>\xb0\xa1</a>", "<?xml version=\"1.0\" encoding=\"euc-kr\"?><a>가</a>"},
		{"the header wins over meta", "windows-1251", true, "<meta charset=gbk>\xcf", "<meta charset=gbk>П"},
		{"a comment declares nothing", "", true, "<!-- <meta charset=gbk> -->caf\xe9", "<!-- <meta charset=gbk> -->café"},
		{"UTF-16 in ASCII is wrong", "", true, "<meta charset=utf-16>é", "<meta charset=utf-16>é"},
		{"a text about meta", "", false, "<meta charset=gbk> café", "<meta charset=gbk> café"},
	} {
		if got := text.Declared(c.label, c.markup, []byte(c.raw)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Whatever the bytes are: the text is valid, and what is exact comes back.
func FuzzDetect(f *testing.F) {
	for _, c := range samples {
		f.Add(encoded(f, c.label, c.text), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, whole bool) {
		e, ok := text.Detect(raw, whole)
		if out, exact := e.Exact(raw); ok && exact {
			if back, err := e.Encode(out, out); err != nil || !bytes.Equal(back, raw) {
				t.Errorf("%s: %v", e, err)
			}
		}
		if !utf8.ValidString(text.Declared("", true, raw)) {
			t.Error("invalid")
		}
	})
}
