package netguard_test

import (
	"strings"
	"testing"

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
		"at 203.0.113.7:8080 and http://[::1]/x":                                                     "at 203[.]0[.]113[.]7:8080 and http[:]//[::1]/x",
		"http://3232235777/ has no dots":                                                             "http[:]//3232235777/ has no dots",
		"пример.рф":                                                                                  "пример[.]рф",
		"/home/me/notes.example/x and AGENTS.md":                                                     "/home/me/notes.example/x and AGENTS.md",
		"write to me.too@mail.example":                                                               "write to me.too@mail.example",
		"a gate: exit 1 (no such file: fetch.sh)":                                                    "a gate: exit 1 (no such file: fetch.sh)",
	} {
		if got := netguard.Defang(text); got != want {
			t.Errorf("%q:\n%q\nwant\n%q", text, got, want)
		}
	}
}

// FuzzDefang: nothing with a scheme stays, what is dead stays as it is, and all that is added are brackets.
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
		if back := strings.NewReplacer("[.]", ".", "[:]//", "://"); back.Replace(dead) != back.Replace(text) {
			t.Errorf("%q lost something: %q", text, dead)
		}
	})
}
