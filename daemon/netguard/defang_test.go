package netguard_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/daemon/netguard"
)

func TestDefang(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"it ran for 3.5 s. Done.": "it ran for 3.5 s. Done.",
		"https://a.example/x leads to https://evil.example/y.z?u=http://b.example: use that address": "https[:]//a[.]example/x leads to https[:]//evil[.]example/y[.]z?u=http[:]//b[.]example: use that address",
		`it leads to "HTTP://Evil.Example/": no`:                                                     `it leads to "HTTP[:]//Evil[.]Example/": no`,
		"go to tg://resolve?domain=evil.":                                                            "go to tg[:]//resolve?domain=evil.",
		"see evil.example/login or www.evil.md":                                                      "see evil[.]example/login or www[.]evil[.]md",
		"see:evil.example, (evil.example)":                                                           "see:evil[.]example, (evil[.]example)",
		"at 203.0.113.7:8080 and http://[::1]/x":                                                     "at 203[.]0[.]113[.]7:8080 and http[:]//[[:][:]1]/x",
		"http://3232235777/ has no dots":                                                             "http[:]//3232235777/ has no dots",
		"see !![x](evil.example/y)":                                                                  "see [x](evil[.]example/y)",
		"пример.рф":                                                                                  "пример[.]рф",
		"/home/me/notes.example/x and AGENTS.md":                                                     "/home/me/notes.example/x and AGENTS.md",
		"write to me.too@mail.example":                                                               "write to me[.]too[@]mail[.]example",
		"a gate: exit 1 (no such file: fetch.sh)":                                                    "a gate: exit 1 (no such file: fetch.sh)",
	} {
		if got := netguard.Defang(text); got != want {
			t.Errorf("%q:\n%q\nwant\n%q", text, got, want)
		}
	}
}

// FuzzDefang: no address with a scheme stays live, a second pass changes nothing, and only brackets are added.
func FuzzDefang(f *testing.F) {
	for _, s := range []string{"https://a.example/x", "see a.example.", "x://y://z.w", "http://http://a.b", "://", "a[.]b.c", "\xff.com://\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dead := netguard.Defang(text)
		if links := netguard.Links(dead); len(links) > 0 || strings.Contains(strings.ToLower(dead), "http://") || strings.Contains(strings.ToLower(dead), "https://") {
			t.Errorf("%q is still a link: %q, %q", text, dead, links)
		}
		if again := netguard.Defang(dead); again != dead {
			t.Errorf("%q becomes %q", dead, again)
		}
		if back := strings.NewReplacer("[", "", "]", "", "!", ""); back.Replace(dead) != back.Replace(text) {
			t.Errorf("%q lost something: %q", text, dead)
		}
	})
}

// seen reads a text as the most generous program would: without invisible characters and markup, with entities decoded.
func seen(text string) string {
	text = html.UnescapeString(text)
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r) || strings.ContainsRune("*`~\\\u034f\ufe0f", r):
			return -1
		case strings.ContainsRune("。．｡․﹒", r):
			return '.'
		case r == '：':
			return ':'
		case r == '／':
			return '/'
		case r == '＠':
			return '@'
		}
		return unicode.ToLower(r)
	}, text)
	return text
}

var schemed = regexp.MustCompile(`[a-z]://`)

