package netguard_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/daemon/netguard"
)

// TestVisible (S11): characters that imitate others are written as code points, and ordinary text stays as it is.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"аpple.com":                             `\u{430}pple.com`, // Cyrillic a
		"curl https://gооgle.com":               `curl https://g\u{43e}\u{43e}gle.com`,
		"сосо.com":                              `\u{441}\u{43e}\u{441}\u{43e}.com`, // a whole word of twins, joined to Latin
		"раураl":                                `\u{440}\u{430}\u{443}\u{440}\u{430}l`,
		"οpen":                                  `\u{3bf}pen`, // Greek
		"օpen Ꮪet":                              `\u{585}pen \u{13da}et`,
		"приbет":                                `\u{43f}\u{440}\u{438}b\u{435}\u{442}`,
		"при\u03bfвет":                          `при\u{3bf}вет`,
		"r\u0337m -rf x":                        `r\u{337}m -rf x`,
		"l\u20dds":                              `l\u{20dd}s`,
		"e\u0301":                               `e\u{301}`,
		"a\u05b8b":                              `a\u{5b8}b`,       // a mark of Hebrew on a Latin letter
		"न\u0337":                               "न" + `\u{337}`,   // a mark that fits any letter
		"A\u0400\u0488":                         `A\u{400}\u{488}`, // the own mark of a letter that is written as its code point
		"\u2126\U0001d242":                      `\u{2126}\u{1d242}`,
		"\u1820\u180b\u18a9":                    "\u1820" + `\u{180b}\u{18a9}`,
		"\u0301x":                               `\u{301}x`,
		"𝚛𝚖 -rf x":                              `\u{1d69b}\u{1d696} -rf x`,
		"\u212aill ｒｍ":                          `\u{212a}ill \u{ff52}\u{ff4d}`,
		"\ue000 \U0010fffd":                     `\u{e000} \u{10fffd}`, // of private use
		"ls" + blanks(3000) + "; rm -rf x":      `ls \u{20}×3000 ; rm -rf x`,
		"ls" + blanks(9) + "x":                  `ls \u{20}×9 x`,
		"ls" + blanks(8) + "x":                  "ls" + blanks(8) + "x",
		"a" + strings.Repeat("\t", 40) + "b":    `a \u{9}×40 b`,
		"a\tb\nc":                               `a\u{9}b\u{a}c`,
		"a\u00a0\u3000\u2003b":                  `a\u{a0}\u{3000}\u{2003}b`,
		"\u202egnp.exe\u200b\u2800\ufe0f\u00ad": `\u{202e}gnp.exe\u{200b}\u{2800}\u{fe0f}\u{ad}`,
		"\xff":                                  `\u{fffd}`,

		"rm -rf ./build && ls":                "rm -rf ./build && ls",
		"Café, naïve, Übergröße, Łódź, ığdır": "Café, naïve, Übergröße, Łódź, ığdır",
		"Прочитай файл notes.txt и отчёт.pdf": "Прочитай файл notes.txt и отчёт.pdf",
		"он у реки, а с ней и о ней":          "он у реки, а с ней и о ней",
		"почта.com":        "почта.com",
		"私はAppleが好き、東京タワー": "私はAppleが好き、東京タワー",
		"हिन्दी में लिखो, שָׁלוֹם, ภาษาไทย, 한국어": "हिन्दी में लिखो, שָׁלוֹם, ภาษาไทย, 한국어",
		"10 µs, 5 €, 1º, α und β, 👍": "10 µs, 5 €, 1º, α und β, 👍",
		`C:\Users\x "quoted" 'it'`:   `C:\Users\x "quoted" 'it'`,
	} {
		if got := netguard.Visible(in); got != want {
			t.Errorf("%q\n got %s\nwant %s", in, got, want)
		}
	}
}

func blanks(n int) string { return strings.Repeat(" ", n) }

// TestVisibleAgain: a second pass changes nothing. Half of the texts are letters and marks of few scripts, because what a character becomes
// depends on those beside it.
func TestVisibleAgain(t *testing.T) {
	letters := rapid.RuneFrom([]rune("A. "), unicode.Cyrillic, unicode.Greek, unicode.Mongolian, unicode.Khmer, unicode.Mn, unicode.Me)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(letters)).Draw(t, "text")
		once := netguard.Visible(text)
		if again := netguard.Visible(once); again != once {
			t.Fatalf("%q, then %q", once, again)
		}
	})
}

// TestVisibleScripts: a character has the script that unicode's own tables give it.
func TestVisibleScripts(t *testing.T) {
	for name, table := range unicode.Scripts {
		want := name
		switch name {
		case "Common", "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo":
			want = ""
		}
		check := func(first, last, stride rune) {
			for c := first; c <= last; c += stride {
				if c >= utf8.RuneSelf && netguard.ScriptOf(c) != want {
					t.Fatalf("%U: %q, want %q", c, netguard.ScriptOf(c), want)
				}
			}
		}
		for _, r := range table.R16 {
			check(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			check(rune(r.Lo), rune(r.Hi), rune(r.Stride)) // #nosec G115 -- a code point
		}
	}
}

// TestVisibleMarks: a row of marks without end is shown as code points after the first ones. To look back over all of it at each mark would take
// longer than any test may.
func TestVisibleMarks(t *testing.T) {
	got := netguard.Visible("न" + strings.Repeat("\u0941", 200_000))
	if !strings.HasPrefix(got, "न"+strings.Repeat("\u0941", 8)+` \u{941}×199992`) {
		t.Errorf("%.200s", got)
	}
}

// T14: blanks in short runs push the rest of a line away as one long run does.
func TestVisibleBlanksInRuns(t *testing.T) {
	for text, want := range map[string]string{
		"ls" + strings.Repeat(strings.Repeat(" ", 8)+".", 300) + "; rm x": "ls" + strings.Repeat(` \u{20}×8 .`, 300) + "; rm x",
		strings.Repeat("    ..", 4) + "   end":                            strings.Repeat(` \u{20}×4 ..`, 4) + ` \u{20}×3 end`,
		"a    b":                                                          "a    b",
		"name    size":                                                    "name    size",
		"    if x {\n    }":                                               `    if x {\u{a}    }`,
	} {
		got := netguard.Visible(text)
		if got != want || netguard.Visible(got) != got {
			t.Errorf("%.60q: %.90q, want %.90q", text, got, want)
		}
	}
}