// S5: no spelling of an address stays live. Each one contains evil.example or names its own host.
func TestNoSpellingStaysLive(t *testing.T) {
	places := []string{"evil.example", "xn--evl-3na.example", "203.0.113.7", "evil.sh", "esc.evil.zip", "злой.рф"}
	forms := []string{
		"https://%s/p?d=SECRET", "http://%s", "HTTPS://%s:8443/x", "hxxps://%s/x", "https:/%s/x", "https:\\\\%s\\x", "https:////%s/x", "tg://resolve?domain=%s", "custom+x://%s",
		"%s/leak?d=SECRET", "www.%s", "SECRET.%s", "%s?d=SECRET", "(%s/x)", "%s/x.", "%s/x,", "see:%s/x", "//%s/x", "me@%s", "mailto:me@%s?subject=SECRET", "xmpp:me@%s",
		"[a](https://%s/x)", "![a](https://%s/x)", "[a](<https://%s/x y>)", "[a](//%s/x)", "[a]: https://%s/x", "<https://%s/x>", "<me@%s>", "<https://%s/x|click>", "<http://%s|http://good.example>",
		"<a href=\"https://%s/x\">a</a>", "<img src=https://%s/x>", "<img src=\"//%s/x.png\">", "<a href='mailto:a@%s'>",
		"https://user:pw@%s/x", "https://good.example@%s/x", "https://%s/aHR0cHM6Ly9l/534543524554/%%53%%45", "data:text/html,<a href=https://%s>", "javascript:location='https://%s'",
		"**https**://%s/x", "ht\u200btps://%s/x", "https\u2060://%s", "https&colon;//%s/x", "https&#58;//%s/x", "https&#x3a;&#x2f;/%s", "https\\://%s/x", "https：//%s/x", "https:／／%s", "`https://%s`", "~~%s/x~~", "*%s/x*", "_%s/x_",
	}
	twist := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ReplaceAll(s, ".", "。") },
		func(s string) string { return strings.ReplaceAll(s, ".", "．") },
		func(s string) string { return strings.ReplaceAll(s, ".", "\u200b.\u200d") },
		func(s string) string { return strings.ReplaceAll(s, ".", "&period;") },
		func(s string) string { return strings.ReplaceAll(s, ".", "&#46;") },
		func(s string) string { return strings.ReplaceAll(s, ".", "\\.") },
		func(s string) string { return strings.ReplaceAll(s, ".", ".**") },
		strings.ToUpper,
	}
	for _, form := range forms {
		for _, place := range places {
			for i, f := range twist {
				text := "look: " + fmt.Sprintf(form, f(place)) + " now"
				got := seen(netguard.Defang(text))
				if strings.Contains(got, place) || strings.Contains(got, "://") || strings.Contains(got, "![") || strings.Contains(got, "<img") {
					t.Errorf("%q, twist %d: %q is live", text, i, netguard.Defang(text))
				}
			}
		}
	}
	for _, text := range []string{"tel:+4912345", "sms:123?body=SECRET", "magnet:?xt=urn:btih:SECRET", "http://3232235777/x", "https://[2001:db8::1]/x", "data:text/plain;base64,U0VDUkVU", "[a](custom:SECRET)"} {
		if got := netguard.Defang(text); !strings.Contains(got, "[:]") {
			t.Errorf("%q: %q is live", text, got)
		}
	}
	for _, text := range []string{"a file notes.md", "at 17:00", "3.5 and 1.2.3", "see main.go:12", "/home/me/notes.example/x", "key=note:thing", "signal:+49123", "a: b", "e.g. this", "C:/x", "app.min.js", "f(x)[0]!"} {
		if got := netguard.Defang(text); got != text {
			t.Errorf("%q: %q, and is no address", text, got)
		}
	}
}

// S5: the addresses that keep accepts stay as they are, and nothing else does.
func TestDefangBut(t *testing.T) {
	keep := func(address string) bool { return address == "https://good.example/a" || address == "me@good.example" }
	for text, want := range map[string]string{
		"see https://good.example/a, me@good.example.": "see https://good.example/a, me@good.example.",
		"[x](https://good.example/a)":                  "[x](https://good.example/a)",
		"![x](https://good.example/a)":                 "[x](https://good.example/a)",
		"https://good.example/ab":                      "https[:]//good[.]example/ab",
		"https://good.example/a?d=1":                   "https[:]//good[.]example/a?d=1",
		"https://good.exa\u200bmple/a":                 "https[:]//good[.]exa\u200bmple/a",
	} {
		if got := netguard.DefangBut(text, keep); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// S5: a text that arrives in pieces and is held back to a word's end never shows a live address.
func TestDefangWordByWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{" ", "\n", "https://", "evil.example", "/", "![", "](", ")", "(", ".", "&colon;", "\u200b", "**", "@", ":", "//", "\u00a0"})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		n := rapid.IntRange(0, len(text)).Draw(t, "cut")
		if end := strings.LastIndexFunc(text[:n], unicode.IsSpace); end >= 0 {
			_, size := utf8.DecodeRuneInString(text[end:])
			if got, want := netguard.Defang(text[:end+size])+netguard.Defang(text[end+size:]), netguard.Defang(text); got != want {
				t.Fatalf("%q in two: %q, want %q", text, got, want)
			}
		}
		if got := seen(netguard.Defang(text)); strings.Contains(got, "evil.example") && !strings.Contains(got, "/evil.example") || schemed.MatchString(got) {
			t.Fatalf("%q: %q", text, got)
		}
	})
}
